// Sveltekit is a page in SvelteKit that signs in and out with
// @auth/sveltekit/client. Gatehouse takes the place of a server in Node. Build
// the page first:
//
//	cd examples/sveltekit && npm ci && npx vite build && GATEHOUSE_DEVPROVIDER=on go run .
package main

import (
	"context"
	"io/fs"
	"log"
	"net/http"
	"os"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
)

func main() {
	handler, err := site("http://localhost:3000", os.DirFS("dist")) // AUTH_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", handler))
}

func site(url string, page fs.FS) (http.Handler, error) {
	dev, err := devprovider.New(url+"/dev", url+"/auth/callback/"+devprovider.ID, devprovider.Person{ID: "grace", Name: "Grace", Email: "grace@example.com"})
	if err != nil {
		return nil, err
	}
	ui, err := frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: auth.Config{
		URL:       url,
		Providers: []auth.Provider{dev.OAuth(), &auth.Credentials{Authorize: authorize}},
	}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/dev/", dev)
	mux.Handle("/_app/", http.FileServerFS(page))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page, "index.html") })
	return ui.Handle(mux), nil
}

// authorize knows one user. The code of its error tells a user that the account
// is locked.
func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	switch {
	case form.Get("username") == "eve":
		return nil, &auth.Error{Type: auth.ErrCredentialsSignin, Code: "locked"}
	case form.Get("username") != "ada" || form.Get("password") != "lovelace":
		return nil, nil
	}
	return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
}

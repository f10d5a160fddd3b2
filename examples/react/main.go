// React is a page in React that signs in and out with next-auth/react.
// Gatehouse takes the place of Next.js. Build the page first:
//
//	cd examples/react && npm ci && npx vite build && GATEHOUSE_DEVPROVIDER=on go run .
package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"log"
	"net/http"
	"os"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
)

func main() {
	send := func(_ context.Context, m auth.VerificationRequest) error {
		log.Printf("mail to %s: %s", m.Identifier, m.URL)
		return nil
	}
	handler, err := site("http://localhost:3000", os.DirFS("dist"), send) // AUTH_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", handler))
}

func site(url string, page fs.FS, send func(context.Context, auth.VerificationRequest) error) (http.Handler, error) {
	dev, err := devprovider.New(url+"/dev", url+"/api/auth/callback/"+devprovider.ID, devprovider.Person{ID: "grace", Name: "Grace", Email: "grace@example.com"})
	if err != nil {
		return nil, err
	}
	fullstack, err := frameworks.FullstackAuth(frameworks.FullstackConfig{Config: auth.Config{
		URL:     url,
		Adapter: memory.New(),
		Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, // credentials need this strategy
		Providers: []auth.Provider{
			dev.OAuth(),
			&auth.Email{SendVerificationRequest: send},
			&auth.Credentials{Authorize: authorize},
		},
		Callbacks: auth.Callbacks{JWT: nickname},
	}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/", fullstack.GET)
	mux.HandleFunc("POST /api/auth/", fullstack.POST)
	mux.Handle("/dev/", dev)
	mux.Handle("GET /assets/", http.FileServerFS(page))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, page, "index.html") })
	return mux, nil
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

// nickname lets users change their names in the session.
func nickname(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
	if p.Trigger == auth.TriggerUpdate {
		var change struct{ Name string }
		if err := json.Unmarshal(p.Session, &change); err == nil && len(change.Name) < 100 {
			p.Token["name"] = change.Name
		}
	}
	return p.Token, nil
}

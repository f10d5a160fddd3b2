// Demo is a small site that signs people in: by a link in a mail, and by user
// name and password. It needs no services: users are kept in a SQLite file, and
// mails are shown on a page of the site.
package main

import (
	"context"
	"flag"
	"fmt"
	"html/template"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth"
)

func main() {
	address := flag.String("listen", "localhost:3000", "`address` to listen on")
	file := flag.String("db", filepath.Join(os.TempDir(), "gatehouse-demo.db"), "SQLite `file`")
	flag.Parse()
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		log.Fatal(err)
	}
	site := "http://" + *address
	handler, err := newSite(context.Background(), site, *file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("open %s\n", site)
	log.Fatal(http.Serve(listener, handler)) //nolint:gosec // a demonstration on this machine
}

// newSite puts the site together: the store, the ways to sign in, the pages.
func newSite(ctx context.Context, site, file string) (http.Handler, error) {
	db, err := modernc.Open(file)
	if err != nil {
		return nil, err
	}
	store, err := sqlite.New(db)
	if err != nil {
		return nil, err
	}
	if err := store.EnsureSchema(ctx); err != nil {
		return nil, err
	}
	mails := &mailbox{}
	handler, err := auth.New(auth.Config{
		URL:     site,
		Secret:  []string{"for this demonstration only, 0123456789"}, // AUTH_SECRET in earnest
		Adapter: store,
		// Sign-in by password needs sessions in a cookie; the default with an
		// adapter is sessions in the database.
		Session: auth.SessionConfig{Strategy: auth.StrategyJWT},
		Providers: []auth.Provider{
			&auth.Email{SendVerificationRequest: mails.receive},
			&auth.Credentials{
				Name:      "Password",
				Fields:    []auth.Field{{Name: "username", Label: "User name (ada)"}, {Name: "password", Label: "Password (lovelace)", Type: "password"}},
				Authorize: authorize,
			},
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", handler)
	mux.Handle("GET /mail", mails)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		session, err := handler.Refresh(w, r)
		show(w, session, err)
	})
	mux.HandleFunc("GET /members", func(w http.ResponseWriter, r *http.Request) {
		session, err := handler.Refresh(w, r)
		if err == nil && session == nil { // for members only
			http.Redirect(w, r, "/auth/signin?callbackUrl=/members", http.StatusSeeOther)
			return
		}
		show(w, session, err)
	})
	return mux, nil
}

// authorize looks a user up. A real site compares a password hash, such as
// bcrypt's.
func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
		return nil, nil
	}
	return &auth.User{ID: "ada", Name: new("Ada Lovelace"), Email: "ada@example.com"}, nil
}

var page = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><meta charset="utf-8"><title>Gatehouse demo</title>
<meta name="viewport" content="width=device-width"><style>body{font:18px/1.6 system-ui;max-width:34em;margin:3em auto;padding:0 1em}</style>
{{with .}}<h1>Hello, {{with .User.Name}}{{.}}{{else}}{{.User.Email}}{{end}}</h1>
<p>You are signed in until {{.Expires.Format "2 January 2006"}}. <a href="/members">Members</a>, <a href="/auth/signout">sign out</a>.</p>
{{else}}<h1>Nobody is signed in</h1><p><a href="/auth/signin">Sign in</a> or try the <a href="/members">members' page</a>.</p>{{end}}
<p>Mails that were sent: <a href="/mail">mailbox</a></p></html>`))

func show(w http.ResponseWriter, session *auth.Session, err error) {
	if err != nil {
		http.Error(w, "try again later", http.StatusServiceUnavailable)
		return
	}
	if err := page.Execute(w, session); err != nil {
		log.Print(err)
	}
}

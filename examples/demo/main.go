// Demo is a small site that signs people in: with a passkey, by a link in a
// mail, by user name and password, and by a provider for development. GitHub
// and Google are added if AUTH_GITHUB_ID and AUTH_GITHUB_SECRET, or those of
// Google, are set. It needs no services: users are stored in a SQLite file, and
// a page of the site shows the mails.
//
// Passkeys work at http://localhost:3000 without any registration of the site:
// type an address, choose "Create a passkey", sign out, and open the sign-in
// page again. The browser then offers the passkey in the address field. The
// page /passkeys adds, names and removes passkeys.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
)

func main() {
	address := flag.String("listen", "localhost:3000", "`address` to listen on")
	file := flag.String("db", filepath.Join(os.TempDir(), "gatehouse-demo.db"), "SQLite `file`")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
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
	log.Fatal(http.Serve(listener, handler))
}

// newSite makes the site from the store, the ways to sign in, the handler and
// the pages.
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

	mails := &mailbox{} // a page in place of a mail server
	dev, err := devprovider.New(site+"/dev", site+"/auth/callback/"+devprovider.ID, people()...)
	if err != nil {
		return nil, err
	}
	ways := []auth.Provider{
		webauthn.Passkey(),
		dev.OAuth(),
		&auth.Email{SendVerificationRequest: mails.receive},
		&auth.Credentials{
			Name:      "Password",
			Fields:    []auth.Field{{Name: "username", Label: "User name (ada)"}, {Name: "password", Label: "Password (lovelace)", Type: "password"}},
			Authorize: authorize,
		},
	}
	if os.Getenv("AUTH_GITHUB_ID") != "" { // New reads this and AUTH_GITHUB_SECRET
		ways = append(ways, providers.GitHub())
	}
	if os.Getenv("AUTH_GOOGLE_ID") != "" {
		ways = append(ways, providers.Google())
	}

	handler, err := auth.New(auth.Config{
		URL:       site,
		Secret:    []string{"for this demonstration only, 0123456789"}, // a real site uses AUTH_SECRET
		Adapter:   store,
		Providers: ways,
		// Sign-in by password needs sessions in a cookie; the default with an
		// adapter is sessions in the database.
		Session:      auth.SessionConfig{Strategy: auth.StrategyJWT},
		Experimental: auth.Experimental{EnableWebAuthn: true},
	})
	if err != nil {
		return nil, err
	}

	mux := http.NewServeMux()
	mux.Handle("/auth/", handler)
	mux.Handle("/dev/", dev)
	mux.Handle("GET /mail", mails)
	mux.Handle("/passkeys", handler.PasskeysPage())
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

// authorize finds the user and checks the password. A real site compares a
// password hash, such as one of bcrypt.
func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
		return nil, nil
	}
	return &auth.User{ID: "ada", Name: "Ada Lovelace", Email: "ada@example.com"}, nil
}

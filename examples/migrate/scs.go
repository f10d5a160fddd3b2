package migrate

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

// fromSCS replaces LoadAndSave for a site that stores the theme of a visitor in
// the session. The theme is a claim of the token, which the site shows and
// changes.
func fromSCS(config auth.Config, next http.Handler) (http.Handler, error) {
	config.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
		if p.Trigger == auth.TriggerUpdate { // the data comes from setTheme, or from a script of the page
			var change struct{ Theme string }
			if err := json.Unmarshal(p.Session, &change); err == nil && (change.Theme == "dark" || change.Theme == "light") {
				p.Token["theme"] = change.Theme
			}
		}
		return p.Token, nil
	}
	config.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
		p.Session.Extra = map[string]any{"theme": p.Token.String("theme")}
		return p.Session, nil
	}
	f, err := frameworks.FullstackAuth(frameworks.FullstackConfig{Config: config})
	if err != nil {
		return nil, err
	}
	setTheme := func(w http.ResponseWriter, r *http.Request) { // this was sessionManager.Put(ctx, "theme", …)
		if _, err := f.UnstableUpdate(w, r, map[string]string{"theme": r.FormValue("theme")}); err != nil {
			f.Fail(w, r, err)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/", f.GET)
	mux.HandleFunc("POST /api/auth/", f.POST)
	mux.HandleFunc("POST /theme", setTheme)
	mux.Handle("/", next)
	return f.Middleware(mux), nil
}

// theme replaces sessionManager.GetString(ctx, "theme").
func theme(ctx context.Context) (string, error) {
	session, err := auth.FromContext(ctx) // auth.ErrNoSession if nobody is signed in
	if err != nil {
		return "", err
	}
	text, _ := session.Extra["theme"].(string)
	return text, nil
}

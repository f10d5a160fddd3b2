package guide

import (
	"context"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/limit"
)

var sessionsPage = template.Must(template.New("").Parse(`<h1>Your sessions</h1>
{{range .Sessions}}<form method="POST" action="/sessions/end"><input type="hidden" name="csrfToken" value="{{$.Token}}"><input type="hidden" name="id" value="{{.ID}}">
since {{.Began}}{{if .Current}} (this one){{end}} <button>End</button></form>
{{end}}<form method="POST" action="/sessions/end-others"><input type="hidden" name="csrfToken" value="{{.Token}}"><button>End all others</button></form>
`))

// newSite is a site whose users list and end their sessions.
func newSite(gate *auth.Handler) http.Handler {
	home := func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		_ = template.Must(template.New("").Parse("Hello {{.}}")).Execute(w, session.User.Name)
	}
	sessions := func(w http.ResponseWriter, r *http.Request) {
		list, err := gate.Sessions(r)
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		token, err := gate.CSRFToken(w, r)
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		_ = sessionsPage.Execute(w, map[string]any{"Sessions": list, "Token": token})
	}
	end := func(w http.ResponseWriter, r *http.Request) {
		if err := gate.MayChange(r, r.PostFormValue("csrfToken")); err != nil {
			http.Error(w, "post from a page of this site", http.StatusForbidden)
			return
		}
		if _, err := gate.RevokeSession(r, r.PostFormValue("id")); err != nil {
			auth.Unavailable(w, r)
			return
		}
		http.Redirect(w, r, "/sessions", http.StatusSeeOther)
	}
	endOthers := func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil || gate.MayChange(r, r.PostFormValue("csrfToken")) != nil {
			http.Error(w, "post from a page of this site", http.StatusForbidden)
			return
		}
		if _, err := gate.RevokeSessions(r.Context(), session.User.ID, r); err != nil {
			auth.Unavailable(w, r)
			return
		}
		http.Redirect(w, r, "/sessions", http.StatusSeeOther)
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", gate)
	mux.Handle("GET /{$}", gate.Require(http.HandlerFunc(home)))
	mux.Handle("GET /sessions", gate.Require(http.HandlerFunc(sessions)))
	mux.Handle("POST /sessions/end", gate.Require(http.HandlerFunc(end)))
	mux.Handle("POST /sessions/end-others", gate.Require(http.HandlerFunc(endOthers)))
	return mux
}

// hardened is a configuration that limits attempts and the life of sessions,
// and writes an audit log.
func hardened(store adapter.Adapter, providers ...auth.Provider) auth.Config {
	return auth.Config{
		Adapter:   store,
		Providers: providers,
		Session:   auth.SessionConfig{MaxAge: 14 * 24 * time.Hour, AbsoluteMaxAge: 90 * 24 * time.Hour},
		Limit:     limit.New(limit.Options{}),
		Callbacks: auth.Callbacks{
			Link: func(_ context.Context, p auth.LinkParams) (bool, error) {
				return p.Account.Provider != "sandbox", nil
			},
		},
		Events: auth.Events{
			SignInFailed: func(ctx context.Context, e auth.SignInFailedEvent) error {
				slog.InfoContext(ctx, "sign-in failed", "event", e)
				return nil
			},
			ReleaseEmail: func(ctx context.Context, e auth.ReleaseEmailEvent) error {
				slog.WarnContext(ctx, "a user lost an address that somebody else has proven", "event", e)
				return nil
			},
		},
	}
}

// revocable keeps sessions in tokens. It ends all sessions of a user that are
// older than an instant, which the application stores.
func revocable(signedOutAt func(ctx context.Context, userID string) (time.Time, error)) auth.SessionConfig {
	return auth.SessionConfig{
		Strategy: auth.StrategyJWT,
		Revoked: func(ctx context.Context, token auth.Claims) (bool, error) {
			began, _ := token.Time("auth_time")
			at, err := signedOutAt(ctx, token.String("sub"))
			return began.Before(at), err
		},
	}
}

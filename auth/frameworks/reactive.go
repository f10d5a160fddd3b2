package frameworks

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// ReactiveConfig is the configuration of ReactiveAuth.
type ReactiveConfig struct {
	auth.Config
	// Prefix is the path above the routes; the default is /api/auth. It sets
	// Config.BasePath.
	Prefix string
}

// Reactive is the integration for applications that ask one handler after
// another whether it answers a request. See docs/frameworks.md, RX.
type Reactive struct {
	// OnError answers a request whose session could not be read. Nil answers
	// with status 503. Set it before the first request.
	OnError ErrorHandler

	site *site
}

// ReactiveAuth makes the integration. It is experimental.
func ReactiveAuth(config ReactiveConfig) (*Reactive, error) {
	prefix := "/" + strings.Trim(cmp.Or(config.Prefix, "/api/auth"), "/")
	if config.BasePath != "" && "/"+strings.Trim(config.BasePath, "/") != prefix {
		return nil, fmt.Errorf("frameworks: Config.BasePath is %s and Prefix is %s: leave BasePath empty; it is derived from Prefix", config.BasePath, prefix)
	}
	re := &Reactive{}
	var err error
	re.site, err = newSite(config.Config, nil, &re.OnError, func(c *auth.Config) error {
		c.BasePath = prefix
		return nil
	})
	if err != nil {
		return nil, err
	}
	return re, nil
}

// GET serves a request if it is a GET or a HEAD for one of the routes, and
// reports whether it did. If it did not, nothing was written, and another
// handler may answer.
func (re *Reactive) GET(w http.ResponseWriter, r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && re.serve(w, r)
}

// POST serves a request if it is a POST for one of the routes, and reports
// whether it did.
func (re *Reactive) POST(w http.ResponseWriter, r *http.Request) bool {
	return r.Method == http.MethodPost && re.serve(w, r)
}

func (re *Reactive) serve(w http.ResponseWriter, r *http.Request) bool {
	if !re.site.fixed.Serves(r) {
		return false
	}
	re.site.serve(w, r)
	return true
}

// Session returns the session of a request, or nil if nobody is signed in. It
// renews no cookies; Load does.
func (re *Reactive) Session(r *http.Request) (*auth.Session, error) {
	return person(re.site.fixed.Session(r))
}

// Load is the hook that puts the session of each request into its context,
// where auth.FromContext finds it, and renews the cookies.
func (re *Reactive) Load(next http.Handler) http.Handler { return re.site.load(next) }

// Guard returns a hook that redirects browsers that are not signed in to /,
// from the given paths and from every path below them. It answers a client that
// requests JSON as auth.Handler.SendToSignIn does.
func (re *Reactive) Guard(guarded ...string) (func(http.Handler) http.Handler, error) {
	p, err := newPaths(guarded)
	if err != nil {
		return nil, err
	}
	if p.match("/") {
		return nil, errors.New("frameworks: / can't be guarded, because visitors without a session are redirected to it")
	}
	return func(next http.Handler) http.Handler {
		return re.site.protect(p, next, func(h *auth.Handler, w http.ResponseWriter, r *http.Request) {
			if auth.AsksForJSON(r) {
				h.SendToSignIn(w, r)
				return
			}
			(&auth.Result{Status: http.StatusSeeOther, Location: "/", Header: http.Header{"Cache-Control": {"no-store"}}}).Send(w)
		})
	}, nil
}

package frameworks

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Middleware is the integration for net/http, chi and every router of
// http.Handler values. It is a handler for the routes, with hooks for the rest
// of the site. See docs/frameworks.md, MW.
type Middleware struct {
	// OnError answers a request whose session could not be read. Nil answers
	// with status 503. Set it before the first request.
	OnError ErrorHandler

	config auth.Config
	site   *site
	// explicit says that the configuration sets the base path.
	explicit bool

	mu    sync.RWMutex
	mount string // the path of the mount; the first request shows it
	known bool
}

// MiddlewareAuth makes the integration. It is experimental. It reports all
// problems of the configuration at once.
//
// The routes are below Config.BasePath, or the path of AUTH_URL or
// NEXTAUTH_URL. If neither is set, they are below the path at which the handler is mounted. The first
// request shows that path by its pattern:
//
//	mux.Handle("/api/auth/", m) // base path /api/auth
//
// Some mounts are answered with status 500, and the log says what to set: a
// router that leaves no pattern in the request, one that cuts the path
// (http.StripPrefix), a second mount on another path, and a mount that does not
// match the base path. Until the first request for a route has shown the mount,
// redirects lead to /auth/signin.
func MiddlewareAuth(config auth.Config) (*Middleware, error) {
	m := &Middleware{config: config, explicit: config.BasePath != "" || sitePath() != ""}
	var err error
	m.site, err = newSite(config, nil, &m.OnError, func(*auth.Config) error { return nil })
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ServeHTTP serves the routes below the base path.
func (m *Middleware) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := m.mounted(r)
	if err != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "auth: the routes can't be served", slog.Any("error", err))
		auth.Refuse(w, r, http.StatusInternalServerError)
		return
	}
	s.serve(w, r)
}

// Load is the hook that puts the session of each request into its context,
// where auth.FromContext finds it, and renews the cookies.
func (m *Middleware) Load(next http.Handler) http.Handler {
	next = auth.Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, r, ok := m.current().loaded(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// Require does the same as Load, but lets a request continue only if its
// browser is signed in. It answers other requests as auth.Handler.SendToSignIn
// does.
func (m *Middleware) Require(next http.Handler) http.Handler {
	next = auth.Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, r, ok := m.current().loaded(w, r)
		switch {
		case !ok:
		case signedIn(r.Context()):
			next.ServeHTTP(w, r)
		default:
			h.SendToSignIn(w, r)
		}
	})
}

// GetSession returns the session of a request, or nil if nobody is signed in.
// It renews no cookies. It compiles the configuration at each call; code that
// runs often should use auth.Handler.Session.
func GetSession(r *http.Request, config auth.Config) (*auth.Session, error) {
	h, err := auth.New(config)
	if err != nil {
		return nil, err
	}
	return person(h.Session(r))
}

// current returns the site as far as its mount is known.
func (m *Middleware) current() *site {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.site
}

// mounted checks that the request came through a mount that matches the base
// path. It learns the base path from the first request.
func (m *Middleware) mounted(r *http.Request) (*site, error) {
	m.mu.RLock()
	s, mount, known := m.site, m.mount, m.known
	m.mu.RUnlock()
	if whole := wholePath(r); whole != r.URL.Path && strings.HasSuffix(whole, r.URL.Path) {
		return s, fmt.Errorf("the handler receives the path %s as %s: mount it without http.StripPrefix, and set Config.BasePath to the path that browsers see", whole, r.URL.Path)
	}
	found, hasPattern := mountOf(r.Pattern)
	if m.explicit {
		if hasPattern && !below(basePath(m.config), found) {
			return s, fmt.Errorf("the handler is mounted on %s, but the base path is %s: mount it on %s/, or set Config.BasePath to %s", r.Pattern, basePath(m.config), basePath(m.config), found)
		}
		return s, nil
	}
	switch {
	case !hasPattern:
		return s, errors.New("the router does not say where the handler is mounted: set Config.BasePath")
	case strings.ContainsAny(found, "{}*:"):
		return s, fmt.Errorf("the handler is mounted on %s, which is more than one path: set Config.BasePath", r.Pattern)
	case known && mount == found:
		return s, nil
	case known:
		return s, fmt.Errorf("the handler is mounted twice, on %s/ and on %s/: mount it once, or set Config.BasePath to the one that you want", mount, found)
	}
	return m.learn(found)
}

// learn takes the path of the mount as the base path.
func (m *Middleware) learn(mount string) (*site, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known {
		if m.mount != mount {
			return m.site, fmt.Errorf("the handler is mounted twice, on %s/ and on %s/: mount it once, or set Config.BasePath to the one that you want", m.mount, mount)
		}
		return m.site, nil
	}
	if mount != "/auth" {
		s, err := newSite(m.config, nil, &m.OnError, func(c *auth.Config) error {
			if c.BasePath = mount; mount == "" {
				c.BasePath = "/"
			}
			return nil
		})
		if err != nil {
			return m.site, err
		}
		m.site = s
	}
	m.mount, m.known = mount, true
	return m.site, nil
}

// mountOf returns the path of a pattern without its final slash and wildcard:
// /auth for "GET /auth/{path...}", "/auth/*" and "/auth/".
func mountOf(pattern string) (path string, ok bool) {
	if _, rest, hasMethod := strings.Cut(pattern, " "); hasMethod {
		pattern = strings.TrimLeft(rest, " \t")
	}
	i := strings.IndexByte(pattern, '/')
	if i < 0 {
		return "", false
	}
	path = pattern[i:]
	if i := strings.LastIndexByte(path, '/'); strings.HasSuffix(path, "...}") || strings.HasSuffix(path, "/*") || strings.HasPrefix(path[i+1:], "*") {
		path = path[:i]
	}
	return strings.TrimRight(strings.TrimSuffix(path, "{$}"), "/"), true
}

// below reports whether a path equals another path or is below it.
func below(path, above string) bool {
	return path == above || strings.HasPrefix(path, above+"/")
}

// basePath returns the base path that a configuration sets.
func basePath(c auth.Config) string {
	return strings.TrimRight("/"+strings.Trim(cmp.Or(c.BasePath, sitePath()), "/"), "/")
}

package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
)

// ErrNoSession says that nobody is signed in. It is never the error of a store
// that failed.
var ErrNoSession = errors.New("auth: nobody is signed in")

// errNotLoaded is the error of a program in which Load is missing.
var errNotLoaded = errors.New("auth: no session was loaded: wrap the handler in Handler.Require, or call Handler.Load")

// Load reads the session of a request and returns the request with the session
// in its context, for FromContext. It is called before anything is written,
// because it renews the cookies of the browser; with a nil ResponseWriter it
// renews none.
//
// The store is asked once: Load, Session and Refresh of a request that was
// loaded already give what was read then. An error means that the
// store could not be asked; FromContext then returns it, too.
func (h *Handler) Load(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if l := h.loaded(r.Context()); l != nil && (w == nil || l.renewed) {
		_, err := l.get()
		return r, err
	}
	l := &loaded{Context: r.Context(), engine: h.engine, renewed: w != nil}
	l.session, l.err = h.read(r, w, access{readOnly: w == nil})
	return r.WithContext(l), l.err
}

// FromContext returns the session that Handler.Load, or Handler.Require, has
// put into the context of a request. The error is ErrNoSession if nobody is
// signed in, and another one if the store could not be asked or if the request
// was never loaded. The session is the same value for all who ask; it must not
// be changed.
func FromContext(ctx context.Context) (*Session, error) {
	l, ok := ctx.Value(loadedKey{}).(*loaded)
	if !ok {
		return nil, errNotLoaded
	}
	session, err := l.get()
	if err == nil && session == nil {
		err = ErrNoSession
	}
	return session, err
}

// SessionByToken returns the session that a session token stands for, for
// clients that send it in another way than in a cookie, such as the metadata of
// a call of gRPC. The token is the value of the session cookie; one that was cut
// into several cookies is put together again. The error is ErrNoSession for a
// token that is void, and otherwise that of a store that could not be asked. The
// session is the one that Session returns; a token is not renewed.
func (h *Handler) SessionByToken(ctx context.Context, token string) (*Session, error) {
	if token == "" {
		return nil, ErrNoSession
	}
	for _, origin := range h.engine.tokenOrigins() {
		hr := (&http.Request{Method: http.MethodGet, URL: origin, Host: origin.Host, Header: http.Header{}}).WithContext(ctx)
		r := h.engine.newRequest(hr, ActionSession)
		hr.Header.Set("Cookie", r.specs.session.name+"="+encodeURIComponent(token))
		if session, err := h.read(hr, nil, access{readOnly: true}); err != nil || session != nil {
			return session, err
		}
	}
	return nil, ErrNoSession
}

// tokenOrigins are origins whose session cookies are all that there are: their
// names, which the tokens are bound to, differ between https and http. In a
// store a session is found under any name.
func (e *engine) tokenOrigins() []*url.URL {
	https, http := &url.URL{Scheme: "https", Host: "localhost"}, &url.URL{Scheme: "http", Host: "localhost"}
	if e.origin != "" || e.config.UseSecureCookies != nil || e.config.Session.Strategy == StrategyDatabase {
		return []*url.URL{https}
	}
	return []*url.URL{https, http}
}

type loadedKey struct{}

// loaded is the context of a request whose session was read. It is the context
// and the value in one, so that a request costs one allocation for both.
type loaded struct {
	context.Context //nolint:containedctx // it is one
	engine          *engine
	// renewed says that the cookies of the browser were renewed.
	renewed bool

	mu      sync.Mutex
	session *Session
	err     error
}

// Value returns the loaded session, or a value of the outer context.
func (l *loaded) Value(key any) any {
	if key == (loadedKey{}) {
		return l
	}
	return l.Context.Value(key)
}

func (l *loaded) get() (*Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session, l.err
}

func (l *loaded) set(session *Session, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.session, l.err = session, err
}

// loaded is what was read with this handler's configuration, or nil.
func (h *Handler) loaded(ctx context.Context) *loaded {
	if l, ok := ctx.Value(loadedKey{}).(*loaded); ok && l.engine == h.engine {
		return l
	}
	return nil
}

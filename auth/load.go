package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// ErrNoSession says that nobody is signed in. A store that fails never causes
// it.
var ErrNoSession = errors.New("auth: nobody is signed in")

// errNotLoaded says that the program did not call Load for the request.
var errNotLoaded = errors.New("auth: no session was loaded: wrap the handler in Handler.Require, or call Handler.Load")

// Load reads the session of a request and returns the request with the session
// in its context, for FromContext. Call it before anything is written to the
// response, because it renews the cookies of the browser. With a nil
// ResponseWriter it renews no cookies.
//
// The session is read once: for a loaded request, Load, Session and Refresh
// return what was read then. Only if no cookies were renewed then, a Load or
// Refresh with a ResponseWriter reads it again. An error means that the store
// could not be read or that a callback failed; FromContext then returns the
// same error.
func (h *Handler) Load(w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if l := h.loaded(r.Context()); l != nil && (w == nil || l.renewed) {
		_, err := l.get()
		return r, err
	}
	l := &loaded{Context: r.Context(), engine: h.engine, renewed: w != nil}
	l.session, l.err = h.read(r, w, access{noCookies: w == nil})
	return r.WithContext(l), l.err
}

// FromContext returns the session that Handler.Load, or Handler.Require, has
// put into the context of a request. The error is ErrNoSession if nobody is
// signed in. It is another error if the session could not be read or if the
// request was never loaded. All callers get the same *Session; they must not
// change it.
func FromContext(ctx context.Context) (*Session, error) {
	l, ok := ctx.Value(loadedKey{}).(*loaded)
	if !ok {
		return nil, errNotLoaded
	}
	l.read.Store(true)
	session, err := l.get()
	if err == nil && l.nobody() {
		return nil, ErrNoSession
	}
	return session, err
}

// SessionByToken returns the session of a session token. It is for clients that
// do not send the token in a cookie, but for example in the metadata of a gRPC
// call. The token is the value of the session cookie; if it was split into
// several cookies, it is their values joined in order. The error is
// ErrNoSession if the token is not valid, and another error if the session
// could not be read. It is ErrNoSession, too, if Callbacks.Session removed the
// user. The session is the one that Session returns; a token is not renewed.
func (h *Handler) SessionByToken(ctx context.Context, token string) (*Session, error) {
	if token == "" {
		return nil, ErrNoSession
	}
	for _, origin := range h.engine.tokenOrigins() {
		hr := (&http.Request{Method: http.MethodGet, URL: origin, Host: origin.Host, Header: http.Header{}}).WithContext(ctx)
		r := h.engine.newRequest(hr, ActionSession)
		hr.Header.Set("Cookie", r.specs.Session.Name+"="+wire.EncodeURIComponent(token))
		if session, err := h.read(hr, nil, access{noCookies: true}); err != nil || session != nil && session.User != nil {
			return session, err
		}
	}
	return nil, ErrNoSession
}

// tokenOrigins returns one origin for each name that the session cookie may
// have. The name differs between https and http, and a session token (JWT) is
// bound to it. A database session is found under any name.
func (e *engine) tokenOrigins() []*url.URL {
	https, http := &url.URL{Scheme: "https", Host: "localhost"}, &url.URL{Scheme: "http", Host: "localhost"}
	if e.site.origin != "" || e.config.UseSecureCookies != nil || e.config.Session.Strategy == StrategyDatabase {
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

	// read says that somebody asked for the session.
	read atomic.Bool

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

// loaded returns the session that was read with this handler's configuration,
// or nil if none was read.
func (h *Handler) loaded(ctx context.Context) *loaded {
	if l, ok := ctx.Value(loadedKey{}).(*loaded); ok && l.engine == h.engine {
		return l
	}
	return nil
}

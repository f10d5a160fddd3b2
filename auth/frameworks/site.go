package frameworks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/recent"
)

// ErrorHandler answers a request whose session or lazy configuration could not
// be read.
type ErrorHandler func(w http.ResponseWriter, r *http.Request, err error)

// site finds the compiled configuration for a request.
type site struct {
	fixed *auth.Handler
	lazy  *lazyHandlers
	log   *slog.Logger
	// onError points to the field OnError of the integration.
	onError *ErrorHandler
}

var errEmpty = errors.New("frameworks: the configuration is empty: set Providers, and Secret or the environment variable AUTH_SECRET")

// newSite compiles a configuration, or prepares to compile it later. complete
// fills in the defaults of the integration.
func newSite(config auth.Config, lazy *LazyConfig, onError *ErrorHandler, complete func(*auth.Config) error) (*site, error) {
	s := &site{log: cmp.Or(config.Logger, slog.Default()), onError: onError}
	switch empty := reflect.ValueOf(config).IsZero(); {
	case lazy != nil && !empty:
		return nil, errors.New("frameworks: the configuration is given twice: set either the fields of Config or Lazy")
	case lazy != nil:
		if lazy.key == nil || lazy.config == nil {
			return nil, errors.New("frameworks: Lazy needs both of its functions")
		}
		s.lazy = &lazyHandlers{source: lazy, complete: complete, known: recent.Map[string, *lazyHandler]{Max: maxLazy}, compiling: map[string]*lazyHandler{}}
		return s, nil
	case empty:
		return nil, errEmpty
	}
	if err := complete(&config); err != nil {
		return nil, err
	}
	var err error
	s.fixed, err = auth.New(config)
	return s, err
}

// handler returns the compiled configuration for a request.
func (s *site) handler(r *http.Request) (*auth.Handler, error) {
	if s.fixed != nil {
		return s.fixed, nil
	}
	h, err := s.lazy.handler(r)
	if err != nil {
		s.log.ErrorContext(r.Context(), "auth: lazy configuration", "error", err)
	}
	return h, err
}

// failed answers a request for which the store or the configuration failed.
func (s *site) failed(w http.ResponseWriter, r *http.Request, err error) {
	if *s.onError != nil {
		(*s.onError)(w, r, err)
		return
	}
	auth.Unavailable(w, r)
}

// fail answers a request whose action failed, as the routes do.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	h, problem := s.handler(r)
	if problem != nil {
		s.failed(w, r, problem)
		return
	}
	h.Fail(w, r, err)
}

// serve serves a route of the core.
func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	h, err := s.handler(r)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	h.ServeHTTP(w, r)
}

// load is the hook that puts the session into the context.
func (s *site) load(next http.Handler) http.Handler {
	next = auth.Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, r, ok := s.loaded(w, r); ok {
			next.ServeHTTP(w, r)
		}
	})
}

// loaded reads the session of a request, or answers the request if that fails.
func (s *site) loaded(w http.ResponseWriter, r *http.Request) (*auth.Handler, *http.Request, bool) {
	h, err := s.handler(r)
	if err == nil {
		r, err = h.Load(w, r)
	}
	if err != nil {
		s.failed(w, r, err)
	}
	return h, r, err == nil
}

// protect is the hook that lets only signed-in users continue to the paths;
// refuse answers the others.
func (s *site) protect(paths *paths, next http.Handler, refuse func(*auth.Handler, http.ResponseWriter, *http.Request)) http.Handler {
	private := auth.Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ambiguous(r.RequestURI) {
			auth.Refuse(w, r, http.StatusBadRequest)
			return
		}
		if !paths.match(r.URL.Path) && !paths.match(wholePath(r)) {
			next.ServeHTTP(w, r)
			return
		}
		h, r, ok := s.loaded(w, r)
		switch {
		case !ok:
		case signedIn(r.Context()) || h.IsSignInPage(r) && !h.Serves(r):
			private.ServeHTTP(w, r)
		case h.Serves(r): // a route of the core needs no sign-in, and only the core answers it
			h.ServeHTTP(w, r)
		default:
			refuse(h, w, r)
		}
	})
}

// wholePath returns the path that the browser requested, also behind
// http.StripPrefix.
func wholePath(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
			return u.Path
		}
	}
	return r.URL.Path
}

// session returns the session of a context, or nil if nobody is signed in.
func session(ctx context.Context) (*auth.Session, error) {
	s, err := auth.FromContext(ctx)
	if errors.Is(err, auth.ErrNoSession) {
		return nil, nil
	}
	return s, err
}

// person returns a session that was read, or nil if it has no user: then nobody
// is signed in.
func person(s *auth.Session, err error) (*auth.Session, error) {
	if err != nil || s == nil || s.User == nil {
		return nil, err
	}
	return s, nil
}

// signedIn reports whether the context has a session with a user.
func signedIn(ctx context.Context) bool {
	_, err := auth.FromContext(ctx)
	return err == nil
}

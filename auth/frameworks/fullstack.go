package frameworks

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

// FullstackConfig is the configuration of FullstackAuth.
type FullstackConfig struct {
	auth.Config
	// Lazy replaces Config if the configuration depends on the request.
	Lazy *LazyConfig
	// Authorized decides in Middleware and Wrap whether a request may continue.
	// The session is nil if nobody is signed in. A nil Authorized lets every
	// request continue.
	Authorized func(r *http.Request, session *auth.Session) Answer
}

// Answer is the decision of Authorized on a request: GoOn, AskToSignIn or
// Respond. The zero Answer is AskToSignIn.
type Answer struct {
	goOn    bool
	respond http.Handler
}

// GoOn lets a request continue.
func GoOn() Answer { return Answer{goOn: true} }

// AskToSignIn sends the browser to the sign-in page, as
// auth.Handler.SendToSignIn does.
func AskToSignIn() Answer { return Answer{} }

// Respond lets the handler h answer the request, in place of the handler that
// the request was for.
func Respond(h http.Handler) Answer { return Answer{respond: h} }

// Fullstack is the integration for applications that render their pages on the
// server and start sign-in and sign-out from handlers of their own. See
// docs/frameworks.md, FS.
type Fullstack struct {
	// OnError answers a request whose session could not be read. Nil answers
	// with status 503. Set it before the first request.
	OnError ErrorHandler

	site       *site
	authorized func(r *http.Request, session *auth.Session) Answer
}

// FullstackAuth makes the integration. The routes are below Config.BasePath, or
// the path of AUTH_URL or NEXTAUTH_URL, or /api/auth.
func FullstackAuth(config FullstackConfig) (*Fullstack, error) {
	f := &Fullstack{authorized: config.Authorized}
	var err error
	f.site, err = newSite(config.Config, config.Lazy, &f.OnError, nextDefaults)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// GET serves the routes for GET. Mount it on all paths below the base path.
func (f *Fullstack) GET(w http.ResponseWriter, r *http.Request) { f.site.serve(w, r) }

// POST serves the routes for POST. Mount it on all paths below the base path.
func (f *Fullstack) POST(w http.ResponseWriter, r *http.Request) { f.site.serve(w, r) }

// Session returns the session from the context of a request that went through
// Middleware or Wrap, or nil if nobody is signed in.
func (f *Fullstack) Session(ctx context.Context) (*auth.Session, error) { return session(ctx) }

// Refresh returns the session of a request, or nil if nobody is signed in, and
// renews the cookies. Use it in handlers that are behind neither Middleware nor
// Wrap, and call it before you write to the response.
func (f *Fullstack) Refresh(w http.ResponseWriter, r *http.Request) (*auth.Session, error) {
	h, err := f.site.handler(r)
	if err != nil {
		return nil, err
	}
	return person(h.Refresh(w, r))
}

// Middleware is the hook that renews the session, puts it into the context and
// calls Authorized. Requests for the routes and the sign-in page always
// continue.
func (f *Fullstack) Middleware(next http.Handler) http.Handler {
	next = auth.Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, r, ok := f.site.loaded(w, r)
		if !ok {
			return
		}
		if f.authorized != nil && !h.Serves(r) && !h.IsSignInPage(r) {
			s, _ := session(r.Context()) // loaded without an error
			if answer := f.authorized(r, s); answer.respond != nil {
				auth.Private(answer.respond).ServeHTTP(w, r)
				return
			} else if !answer.goOn {
				h.SendToSignIn(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// Wrap is Middleware for a single handler. The handler gets the session, or
// nil.
func (f *Fullstack) Wrap(handler func(w http.ResponseWriter, r *http.Request, session *auth.Session)) http.Handler {
	return f.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, _ := session(r.Context()) // loaded without an error
		handler(w, r, s)
	}))
}

// SignIn signs in with a provider from server code. It sets the cookies,
// redirects unless o.NoRedirect is set, and returns the URL of the redirect.
// Without a provider, or with one that is not configured, that is the URL of
// the sign-in page. An error is an *auth.Error, and means that nothing was
// written. Fail answers the request with it, as the routes do.
func (f *Fullstack) SignIn(w http.ResponseWriter, r *http.Request, provider string, o SignInOptions) (string, error) {
	h, err := f.site.handler(r)
	if err != nil {
		return "", typed(err)
	}
	return signIn(h, w, r, provider, o)
}

// SignOut signs out from server code. It sets the cookies, redirects unless
// o.NoRedirect is set, and returns the URL of the redirect.
func (f *Fullstack) SignOut(w http.ResponseWriter, r *http.Request, o SignOutOptions) (string, error) {
	h, err := f.site.handler(r)
	if err != nil {
		return "", typed(err)
	}
	return signOut(h, w, r, o)
}

// UnstableUpdate passes data to Callbacks.JWT or Callbacks.Session with
// TriggerUpdate, renews the cookies, and returns the session, or nil if nobody
// is signed in. It marshals data as JSON. The request must be a POST of a page of
// this site, or have the field csrfToken in its form.
func (f *Fullstack) UnstableUpdate(w http.ResponseWriter, r *http.Request, data any) (*auth.Session, error) {
	h, err := f.site.handler(r)
	if err != nil {
		return nil, typed(err)
	}
	if err := h.MayChange(r, ""); err != nil {
		form, _ := readForm(w, r) // a body that is no form has no token
		if h.MayChange(r, form.Get("csrfToken")) != nil {
			return nil, typed(err)
		}
	}
	s, err := person(h.UpdateSession(w, r, data))
	return s, typed(err)
}

// Fail answers a request whose SignIn, SignOut or UnstableUpdate returned an
// error, as the routes do.
func (f *Fullstack) Fail(w http.ResponseWriter, r *http.Request, err error) {
	f.site.fail(w, r, err)
}

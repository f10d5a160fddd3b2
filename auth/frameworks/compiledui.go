package frameworks

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gatehouse-go/gatehouse/auth"
)

// CompiledUIConfig is the configuration of CompiledUIAuth.
type CompiledUIConfig struct {
	auth.Config
	// Lazy replaces Config if the configuration depends on the request.
	Lazy *LazyConfig
}

// CompiledUI is the integration for applications whose pages are templates with
// forms. It has a chain of hooks, form actions, and components for the
// templates. See docs/frameworks.md, CU.
type CompiledUI struct {
	// OnError answers a request whose session could not be read. Nil answers
	// with status 503. Set it before the first request.
	OnError ErrorHandler
	// OnActionError answers a form action that failed with an *auth.Error. Nil
	// answers as auth.Handler.Fail does. Set it before the first request.
	OnActionError ErrorHandler

	site *site
}

// CompiledUIAuth makes the integration. It is experimental. The routes are
// below Config.BasePath; the default is /auth.
func CompiledUIAuth(config CompiledUIConfig) (*CompiledUI, error) {
	c := &CompiledUI{}
	var err error
	c.site, err = newSite(config.Config, config.Lazy, &c.OnError, ownBasePath("/auth"))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Handle is the hook of the whole site. It serves the routes. For every other
// request it puts the session into the request's context, where Session finds
// it, and renews the cookies.
func (c *CompiledUI) Handle(next http.Handler) http.Handler {
	return routesFirst(c.site, next)
}

// Sequence combines several hooks into one. The first hook gets a request
// first.
func Sequence(hooks ...func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		for i := len(hooks) - 1; i >= 0; i-- {
			next = hooks[i](next)
		}
		return next
	}
}

// Session returns the session from the context of a request that went through
// Handle, or nil if nobody is signed in.
func (c *CompiledUI) Session(ctx context.Context) (*auth.Session, error) { return session(ctx) }

// Authorize is the check of a single handler. It returns the session, or
// answers the request as auth.Handler.SendToSignIn does and returns nil. It
// works without Handle. Call it before you write to the response. It makes
// Cache-Control private; behind Handle, a handler can't undo that.
func (c *CompiledUI) Authorize(w http.ResponseWriter, r *http.Request) *auth.Session {
	h, r, ok := c.site.loaded(w, r)
	if !ok {
		return nil
	}
	if !signedIn(r.Context()) {
		h.SendToSignIn(w, r)
		return nil
	}
	s, _ := session(r.Context()) // loaded without an error
	auth.KeepPrivate(r.Context(), w.Header())
	return s
}

// Protect returns a hook that requires a sign-in on the given paths and on
// every path below them. It answers other visitors as auth.Handler.SendToSignIn
// does. In a sequence it comes after Handle.
func (c *CompiledUI) Protect(guarded ...string) (func(http.Handler) http.Handler, error) {
	p, err := newPaths(guarded)
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return c.site.protect(p, next, (*auth.Handler).SendToSignIn)
	}, nil
}

// SignIn is the form action that signs in. Mount it at the POST of a page of
// the application. The field providerId names the provider; SignInForm
// describes the other fields. With redirect=false the response is JSON with the
// URL.
func (c *CompiledUI) SignIn(w http.ResponseWriter, r *http.Request) {
	c.act(w, r, func(h *auth.Handler, form url.Values) (string, bool, error) {
		o := SignInForm(form)
		to, err := signIn(h, w, r, form.Get("providerId"), o)
		return to, o.NoRedirect, err
	})
}

// SignOut is the form action that signs out. SignOutForm describes the fields.
func (c *CompiledUI) SignOut(w http.ResponseWriter, r *http.Request) {
	c.act(w, r, func(h *auth.Handler, form url.Values) (string, bool, error) {
		o := SignOutForm(form)
		to, err := signOut(h, w, r, o)
		return to, o.NoRedirect, err
	})
}

// formAction does what a form asks for. If it reports noRedirect, the response is the URL.
type formAction func(h *auth.Handler, form url.Values) (to string, noRedirect bool, err error)

func (c *CompiledUI) act(w http.ResponseWriter, r *http.Request, do formAction) {
	h, err := c.site.handler(r)
	if err != nil {
		c.site.failed(w, r, err)
		return
	}
	to, noRedirect := "", false
	form, err := readForm(w, r)
	if err == nil {
		to, noRedirect, err = do(h, form)
	}
	switch {
	case err != nil && c.OnActionError != nil:
		c.OnActionError(w, r, typed(err))
	case err != nil:
		h.Fail(w, r, typed(err))
	case noRedirect:
		answerURL(w, to)
	}
}

package frameworks

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

// CompiledUIConfig is the configuration of CompiledUIAuth.
type CompiledUIConfig struct {
	auth.Config
	// Lazy takes the place of Config for a configuration that depends on the
	// request.
	Lazy *LazyConfig
}

// CompiledUI is the integration for applications whose pages are templates with
// forms: a chain of hooks, form actions, and components for the templates. See docs/frameworks.md, CU.
type CompiledUI struct {
	// OnError answers requests whose session could not be read; nil answers with
	// status 503. It is set before the first request.
	OnError ErrorHandler
	// OnActionError answers a form action that failed with an *auth.Error; nil
	// answers as auth.Handler.Fail does. It is set before the first request.
	OnActionError ErrorHandler

	site *site
}

// CompiledUIAuth makes the integration. The routes are below Config.BasePath, or
// /auth.
func CompiledUIAuth(config CompiledUIConfig) (*CompiledUI, error) {
	c := &CompiledUI{}
	var err error
	c.site, err = newSite(config.Config, config.Lazy, &c.OnError, ownBasePath("/auth"))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Handle is the hook of the whole site: it serves the routes, and puts the
// session of every other request into its context, for Session, and renews the
// cookies.
func (c *CompiledUI) Handle(next http.Handler) http.Handler {
	return routesFirst(c.site, next)
}

// Sequence makes one hook of several. The first one sees a request first.
func Sequence(hooks ...func(http.Handler) http.Handler) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		for i := len(hooks) - 1; i >= 0; i-- {
			next = hooks[i](next)
		}
		return next
	}
}

// Session returns the session in the context of a request that went through
// Handle, or nil if nobody is signed in.
func (c *CompiledUI) Session(ctx context.Context) (*auth.Session, error) { return session(ctx) }

// Authorize is the check of one handler: it returns the session, or answers the
// request as auth.Handler.SendToSignIn does and returns nil. It needs no Handle
// before it, and must be called before anything is written.
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
	return s
}

// Protect is a hook that asks for a sign-in on the paths and on all that is
// below them, as auth.Handler.SendToSignIn does. Where several hooks form a
// sequence, it comes after Handle.
func (c *CompiledUI) Protect(guarded ...string) (func(http.Handler) http.Handler, error) {
	p, err := newPaths(guarded)
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler {
		return c.site.protect(p, next, (*auth.Handler).SendToSignIn)
	}, nil
}

// SignIn is the form action that signs in, for the POST of a page of the
// application's own. The field providerId names the provider; the other fields
// are those of SignInForm. With redirect=false the URL is answered as JSON.
func (c *CompiledUI) SignIn(w http.ResponseWriter, r *http.Request) {
	c.act(w, r, func(h *auth.Handler) error {
		form, err := readForm(w, r)
		if err != nil {
			return err
		}
		o := SignInForm(form)
		to, err := signIn(h, w, r, form.Get("providerId"), o)
		if err == nil && o.NoRedirect {
			answerURL(w, to)
		}
		return err
	})
}

// SignOut is the form action that signs out. The fields are those of
// SignOutForm.
func (c *CompiledUI) SignOut(w http.ResponseWriter, r *http.Request) {
	c.act(w, r, func(h *auth.Handler) error {
		form, err := readForm(w, r)
		if err != nil {
			return err
		}
		o := SignOutForm(form)
		to, err := signOut(h, w, r, o)
		if err == nil && o.NoRedirect {
			answerURL(w, to)
		}
		return err
	})
}

func (c *CompiledUI) act(w http.ResponseWriter, r *http.Request, do func(*auth.Handler) error) {
	h, err := c.site.handler(r)
	if err != nil {
		c.site.failed(w, r, err)
		return
	}
	if err := do(h); err != nil {
		if c.OnActionError != nil {
			c.OnActionError(w, r, typed(err))
			return
		}
		h.Fail(w, r, typed(err))
	}
}

package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// Handler serves the routes below the base path and reads sessions. It is safe
// for concurrent use and meant to be made once.
type Handler struct{ engine *engine }

// New compiles a configuration. What it lacks is taken from the environment of
// the process: AUTH_SECRET, AUTH_URL, AUTH_TRUST_HOST, AUTH_REDIRECT_PROXY_URL,
// and for each provider AUTH_<ID>_ID, AUTH_<ID>_SECRET, AUTH_<ID>_ISSUER and
// AUTH_<ID>_KEY; specification section 4.3. All problems of the configuration
// are reported at once, each an *Error in the joined error. The configuration
// is copied; the providers, callbacks and adapter in it are used as they are.
func New(config Config) (*Handler, error) {
	e, problems := compile(inferred(config))
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	e.trustLoopback = config.TrustHost == nil
	e.warnAtStart(context.Background())
	return &Handler{e}, nil
}

// ServeHTTP serves a route. The path of the request must include the base path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.engine.handle(r).Send(w)
}

// Auth serves one request with a configuration that it compiles for it.
// Problems of the configuration are logged and answered with status 500. Unlike
// New it reads no environment and trusts no host by itself; see SetEnvDefaults.
// Specification section 4.2.
func Auth(r *http.Request, config Config) *http.Response {
	e, problems := compile(config)
	e.problems = problems
	return e.handle(r).Response(r)
}

// Raw is the form of Auth for authors of framework integrations: it returns the
// result as it is before it becomes a response. An error that is an *Error is
// returned and not turned into a redirect, unless the request has the header
// X-Auth-Return-Redirect. Specification section 4.2.
func Raw(r *http.Request, config Config) (*Result, error) {
	e, problems := compile(config)
	e.problems = problems
	return e.run(r)
}

// engine is a compiled configuration, and the keys and turns that go with it.
type engine struct {
	config   Config // with its defaults
	problems []error
	log      *slog.Logger
	// origin is that of Config.URL, or empty.
	origin string
	// trustLoopback says that hosts of this machine are trusted.
	trustLoopback bool
	basePath      string
	byID          map[string]Provider
	oauth         map[string]*oauthClient
	cookies       struct{ plain, secure cookieSpecs }
	csrfKeys      hashKeys
	keys          *jwt.Keys
	adapter       adapter.Adapter
	look          func() *pages.Look
	// logins holds the accounts that are signing in.
	logins keyedLock
}

// handle answers a request, whatever happens.
func (e *engine) handle(hr *http.Request) *Result {
	r, result := e.prepare(hr)
	if result != nil {
		return result
	}
	result, err := e.act(r)
	if err != nil {
		return e.failed(r, err)
	}
	return r.finish(result)
}

// run answers a request, or returns the error that it failed with.
func (e *engine) run(hr *http.Request) (*Result, error) {
	r, result := e.prepare(hr)
	if result != nil {
		return result, nil
	}
	result, err := e.act(r)
	if err == nil {
		return r.finish(result), nil
	}
	if _, ours := typeOf(err); ours && !r.wantsJSON() {
		e.logError(r.http.Context(), err)
		return nil, err
	}
	return e.failed(r, err), nil
}

// prepare parses a request and checks that it may be served at all. Otherwise
// there is a result already.
func (e *engine) prepare(hr *http.Request) (*request, *Result) {
	ctx := hr.Context()
	r, err := e.parse(hr)
	if err != nil {
		e.logError(ctx, err)
		e.debug(ctx, "request", slog.String("method", hr.Method), slog.String("type", hr.Header.Get("Content-Type")), slog.Int("segments", strings.Count(hr.URL.Path, "/")))
		return nil, &Result{Status: http.StatusBadRequest, Header: jsonHeader(), Body: []byte(`"Bad request."`)}
	}
	if err := e.mayServe(r); err != nil {
		e.logError(ctx, err)
		return nil, e.misconfigured(r)
	}
	return r, nil
}

// mayServe reports why the request can't be served: an origin that is not
// trusted, or the first problem of the configuration.
func (e *engine) mayServe(r *request) error {
	if err := e.trusts(r.origin); err != nil {
		return err
	}
	if len(e.problems) > 0 {
		return e.problems[0]
	}
	return nil
}

// act does what the request asks for.
func (e *engine) act(r *request) (*Result, error) {
	ctx := r.http.Context()
	if err := e.begin(ctx, r); err != nil {
		return nil, err
	}
	if r.method == http.MethodPost {
		switch r.action {
		case ActionSession:
			return e.updateSession(ctx, r)
		case ActionSignIn:
			return e.signIn(ctx, r)
		case ActionSignOut:
			return e.signOut(ctx, r)
		case ActionCallback:
			return e.callback(ctx, r)
		}
		return nil, &Error{Type: ErrUnknownAction, Message: fmt.Sprintf("POST is not supported for %s", r.action)}
	}
	switch r.action {
	case ActionProviders:
		return e.listProviders(r)
	case ActionCSRF:
		return e.csrfToken(ctx, r)
	case ActionSession:
		return e.readSession(ctx, r)
	case ActionSignIn:
		return e.signInPage(r)
	case ActionSignOut:
		return e.signOutPage(r)
	case ActionCallback:
		return e.callback(ctx, r)
	case ActionVerifyRequest:
		return e.verifyRequestPage(r)
	case ActionError:
		return e.errorPage(r)
	}
	return e.webauthnOptions(ctx, r)
}

// begin finds the provider, checks the CSRF token and decides on the callback
// URL.
func (e *engine) begin(ctx context.Context, r *request) error {
	if r.providerID != "" {
		if r.provider = e.byID[r.providerID]; r.provider == nil {
			return &Error{Type: ErrInvalidProvider, Message: "no provider has the ID of the path"}
		}
	}
	if r.trusted || e.config.SkipCSRFCheck == SkipCSRFCheck {
		r.csrf = csrf{verified: true}
	} else {
		spec := &r.specs.csrf
		var fresh *http.Cookie
		var err error
		r.csrf, fresh, err = checkCSRF(e.csrfKeys, e.config.Random, spec, r.cookies.get(spec.name), r.method, r.form.Get("csrfToken"))
		if err != nil {
			return err
		}
		if fresh != nil {
			r.pending = append(r.pending, fresh)
		}
	}
	spec := &r.specs.callbackURL
	remembered := r.cookies.get(spec.name)
	var err error
	r.callbackURL, err = e.resolveCallbackURL(ctx, r.origin, r.submitted("callbackUrl"), remembered)
	if err != nil {
		return err
	}
	if r.callbackURL != remembered {
		r.pending = append(r.pending, spec.set(r.callbackURL))
	}
	return nil
}

// finish gives a result what every result of the request gets.
func (r *request) finish(result *Result) *Result {
	if r.action != ActionProviders {
		result.Cookies = append(r.pending, result.Cookies...)
	}
	if result.Location != "" && r.wantsJSON() {
		result.Header = jsonHeader()
		result.Status, result.Body = http.StatusOK, redirectAsJSON(result.Location)
	}
	return result
}

// wantsJSON reports whether the client is a script that can't follow a
// redirect to another site.
func (r *request) wantsJSON() bool { return len(r.http.Header["X-Auth-Return-Redirect"]) > 0 }

// url is the URL of an action, with origin.
func (e *engine) url(r *request, action Action) string {
	return r.origin + e.basePath + "/" + string(action)
}

// providerURL is the URL of an action for a provider.
func (e *engine) providerURL(r *request, action Action, id string) string {
	return e.url(r, action) + "/" + id
}

package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/once"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// engine is a compiled configuration, with its keys and its shared state.
type engine struct {
	config   Config // with defaults filled in
	problems []error
	log      *slog.Logger
	site     site
	basePath string
	byID     map[string]Provider
	oauth    map[string]*oauthClient
	cookies  struct{ plain, secure wire.CookieSpecs }
	csrfKeys wire.HashKeys
	sealer   *began.Sealer
	tokens   *sessionTokens
	store    *store // nil without an adapter
	// stored has the passwords of store; nil without an adapter.
	stored *keptPasswords
	look   looks
	// otherWays says that users can have accounts, passkeys or passwords;
	// passwords says that they can have passwords that the store does not know.
	otherWays, passwords bool
	// password is the provider whose passwords the store knows, or nil.
	password *Password
	// emailProviders is the number of e-mail providers.
	emailProviders int
	// once remembers what must happen only once.
	once *once.Memory
	*shared
}

// compile makes an engine from a configuration, and lists the problems of the
// configuration. An engine with problems can only report them. share returns
// the state that the engine shares with others.
func compile(c Config, share func(c *Config, origin string) *shared) (*engine, []error) {
	c = c.withDefaults()
	incomplete := completeProviders(c.Providers)
	e := &engine{
		config:   c,
		site:     site{origins: slices.Clone(c.Origins), trustHost: c.TrustHost},
		log:      c.Logger,
		basePath: cleanBasePath(c.BasePath),
		byID:     make(map[string]Provider, len(c.Providers)),
		csrfKeys: wire.NewHashKeys(c.Secret),
	}
	if e.store = newStore(&e.config, e.debug); e.store != nil {
		e.stored = e.store.passwords
	}
	e.cookies.plain, e.cookies.secure = c.Cookies.specs(false), c.Cookies.specs(true)
	if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
		e.site.origin = wire.OriginOf(u)
	}
	languages, err := newLanguages(&e.config, e.logError)
	if err != nil {
		incomplete = append(incomplete, &Error{Type: ErrAuth, Message: err.Error()})
	}
	e.look = newLooks(&e.config, e.site.origin, languages)
	e.shared = share(&e.config, e.site.origin)
	var random io.Reader
	if c.Random != rand.Reader {
		random = c.Random
	}
	e.once = once.Of(c.JWT.Secret, e.site.origin, random)
	e.tokens = &sessionTokens{config: &e.config, keys: e.keys, once: e.once}
	e.sealer = &began.Sealer{Clock: c.Clock, Random: c.Random, Secrets: c.JWT.Secret, Keys: e.keys, CSRF: e.csrfKeys, Once: e.once}
	e.oauth = map[string]*oauthClient{}
	e.otherWays = c.Callbacks.NoOtherWayIn != nil
	for _, p := range c.Providers {
		if isNil(p) {
			continue
		}
		e.byID[p.id()] = p
		switch p.kind() {
		case TypeOAuth, TypeOIDC, TypeWebAuthn:
			e.otherWays = true
		case TypeEmail:
			e.emailProviders++
		case TypeCredentials:
			e.otherWays = true
			if own, ok := p.(*Password); ok {
				e.password = own
			} else {
				e.passwords = true
			}
		}
		if p, ok := p.(*OAuth); ok {
			client := newOAuthClient(&e.config, p, e.shared)
			client.all, e.oauth[p.ID] = e.oauth, client
		}
	}
	if e.password != nil && e.store != nil && e.store.passwords.adapter != nil {
		e.store.stamps, e.tokens.passwords = true, e.store.passwords
	}
	return e, append(incomplete, e.check()...)
}

// compileFor makes the engine that serves one request. If the configuration has
// problems, the engine can only report them. State that must outlive the
// request is shared with the engines of earlier requests.
func compileFor(hr *http.Request, c Config) *engine {
	e, problems := compile(c, sharedWith)
	e.problems = append(e.config.checkSecrets(), problems...)
	return e
}

// completeProviders replaces providers by completed copies, and lists the
// problems that their Complete functions find.
func completeProviders(providers []Provider) []error {
	var problems []error
	for i, p := range providers {
		if isNil(p) {
			continue
		}
		var err error
		switch p := p.(type) {
		case *OAuth:
			completed := *p
			if p.Complete != nil {
				err = p.Complete(&completed)
			}
			if !strings.HasPrefix(completed.WellKnown, "https:") { // otherwise the metadata can be believed
				completed.Issuer = cmp.Or(completed.Issuer, oauth.IssuerOf(completed.WellKnown))
			}
			providers[i] = &completed
		case *Email:
			if p.Complete != nil {
				completed := *p
				err = p.Complete(&completed)
				providers[i] = &completed
			}
		}
		if err != nil {
			problems = append(problems, &Error{Type: ErrInvalidProvider, Message: fmt.Sprintf("provider %q: %v", p.id(), err)})
		}
	}
	return problems
}

// cleanBasePath makes a path begin with a slash and end without one. The root
// becomes the empty path.
func cleanBasePath(path string) string {
	return strings.TrimSuffix("/"+strings.Trim(path, "/"), "/")
}

// handle answers a request. An error becomes an answer, too.
func (e *engine) handle(hr *http.Request) *Result {
	switch {
	case hr.URL.Path == wellKnownWebAuthn:
		return relatedOrigins(hr, e.site.origin, e.config.Providers)
	case hr.URL.Path == wellKnownPassword && e.password != nil:
		return redirectTo(e.site.origin + e.basePath + "/" + string(ActionPassword) + "/" + stepChange)
	}
	r, result, err := e.prepare(hr)
	switch {
	case err != nil:
		return e.misconfigured(r)
	case result != nil:
		return result
	}
	if result, err = e.act(r); err != nil {
		return e.failed(r, err)
	}
	return r.finish(result)
}

// run answers a request, or returns the error that it failed with.
func (e *engine) run(hr *http.Request) (*Result, error) {
	r, result, err := e.prepare(hr)
	switch {
	case err != nil && r.wantsJSON():
		return e.misconfigured(r), nil
	case err != nil:
		return nil, err
	case result != nil:
		return result, nil
	}
	if result, err = e.act(r); err == nil {
		return r.finish(result), nil
	}
	if _, ours := typeOf(err); ours && !r.wantsJSON() {
		e.logError(r.http.Context(), err)
		return nil, err
	}
	return e.failed(r, err), nil
}

// prepare parses a request and checks that it may be served: first its path,
// then whether its origin is trusted, and then its body. If it may not be
// served, prepare returns the answer, or an error about the configuration or the
// origin, which it has logged.
func (e *engine) prepare(hr *http.Request) (*request, *Result, error) {
	ctx := hr.Context()
	refuse := func(err error) (*request, *Result, error) {
		err = ours(err)
		e.logError(ctx, err)
		e.debug(ctx, "request", slog.String("method", hr.Method), slog.String("type", hr.Header.Get("Content-Type")), slog.Int("segments", strings.Count(hr.URL.Path, "/")))
		result := &Result{Status: http.StatusBadRequest, Header: jsonHeader(), Body: []byte(`"Bad request."`)}
		if body, ok := errors.AsType[*Error](err); ok && body.tooLarge {
			result.Status = http.StatusRequestEntityTooLarge
		}
		_, method := errors.AsType[notAllowed](err)
		if method {
			result.Status, result.Body = http.StatusMethodNotAllowed, []byte(`"Method not allowed."`)
		}
		if asksForPage(hr) {
			result = e.look.refused(hr, result.Status)
		}
		if method {
			result.Header["Allow"] = []string{"GET, HEAD, POST"}
		}
		return nil, result, nil
	}
	r, err := e.parse(hr)
	if err != nil {
		return refuse(err)
	}
	if err := e.mayServe(r); err != nil {
		e.logError(ctx, err)
		return r, nil, err
	}
	if r.method == http.MethodPost {
		if err := r.readBody(e.config.MaxBodySize); err != nil {
			return refuse(err)
		}
	}
	return r, nil, nil
}

// mayServe returns the reason why the request can't be served, or nil: an
// origin that is not trusted, or the first problem of the configuration.
func (e *engine) mayServe(r *request) error {
	if err := e.site.trusts(r.http, r.origin); err != nil {
		return err
	}
	if len(e.problems) > 0 {
		return e.problems[0]
	}
	return nil
}

// act performs the action of the request, and reports a sign-in that failed. If
// one answer is delivered twice at one instant, it does so once.
func (e *engine) act(r *request) (*Result, error) {
	ctx := withRequest(r.http.Context(), r)
	perform := func() (*Result, error) {
		result, err := e.perform(ctx, r)
		if err != nil {
			if done := e.finishedBefore(ctx, r); done != nil {
				e.debug(ctx, "the answer was delivered before", slog.Any("error", err))
				return done, nil
			}
		}
		if err != nil && (r.action == ActionCallback || r.action == ActionSignIn && r.method == http.MethodPost) {
			e.signInFailed(ctx, r, err)
		}
		return result, err
	}
	if key, ok := r.deliveryKey(e.byID[r.providerID], e.begun(r).HasMark()); ok {
		return e.deliveries.join(ctx, r, key, perform)
	}
	return perform()
}

// signInFailed calls Events.SignInFailed for a sign-in that failed.
func (e *engine) signInFailed(ctx context.Context, r *request, err error) {
	if r.provider == nil {
		return
	}
	reason, ours := typeOf(err)
	if !ours {
		reason = ErrAuth
	}
	notify(ctx, e, "SignInFailed", e.config.Events.SignInFailed, SignInFailedEvent{Provider: r.provider.id(), Type: r.provider.kind(), Reason: reason, Err: err})
}

func (e *engine) perform(ctx context.Context, r *request) (*Result, error) {
	if r.head {
		switch r.action {
		case ActionCallback:
			return &Result{Header: http.Header{"Cache-Control": noCache}}, nil
		case ActionCSRF, ActionSession, ActionWebAuthnOptions:
			return &Result{Header: uncachedJSONHeader()}, nil
		}
	}
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
		case ActionPassword:
			return passwordFlow{e, r, e.password}.post(ctx)
		}
		return nil, &Error{Type: ErrUnknownAction, Message: fmt.Sprintf("POST is not supported for %s", r.action), client: true}
	}
	switch r.action {
	case ActionPassword:
		return passwordFlow{e, r, e.password}.page(ctx)
	case ActionProviders:
		return e.listProviders(r)
	case ActionCSRF:
		return e.csrfToken(ctx, r)
	case ActionSession:
		return e.readSession(ctx, r)
	case ActionSignIn:
		return e.signInPage(ctx, r)
	case ActionSignOut:
		return e.signOutPage(r)
	case ActionCallback:
		return e.callback(ctx, r)
	case ActionVerifyRequest:
		return e.verifyRequestPage(r)
	case ActionError:
		return e.errorPage(ctx, r)
	}
	return e.webauthnOptions(ctx, r)
}

// begin finds the provider, checks the CSRF token and determines the callback
// URL.
func (e *engine) begin(ctx context.Context, r *request) error {
	if r.providerID != "" {
		if r.provider = e.byID[r.providerID]; r.provider == nil {
			return &Error{Type: ErrInvalidProvider, Message: "no provider has the ID in the path", client: true}
		}
	}
	if r.trusted || e.config.SkipCSRFCheck == SkipCSRFCheck {
		r.csrf = wire.CSRF{Verified: true}
	} else {
		spec := &r.specs.CSRF
		var fresh *http.Cookie
		var err error
		r.csrf, fresh, err = wire.CheckCSRF(e.csrfKeys, e.config.Random, spec, r.cookies.Get(spec.Name), r.method, r.form.Get("csrfToken"))
		if err != nil {
			return err
		}
		if fresh != nil {
			r.pending = append(r.pending, fresh)
		}
		// Clients of some frameworks send no token, and a browser that opens two pages
		// at its first visit sends the token of one with the cookie of the other.
		if !r.csrf.Verified && r.method == http.MethodPost {
			r.csrf.Verified = e.site.sameOrigin(r.http) == nil
		}
	}
	spec := &r.specs.CallbackURL
	remembered := r.cookies.Get(spec.Name)
	var err error
	r.callbackURL, err = e.resolveCallbackURL(ctx, r.origin, r.submitted("callbackUrl"), remembered)
	if err != nil {
		return err
	}
	if r.callbackURL != remembered {
		r.pending = append(r.pending, spec.Set(r.callbackURL))
	}
	return nil
}

// finish adds to a result what every result of the request has: the pending
// cookies, and JSON instead of a redirect if the client wants it. A HEAD request
// gets neither cookies nor a body (RFC 9110 section 9.3.2).
func (r *request) finish(result *Result) *Result {
	if r.head {
		result.Cookies, result.Body = nil, nil
		return result
	}
	if r.action != ActionProviders {
		result.Cookies = append(r.pending, result.Cookies...)
	}
	if result.Location != "" && r.wantsJSON() {
		result.Header = jsonHeader()
		result.Status, result.Body = http.StatusOK, redirectAsJSON(result.Location, result.signal)
	}
	return result
}

// wantsJSON reports whether the client is a script that can't follow a
// redirect to another site.
func (r *request) wantsJSON() bool { return len(r.http.Header["X-Auth-Return-Redirect"]) > 0 }

// url returns the URL of an action, with origin.
func (e *engine) url(r *request, action Action) string {
	return r.origin + e.basePath + "/" + string(action)
}

// providerURL returns the URL of an action for a provider.
func (e *engine) providerURL(r *request, action Action, id string) string {
	return e.url(r, action) + "/" + id
}

package auth

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// Action is the first part of the path below the base path.
type Action string

// The actions. See docs/protocol.md, "Routes".
const (
	ActionCallback        Action = "callback"
	ActionCSRF            Action = "csrf"
	ActionError           Action = "error"
	ActionPassword        Action = "password" // with password.Provider only
	ActionProviders       Action = "providers"
	ActionSession         Action = "session"
	ActionSignIn          Action = "signin"
	ActionSignOut         Action = "signout"
	ActionVerifyRequest   Action = "verify-request"
	ActionWebAuthnOptions Action = "webauthn-options"
)

// IsAuthAction reports whether s is one of the actions.
func IsAuthAction(s string) bool {
	switch Action(s) {
	case ActionCallback, ActionCSRF, ActionError, ActionPassword, ActionProviders, ActionSession, ActionSignIn, ActionSignOut,
		ActionVerifyRequest, ActionWebAuthnOptions:
		return true
	}
	return false
}

// maxQuery is the length in bytes of the longest query that is parsed.
const maxQuery = 32 << 10

// request is what the actions see of an HTTP request. The first fields are
// parsed from the request, and the engine sets the others.
type request struct {
	http *http.Request
	// method is GET or POST. A HEAD request is a GET here, and head is set.
	method string
	head   bool
	// origin is scheme, host and port; target is the URL without fragment.
	origin, target string
	action         Action
	providerID     string
	// step is the page of ActionPassword.
	step  string
	query url.Values
	// form has the fields of the body.
	form    Form
	body    wire.Body
	cookies wire.Jar
	specs   *wire.CookieSpecs
	// secure says that specs are those for https.
	secure bool
	// trusted says that server code makes the request, not a browser.
	trusted bool
	// named is the address or the name of an attempt that Config.Limit allowed.
	named string
	// attempt is what only the answer contains that a sign-in ends with: a state, the
	// token of a link or a challenge. It is empty for credentials, which may be sent
	// again.
	attempt string
	// retryURL is the page on which the person can type a wrong code again.
	retryURL string
	// answeredBy is the issuer that the answer of an OAuth provider names, or "".
	answeredBy string
	// foreign says that a page of another site may have made the browser send the
	// request, so that the request links no account to the user who is signed in.
	foreign bool
	// parameters are the caller's parameters for the authorization request of an
	// OAuth provider.
	parameters wire.Query

	// session is what the session cookies are worth.
	session sessionCookies

	provider    Provider
	csrf        wire.CSRF
	callbackURL string
	// pending are the cookies that precede those of the result. If the request
	// fails, some of them are still sent: see kept.
	pending []*http.Cookie
}

// parameter returns the last value of a query parameter, as Auth.js does.
func (r *request) parameter(name string) string {
	if v := r.query[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// submitted returns a field of the body or, if the body does not have it, of
// the query.
func (r *request) submitted(name string) string {
	if _, ok := r.form[name]; ok {
		return r.form.Get(name)
	}
	return r.parameter(name)
}

// parse turns an HTTP request into a request for an action. The body is read
// later, see readBody.
func (e *engine) parse(hr *http.Request) (*request, error) {
	if hr.Method != http.MethodGet && hr.Method != http.MethodHead && hr.Method != http.MethodPost {
		return nil, notAllowed{&Error{Type: ErrUnknownAction, Message: "only GET, HEAD and POST are supported", client: true}}
	}
	action, provider, ok := splitPath(hr.URL.EscapedPath(), e.basePath)
	if !ok || action == ActionPassword && e.password == nil {
		return nil, &Error{Type: ErrUnknownAction, Message: "no action has this path"}
	}
	r := e.newRequest(hr, action)
	if r.providerID = provider; action == ActionPassword {
		r.step, r.providerID = provider, e.password.id()
	}
	if len(hr.URL.RawQuery) > maxQuery || strings.Count(hr.URL.RawQuery, "&") >= wire.MaxValues {
		return nil, &Error{Type: ErrUnknownAction, Message: "the query is too long"}
	}
	r.query, r.parameters = hr.URL.Query(), wire.ParseQuery(hr.URL.RawQuery)
	return r, nil
}

// notAllowed is the error for a method that no route has (RFC 9110 section
// 15.5.6).
type notAllowed struct{ error }

func (n notAllowed) Unwrap() error { return n.error }

// newRequest makes a request from the parts of an HTTP request that do not
// depend on its path.
func (e *engine) newRequest(hr *http.Request, action Action) *request {
	origin := e.site.originOf(hr)
	secure := strings.HasPrefix(origin, "https:")
	if e.config.UseSecureCookies != nil {
		secure = *e.config.UseSecureCookies
	}
	r := &request{http: hr, method: hr.Method, head: hr.Method == http.MethodHead, origin: origin, action: action, specs: &e.cookies.plain, cookies: wire.ParseJar(hr.Header["Cookie"])}
	if r.head {
		r.method = http.MethodGet
	}
	if secure {
		r.specs, r.secure = &e.cookies.secure, true
	}
	r.target = origin + hr.URL.EscapedPath()
	if hr.URL.RawQuery != "" {
		r.target += "?" + hr.URL.RawQuery
	}
	return r
}

// splitPath finds action and provider in an escaped path.
func splitPath(path, basePath string) (action Action, provider string, ok bool) {
	rest, ok := strings.CutPrefix(path, basePath)
	if !ok || rest == "" || rest[0] != '/' {
		return "", "", false
	}
	segments := strings.FieldsFunc(rest, func(c rune) bool { return c == '/' })
	if len(segments) == 0 || len(segments) > 2 || !IsAuthAction(segments[0]) {
		return "", "", false
	}
	action = Action(segments[0])
	if len(segments) == 1 {
		return action, "", true
	}
	switch action {
	case ActionSignIn, ActionCallback, ActionWebAuthnOptions, ActionPassword:
	default:
		return "", "", false
	}
	if segments[1] != "undefined" { // a script without a provider sends this
		provider = segments[1]
	}
	return action, provider, true
}

// ownFields are the members of a JSON body that this package itself uses.
var ownFields = map[string]bool{"csrfToken": true, "callbackUrl": true, "email": true, "action": true, "code": true, "data": true, "signal": true, "id": true, "op": true, "name": true}

// readBody parses the body of a POST. The origin of the request is checked
// before. The body of r.http can be read again afterwards.
func (r *request) readBody(limit int64) error {
	body, err := wire.ReadBody(r.http, limit, ownFields)
	if err != nil {
		return err
	}
	if r.body = body; body.Raw != nil {
		r.http, r.form = r.withBody(r.http.Context()), body.Fields
	}
	return nil
}

// wholeForm returns all submitted fields, for the application.
func (r *request) wholeForm() (Form, error) {
	switch {
	case r.body.IsJSON:
		form, err := r.body.Members()
		return form, ours(err)
	case r.form == nil:
		return Form{}, nil
	}
	return r.form, nil
}

// withBody returns the HTTP request with an unread body, for the application. A
// body that this package did not read is not changed.
func (r *request) withBody(ctx context.Context) *http.Request {
	hr := r.http.WithContext(ctx)
	if r.body.Raw == nil {
		return hr
	}
	hr.Body = io.NopCloser(bytes.NewReader(r.body.Raw))
	hr.ContentLength = int64(len(r.body.Raw))
	return hr
}

// isSecure reports whether cookies that no other host can set are for https: if
// the origin is https or Config.UseSecureCookies is true. The second matters
// behind a server that ends TLS, where the request looks like plain http.
func (r *request) isSecure() bool { return r.secure || strings.HasPrefix(r.origin, "https:") }

// begun returns the browser of a request, with what it began.
func (e *engine) begun(r *request) *began.Browser {
	return &began.Browser{
		Sealer: e.sealer, Jar: r.cookies, Cookies: r.specs, Secure: r.isSecure(),
		Log: func(message string, attrs ...slog.Attr) { e.debug(r.http.Context(), message, attrs...) },
	}
}

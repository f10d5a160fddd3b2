package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Action is the first part of the path below the base path.
type Action string

// The actions. See docs/protocol.md, "Routes".
const (
	ActionCallback        Action = "callback"
	ActionCSRF            Action = "csrf"
	ActionError           Action = "error"
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
	case ActionCallback, ActionCSRF, ActionError, ActionProviders, ActionSession, ActionSignIn, ActionSignOut,
		ActionVerifyRequest, ActionWebAuthnOptions:
		return true
	}
	return false
}

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
	query          url.Values
	// form is the parsed body. raw is the body as bytes, or nil if it was not
	// read. data is the member data of the body, as JSON.
	form    Form
	raw     []byte
	data    json.RawMessage
	cookies cookies
	specs   *cookieSpecs
	// secure says that specs are those for https.
	secure bool
	// isJSON says that the body is JSON, of which form has only some members.
	isJSON bool
	// trusted says that server code makes the request, not a browser.
	trusted bool
	// answeredBy is the issuer that the answer of an OAuth provider names, or "".
	answeredBy string
	// foreign says that a page of another site may have made the browser send the
	// request, so that the request links no account to the user who is signed in.
	foreign bool
	// parameters are the caller's parameters for the authorization request of an
	// OAuth provider.
	parameters orderedQuery

	provider    Provider
	csrf        csrf
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
	if !ok {
		return nil, &Error{Type: ErrUnknownAction, Message: "no action has this path"}
	}
	r := e.newRequest(hr, action)
	r.providerID = provider
	if len(hr.URL.RawQuery) > maxQuery || strings.Count(hr.URL.RawQuery, "&") >= maxValues {
		return nil, &Error{Type: ErrUnknownAction, Message: "the query is too long"}
	}
	r.query, r.parameters = hr.URL.Query(), parseQuery(hr.URL.RawQuery)
	return r, nil
}

// notAllowed is the error for a method that no route has (RFC 9110 section
// 15.5.6).
type notAllowed struct{ error }

func (n notAllowed) Unwrap() error { return n.error }

// newRequest makes a request from the parts of an HTTP request that do not
// depend on its path.
func (e *engine) newRequest(hr *http.Request, action Action) *request {
	origin := e.origin
	if origin == "" {
		origin = requestOrigin(hr)
	}
	secure := strings.HasPrefix(origin, "https:")
	if e.config.UseSecureCookies != nil {
		secure = *e.config.UseSecureCookies
	}
	r := &request{http: hr, method: hr.Method, head: hr.Method == http.MethodHead, origin: origin, action: action, specs: &e.cookies.plain, cookies: parseCookies(hr.Header["Cookie"])}
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
	var segments []string
	for s := range strings.SplitSeq(rest, "/") {
		if s != "" {
			segments = append(segments, s)
		}
	}
	if len(segments) == 0 || len(segments) > 2 || !IsAuthAction(segments[0]) {
		return "", "", false
	}
	action = Action(segments[0])
	if len(segments) == 1 {
		return action, "", true
	}
	switch action {
	case ActionSignIn, ActionCallback, ActionWebAuthnOptions:
	default:
		return "", "", false
	}
	if segments[1] != "undefined" { // a script without a provider sends this
		provider = segments[1]
	}
	return action, provider, true
}

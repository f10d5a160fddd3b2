package auth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// Result is the outcome of a request, before it becomes an HTTP response, as Raw
// returns it.
type Result struct {
	// Status is the status code; zero means 302 with a Location, else 200.
	Status int
	// Header holds all headers except Set-Cookie and Location.
	Header http.Header
	// Location is where the browser is redirected to, or empty.
	Location string
	// Cookies are to be set in this order. Their values are already
	// percent-encoded.
	Cookies []*http.Cookie
	Body    []byte

	// signal tells a script that asked for it about the passkeys of the user.
	signal *passkeySignal
}

// Send writes the result as the response. It does not report a failure to
// write, which means that the client is gone.
func (r *Result) Send(w http.ResponseWriter) {
	h := w.Header()
	if (r.Location != "" || len(r.Cookies) > 0) && r.Header["Cache-Control"] == nil && mayBeShared(h) {
		forbidSharing(h)
	}
	maps.Copy(h, r.Header)
	if r.Location != "" {
		h["Location"] = []string{wire.ASCIIURL(r.Location)}
	}
	r.SendCookies(w)
	w.WriteHeader(r.status())
	_, _ = w.Write(r.Body)
}

// SendCookies adds the cookies to the response. It changes no other header,
// unless one says that a shared cache may store the response.
func (r *Result) SendCookies(w http.ResponseWriter) {
	h := w.Header()
	if len(r.Cookies) > 0 && r.Header["Cache-Control"] == nil && mayBeShared(h) {
		forbidSharing(h)
	}
	for _, c := range r.Cookies {
		h["Set-Cookie"] = append(h["Set-Cookie"], wire.FormatCookie(c))
	}
}

func (r *Result) status() int {
	switch {
	case r.Status != 0:
		return r.Status
	case r.Location != "":
		return http.StatusFound
	}
	return http.StatusOK
}

// Response returns the result as a response to the request.
func (r *Result) Response(req *http.Request) *http.Response {
	h := r.Header.Clone()
	if h == nil {
		h = http.Header{}
	}
	if r.Location != "" {
		h["Location"] = []string{wire.ASCIIURL(r.Location)}
	}
	for _, c := range r.Cookies {
		h["Set-Cookie"] = append(h["Set-Cookie"], wire.FormatCookie(c))
	}
	status := r.status()
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(bytes.NewReader(r.Body)), ContentLength: int64(len(r.Body)), Request: req,
	}
}

// Header values that are the same for every response are shared; no code may
// change these slices.
var (
	jsonContent = []string{"application/json"}
	htmlContent = []string{"text/html"}
	noCache     = []string{"private, no-cache, no-store"}
	noStore     = []string{"private, no-store"}
	expiresZero = []string{"0"}
	pragma      = []string{"no-cache"}
)

func jsonHeader() http.Header { return http.Header{"Content-Type": jsonContent} }

func uncachedJSONHeader() http.Header {
	return http.Header{"Content-Type": jsonContent, "Cache-Control": noCache, "Expires": expiresZero, "Pragma": pragma}
}

// redirectAsJSON is the body for a script that sends the header
// X-Auth-Return-Redirect: in place of a redirect, it gets an object with the
// target of the redirect.
func redirectAsJSON(location string, signal *passkeySignal) []byte {
	b, _ := wire.JSON(struct {
		URL    string         `json:"url"`
		Signal *passkeySignal `json:"signal,omitempty"`
	}{location, signal}) // texts always encode
	return b
}

// redirectTo is a result that redirects the browser.
func redirectTo(location string) *Result { return &Result{Location: location} }

// failed logs an error and returns the result for it, which sends the browser
// to the page that shows the error.
func (e *engine) failed(r *request, err error) *Result {
	e.logError(r.http.Context(), err)
	if r.method == http.MethodPost && r.action == ActionSession {
		return &Result{Status: http.StatusBadRequest, Header: jsonHeader(), Body: []byte("null")}
	}
	if errors.Is(err, ErrTooManyAttempts) {
		result := e.look.tooManyAttempts(r.http, err, e.signInURL(r))
		result.Cookies = e.keepTyped(r)
		return result
	}
	result := &Result{Location: e.errorURL(r, err)}
	if storeFailed(err) {
		result = e.unavailable(r.http, result.Location)
	} else if r.wantsJSON() {
		result = &Result{Status: http.StatusOK, Header: jsonHeader(), Body: redirectAsJSON(result.Location, nil)}
	}
	result.Cookies = e.kept(r)
	if t, ours := typeOf(err); ours && t.onSignInPage() {
		result.Cookies = append(result.Cookies, e.keepTyped(r)...)
	}
	return result
}

// keepTyped returns the cookie with which the sign-in page shows once more what the
// person typed into a form that was refused.
func (e *engine) keepTyped(r *request) []*http.Cookie {
	typed := began.Typed{Name: r.form.Get("email")}
	if r.method != http.MethodPost || r.provider == nil || r.wantsJSON() {
		return nil
	}
	switch p := r.provider.(type) {
	case *Credentials:
		typed.Name = p.typedName(r.form)
	case *Email, *Password:
	default:
		return nil
	}
	typed.Provider = r.provider.id()
	c, err := e.begun(r).KeepTyped(typed)
	if err != nil {
		e.logError(r.http.Context(), err) // the page shows an empty field
	}
	if c == nil {
		return nil
	}
	return []*http.Cookie{c}
}

// storeFailed reports whether a request failed because the store did, or because too
// many passwords wait to be hashed.
func storeFailed(err error) bool {
	if _, busy := errors.AsType[*passwords.Busy](err); busy {
		return true
	}
	t, _ := typeOf(err)
	return !t.shownToClient() && errors.Is(err, ErrAdapter) && !errors.Is(err, adapter.ErrUnsupported)
}

// unavailable answers a request that failed because the store did: with status
// 503 and a page, or for a script an object whose member url is the page for the
// error. If the application has its own error page, the browser is sent there.
func (e *engine) unavailable(hr *http.Request, location string) *Result {
	var result *Result
	switch {
	case AsksForJSON(hr):
		result = &Result{Header: uncachedJSONHeader(), Body: redirectAsJSON(location, nil)}
	case e.config.Pages.Error != "":
		return &Result{Location: location, Header: http.Header{"Cache-Control": noCache}}
	default:
		result = unavailablePage(e.look.of(hr))
	}
	result.Status = http.StatusServiceUnavailable
	result.Header["Retry-After"] = []string{"5"}
	return result
}

// unavailablePage is the page of a site whose store can't be asked.
func unavailablePage(look *pages.Look) *Result {
	page := pages.Error{Look: look, Type: string(ErrAdapter)}
	result := privatePage(page.Render(), page.Status())
	result.Header["Retry-After"] = []string{"5"}
	return result
}

// refused is a page for a request that is refused with a status.
func (l looks) refused(hr *http.Request, status int) *Result {
	return privatePage(pages.Refused{Look: l.of(hr), Status: status}.Render(), status)
}

// Refuse answers a request that is refused with a status: with a page in the look
// of the pages without a theme, or with an object whose member message says so.
func Refuse(w http.ResponseWriter, r *http.Request, status int) { plainLooks().refuse(w, r, status) }

func (l looks) refuse(w http.ResponseWriter, r *http.Request, status int) {
	if !AsksForJSON(r) {
		l.refused(r, status).Send(w)
		return
	}
	body, _ := wire.JSON(struct { // text always encodes
		Message string `json:"message"`
	}{pages.RefusedInEnglish(status)})
	(&Result{Status: status, Header: uncachedJSONHeader(), Body: body}).Send(w)
}

// kept are the cookies that are sent although a request failed: those that
// delete a cookie, so that a used check can't be used again, and the callback
// URL, for the next attempt.
func (e *engine) kept(r *request) []*http.Cookie {
	var kept []*http.Cookie
	if r.head {
		return nil
	}
	for _, c := range r.pending {
		if c.MaxAge < 0 || c.Name == r.specs.CallbackURL.Name && r.callbackURL != e.config.home(r.origin) {
			kept = append(kept, c)
		}
	}
	return kept
}

// errorURL is the URL of the page for an error.
func (e *engine) errorURL(r *request, err error) string {
	t, ours := typeOf(err)
	query := "error=Configuration"
	switch {
	case errors.Is(err, ErrProviderUnavailable):
		query = "error=" + string(ErrProviderUnavailable)
	case ours && t.shownToClient(), ofClient(err), t == ErrEmailSignIn:
		query = "error=" + string(t)
	case storeFailed(err):
		query = "error=" + string(ErrAdapter)
	}
	if code := codeOf(t, err); ours && code != "" {
		query += "&code=" + wire.QueryEscape(code)
	}
	if t == ErrVerification && r.retryURL != "" {
		return wire.WithQuery(r.retryURL, query)
	}
	action, page := ActionError, e.config.Pages.Error
	if ours && t.onSignInPage() {
		action, page = ActionSignIn, e.config.Pages.SignIn
	}
	if page == "" {
		return wire.WithQuery(e.url(r, action), query)
	}
	return wire.WithQuery(r.absolute(page), query)
}

// codeOf is the code that the client is told in addition to the type of an
// error, or empty.
func codeOf(t ErrorType, err error) string {
	x, ok := errors.AsType[*Error](err)
	switch {
	case t != ErrCredentialsSignin && t != ErrWebAuthnVerification:
		return ""
	case ok && x.Code != "":
		return x.Code
	case t == ErrCredentialsSignin:
		return defaultCode
	}
	return ""
}

// absolute is the URL of a page that is given as a path or a URL.
func (r *request) absolute(page string) string {
	if strings.HasPrefix(page, "/") {
		return r.origin + page
	}
	return page
}

// misconfigured is the result for a request that can't be served: a page if the
// browser asked for a page, and otherwise a message as JSON.
func (e *engine) misconfigured(r *request) *Result {
	page := r.method == http.MethodGet
	switch r.action {
	case ActionSignIn, ActionSignOut, ActionError, ActionVerifyRequest:
	default:
		page = false
	}
	if !page && asksForPage(r.http) {
		return e.look.refused(r.http, http.StatusInternalServerError)
	}
	if !page {
		const body = `{"message":"There was a problem with the server configuration. Check the server logs for more information."}`
		return &Result{Status: http.StatusInternalServerError, Header: jsonHeader(), Body: []byte(body)}
	}
	if custom := e.config.Pages.Error; custom != "" {
		if !strings.HasPrefix(r.parameter("callbackUrl"), custom) {
			return redirectTo(wire.WithQuery(r.absolute(custom), "error=Configuration"))
		}
		e.logError(r.http.Context(), &Error{Type: ErrErrorPageLoop, Message: "Pages.Error leads back to itself"})
	}
	return html(pages.Error{Look: e.look.of(r.http), Type: "Configuration"}.Render(), http.StatusInternalServerError)
}

// html is the result for a page.
func html(p pages.Rendered, status int) *Result {
	h := http.Header{"Content-Type": htmlContent, "Content-Security-Policy": {p.ContentSecurityPolicy}}
	if p.Caching.ByHeader {
		h["Vary"] = []string{"Accept-Language"}
	}
	if p.Caching.ByRequest {
		h["Cache-Control"] = noStore
	}
	return &Result{Status: status, Body: p.HTML, Header: h}
}

// htmlWithToken is the result for a page. If its forms contain the CSRF token
// of the browser, no cache may store the page.
func (r *request) htmlWithToken(p pages.Rendered) *Result {
	result := html(p, http.StatusOK)
	if r.csrf.Token != "" && bytes.Contains(p.HTML, []byte(r.csrf.Token)) {
		result.Header["Cache-Control"] = noStore
	}
	return result
}

// newLanguages completes the texts of a configuration.
func newLanguages(c *Config, log func(ctx context.Context, err error)) (pages.Languages, error) {
	var choose func(*http.Request) string
	if c.Language != nil {
		choose = func(hr *http.Request) string {
			ctx := hr.Context()
			tag, err := guard(ctx, func(_ context.Context, hr *http.Request) (string, error) { return c.Language(hr), nil }, hr)
			if err != nil {
				log(ctx, err)
			}
			return tag
		}
	}
	return pages.NewLanguages(c.Texts, choose)
}

// newLooks returns a function that makes the look of the pages when the first
// page is shown.
func newLooks(c *Config, origin string, languages pages.Languages) looks {
	return sync.OnceValue(func() *pages.Looks {
		brands := map[string]pages.Brand{}
		for _, p := range c.Providers {
			if p, ok := p.(*OAuth); ok && p != nil {
				brands[p.id()] = pages.Brand{Color: cmp.Or(p.Style.BrandColor, p.Style.Bg), Text: p.Style.Text}
			}
		}
		t := c.Theme
		return pages.NewLooks(pages.Theme{
			Name: t.Name, Origin: origin, ColorScheme: string(t.ColorScheme), Logo: t.Logo, BrandColor: t.BrandColor, ButtonText: t.ButtonText,
		}, brands, languages)
	})
}

package auth

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// Session returns the session of a request, made to any path of the site, or
// nil if nobody is signed in. An error means that the store could not be read
// or that a callback failed; a session that is not valid is not an error.
//
// The result is what Callbacks.Session returned. If its User has no ID, the ID
// is filled in; the client sees the ID only if the callback sets it. A session
// without a User is not signed in. A database session is extended when that is
// due. Cookies are not renewed: see Refresh.
func (h *Handler) Session(r *http.Request) (*Session, error) {
	if l := h.loaded(r.Context()); l != nil {
		l.read.Store(true)
		return l.get()
	}
	return h.read(r, nil, access{noCookies: true})
}

// Refresh does what Session does, and renews the cookies of the browser. Call
// it before anything is written to the response. If it
// sets cookies, it makes Cache-Control private. If somebody is signed in, one more
// line of Cache-Control, whose name is in lower case, keeps the response out of
// shared caches, whatever the handler sets; Private removes it where it is not
// needed.
func (h *Handler) Refresh(w http.ResponseWriter, r *http.Request) (*Session, error) {
	if l := h.loaded(r.Context()); l != nil && l.renewed {
		l.read.Store(true)
		return l.get()
	}
	return h.read(r, w, access{})
}

// UpdateSession passes data, as JSON, to Callbacks.JWT or Callbacks.Session
// with TriggerUpdate, as if the client had asked for a change, and renews the
// cookies. It returns the session as Session does. It is unstable_update of
// Auth.js.
func (h *Handler) UpdateSession(w http.ResponseWriter, r *http.Request, data any) (*Session, error) {
	update, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	session, err := h.read(r, w, access{trigger: TriggerUpdate, update: update})
	if l := h.loaded(r.Context()); l != nil {
		l.set(session, err)
	}
	return session, err
}

func (h *Handler) read(hr *http.Request, w http.ResponseWriter, a access) (*Session, error) {
	e := h.engine
	if hr.Method == http.MethodHead { // it changes nothing
		a.noCookies, a.peek = true, true
	}
	read := e.session(hr.Context(), e.newRequest(hr, ActionSession), a)
	if w != nil {
		if len(read.cookies) > 0 { // no cache may hand them to somebody else
			forbidSharing(w.Header())
		}
		(&Result{Cookies: read.cookies}).SendCookies(w)
		if len(read.cookies) > 0 || read.session != nil {
			guardPrivate(w.Header())
		}
	}
	if read.err != nil {
		return nil, read.err
	}
	if read.session == nil {
		return nil, nil
	}
	session := *read.session
	switch {
	case e.config.Callbacks.Session == nil:
		session.User = read.user
	case session.User == nil:
		session.UserID = "" // nobody is signed in
	case session.User.ID == "":
		session.User = session.User.withID(read.user.ID)
	}
	return &session, nil
}

// SignInOptions are the options of Handler.SignIn.
type SignInOptions struct {
	// RedirectTo is where the browser goes in the end; the default is the page
	// that the request came from, or /. It passes through Callbacks.Redirect.
	RedirectTo string
	// Form holds the fields that the user submitted, such as email, or the fields
	// of a credentials provider.
	Form url.Values
	// AuthorizationParams are further parameters of the authorization request
	// of an OAuth provider. Nothing of the request itself is sent to the provider.
	AuthorizationParams url.Values
	// DangerouslySkipOriginCheck signs in for any request, also if a page
	// of another site made the browser send it.
	DangerouslySkipOriginCheck bool
}

// SignIn signs in from server code, such as the handler of an application's own
// form. The caller sends the result, which redirects the browser and sets
// cookies. If provider is empty or is not configured, the result redirects to
// the sign-in page. If the sign-in fails, the error is an *Error.
//
// Credentials are checked, and mails are sent, only for a POST that comes from
// this site, as SameOrigin or the field csrfToken of Form shows (see
// CSRFToken). For another POST the error is an *Error of type ErrMissingCSRF.
// Any other method leads to the sign-in page. A sign-in with an OAuth provider
// starts with any request. If neither SameOrigin nor the token nor the Referer
// header shows that a page of this site made the browser send the request, the
// sign-in links no new account to the user who is signed in: another site may
// have signed the browser in at the provider as somebody else.
func (h *Handler) SignIn(hr *http.Request, provider string, o SignInOptions) (*Result, error) {
	e := h.engine
	action := ActionSignIn
	if p := e.byID[provider]; p != nil && p.kind() == TypeCredentials {
		action = ActionCallback
	}
	r, err := e.serverRequest(hr, action, o.RedirectTo)
	if err != nil {
		return nil, err
	}
	p := e.byID[provider]
	changes := p != nil && p.kind() != TypeOAuth && p.kind() != TypeOIDC && !o.DangerouslySkipOriginCheck
	if p == nil || changes && hr.Method != http.MethodPost {
		return e.sendToPage(r, ActionSignIn, e.config.Pages.SignIn)
	}
	if changes {
		if err := h.fromThisSite(hr, o.Form.Get("csrfToken")); err != nil {
			return nil, err
		}
	}
	r.providerID = provider
	r.foreign = !o.DangerouslySkipOriginCheck && !h.beganHere(hr, r.origin, o.Form.Get("csrfToken"))
	for _, name := range slices.Sorted(maps.Keys(o.AuthorizationParams)) {
		for _, v := range o.AuthorizationParams[name] {
			r.parameters.Add(name, v)
		}
	}
	for name, v := range o.Form {
		if len(v) > 0 && name != "callbackUrl" {
			r.form[name] = v[len(v)-1]
		}
	}
	return e.serve(r)
}

// SignOut signs the browser out, from server code. The caller sends the result,
// which redirects to the URL to. This URL passes through Callbacks.Redirect; if
// it is empty, the default is the page that the request came from, or /.
//
// Only a POST that comes from this site signs out, as SameOrigin or the field
// csrfToken of a form that the caller has parsed shows. For another POST the
// error is an *Error of type ErrMissingCSRF. Any other method leads to the
// sign-out page, which asks the user.
func (h *Handler) SignOut(hr *http.Request, to string) (*Result, error) {
	e := h.engine
	r, err := e.serverRequest(hr, ActionSignOut, to)
	if err != nil {
		return nil, err
	}
	if hr.Method != http.MethodPost {
		return e.sendToPage(r, ActionSignOut, e.config.Pages.SignOut)
	}
	if err := h.fromThisSite(hr, hr.PostForm.Get("csrfToken")); err != nil {
		return nil, err
	}
	return e.serve(r)
}

// sendToPage redirects the browser to the page of an action, or to the
// application's own page for it. The query parameter callbackUrl says where the
// browser goes afterwards: a path of the site, or the result of
// Callbacks.Redirect for a URL, because the Referer header may name another
// site.
func (e *engine) sendToPage(r *request, action Action, page string) (*Result, error) {
	page = cmp.Or(page, e.url(r, action))
	to := r.form.Get("callbackUrl")
	if to != onSite(to) {
		var err error
		if to, err = e.resolveCallbackURL(r.http.Context(), r.origin, to, ""); err != nil {
			return nil, err
		}
	}
	return redirectTo(wire.WithQuery(page, "callbackUrl="+wire.QueryEscape(to))), nil
}

// fromThisSite calls MayChange, unless Config.SkipCSRFCheck turns the
// protection off.
func (h *Handler) fromThisSite(hr *http.Request, csrfToken string) error {
	if h.engine.config.SkipCSRFCheck == SkipCSRFCheck {
		return nil
	}
	err := h.MayChange(hr, csrfToken)
	if err != nil {
		h.engine.logError(hr.Context(), err)
	}
	return err
}

// beganHere reports whether a page of this site made the browser send a
// request, which may be a GET. Origin is the origin of the site. The Referer
// header is used only if the browser does not send Sec-Fetch-Site: it may name
// this site although another site redirected the browser.
func (h *Handler) beganHere(hr *http.Request, origin, csrfToken string) bool {
	e := h.engine
	switch {
	case e.config.SkipCSRFCheck == SkipCSRFCheck && hr.Method == http.MethodPost, e.site.sameOrigin(hr) == nil, h.MayChange(hr, csrfToken) == nil:
		return true
	}
	return len(hr.Header["Sec-Fetch-Site"]) == 0 && strings.HasPrefix(hr.Referer(), origin+"/")
}

// serverRequest is a POST that server code makes for the browser of a request.
func (e *engine) serverRequest(hr *http.Request, action Action, to string) (*request, error) {
	r := e.newRequest(hr, action)
	if err := e.site.trusts(r.http, r.origin); err != nil {
		return nil, err
	}
	to = cmp.Or(to, hr.Referer(), e.config.Home, "/")
	r.method, r.trusted, r.form = http.MethodPost, true, Form{"callbackUrl": to}
	return r, nil
}

// serve calls act for a request of server code.
func (e *engine) serve(r *request) (*Result, error) {
	result, err := e.act(r)
	if err != nil {
		e.logError(r.http.Context(), err)
		return nil, err
	}
	result.Cookies = append(r.pending, result.Cookies...)
	return result, nil
}

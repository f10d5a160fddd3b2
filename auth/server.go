package auth

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Session returns the session of a request, made to any path of the site, or
// nil if nobody is signed in. An error means that the store could not be asked
// or that a callback failed; a session that is void is not an error.
//
// Callbacks.Session has made the result. Its User has the ID always, which the
// client is shown only if the callback sets it. A database session is extended
// when that is due; cookies are not renewed, see Refresh.
func (h *Handler) Session(r *http.Request) (*Session, error) {
	if l := h.loaded(r.Context()); l != nil {
		return l.get()
	}
	return h.read(r, nil, access{readOnly: true})
}

// Refresh is Session, and renews the cookies of the browser. It must be called
// before anything is written.
func (h *Handler) Refresh(w http.ResponseWriter, r *http.Request) (*Session, error) {
	if l := h.loaded(r.Context()); l != nil && l.renewed {
		return l.get()
	}
	return h.read(r, w, access{})
}

// UpdateSession hands data to Callbacks.JWT or Callbacks.Session with
// TriggerUpdate, as a client does that asks for a change, and renews the
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
	read := e.session(hr.Context(), e.newRequest(hr, ActionSession), a)
	if w != nil {
		if len(read.cookies) > 0 { // no cache may hand them to somebody else
			w.Header().Set("Cache-Control", "private")
			w.Header().Add("Vary", "Cookie")
		}
		(&Result{Cookies: read.cookies}).SendCookies(w)
	}
	if read.err != nil {
		return nil, read.err
	}
	session := read.session
	switch {
	case session == nil:
		return nil, nil
	case e.config.Callbacks.Session == nil || session.User == nil:
		full := *session
		full.User = read.user
		session = &full
	case session.User.ID == "":
		full := *session
		full.User = session.User.withID(read.user.ID)
		session = &full
	}
	return session, nil
}

// SignInOptions are the options of Handler.SignIn.
type SignInOptions struct {
	// RedirectTo is where the browser goes in the end; the default is the page
	// that the request came from, or /. It passes through Callbacks.Redirect.
	RedirectTo string
	// Form is what the user submitted, such as the field email, or those of a
	// credentials provider.
	Form url.Values
	// AuthorizationParams are further parameters of the authorization request
	// of an OAuth provider. Nothing of the request itself is sent to the provider.
	AuthorizationParams url.Values
	// DangerouslySkipOriginCheck signs in for any request, also if a page
	// of another site made the browser send it.
	DangerouslySkipOriginCheck bool
}

// SignIn signs in from server code, such as the handler of a form of the
// application's own. The result, to be sent, redirects the browser and sets
// cookies. Without a provider, or with one that is not configured, it leads to
// the sign-in page. A sign-in that fails is an *Error.
//
// Credentials are checked, and mails sent, for a POST of this site only: SameOrigin
// says so, or the field csrfToken of Form (see CSRFToken). Another POST is an
// *Error of type ErrMissingCSRF, and any other method leads to the sign-in page.
// A sign-in with an OAuth provider starts with any request. Unless a page of this
// site made the browser send it, as SameOrigin or the Referer header says, it links no
// new account to who is signed in: another site may have signed the browser in at the
// provider as somebody else.
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
			r.parameters.add(name, v)
		}
	}
	for name, v := range o.Form {
		if len(v) > 0 && name != "callbackUrl" {
			r.form[name] = v[len(v)-1]
		}
	}
	return e.serve(r)
}

// SignOut signs the browser out, from server code. The result, to be sent,
// redirects to a URL that passes through Callbacks.Redirect; the default is the
// page that the request came from, or /.
//
// Only a POST of this site signs out: SameOrigin says so, or the field csrfToken
// of a form that the caller has parsed. Another POST is an *Error of type
// ErrMissingCSRF, and any other method leads to the page that asks.
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

// sendToPage sends the browser to the page of an action, or to that of the
// application, which is told where to go afterwards: a path of the site, or what
// Callbacks.Redirect makes of a URL, since the Referer header may name another site.
func (e *engine) sendToPage(r *request, action Action, page string) (*Result, error) {
	if page == "" {
		page = e.url(r, action)
	}
	to := r.form.Get("callbackUrl")
	if to != onSite(to) {
		var err error
		if to, err = e.resolveCallbackURL(r.http.Context(), r.origin, to, ""); err != nil {
			return nil, err
		}
	}
	return redirectTo(withQuery(page, "callbackUrl="+queryEscape(to))), nil
}

// fromThisSite is MayChange, where the protection is not off.
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

// beganHere reports whether a page of this site, whose origin it is, made the browser
// send a request, which may be a GET. The Referer header counts in browsers that don't
// send Sec-Fetch-Site; in others it may be of this site although another one redirected.
func (h *Handler) beganHere(hr *http.Request, origin, csrfToken string) bool {
	e := h.engine
	switch {
	case e.config.SkipCSRFCheck == SkipCSRFCheck && hr.Method == http.MethodPost, e.sameOrigin(hr) == nil, h.MayChange(hr, csrfToken) == nil:
		return true
	}
	return len(hr.Header["Sec-Fetch-Site"]) == 0 && strings.HasPrefix(hr.Referer(), origin+"/")
}

// serverRequest is a POST that server code makes for the browser of a request.
func (e *engine) serverRequest(hr *http.Request, action Action, to string) (*request, error) {
	r := e.newRequest(hr, action)
	if err := e.trusts(r.http, r.origin); err != nil {
		return nil, err
	}
	if to == "" {
		to = hr.Referer()
	}
	if to == "" {
		to = "/"
	}
	r.method, r.trusted, r.form = http.MethodPost, true, Form{"callbackUrl": to}
	return r, nil
}

// serve is act for a request of server code.
func (e *engine) serve(r *request) (*Result, error) {
	result, err := e.act(r)
	if err != nil {
		e.logError(r.http.Context(), err)
		return nil, err
	}
	result.Cookies = append(r.pending, result.Cookies...)
	return result, nil
}

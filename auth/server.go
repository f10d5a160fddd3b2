package auth

import (
	"encoding/json"
	"net/http"
	"net/url"
)

// Session returns the session of a request, made to any path of the site, or
// nil if nobody is signed in. The error is that of a store that could not be
// asked, or of a callback; a session that is void is no error.
//
// The result is that of Callbacks.Session. Its User has the ID always, which the
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
// specification section 4.4.
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
	// of an OAuth provider.
	AuthorizationParams url.Values
}

// SignIn signs in from server code, such as the handler of a form of the
// application's own. The result, to be sent, redirects the browser and sets
// cookies. Without a provider, or with one that is not configured, it leads to
// the sign-in page. A sign-in that fails is an *Error.
//
// The CSRF check is the caller's: whoever can make the caller call SignIn signs
// the browser in.
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
	if e.byID[provider] == nil {
		page := e.config.Pages.SignIn
		if page == "" {
			page = e.url(r, ActionSignIn)
		}
		return redirectTo(withQuery(page, "callbackUrl="+queryEscape(r.form.Get("callbackUrl")))), nil
	}
	r.providerID, r.query = provider, o.AuthorizationParams
	for name, v := range o.Form {
		if len(v) > 0 && name != "callbackUrl" {
			r.form[name] = v[len(v)-1]
		}
	}
	return e.serve(r)
}

// SignOut signs the browser out, from server code. The result, to be sent,
// redirects to a URL that passes through Callbacks.Redirect; the default is the
// page that the request came from, or /. The CSRF check is the caller's.
func (h *Handler) SignOut(hr *http.Request, to string) (*Result, error) {
	r, err := h.engine.serverRequest(hr, ActionSignOut, to)
	if err != nil {
		return nil, err
	}
	return h.engine.serve(r)
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

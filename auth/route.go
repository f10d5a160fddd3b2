package auth

import (
	"net/http"
	"net/url"
	"strings"
)

// Serves reports whether the path of a request belongs to a route of the
// handler, so that the application may answer all other requests itself.
func (h *Handler) Serves(r *http.Request) bool {
	_, _, ok := splitPath(r.URL.EscapedPath(), h.engine.basePath)
	return ok
}

// IsSignInPage reports whether a request is for the page that SendToSignIn
// leads to, which must not itself require a sign-in.
func (h *Handler) IsSignInPage(r *http.Request) bool {
	page := h.engine.config.Pages.SignIn
	if page == "" {
		page = h.engine.basePath + "/" + string(ActionSignIn)
	}
	page, _, _ = strings.Cut(strings.TrimPrefix(page, h.engine.origin), "?")
	page, _, _ = strings.Cut(page, "#")
	return wholePath(r) == page
}

// wholePath is the path that the browser asked for, also behind
// http.StripPrefix.
func wholePath(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") {
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
			return u.Path
		}
	}
	return r.URL.Path
}

// Fail answers a request for which SignIn, SignOut or UpdateSession returned an
// error. For an error of type ErrMissingCSRF, which means that no page of this
// site made the request, the status is 403. For any other error it redirects
// the browser, with status 303, to the page that shows the error, as the routes
// do. A client that asks for JSON gets status 200 and an object whose member
// url is the URL of that page.
func (h *Handler) Fail(w http.ResponseWriter, hr *http.Request, err error) {
	e := h.engine
	if t, ours := typeOf(err); ours && t == ErrMissingCSRF {
		result := Result{Status: http.StatusForbidden, Header: uncachedJSONHeader(), Body: []byte(`{"message":"The request does not come from this site."}`)}
		if !AsksForJSON(hr) {
			result.Header["Content-Type"], result.Body = []string{"text/plain; charset=utf-8"}, []byte("The request does not come from this site.\n")
		}
		result.Send(w)
		return
	}
	location := e.errorURL(e.newRequest(hr, ActionSignIn), err)
	if AsksForJSON(hr) {
		(&Result{Header: uncachedJSONHeader(), Body: redirectAsJSON(location, nil)}).Send(w)
		return
	}
	(&Result{Status: http.StatusSeeOther, Location: location, Header: http.Header{"Cache-Control": noCache}}).Send(w)
}

package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Handler serves the routes below the base path and reads sessions. It is safe
// for concurrent use. A program needs to make it only once.
type Handler struct{ engine *engine }

// New compiles a configuration. Values that it lacks are taken from the
// environment of the process: AUTH_SECRET, AUTH_URL, AUTH_TRUST_HOST,
// AUTH_REDIRECT_PROXY_URL, and for each provider AUTH_<ID>_ID,
// AUTH_<ID>_SECRET, AUTH_<ID>_ISSUER and AUTH_<ID>_KEY. NEXTAUTH_SECRET and
// NEXTAUTH_URL are other names of the first two; see docs/protocol.md,
// "Environment". All problems of the configuration are reported at once, each
// as an *Error in the joined error. The configuration is copied; the providers,
// callbacks and adapter in it are used as they are.
func New(config Config) (*Handler, error) {
	e, problems := compile(inferred(config), unshared)
	e.site.trustsLoopback = config.TrustHost == nil
	if problems = append(e.config.checkSecrets(), problems...); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	e.warnAtStart(context.Background())
	return &Handler{e}, nil
}

// ServeHTTP serves a route. The path of the request must include the base path.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.engine.handle(r).Send(w)
}

// Auth serves one request with a configuration that it compiles for this
// request. Problems of the configuration are logged and answered with status
// 500. Unlike New, it reads no environment and does not trust loopback hosts by
// default; see SetEnvDefaults. Calls with the same secret and the same URL
// share the state that must outlive a request, such as the checks that are
// spent.
func Auth(r *http.Request, config Config) *http.Response {
	e := compileFor(r, config)
	return e.handle(r).Response(r)
}

// Raw does the same as Auth, for authors of framework integrations: it returns
// the result before it becomes a response. An *Error, also one about the
// configuration such as ErrMissingSecret, is returned and not turned into an
// answer, unless the request has the header X-Auth-Return-Redirect.
func Raw(r *http.Request, config Config) (*Result, error) {
	e := compileFor(r, config)
	return e.run(r)
}

// Serves reports whether the path of a request belongs to a route of the
// handler, so that the application may answer all other requests itself.
func (h *Handler) Serves(r *http.Request) bool {
	action, _, ok := splitPath(r.URL.EscapedPath(), h.engine.basePath)
	return ok && (action != ActionPassword || h.engine.password != nil)
}

// IsSignInPage reports whether a request is for the page that SendToSignIn
// leads to, which must not itself require a sign-in.
func (h *Handler) IsSignInPage(r *http.Request) bool {
	page := cmp.Or(h.engine.config.Pages.SignIn, h.engine.basePath+"/"+string(ActionSignIn))
	page, _, _ = strings.Cut(strings.TrimPrefix(page, h.engine.site.origin), "?")
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
// url is the URL of that page. If the store failed, the status is 503, and a
// browser gets a page.
func (h *Handler) Fail(w http.ResponseWriter, hr *http.Request, err error) {
	e := h.engine
	if t, ours := typeOf(err); ours && t == ErrMissingCSRF {
		e.look.refuse(w, hr, http.StatusForbidden)
		return
	}
	location := e.errorURL(e.newRequest(hr, ActionSignIn), err)
	if storeFailed(err) {
		e.unavailable(hr, location).Send(w)
		return
	}
	if AsksForJSON(hr) {
		(&Result{Header: uncachedJSONHeader(), Body: redirectAsJSON(location, nil)}).Send(w)
		return
	}
	(&Result{Status: http.StatusSeeOther, Location: location, Header: http.Header{"Cache-Control": noCache}}).Send(w)
}

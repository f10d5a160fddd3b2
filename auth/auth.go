package auth

import (
	"context"
	"errors"
	"net/http"
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
	e.trustLoopback = config.TrustHost == nil
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

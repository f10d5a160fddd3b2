package auth

import "net/http"

// SameOrigin reports why a request may not change anything: its browser does
// not say that a page of this site made it. It is for requests that carry no
// CSRF token, such as the form of a page of the application's own whose handler
// calls SignIn or SignOut. The error is an *Error of type ErrMissingCSRF, to be
// answered with status 403.
//
// A browser says so by the header Sec-Fetch-Site, which no page can set: it must
// be same-origin; a page of a sibling domain is same-site only. From a browser
// that does not send it, the header Origin must be that of Config.URL or, where
// that is not set, the one that the request was made to, if it is trusted.
func (h *Handler) SameOrigin(r *http.Request) error { return h.engine.sameOrigin(r) }

// MayChange reports why a request may not sign in or out, or update a session:
// it must be no GET, and either carry our CSRF token, which is passed as it was
// submitted, or pass SameOrigin.
func (h *Handler) MayChange(hr *http.Request, csrfToken string) error {
	switch hr.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return &Error{Type: ErrMissingCSRF, Message: "a " + hr.Method + " changes nothing"}
	}
	e := h.engine
	if csrfToken != "" {
		r := e.newRequest(hr, ActionCSRF)
		spec := &r.specs.csrf
		if c, _, err := checkCSRF(e.csrfKeys, e.config.Random, spec, r.cookies.get(spec.name), http.MethodPost, csrfToken); err == nil && c.verified {
			return nil
		}
	}
	return e.sameOrigin(hr)
}

func (e *engine) sameOrigin(hr *http.Request) error {
	refused := &Error{Type: ErrMissingCSRF, Message: "the request does not come from a page of this site"}
	if site := hr.Header["Sec-Fetch-Site"]; len(site) > 0 {
		if len(site) == 1 && site[0] == "same-origin" {
			return nil
		}
		return refused
	}
	own := e.origin
	if own == "" {
		own = requestOrigin(hr)
		if err := e.trusts(hr, own); err != nil {
			return err
		}
	}
	if origin := hr.Header["Origin"]; len(origin) != 1 || origin[0] != own {
		return refused
	}
	return nil
}

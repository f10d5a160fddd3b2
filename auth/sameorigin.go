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

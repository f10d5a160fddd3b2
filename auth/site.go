package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// site says which origin requests are made to, and which origins are trusted.
type site struct {
	// origin is the origin of Config.URL, or empty.
	origin string
	// origins are those of Config.Origins.
	origins []string
	// trustHost is Config.TrustHost.
	trustHost *bool
	// trustsLoopback says that loopback hosts are trusted.
	trustsLoopback bool
}

// SameOrigin returns an error if a request may not change anything, because its
// browser does not say that a page of this site made it. It is for requests
// without a CSRF token, such as those of an application's own form whose
// handler calls SignIn or SignOut. The error is an *Error of type
// ErrMissingCSRF, or of type ErrUntrustedHost if the origin of the request is
// not trusted. Answer it with status 403.
//
// A browser says so with the header Sec-Fetch-Site, which no page can set. The
// header must be same-origin; for a page of a sibling domain it is same-site.
// If a browser does not send this header, the header Origin must be the origin
// of Config.URL. If Config.URL is not set, Origin must be the origin that the
// request was made to, and that origin must be trusted or one of Config.Origins.
func (h *Handler) SameOrigin(r *http.Request) error { return h.engine.site.sameOrigin(r) }

// MayChange returns an error if a request may not sign in or out, or update a
// session. The method must not be GET, HEAD, OPTIONS or TRACE. Also, either
// csrfToken, the token that was submitted, must be our valid CSRF token, or the
// request must pass SameOrigin.
func (h *Handler) MayChange(hr *http.Request, csrfToken string) error {
	switch hr.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return &Error{Type: ErrMissingCSRF, Message: hr.Method + " requests must not change anything"}
	}
	e := h.engine
	if csrfToken != "" {
		r := e.newRequest(hr, ActionCSRF)
		spec := &r.specs.CSRF
		if c, _, err := wire.CheckCSRF(e.csrfKeys, e.config.Random, spec, r.cookies.Get(spec.Name), http.MethodPost, csrfToken); err == nil && c.Verified {
			return nil
		}
	}
	return e.site.sameOrigin(hr)
}

func (s *site) sameOrigin(hr *http.Request) error {
	refused := &Error{Type: ErrMissingCSRF, Message: "the request does not come from a page of this site"}
	if site := hr.Header["Sec-Fetch-Site"]; len(site) > 0 {
		if len(site) == 1 && site[0] == "same-origin" {
			return nil
		}
		return refused
	}
	own := s.originOf(hr)
	if err := s.trusts(hr, own); err != nil {
		return err
	}
	origin := hr.Header["Origin"]
	if len(origin) != 1 {
		return refused
	}
	if u, err := url.Parse(origin[0]); err != nil || wire.OriginOf(u) != own || u.Path != "" || u.User != nil {
		return refused
	}
	return nil
}

// FromThisMachine reports whether a request comes from a program on this
// machine, under whatever Host header, and not through a proxy. Any header that
// only proxies send makes a request one from elsewhere, such as X-Forwarded-For,
// Via or a name that ends with Client-IP, unless such headers name the client and
// every address and host in them is of this machine.
func FromThisMachine(r *http.Request) bool { return wire.FromThisMachine(r) }

// originOf is the origin of the site for a request: that of Config.URL, that of
// Config.Origins with the host of the request, or the one that the request was made
// to, which trusts may refuse.
func (s *site) originOf(hr *http.Request) string {
	if s.origin != "" {
		return s.origin
	}
	made := wire.RequestOrigin(hr)
	_, host, _ := strings.Cut(made, "://")
	for _, listed := range s.origins {
		if scheme, _, _ := strings.Cut(listed, "://"); wire.OriginOf(&url.URL{Scheme: scheme, Host: host}) == listed {
			return listed
		}
	}
	return made
}

// trusts returns an error if the origin of a request may not be used.
func (s *site) trusts(hr *http.Request, origin string) error {
	if len(s.origins) > 0 {
		if slices.Contains(s.origins, origin) {
			return nil
		}
		return &Error{Type: ErrUntrustedHost, Message: "the Host header has the host of none of Config.Origins", client: true}
	}
	if s.trustHost != nil && *s.trustHost || s.origin != "" {
		return nil
	}
	if s.trustsLoopback && wire.IsLoopback(origin) {
		if wire.FromThisMachine(hr) {
			return nil
		}
		return &Error{Type: ErrUntrustedHost, Message: "the Host header names this machine, but the request comes from another: set Config.URL (AUTH_URL)"}
	}
	return &Error{Type: ErrUntrustedHost, Message: "the Host header is not trusted: set Config.URL (AUTH_URL), or Config.TrustHost if the header is checked before it gets here"}
}

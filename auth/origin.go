package auth

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// requestOrigin is the origin that the request was made to: that of its URL,
// or else, in a server, that of the connection and the Host header.
func requestOrigin(hr *http.Request) string {
	if hr.URL.Host != "" && hr.URL.Scheme != "" {
		return originOf(hr.URL)
	}
	scheme := "http"
	if hr.TLS != nil {
		scheme = "https"
	}
	return originOf(&url.URL{Scheme: scheme, Host: hr.Host})
}

// isLoopback reports whether the origin is one that only this machine has.
func isLoopback(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// trusts reports why the origin may not be used.
func (e *engine) trusts(origin string) error {
	c := &e.config
	if c.TrustHost != nil && *c.TrustHost || e.origin != "" || e.trustLoopback && isLoopback(origin) {
		return nil
	}
	return &Error{Type: ErrUntrustedHost, Message: "the Host header is not trusted: set Config.URL (AUTH_URL), or Config.TrustHost if the header is checked before it gets here"}
}

// originOf is scheme, host and, unless it is the scheme's own, port.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch scheme := strings.ToLower(u.Scheme); scheme {
	case "http":
		return "http://" + strings.TrimSuffix(host, ":80")
	case "https":
		return "https://" + strings.TrimSuffix(host, ":443")
	default:
		return scheme + "://" + host
	}
}

package auth

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// requestOrigin is the origin that the request was made to: the origin of its
// URL if the URL has a host. Otherwise, as in a server, the connection gives
// the scheme and the Host header gives the host.
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

// isLoopback reports whether the host of the origin is always this machine:
// localhost, a name that ends in .localhost, or a loopback address.
func isLoopback(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// fromLoopback reports whether a request comes from a program on this machine,
// and not through a proxy that forwards the requests of others. The Host header
// alone proves nothing: anybody can send it. A request without RemoteAddr was
// made in this process.
func fromLoopback(hr *http.Request) bool {
	if hr.RemoteAddr != "" && !loopbackAddress(hr.RemoteAddr) || len(hr.Header["Forwarded"]) > 0 {
		return false
	}
	for _, host := range hr.Header["X-Forwarded-Host"] {
		if !isLoopback("http://" + host) {
			return false
		}
	}
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "X-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip"} {
		for _, list := range hr.Header[name] {
			for address := range strings.SplitSeq(list, ",") {
				if !loopbackAddress(strings.TrimSpace(address)) {
					return false
				}
			}
		}
	}
	return true
}

// loopbackAddress reports whether an IP address, which may have a port, is a
// loopback address.
func loopbackAddress(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip := net.ParseIP(strings.Trim(address, "[]"))
	return ip != nil && ip.IsLoopback()
}

// trusts returns an error if the origin of a request may not be used.
func (e *engine) trusts(hr *http.Request, origin string) error {
	c := &e.config
	if c.TrustHost != nil && *c.TrustHost || e.origin != "" {
		return nil
	}
	if e.trustLoopback && isLoopback(origin) {
		if fromLoopback(hr) {
			return nil
		}
		return &Error{Type: ErrUntrustedHost, Message: "the Host header names this machine, but the request comes from another: set Config.URL (AUTH_URL)"}
	}
	return &Error{Type: ErrUntrustedHost, Message: "the Host header is not trusted: set Config.URL (AUTH_URL), or Config.TrustHost if the header is checked before it gets here"}
}

// onLoopback reports whether the site that a request is made to can be reached
// from this machine only. If hr is nil, it reports this for all requests that
// will be served.
func (e *engine) onLoopback(hr *http.Request) bool {
	switch {
	case e.origin != "":
		return isLoopback(e.origin)
	case hr != nil:
		return isLoopback(requestOrigin(hr)) && fromLoopback(hr)
	}
	return e.trustLoopback
}

// originOf is the origin of a URL: scheme, host, and the port unless it is the
// default port of the scheme.
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

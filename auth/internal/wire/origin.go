package wire

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// RequestOrigin is the origin that the request was made to: the origin of its
// URL if the URL has a host. Otherwise, as in a server, the connection gives
// the scheme and the Host header gives the host.
func RequestOrigin(hr *http.Request) string {
	if hr.URL.Host != "" && hr.URL.Scheme != "" {
		return OriginOf(hr.URL)
	}
	scheme := "http"
	if hr.TLS != nil {
		scheme = "https"
	}
	return OriginOf(&url.URL{Scheme: scheme, Host: hr.Host})
}

// IsLoopback reports whether the host of the origin is always this machine:
// localhost, a name that ends in .localhost, or a loopback address.
func IsLoopback(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// OriginOf is the origin of a URL: scheme, host, and the port unless it is the
// default port of the scheme.
func OriginOf(u *url.URL) string {
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

// HostOf is the host of an origin without its port.
func HostOf(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

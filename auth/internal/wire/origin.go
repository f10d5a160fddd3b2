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

// FromLoopback reports whether a request comes from a program on this machine,
// and not through a proxy that forwards the requests of others. The Host header
// alone proves nothing: anybody can send it. A request without RemoteAddr was
// made in this process.
func FromLoopback(hr *http.Request) bool {
	if hr.RemoteAddr != "" && !loopbackAddress(hr.RemoteAddr) || len(hr.Header["Forwarded"]) > 0 {
		return false
	}
	for _, host := range hr.Header["X-Forwarded-Host"] {
		if !IsLoopback("http://" + host) {
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

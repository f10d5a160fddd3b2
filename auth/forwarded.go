package auth

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ForwardedURL returns the scheme and the host of a request as the browser sees
// them: those of X-Forwarded-Proto and X-Forwarded-Host, or of the request
// itself without these headers. A header with one value counts as it is, as the
// nearest proxy writes it. If a header has several values, that of the outermost
// trusted proxy counts, which Config.TrustedProxyCount or TrustedProxies of c
// says; without these settings the error names the header. If the connection
// does not come from one of TrustedProxies, no header is read.
func ForwardedURL(r *http.Request, c Config) (*url.URL, error) {
	u := &url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	n := c.TrustedProxyCount
	if n <= 0 && len(c.TrustedProxies) > 0 {
		if !c.trusts(parseAddress(r.RemoteAddr)) {
			return u, nil
		}
		n = c.hopsOf(r.Header)
	}
	proto, err := forwarded(r.Header, "X-Forwarded-Proto", n)
	if err != nil {
		return nil, err
	}
	host, err := forwarded(r.Header, "X-Forwarded-Host", n)
	if err != nil {
		return nil, err
	}
	if proto != "" {
		u.Scheme = strings.ToLower(proto)
	}
	if host != "" {
		u.Host = host
	}
	parsed, err := url.Parse(u.Scheme + "://" + u.Host)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || parsed.Host != u.Host || u.Host == "" {
		return nil, &Error{Type: ErrUntrustedHost, Message: "X-Forwarded-Proto or X-Forwarded-Host is malformed", client: true}
	}
	return u, nil
}

// hopsOf is the number of proxies of TrustedProxies, in a row, through which a
// request with the headers came. The last of them, which sent it, is trusted.
func (c *Config) hopsOf(h http.Header) int {
	n := 1
	for _, said := range slices.Backward(forwardedValues(h, "X-Forwarded-For")) {
		if !c.trusts(parseAddress(said)) {
			break
		}
		n++
	}
	return n
}

// trusts reports whether an address is in one of TrustedProxies.
func (c *Config) trusts(a netip.Addr) bool {
	return a.IsValid() && slices.ContainsFunc(c.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// forwarded returns the value of a header that the outermost of n trusted
// proxies has written, or "".
func forwarded(h http.Header, name string, n int) (string, error) {
	values := forwardedValues(h, name)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) == 1:
		return values[0], nil
	case n <= 0:
		return "", &Error{Type: ErrUntrustedHost, Message: fmt.Sprintf("%s has several values: set Config.TrustedProxyCount, or Config.TrustedProxies", name), client: true}
	case n > len(values):
		return "", &Error{Type: ErrUntrustedHost, Message: fmt.Sprintf("%s has %d values, fewer than the proxies that are trusted", name, len(values)), client: true}
	}
	return values[len(values)-n], nil
}

// forwardedValues returns the values of a header in which each proxy appends one.
func forwardedValues(h http.Header, name string) []string {
	var values []string
	for _, line := range h[name] {
		for value := range strings.SplitSeq(line, ",") {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

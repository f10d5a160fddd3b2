package wire

import (
	"fmt"
	"net/url"
	"strings"
)

// IsWebURL reports whether s is an absolute http(s) URL or begins with a slash.
func IsWebURL(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	if s[0] == '/' {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// WithQuery appends parameters to a URL that may already have some.
func WithQuery(page, query string) string {
	if strings.Contains(page, "?") {
		return page + "&" + query
	}
	return page + "?" + query
}

// QueryEscape escapes a query value as URLSearchParams of JavaScript does.
func QueryEscape(s string) string { return formEscape.Replace(url.QueryEscape(s)) }

var formEscape = strings.NewReplacer("~", "%7E", "%2A", "*")

// ASCIIURL percent-encodes the bytes that must not be in a header.
func ASCIIURL(s string) string {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if c := s[i]; c > ' ' && c < 0x7f {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
}

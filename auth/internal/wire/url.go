package wire

import (
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
	const hex = "0123456789ABCDEF"
	var b []byte
	for i := range len(s) {
		c := s[i]
		if c > ' ' && c < 0x7f {
			if b != nil {
				b = append(b, c)
			}
			continue
		}
		if b == nil {
			b = append(make([]byte, 0, len(s)+16), s[:i]...)
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	if b == nil {
		return s
	}
	return string(b)
}

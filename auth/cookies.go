package auth

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// cookieSpec is a cookie without its value.
type cookieSpec struct {
	name string
	// key names the cookie in the debug log, if the cookie appears there.
	key      string
	template http.Cookie
}

// cookieSpecs has all cookies of a configuration, for either http or https.
type cookieSpecs struct {
	session, callbackURL, csrf, pkce, state, nonce, challenge cookieSpec
}

func newCookieSpecs(c *Cookies, secure bool) cookieSpecs {
	prefix, host := "", ""
	if secure {
		prefix, host = "__Secure-", "__Host-"
	}
	const check = 15 * time.Minute
	specs := cookieSpecs{
		session:     newCookieSpec(prefix+"authjs.session-token", 0, c.SessionToken, secure),
		callbackURL: newCookieSpec(prefix+"authjs.callback-url", 0, c.CallbackURL, secure),
		csrf:        newCookieSpec(host+"authjs.csrf-token", 0, c.CSRFToken, secure),
		pkce:        newCookieSpec(prefix+"authjs.pkce.code_verifier", check, c.PKCECodeVerifier, secure),
		state:       newCookieSpec(prefix+"authjs.state", check, c.State, secure),
		nonce:       newCookieSpec(prefix+"authjs.nonce", 0, c.Nonce, secure),
		challenge:   newCookieSpec(prefix+"authjs.challenge", check, c.WebAuthnChallenge, secure),
	}
	specs.pkce.key, specs.state.key, specs.nonce.key, specs.challenge.key = "PKCECODEVERIFIER", "STATE", "NONCE", "WEBAUTHNCHALLENGE"
	return specs
}

func newCookieSpec(name string, maxAge time.Duration, c CookieConfig, secure bool) cookieSpec {
	t := http.Cookie{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, MaxAge: int(maxAge / time.Second)}
	if c.Name != "" {
		name = c.Name
	}
	if c.Path != "" {
		t.Path = c.Path
	}
	if c.SameSite != 0 {
		t.SameSite = c.SameSite
	}
	if c.HTTPOnly != nil {
		t.HttpOnly = *c.HTTPOnly
	}
	if c.Secure != nil {
		t.Secure = *c.Secure
	}
	if c.MaxAge != 0 {
		t.MaxAge = int(c.MaxAge / time.Second)
	}
	t.Domain, t.Partitioned = c.Domain, c.Partitioned
	if c.Priority != "" {
		t.Unparsed = []string{"Priority=" + c.Priority} // http.Cookie has no field for it
	}
	return cookieSpec{name: name, template: t}
}

// set returns the cookie with a value, which it percent-encodes.
func (s *cookieSpec) set(value string) *http.Cookie { return s.setNamed(s.name, value) }

func (s *cookieSpec) setNamed(name, value string) *http.Cookie {
	c := s.template
	c.Name, c.Value = name, encodeURIComponent(value)
	return &c
}

// clear returns a cookie that deletes the cookie called name.
func (s *cookieSpec) clear(name string) *http.Cookie {
	c := s.template
	c.Name, c.Value, c.MaxAge = name, "", -1
	return &c
}

// formatCookie returns the Set-Cookie header for a cookie, with the attributes
// in the order of Auth.js. Names and attributes were checked when the
// configuration was compiled; values are percent-encoded.
func formatCookie(c *http.Cookie) string {
	b := make([]byte, 0, len(c.Name)+len(c.Value)+len(c.Path)+len(c.Domain)+120)
	b = append(append(append(b, c.Name...), '='), c.Value...)
	switch {
	case c.MaxAge > 0:
		b = strconv.AppendInt(append(b, "; Max-Age="...), int64(c.MaxAge), 10)
	case c.MaxAge < 0:
		b = append(b, "; Max-Age=0"...)
	}
	if c.Domain != "" {
		b = append(append(b, "; Domain="...), c.Domain...)
	}
	if c.Path != "" {
		b = append(append(b, "; Path="...), c.Path...)
	}
	if !c.Expires.IsZero() {
		b = c.Expires.UTC().AppendFormat(append(b, "; Expires="...), http.TimeFormat)
	}
	if c.HttpOnly {
		b = append(b, "; HttpOnly"...)
	}
	if c.Secure {
		b = append(b, "; Secure"...)
	}
	if c.Partitioned {
		b = append(b, "; Partitioned"...)
	}
	for _, attribute := range c.Unparsed {
		b = append(append(b, "; "...), attribute...)
	}
	switch c.SameSite {
	case http.SameSiteLaxMode:
		b = append(b, "; SameSite=Lax"...)
	case http.SameSiteStrictMode:
		b = append(b, "; SameSite=Strict"...)
	case http.SameSiteNoneMode:
		b = append(b, "; SameSite=None"...)
	case http.SameSiteDefaultMode: // no attribute
	}
	return string(b)
}

// cookies are the cookies of a request.
type cookies []jwt.Cookie

func parseCookies(headers []string) cookies {
	switch len(headers) {
	case 0:
		return nil
	case 1:
		return jwt.ParseCookies(headers[0])
	}
	return jwt.ParseCookies(strings.Join(headers, "; "))
}

// get returns the value of the cookie, or "".
func (l cookies) get(name string) string {
	for i := range l {
		if l[i].Name == name {
			return l[i].Value
		}
	}
	return ""
}

// sessionCookies replaces the session cookies called old by cookies that hold
// the value. An empty value only deletes them.
func (s *cookieSpec) sessionCookies(old []string, value string, expires time.Time) []*http.Cookie {
	var fresh []*http.Cookie
	for _, chunk := range jwt.SplitChunks(s.name, value) {
		c := s.setNamed(chunk.Name, chunk.Value)
		c.Expires = expires
		fresh = append(fresh, c)
	}
	if len(old) == 0 {
		return fresh
	}
	// The order is that of Auth.js: old names keep their places, new names follow.
	list := make([]*http.Cookie, 0, len(old)+len(fresh))
	for _, name := range old {
		list = append(list, s.clear(name))
	}
next:
	for _, c := range fresh {
		for i := range list {
			if list[i].Name == c.Name {
				list[i] = c
				continue next
			}
		}
		list = append(list, c)
	}
	return list
}

// encodeURIComponent escapes as the JavaScript function does.
func encodeURIComponent(s string) string {
	const hex = "0123456789ABCDEF"
	n := 0
	for i := range len(s) {
		if !unreserved[s[i]] {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; unreserved[c] {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// unreserved has the characters that encodeURIComponent does not escape. A
// table needs no branch that depends on the text, which makes it faster for a
// token of 600 characters.
var unreserved = func() (table [256]bool) {
	for c := range 256 {
		table[c] = c < 128 && (c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-_.!~*'()", byte(c)) >= 0)
	}
	return table
}()

func (s *cookieSpecs) all() []*cookieSpec {
	return []*cookieSpec{&s.session, &s.callbackURL, &s.csrf, &s.pkce, &s.state, &s.nonce, &s.challenge}
}

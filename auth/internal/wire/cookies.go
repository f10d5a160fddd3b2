package wire

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// CookieSpec is a cookie without its value.
type CookieSpec struct {
	Name string
	// Key names the cookie in the debug log, if the cookie appears there.
	Key      string
	Template http.Cookie
	// Elsewhere are the domains under which a browser may have the cookie from
	// before, other than that of Template; empty means this host.
	Elsewhere []string
}

// CookieSpecs has all cookies of a configuration, for either http or https.
type CookieSpecs struct {
	Session, CallbackURL, CSRF, PKCE, State, Nonce, Challenge CookieSpec
}

// NewCookieSpecs returns the cookies of Auth.js.
func NewCookieSpecs(secure bool) CookieSpecs {
	prefix, host := "", ""
	if secure {
		prefix, host = "__Secure-", "__Host-"
	}
	lax := func(name string, maxAge time.Duration) CookieSpec {
		return CookieSpec{Name: name, Template: http.Cookie{
			Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, MaxAge: int(maxAge / time.Second),
		}}
	}
	const check = 15 * time.Minute
	specs := CookieSpecs{
		Session:     lax(prefix+"authjs.session-token", 0),
		CallbackURL: lax(prefix+"authjs.callback-url", 0),
		CSRF:        lax(host+"authjs.csrf-token", 0),
		PKCE:        lax(prefix+"authjs.pkce.code_verifier", check),
		State:       lax(prefix+"authjs.state", check),
		Nonce:       lax(prefix+"authjs.nonce", 0),
		Challenge:   lax(prefix+"authjs.challenge", check),
	}
	specs.PKCE.Key, specs.State.Key, specs.Nonce.Key, specs.Challenge.Key = "PKCECODEVERIFIER", "STATE", "NONCE", "WEBAUTHNCHALLENGE"
	return specs
}

// All lists the cookies.
func (s *CookieSpecs) All() []*CookieSpec {
	return []*CookieSpec{&s.Session, &s.CallbackURL, &s.CSRF, &s.PKCE, &s.State, &s.Nonce, &s.Challenge}
}

// HostCookie is a cookie that no other host can set.
func HostCookie(name string, secure bool) CookieSpec {
	if secure {
		name = "__Host-" + name
	}
	return CookieSpec{Name: name, Template: http.Cookie{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure}}
}

// CookieChange changes the name and the attributes of a cookie; a zero field
// keeps what there is.
type CookieChange struct {
	Name        string
	Domain      string
	Path        string
	SameSite    http.SameSite
	HTTPOnly    *bool
	Secure      *bool
	MaxAge      time.Duration
	Partitioned bool
	Priority    string
}

// Apply makes a change.
func (s *CookieSpec) Apply(c CookieChange) {
	t := &s.Template
	s.Name = cmp.Or(c.Name, s.Name)
	t.Path = cmp.Or(c.Path, t.Path)
	t.SameSite = cmp.Or(c.SameSite, t.SameSite)
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
}

// Set returns the cookie with a value, which it percent-encodes.
func (s *CookieSpec) Set(value string) *http.Cookie { return s.SetNamed(s.Name, value) }

// SetNamed does the same for the cookie called name.
func (s *CookieSpec) SetNamed(name, value string) *http.Cookie {
	c := s.Template
	c.Name, c.Value = name, EncodeURIComponent(value)
	return &c
}

// Clear returns a cookie that deletes the cookie called name.
func (s *CookieSpec) Clear(name string) *http.Cookie {
	c := s.Template
	c.Name, c.Value, c.MaxAge = name, "", -1
	return &c
}

// FormatCookie returns the Set-Cookie header for a cookie, with the attributes
// in the order of Auth.js. Names and attributes were checked when the
// configuration was compiled; values are percent-encoded.
func FormatCookie(c *http.Cookie) string {
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

// Jar holds the cookies of a request.
type Jar []jwt.Cookie

// ParseJar parses the Cookie headers of a request.
func ParseJar(headers []string) Jar { return jwt.ParseCookies(strings.Join(headers, "; ")) }

// Get returns the value of the cookie, or "".
func (l Jar) Get(name string) string {
	for i := range l {
		if l[i].Name == name {
			return l[i].Value
		}
	}
	return ""
}

// Several reports whether there may be several values of the session cookie
// called name: two cookies of one name or, if chunked is set, a whole value
// beside chunks.
func (l Jar) Several(name string, chunked bool) bool {
	whole, chunks := false, false
	for i := range l {
		if _, ok := jwt.ChunkOf(l[i].Name, name); !ok {
			continue
		}
		if l[i].Ambiguous {
			return true
		}
		if l[i].Value != "" {
			whole, chunks = whole || l[i].Name == name, chunks || l[i].Name != name
		}
	}
	return chunked && whole && chunks
}

// maxCandidates is how many values of a cookie are considered. Whoever sends
// more gets none.
const maxCandidates = 4

// Candidates returns the different values of the session cookie called name in
// the Cookie headers of a request: each whole value, and what the first cookies
// of all chunks make up, the second ones, and so on. Chunks beside a whole value
// count only if chunked is set. There are none if there are too many, or if one
// is empty: something has emptied it.
func Candidates(headers []string, name string, chunked bool) []string {
	var whole []string
	chunks := map[int][]string{}
	for pair := range strings.SplitSeq(strings.Join(headers, "; "), ";") {
		for _, c := range jwt.ParseCookies(pair) {
			index, ok := jwt.ChunkOf(c.Name, name)
			switch {
			case !ok:
			case c.Name != name:
				chunks[index] = append(chunks[index], c.Value)
			case c.Value == "":
				return nil
			default:
				whole = append(whole, c.Value)
			}
		}
	}
	found := whole
	if chunked || len(whole) == 0 {
		indices := slices.Sorted(maps.Keys(chunks))
		n := len(chunks[0])
		for k := range n {
			var first, last strings.Builder // a shorter list belongs to the first values, or to the last ones
			for _, i := range indices {
				list := chunks[i]
				if k < len(list) {
					first.WriteString(list[k])
				}
				if j := k + len(list) - n; j >= 0 && j < len(list) {
					last.WriteString(list[j])
				}
			}
			found = append(found, first.String(), last.String())
		}
	}
	var different []string
	for _, value := range found {
		if !slices.Contains(different, value) {
			if different = append(different, value); len(different) > maxCandidates {
				return nil
			}
		}
	}
	return different
}

// Spread replaces the session cookies called old by cookies that hold
// the value. An empty value only deletes them. The cookies have Max-Age beside
// Expires: it does not depend on the clock of the browser (RFC 6265 section
// 4.1.2.2).
func (s *CookieSpec) Spread(old []string, value string, now, expires time.Time) []*http.Cookie {
	var fresh []*http.Cookie
	for _, chunk := range jwt.SplitChunks(s.Name, value) {
		c := s.SetNamed(chunk.Name, chunk.Value)
		c.Expires = expires
		if !expires.IsZero() && c.MaxAge == 0 {
			c.MaxAge = max(1, int(expires.Sub(now)/time.Second))
		}
		fresh = append(fresh, c)
	}
	if len(old) == 0 {
		return fresh
	}
	// The order is that of Auth.js: old names keep their places, new names follow.
	list := make([]*http.Cookie, 0, len(old)+len(fresh))
	for _, name := range old {
		list = append(list, s.Clear(name))
	}
	for _, c := range fresh {
		if at := slices.IndexFunc(list, func(old *http.Cookie) bool { return old.Name == c.Name }); at >= 0 {
			list[at] = c
		} else {
			list = append(list, c)
		}
	}
	return list
}

// IsTidy reports whether the cookies called names are exactly the cookies that
// hold the value, without chunks left over from a longer value.
func (s *CookieSpec) IsTidy(names []string, value string) bool {
	chunks := jwt.SplitChunks(s.Name, value)
	missing := func(c jwt.Cookie) bool { return !slices.Contains(names, c.Name) }
	return len(chunks) == len(names) && !slices.ContainsFunc(chunks, missing)
}

// EncodeURIComponent escapes as the JavaScript function does.
func EncodeURIComponent(s string) string {
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

// unreserved has the characters that EncodeURIComponent does not escape. A
// table needs no branch that depends on the text, which makes it faster for a
// token of 600 characters.
var unreserved = func() (table [256]bool) {
	for c := range 256 {
		table[c] = c < 128 && (c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || strings.IndexByte("-_.!~*'()", byte(c)) >= 0)
	}
	return table
}()

package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// A mail link contains a text. A MAC in the text says which provider the link
// is for. The browser that asked for the link keeps the name of the link in a
// cookie, and in this browser the link works at once. In any other browser a
// page asks first, so that neither a link scanner nor a stranger's link signs
// anybody in.

// linkFields returns the token and the address of a link. A mail program or a
// gateway may have decoded the link once or have escaped its ampersands (HTML);
// such a link still names its address. The query of a link from here has neither
// an @ in the address nor a slash in the callback URL, so one that has was
// decoded: a plus in it is a plus, and a percent sign may be one.
func (r *request) linkFields(p *Email) (token, email string) {
	if r.form["token"] != nil || r.form["email"] != nil {
		return r.submitted("token"), r.submitted("email")
	}
	query := map[string]string{}
	name := ""
	for part := range strings.SplitSeq(strings.ReplaceAll(r.http.URL.RawQuery, "&amp;", "&"), "&") {
		if key, value, ok := strings.Cut(part, "="); ok {
			name = key
			query[name] = value
		} else if name != "" { // an ampersand of the value
			query[name] += "&" + part
		}
	}
	decoded := strings.Contains(query["email"], "@") || strings.Contains(query["callbackUrl"], "/")
	value := func(name string) string {
		unescape := url.QueryUnescape
		if decoded {
			unescape = url.PathUnescape
		}
		v, err := unescape(query[name])
		if err != nil {
			return query[name]
		}
		return v
	}
	token, email = value("token"), value("email")
	if p.NormalizeIdentifier == nil { // no address that NormalizeEmail accepts has a space
		email = spaceAsPlus(email)
	}
	return token, email
}

// spaceAsPlus returns a text of a link in which a plus was decoded, which a
// query reads as a space.
func spaceAsPlus(text string) string { return strings.ReplaceAll(text, " ", "+") }

// secureBits is the number of random bits that make a text safe from guessing.
const secureBits = 128

// linkText is the text of a link. A link that has a code is the code and, behind
// it, the handle: see mailcode.go.
type linkText struct{ text, code, handle string }

// newLinkText makes the text of a link: 16 random bytes and a MAC of 16 bytes,
// in hexadecimal, or the result of Email.GenerateVerificationToken. If there
// are several e-mail providers, the MAC is appended to that result. A result with
// fewer than secureBits is a code.
func (e *engine) newLinkText(ctx context.Context, p *Email) (linkText, error) {
	key, code := p.verificationKeys(e.csrfKeys)[0], ""
	if p.Code {
		var err error
		if code, err = newCode(e.config.Random); err != nil {
			return linkText{}, err
		}
	}
	if p.GenerateVerificationToken != nil {
		text, err := guard(ctx, func(ctx context.Context, _ struct{}) (string, error) { return p.GenerateVerificationToken(ctx) }, struct{}{})
		switch {
		case err != nil:
			return linkText{}, err
		case textBits(text) < secureBits:
			code = text
		case e.emailProviders > 1:
			return linkText{text: text + "." + linkMAC(key, p.id(), text)}, nil
		default:
			return linkText{text: text}, nil
		}
	}
	random, err := wire.RandomHex(e.config.Random)
	if err != nil {
		return linkText{}, err
	}
	typed := typedCode(code)
	random = typed + random[:2*linkMACSize]
	text := random + linkMAC(key, p.id(), random)
	return linkText{text, code, text[len(typed):]}, nil
}

const linkMACSize = 16

// linkMAC binds a text to a provider.
func linkMAC(key, provider, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte("sign-in link\x00" + provider + "\x00" + text))
	return hex.EncodeToString(h.Sum(nil)[:linkMACSize])
}

// isOfAnother reports whether the MAC in a text is for another provider than p.
// The texts of Auth.js have no MAC.
func (e *engine) isOfAnother(text string, p *Email) bool {
	split := len(text) - 2*linkMACSize
	if split <= 0 {
		return false
	}
	said := text[split:]
	random := strings.TrimSuffix(text[:split], ".")
	for _, q := range e.config.Providers {
		q, ok := q.(*Email)
		if !ok || q.id() == p.id() {
			continue
		}
		for _, key := range q.verificationKeys(e.csrfKeys) {
			if hmac.Equal([]byte(said), []byte(linkMAC(key, q.id(), random))) {
				return true
			}
		}
	}
	return false
}

// textBits is the greatest number of random bits that a text of this length,
// made of such characters, can hold.
func textBits(text string) int {
	alphabet := 10.0
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9':
		case c >= 'a' && c <= 'f':
			alphabet = max(alphabet, 16)
		case c >= 'g' && c <= 'z':
			alphabet = max(alphabet, 36)
		default:
			alphabet = max(alphabet, 62)
		}
	}
	return int(float64(len(text)) * math.Log2(alphabet))
}

// linkCookie is the cookie that names the links that a browser asked for.
func (r *request) linkCookie() wire.CookieSpec { return wire.HostCookie("authjs.link", r.isSecure()) }

// maxLinks is how many links a browser remembers.
const maxLinks = 4

func linkName(text string) string {
	sum := sha256.Sum256([]byte("link\x00" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

func (r *request) links() []string {
	return strings.FieldsFunc(r.cookies.Get(r.linkCookie().Name), func(c rune) bool { return c == '.' })
}

// rememberLink returns the cookie of a browser that has asked for a link.
func (r *request) rememberLink(text string, maxAge time.Duration) *http.Cookie {
	links := append(r.links(), linkName(text))
	spec := r.linkCookie()
	c := spec.Set(strings.Join(links[max(0, len(links)-maxLinks):], "."))
	c.MaxAge = int(min(maxAge, defaultEmailMaxAge*7) / time.Second)
	return c
}

// mayUseLink reports whether a request may use up a link: the browser asked for
// the link and opens it now, or the user confirmed it.
func (r *request) mayUseLink(text string, codes []began.Code) (bool, error) {
	if r.method == http.MethodPost {
		return true, r.needCSRF()
	}
	links := r.links()
	asked := slices.Contains(links, linkName(text)) || slices.Contains(links, linkName(spaceAsPlus(text))) || asksFor(codes, text)
	return asked && !speculative(r.http.Header), nil
}

// speculative reports whether a browser or a mail program loads a page in
// advance, before anybody opens it, or as a part of another page.
func speculative(h http.Header) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		for _, word := range []string{"prefetch", "prerender", "preview"} {
			if strings.Contains(strings.ToLower(strings.Join(h.Values(name), ",")), word) {
				return true
			}
		}
	}
	for name, want := range map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"} {
		if slices.ContainsFunc(h.Values(name), func(v string) bool { return v != want }) {
			return true
		}
	}
	return false
}

// confirmLinkPage is the page that asks whether to use a link. To show it does
// not use up the link.
func (e *engine) confirmLinkPage(r *request, p *Email, text, email string) *Result {
	page := pages.ConfirmLink{
		Look: e.look.of(r.http), Email: email, SiteURL: r.origin, Action: e.providerURL(r, ActionCallback, p.id()), CSRFToken: r.csrf.Token,
		Fields: []pages.Posted{{Name: "token", Value: text}, {Name: "email", Value: email}, {Name: "callbackUrl", Value: r.callbackURL}},
	}
	return privatePage(page.Render(), http.StatusOK)
}

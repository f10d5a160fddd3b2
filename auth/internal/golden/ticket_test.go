package golden_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// ticketCookie matches the name of the cookie of a single sign-in.
var ticketCookie = regexp.MustCompile(`\.state\.[0-9a-f]{16}$`)

// linkCookie matches the name of the cookie that names the mail links that a
// browser requested.
var linkCookie = regexp.MustCompile(`^(__Host-)?authjs\.link$`)

// finishedCookie matches the name of the cookie that names the sign-ins that a
// browser finished.
var finishedCookie = regexp.MustCompile(`^(__Host-)?authjs\.finished$`)

// typedCookie matches the name of the cookie that keeps what was typed into a form
// that was refused.
var typedCookie = regexp.MustCompile(`^(__Host-)?authjs\.typed$`)

// setCookie is a Set-Cookie header, split into its parts.
type setCookie struct{ name, value, attributes string }

func splitSetCookie(line string) setCookie {
	name, rest, _ := strings.Cut(line, "=")
	value, attributes, _ := strings.Cut(rest, "; ")
	if plain, err := url.PathUnescape(value); err == nil {
		value = plain
	}
	return setCookie{name, value, attributes}
}

// withoutTickets removes from the cookies of a response those that Auth.js does
// not have, and checks their content.
func (r *replay) withoutTickets(cookies []string) []string {
	return slices.DeleteFunc(slices.Clone(cookies), func(line string) bool {
		switch c := splitSetCookie(line); {
		case linkCookie.MatchString(c.name):
			r.applied["A link is used up in the browser that requested it, or by a button"] = true
			r.checkLink(c)
		case typedCookie.MatchString(c.name):
			r.applied[ownPages] = true
		case finishedCookie.MatchString(c.name):
			r.applied["An answer that comes twice leads on"] = true
		case ticketCookie.MatchString(c.name):
			r.applied["Each sign-in has a state cookie of its own"] = true
			r.checkTicket(c, cookies)
		default:
			return false
		}
		return true
	})
}

// checkTicket checks that a ticket agrees with the other check cookies of the
// response, or that a deleted ticket was in the request.
func (r *replay) checkTicket(c setCookie, cookies []string) {
	if strings.HasPrefix(c.attributes, "Max-Age=0") {
		if !slices.Contains(r.sentCookies, c.name) {
			r.found(diff{"ticket", "one that the browser has is deleted", "one that it does not have"})
		}
		return
	}
	open := func(name, value string) auth.Claims {
		claims, err := jwt.Decode(jwt.DecodeParams{Token: value, Secrets: r.values.secrets, Salt: name, Now: r.clock})
		if err != nil {
			return nil
		}
		for _, own := range []string{"iat", "exp", "jti"} {
			delete(claims, own)
		}
		return claims
	}
	got := open(c.name, c.value)
	want := auth.Claims{}
	state := ""
	for _, line := range cookies {
		check := splitSetCookie(line)
		if !isCheckCookie(check.name) || ticketCookie.MatchString(check.name) {
			continue
		}
		claims := open(check.name, check.value)
		for _, name := range []string{"provider", "b", "u"} {
			if v := claims[name]; v != nil {
				want[name] = v
			}
		}
		value := claims.String("value")
		switch {
		case strings.Contains(check.name, "pkce"):
			want["pkce"] = value
		case strings.Contains(check.name, "nonce"):
			want["nonce"] = value
		default:
			state = value
			sum := sha256.Sum256([]byte(value))
			want["state"] = base64.RawURLEncoding.EncodeToString(sum[:])
			kept := regexp.MustCompile(`; Expires=[^;]*`).ReplaceAllString(check.attributes, "")
			r.check("ticket attributes", kept, c.attributes)
		}
	}
	if state == "" {
		state = "provider " + want.String("provider")
	}
	sum := sha256.Sum256([]byte(state))
	r.check("ticket name", hex.EncodeToString(sum[:8]), c.name[len(c.name)-16:])
	if back := got.String("callbackUrl"); back == "" || back != r.remembered(cookies) {
		r.found(diff{"ticket callbackUrl", r.values.show(r.remembered(cookies)), r.values.show(back)})
	}
	delete(got, "callbackUrl")
	r.check("ticket", map[string]any(want), map[string]any(got))
	if b := want.String("b"); !slices.Contains(r.marks(cookies, want.String("provider")), b) {
		r.found(diff{"ticket", "the hash of the browser's mark and of the server", b})
	}
}

// remembered returns the callback URL that the browser has after a response.
func (r *replay) remembered(cookies []string) string {
	isOf := func(name string) bool { return strings.Contains(name, "callback-url") || name == r.callbackName() }
	for _, line := range cookies {
		if c := splitSetCookie(line); isOf(c.name) {
			return c.value
		}
	}
	for _, c := range r.sent {
		if isOf(c.Name) {
			return c.Value
		}
	}
	return ""
}

// callbackName returns the configured name of the callback URL cookie, or "".
func (r *replay) callbackName() string {
	m := regexp.MustCompile(`"callbackUrl":\s*\{"name":\s*"([^"]+)"`).FindSubmatch(r.config["cookies"])
	if m == nil {
		return ""
	}
	return string(m[1])
}

// marks returns the hashes of the browser's marks, each hashed with the server
// of the provider.
func (r *replay) marks(cookies []string, provider string) []string {
	server := ""
	for _, p := range r.providers {
		if p, ok := p.(*auth.OAuth); ok && p.ID == provider {
			completed := *p
			if p.Complete != nil && p.Complete(&completed) != nil {
				continue
			}
			server = "\x00" + p.ClientID
			for _, raw := range []string{completed.Issuer, p.WellKnown, completed.Authorization.URL, completed.Token.URL} {
				where, _, _ := strings.Cut(raw, "?")
				server += "\x00" + where
			}
		}
	}
	var marks []string
	add := func(name, value string) {
		token, _, pair := strings.Cut(value, "|")
		if pair || strings.HasSuffix(name, "authjs.browser") {
			sum := sha256.Sum256([]byte("browser\x00" + token + server))
			marks = append(marks, base64.RawURLEncoding.EncodeToString(sum[:12]))
		}
	}
	for _, c := range r.sent {
		add(c.Name, c.Value)
	}
	for _, line := range cookies {
		c := splitSetCookie(line)
		add(c.name, c.value)
	}
	return marks
}

// checkLink checks that the link cookie of a browser names the mail link that
// it requested.
func (r *replay) checkLink(c setCookie) {
	if len(r.rec.emails) == 0 {
		r.found(diff{"link cookie", "none without a mail", "one"})
		return
	}
	sum := sha256.Sum256([]byte("link\x00" + text(object(r.rec.emails[len(r.rec.emails)-1]), "token")))
	names := strings.Split(c.value, ".")
	r.check("link cookie", base64.RawURLEncoding.EncodeToString(sum[:12]), names[len(names)-1])
	if rest, ok := strings.CutPrefix(c.attributes, "Max-Age="); !ok || !strings.Contains(rest, "; Path=/; HttpOnly;") || !strings.HasSuffix(rest, "; SameSite=Lax") ||
		strings.HasPrefix(c.name, "__Host-") != strings.Contains(rest, "; Secure;") {
		r.found(diff{"link cookie attributes", "Max-Age, Path=/, HttpOnly, SameSite=Lax, with __Host- also Secure", c.attributes})
	}
}

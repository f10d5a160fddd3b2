package auth_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// loose is a store whose address column takes texts for equal that fold alike in
// Unicode, as some collations do.
type loose struct{ capable }

func (s loose) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	for _, u := range s.users {
		if strings.EqualFold(u.Email, email) {
			return &u, nil
		}
	}
	return s.capable.GetUserByEmail(ctx, email)
}

// TestOneFoldingOfAddresses: the case of ASCII letters and the spelling of an
// international domain do not matter, and nothing else does not matter.
func TestOneFoldingOfAddresses(t *testing.T) {
	for _, c := range []struct {
		stored, given string
		same          bool
	}{
		{"viktor@corp.example", "Viktor@Corp.Example", true},
		{"Viktor@Corp.example", "Viktor@Corp.example", true},
		{"ada@b\u00fccher.example", "ada@xn--bcher-kva.example", true},
		{"ada@xn--bcher-kva.example", "ada@b\u00fccher.example", true},
		{"ada@xn--bcher-kva.example", "ADA@B\u00dcCHER.example", true},
		{"j\u00f6rg@x.example", "j\u00f6rg@X.example", true},
		{"viktor@corp.example", "vi\u212ator@corp.example", false},
		{"asa@corp.example", "a\u017fa@corp.example", false},
		{"j\u00f6rg@x.example", "J\u00d6RG@x.example", false},
		{"i\u0307da@x.example", "\u0130da@x.example", false},
		{"ada@strasse.example", "ada@stra\u00dfe.example", false},
		{"ada@corp.example", "ada@corp.example.example", false},
		{"ada@kelvin.example", "ada@\u212aelvin.example", false},
		{"ada@site.example", "ada@\u017fite.example", false},
		{"ada@home.example", "ada@\u210come.example", false},
		{"ada@b\u00fcck.example", "ada@b\u00fcc\u212a.example", false},
		{"ada@b\u00fccher.example", "ada@b\u00adücher.example", false},
		{"ada@b\u00fccher.example", "ada@b\u00fccher\u3002example", false},
		{"ada@b\u00fccher.example", "ada@b\u00fccher\uff61example", false},
		{"ada@b\u00fccher.example", "ada@bu\u0308cher.example", true},
		{"ada@\u03c3\u03bf\u03c6.example", "ada@\u03a3\u039f\u03a6.example", true},
	} {
		for _, collation := range []bool{false, true} {
			st := newStage(t, func(st *stage, c *auth.Config) {
				c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true
				if collation {
					c.Adapter = loose{st.store}
				}
			})
			st.store.users["u"] = adapter.User{ID: "u", Email: c.stored, EmailVerified: new(st.clock.Now())}
			st.idp.claims = func(m map[string]any) { m["email"], m["email_verified"] = c.given, true }
			b := newBrowser(t, st)
			st.at(b, "idp", "ada").wantLocation(t, origin)
			u := st.userOf(b)
			assert.Equalf(t, c.same, u.ID == "u", "%s signs in as %+v, and %s is stored", c.given, u, c.stored)
		}
	}
}

// TestMailGoesToTheStoredAddress: a person who types another spelling of an
// address is mailed at the stored one, and signs in as its user.
func TestMailGoesToTheStoredAddress(t *testing.T) {
	for stored, typed := range map[string]string{
		"ada@xn--bcher-kva.example": "Ada@B\u00fccher.example", "ada@b\u00fccher.example": "ada@xn--bcher-kva.example", "Ada@Corp.example": "Ada@Corp.example", "ada@corp.example": "ADA@corp.example",
	} {
		st := newStage(t, nil)
		st.store.users["u"] = adapter.User{ID: "u", Email: stored, EmailVerified: new(st.clock.Now())}
		b := newBrowser(t, st)
		b.post("/auth/signin/email", "email", typed)
		link := st.mail.last(t)
		assert.Equalf(t, stored, must(url.Parse(link))(t).Query().Get("email"), "%s: the link", typed)
		b.get(link).wantLocation(t, origin)
		assert.Equalf(t, "u", st.userOf(b).ID, "%s signs in as", typed)
	}
}

// TestAddressesThatAreNotWhatTheySeem: addresses that look like other addresses
// are refused, and honest ones are not.
func TestAddressesThatAreNotWhatTheySeem(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"ada@example.com": true, "ada-b@ex-ample.com": true, "j\u00fcrgen@b\u00fccher.example": true, "\uff41da@example.com": true,
		"-oProxyCommand=x@example.com": false, "=?utf-8?q?ada?=@example.com": false, "ada@example\u3002com": false, "ad\u3164a@example.com": false,
		"ad\u034fa@example.com": false, "ad\ufe0fa@example.com": false, "ada@example.com" + strings.Repeat(" ", 1<<20): false,
	} {
		_, err := auth.NormalizeEmail(address)
		assert.Equalf(t, ok, err == nil, "%.40q: got %v, want it accepted: %v", address, err, ok)
	}
}

// TestOneMailForOneAddress: a form names the victim's address and the
// attacker's, in each way that parsers may read differently. It sends at most
// one mail, whose link is for the address that the mail went to.
func TestOneMailForOneAddress(t *testing.T) {
	const evil = "mallory@evil.example"
	for name, r := range map[string]struct{ kind, body string }{
		"twice":             {"application/x-www-form-urlencoded", "email=" + victim + "&email=" + evil},
		"in a list":         {"application/json", `{"email":["` + victim + `","` + evil + `"]}`},
		"in an object":      {"application/json", `{"email":{"0":"` + victim + `","1":"` + evil + `"}}`},
		"a member twice":    {"application/json", `{"email":"` + victim + `","email":"` + evil + `"}`},
		"with brackets":     {"application/x-www-form-urlencoded", "email[]=" + victim + "&email[]=" + evil},
		"with a comma":      {"application/x-www-form-urlencoded", "email=" + victim + "," + evil},
		"with a semicolon":  {"application/x-www-form-urlencoded", "email=" + victim + "%3b" + evil},
		"with a comment":    {"application/x-www-form-urlencoded", "email=" + victim + "(" + evil + ")"},
		"with a name":       {"application/x-www-form-urlencoded", "email=%22" + victim + "%22 <" + evil + ">"},
		"with a line break": {"application/x-www-form-urlencoded", "email=" + victim + "%0d%0aBcc: " + evil},
		"with a null byte":  {"application/x-www-form-urlencoded", "email=" + victim + "%00" + evil},
		"with a route":      {"application/x-www-form-urlencoded", "email=" + victim + "%25" + "evil.example"},
		"in the query too":  {"application/x-www-form-urlencoded", "email=" + victim},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			b := newBrowser(t, st)
			csrf, target, body := b.csrf(), "/auth/signin/email", "csrfToken="
			if strings.HasPrefix(r.kind, "application/json") {
				body = `{"csrfToken":"` + csrf + `",` + r.body[1:]
			} else {
				body += csrf + "&" + r.body
			}
			if name == "in the query too" {
				target += "?email=" + evil
			}
			b.do("POST", target, strings.NewReader(body), http.Header{"Content-Type": {r.kind}})
			require.Truef(t, len(st.mail.mails) <= 1, "%d mails were sent", len(st.mail.mails))
			for _, m := range st.mail.mails {
				assert.Falsef(t, strings.Contains(m.Identifier, victim) == strings.Contains(m.Identifier, evil) || name == "in the query too" && m.Identifier != victim,
					"a mail went to %q", m.Identifier)
				b.get(m.URL).wantLocation(t, origin)
				assert.Equalf(t, m.Identifier, st.userOf(b).Email, "the link that was sent to %q signs in", m.Identifier)
			}
			for _, u := range st.store.users {
				assert.False(t, u.Email == victim && (len(st.mail.mails) == 0 || st.mail.mails[0].Identifier != victim),
					"the victim is signed in without a mail")
			}
		})
	}
}

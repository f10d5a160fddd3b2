package webauthn_test

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
)

// TestRegisterAndSignIn is the main path, with each algorithm and both places
// for sessions: a new user registers a passkey, signs in with it, and adds
// another one.
func TestRegisterAndSignIn(t *testing.T) {
	for name, strategy := range strategies {
		for alg, code := range map[string]int{"EdDSA": softkey.EdDSA, "ES256": softkey.ES256, "RS256": softkey.RS256} {
			t.Run(name+" "+alg, func(t *testing.T) {
				s := newSite(t, func(c *auth.Config) { c.Session.Strategy = strategy })
				b := newBrowser(t, s)
				key, second := softkey.New(t, code), softkey.New(t, code)
				b.wantDone(b.register(key, "Ada@Example.com"))
				b.wantSession(`"email":"ada@example.com"`)
				b.wantDone(b.register(second, ""))
				b.wantSession(`"email":"ada@example.com"`)
				for _, k := range []*softkey.Key{key, second} {
					b.signOut()
					b.wantNobody()
					b.wantDone(b.signIn(k))
					b.wantSession(`"email":"ada@example.com"`)
				}
				if n := len(b.cookies); n != 5 {
					t.Errorf("%d cookies are left, want those of session, callback URL, CSRF, browser and what was finished: %v", n, b.cookies)
				}
			})
		}
	}
}

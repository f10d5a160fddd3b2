package webauthn_test

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/go-webauthn/webauthn/protocol/webauthncbor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests in this file follow the steps of WebAuthn Level 3, sections 7.1 and
// 7.2, and its sections 13 and 14, as far as no other test checks them.

// TestListedPasskeys: if the options list the passkeys of a user, no passkey of
// another user signs in (section 7.2, steps 5 and 6), and no counter changes.
func TestListedPasskeys(t *testing.T) {
	for name, strategy := range strategies {
		setUp := func(t *testing.T, lists bool) (*site, *softkey.Key, *softkey.Key) {
			s := newSite(t, func(c *auth.Config) { c.Session.Strategy = strategy },
				webauthn.With(func(p *auth.WebAuthn) { p.DangerouslyListCredentials = lists }))
			ada, bob := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
			ada.Counter, ada.Step, bob.Counter, bob.Step = 1, 1, 1, 1
			newBrowser(t, s).register(ada, "ada@example.com")
			newBrowser(t, s).register(bob, "bob@example.com")
			return s, ada, bob
		}
		t.Run(name+", of somebody who is signed in", func(t *testing.T) {
			s, ada, bob := setUp(t, false)
			b := newBrowser(t, s)
			b.wantDone(b.signIn(ada))
			b.wantRefused(b.signIn(bob), "refused")
			s.wantQuietLog(t, "the options listed")
			b.wantSession("ada@example.com")
			got := s.authenticatorsOf(t, "bob@example.com")[0]
			assert.Truef(t, got.Counter == 1 && got.LastUsed == nil, "the passkey was counted: %+v", got)
			b.wantDone(b.signIn(ada))
			b.wantSession("ada@example.com")
			b.signOut()
			b.wantDone(b.signIn(bob)) // a signed-out browser names no user
			b.wantSession("bob@example.com")
		})
		t.Run(name+", of an address", func(t *testing.T) {
			s, ada, bob := setUp(t, true)
			answer := func(b *browser, k *softkey.Key, email string) *reply {
				o := b.options("action=authenticate&email=" + email)
				return b.finish("authenticate", k.Authenticate(t, o.Options, b.client()))
			}
			b := newBrowser(t, s)
			b.wantRefused(answer(b, bob, "ada@example.com"), "refused")
			b.wantNobody()
			b.wantDone(answer(b, ada, "ada@example.com"))
			b.wantSession("ada@example.com")
			b = newBrowser(t, s)
			b.wantDone(answer(b, bob, "new@example.com")) // the options listed no passkey
			b.wantSession("bob@example.com")
			// The list stays bound to its user if another user signs in
			// meanwhile.
			other, tab := newBrowser(t, s), newBrowser(t, s)
			tab.wantDone(tab.signIn(bob))
			o := other.options("action=authenticate&email=ada@example.com")
			other.takeSession(tab)
			other.wantRefused(other.finish("authenticate", bob.Authenticate(t, o.Options, other.client())), "refused")
		})
	}
}

// TestListedInTheMeantime: the list is bound to a user, not to the passkeys
// that existed when it was made.
func TestListedInTheMeantime(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	first, second := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
	b.wantDone(b.register(first, "ada@example.com"))
	o := b.options("action=authenticate")
	b.wantDone(b.register(second, ""))
	b.wantDone(b.finish("authenticate", second.Authenticate(t, o.Options, b.client())))
	b.wantSession("ada@example.com")
}

// TestKeysThatCannotVerify: a public key that does not fit its algorithm is not
// stored (section 7.1, step 20, and section 5.8.5).
func TestKeysThatCannotVerify(t *testing.T) {
	point := make([]byte, 32)
	key := func(kind, alg int, first, second any) func(m map[int]any) {
		return func(m map[int]any) { clear(m); m[1], m[3], m[-1], m[-2] = kind, alg, first, second }
	}
	for name, c := range map[string]struct {
		change func(m map[int]any)
		ok     bool
	}{
		"as it was made":                   {func(map[int]any) {}, true},
		"a point that is not on the curve": {func(m map[int]any) { m[-3] = point }, false},
		"the point at infinity":            {func(m map[int]any) { m[-2], m[-3] = point, point }, false},
		"a coordinate that is too long":    {func(m map[int]any) { m[-2] = make([]byte, 64) }, false},
		"a coordinate without bytes":       {func(m map[int]any) { m[-2] = []byte{} }, false},
		"a compressed point":               {func(m map[int]any) { m[-3] = true }, false},
		"another curve":                    {func(m map[int]any) { m[-1] = 2 }, false},
		"the curve of Bitcoin":             {func(m map[int]any) { m[-1] = 8 }, false},
		"no curve":                         {func(m map[int]any) { delete(m, -1) }, false},
		"the type of RSA":                  {func(m map[int]any) { m[1] = 3 }, false},
		"a symmetric key":                  {func(m map[int]any) { m[1] = 4 }, false},
		"no type":                          {func(m map[int]any) { delete(m, 1) }, false},
		"the algorithm of EdDSA":           {func(m map[int]any) { m[3] = softkey.EdDSA }, false},
		"no algorithm":                     {func(m map[int]any) { delete(m, 3) }, false},
		"RSA without a modulus":            {func(m map[int]any) { clear(m); m[1], m[3] = 3, softkey.RS256 }, false},
		"RSA of 512 bits":                  {key(3, softkey.RS256, slices.Repeat([]byte{0xf1}, 64), []byte{1, 0, 1}), false},
		"RSA with an even modulus":         {key(3, softkey.RS256, slices.Repeat([]byte{0xf0}, 256), []byte{1, 0, 1}), false},
		"RSA with the algorithm of ECDSA":  {key(3, softkey.ES256, slices.Repeat([]byte{0xf1}, 256), []byte{1, 0, 1}), false},
		"RSA with the exponent 1":          {key(3, softkey.RS256, slices.Repeat([]byte{0xf1}, 256), []byte{0, 0, 1}), false},
		"Ed25519 with 31 bytes":            {key(1, softkey.EdDSA, 6, make([]byte, 31)), false},
		"a key of X25519":                  {key(1, softkey.EdDSA, 4, slices.Repeat([]byte{7}, 32)), false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, nil)
			b := newBrowser(t, s)
			k, client := softkey.New(t, softkey.ES256), b.client()
			client.ChangeAuthData = func(authData []byte) []byte {
				m := map[int]any{}
				require.NoError(t, webauthncbor.Unmarshal(k.COSE(), &m))
				c.change(m)
				key := must(webauthncbor.Marshal(m))(t)
				return append(authData[:55+len(k.ID)], key...)
			}
			res := b.finish("register", k.Register(t, b.options("action=register&email=ada@example.com").Options, client))
			if c.ok {
				b.wantDone(res)
				return
			}
			assert.Regexp(t, "&code=(refused|unreadable)$", res.location(), "the registration ends at")
			b.wantNobody()
			assert.Nil(t, s.authenticatorsOf(t, "ada@example.com"), "the store")
			assert.NotContains(t, s.log.String(), "level=ERROR")
		})
	}
}

// TestUnaskedExtensions: outputs of extensions that the options did not ask for
// have no effect (section 7.1, step 28, and section 7.2, step 23). Outputs that
// are not CBOR, or not a map, are refused.
func TestUnaskedExtensions(t *testing.T) {
	cbor := func(v any) []byte {
		return must(webauthncbor.Marshal(v))(t)
	}
	outputs := func(b []byte) func(c *softkey.Client) {
		return func(c *softkey.Client) {
			c.ChangeAuthData = func(d []byte) []byte { d[32] |= softkey.ED; return append(d, b...) }
		}
	}
	results := func(v any) func(c *softkey.Client) {
		return func(c *softkey.Client) { c.ChangeAnswer = func(a map[string]any) { a["clientExtensionResults"] = v } }
	}
	for name, c := range map[string]struct {
		change func(c *softkey.Client)
		ok     bool
	}{
		"protection of the credential":   {outputs(cbor(map[string]any{"credProtect": 2})), true},
		"a secret and more":              {outputs(cbor(map[string]any{"hmac-secret": true, "minPinLength": 4})), true},
		"an unknown extension":           {outputs(cbor(map[string]any{"example.com/x": []any{1, "a"}})), true},
		"a text in place of a map":       {outputs(cbor("x")), false},
		"a map that is cut short":        {outputs([]byte{0xa1}), false},
		"a map with more behind":         {outputs(append(cbor(map[string]any{"credProtect": 2}), 0)), false},
		"an unknown result":              {results(map[string]any{"example.com/x": map[string]any{"y": 1}}), true},
		"an identifier of U2F, not used": {results(map[string]any{"appid": false, "appidExclude": true}), true},
		"no results": {func(c *softkey.Client) {
			c.ChangeAnswer = func(a map[string]any) { delete(a, "clientExtensionResults") }
		}, true},
		"results of large blobs":  {results(map[string]any{"largeBlob": map[string]any{"supported": true}}), true},
		"results that are a list": {results([]any{}), false},
	} {
		for _, action := range []string{"register", "authenticate"} {
			t.Run(name+", "+action, func(t *testing.T) {
				s := newSite(t, nil)
				b := newBrowser(t, s)
				k := softkey.New(t, softkey.ES256)
				if action == "authenticate" {
					b.wantDone(b.register(k, "ada@example.com"))
					b.signOut()
				}
				client := b.client()
				c.change(&client)
				o := b.options("action=" + action + "&email=ada@example.com")
				res := b.finish(action, answerTo(action, k)(t, o.Options, client))
				if !c.ok {
					b.wantRefused(res, "unreadable")
					b.wantNobody()
					return
				}
				b.wantDone(res)
				b.wantSession("ada@example.com")
			})
		}
	}
}

// TestChallengesAndHandlesAreRandom: no challenge and no user handle appears
// twice, a challenge has at least 16 bytes (section 13.4.3), and a handle
// contains no information about the user (section 14.6.1).
func TestChallengesAndHandlesAreRandom(t *testing.T) {
	s := newSite(t, nil)
	id, b := signUp(t, s, "ada@example.com", 1)
	seen := map[string]bool{}
	for i := range 200 {
		action := []string{"register", "authenticate"}[i%2]
		var o struct {
			Challenge string
			User      struct{ ID string }
		}
		require.NoError(t, json.Unmarshal(b.options("action="+action).Options, &o))
		raw, err := base64.RawURLEncoding.DecodeString(o.Challenge)
		require.Truef(t, err == nil && len(raw) >= 16 && !seen[o.Challenge], "challenge %q (%v)", o.Challenge, err)
		seen[o.Challenge] = true
		if action == "authenticate" {
			continue
		}
		require.Truef(t, len(o.User.ID) == 64 && !seen[o.User.ID], "handle %q", o.User.ID)
		seen[o.User.ID] = true
		for _, personal := range []string{id, "ada@example.com", "passkey"} {
			sum := sha256.Sum256([]byte(personal))
			require.Truef(t, !strings.Contains(o.User.ID, personal) && o.User.ID != hex.EncodeToString(sum[:]),
				"the handle %q is made of %q", o.User.ID, personal)
		}
	}
}

// TestCredentialOfAnotherProvider: a credential ID that one provider knows
// can't be registered with another (section 7.1, step 26).
func TestCredentialOfAnotherProvider(t *testing.T) {
	for name, store := range map[string]func() adapter.Adapter{
		"all or nothing": func() adapter.Adapter { return memory.New() },
		"step by step":   func() adapter.Adapter { return plainAdapter{memory.New()} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(c *auth.Config) {
				c.Adapter = store()
				c.Providers = append(c.Providers, webauthn.WebAuthn(webauthn.With(func(p *auth.WebAuthn) { p.EnableConditionalUI = false })))
			})
			ada, stolen := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
			b, eve := newBrowser(t, s), newBrowser(t, s)
			b.wantDone(b.register(ada, "ada@example.com"))
			stolen.ID = ada.ID
			eve.provider = "webauthn"
			eve.register(stolen, "eve@example.com").wantLocation(t, origin+"/auth/signin?error=AccountNotLinked")
			eve.wantNobody()
			assert.Nil(t, must(s.store.GetUserByEmail(t.Context(), "eve@example.com"))(t), "the store")
			assert.Nil(t, must(s.store.GetAccount(t.Context(), stolen.StoredID(), "webauthn"))(t), "the store")
			eve.wantDone(eve.register(softkey.New(t, softkey.ES256), "eve@example.com"))
			b.signOut()
			b.wantDone(b.signIn(ada))
			b.wantSession("ada@example.com")
		})
	}
}

// TestFormatsThatAreNone: the name of an attestation format is compared exactly
// (section 7.1, step 21), and the format none proves nothing (section 8.7).
func TestFormatsThatAreNone(t *testing.T) {
	nothing := func(*softkey.Key, []byte, []byte) map[string]any { return map[string]any{} }
	more := func(*softkey.Key, []byte, []byte) map[string]any { return map[string]any{"sig": []byte{1}} }
	lax := webauthn.WithAttestation("direct", webauthn.Trust{Roots: []*x509.Certificate{newMaker(t).root}, DangerouslyAcceptNone: true})
	for _, c := range []struct {
		format    string
		statement func(*softkey.Key, []byte, []byte) map[string]any
		ok        bool
	}{
		{"none", nothing, true}, {"none", more, false}, {"None", nothing, false}, {"", nothing, false}, {"none ", nothing, false},
		{"PACKED", nothing, false}, {"compound", nothing, false}, {"compound", more, false}, {"example", nothing, false},
	} {
		for asked, options := range map[string][]webauthn.Option{"not asked for": nil, "asked for laxly": {lax}} {
			t.Run(fmt.Sprintf("%q, %d members, %s", c.format, len(c.statement(nil, nil, nil)), asked), func(t *testing.T) {
				s := newSite(t, nil, options...)
				b := newBrowser(t, s)
				k := softkey.New(t, softkey.ES256)
				k.Format, k.Statement = c.format, c.statement
				res := b.register(k, "ada@example.com")
				if c.ok {
					b.wantDone(res)
					return
				}
				assert.Regexp(t, "&code=(refused|unreadable)$", res.location(), "the registration ends at")
				assert.Nil(t, s.authenticatorsOf(t, "ada@example.com"), "the store")
			})
		}
	}
}

// TestPagesOfPasskeysAreNotFramed: no other site can show a page with a
// ceremony in a frame (section 13.4.2), or add a script to it (section 13.4.8).
func TestPagesOfPasskeysAreNotFramed(t *testing.T) {
	s := newSite(t, nil)
	_, b := signUp(t, s, "ada@example.com", 1)
	for path, h := range map[string]http.Handler{"/auth/signin": s, "/passkeys": s.PasskeysPage()} {
		b.h = h
		csp := b.get(path).Header.Get("Content-Security-Policy")
		for _, directive := range []string{"default-src 'none'", "frame-ancestors 'none'", "script-src 'sha256-"} {
			assert.Containsf(t, csp, directive, "%s: the policy %q has no %s", path, csp, directive)
		}
		_, scripts, _ := strings.Cut(csp, "script-src ")
		scripts, _, _ = strings.Cut(scripts, ";")
		for source := range strings.FieldsSeq(scripts) {
			assert.Truef(t, strings.HasPrefix(source, "'sha256-"), "%s: the policy allows scripts from %s", path, source)
		}
	}
}

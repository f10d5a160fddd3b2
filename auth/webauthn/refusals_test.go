package webauthn_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// authenticatorsOf returns the authenticators of the user with an address.
func (s *site) authenticatorsOf(t testing.TB, email string) []adapter.Authenticator {
	t.Helper()
	user := must(s.store.GetUserByEmail(t.Context(), email))(t)
	if user == nil {
		return nil
	}
	return must(s.store.ListAuthenticatorsByUserID(t.Context(), user.ID))(t)
}

// wantQuietLog checks that the log reports no error of the server.
func (s *site) wantQuietLog(t testing.TB, reason string) {
	t.Helper()
	log := s.log.String()
	assert.Truef(t, !strings.Contains(log, "level=ERROR") && strings.Contains(log, `level=WARN msg="auth: request failed"`) && strings.Contains(log, reason),
		"the log, which should warn of %q:\n%s", reason, log)
}

// flaw is a fault in an answer. Each is tried in a registration and in an
// authentication.
type flaw struct {
	name   string
	key    func(t testing.TB, k *softkey.Key)
	client func(c *softkey.Client)
	with   func(k *softkey.Key, c *softkey.Client)
	data   func(string) string
	code   string // empty means the code refused
	reason string
	only   string // the only action that has the flaw
}

var flaws = []flaw{
	{name: "no user present", key: func(_ testing.TB, k *softkey.Key) { k.Flags &^= softkey.UP }, reason: "did not touch"},
	{name: "no user verified", key: func(_ testing.TB, k *softkey.Key) { k.Flags &^= softkey.UV }, reason: "did not verify the user"},
	{name: "backed up and can't be", key: func(_ testing.TB, k *softkey.Key) { k.Flags &^= softkey.BE }, reason: "backed up"},
	{name: "origin of another site", client: func(c *softkey.Client) { c.Origin = "https://evil.example" }, reason: "origin"},
	{name: "origin with http", client: func(c *softkey.Client) { c.Origin = "http://app.example.com" }, reason: "origin"},
	{name: "origin with a port", client: func(c *softkey.Client) { c.Origin = origin + ":8443" }, reason: "origin"},
	{name: "origin with its own port", client: func(c *softkey.Client) { c.Origin = origin + ":443" }, reason: "origin"},
	{name: "origin in capitals", client: func(c *softkey.Client) { c.Origin = "https://APP.example.com" }, reason: "origin"},
	{name: "origin with a path", client: func(c *softkey.Client) { c.Origin = origin + "/" }, reason: "origin"},
	{name: "origin with a user", client: func(c *softkey.Client) { c.Origin = "https://x@app.example.com" }, reason: "origin"},
	{name: "origin that begins alike", client: func(c *softkey.Client) { c.Origin = origin + ".evil.example" }, reason: "origin"},
	{name: "origin that ends alike", client: func(c *softkey.Client) { c.Origin = "https://evilapp.example.com" }, reason: "origin"},
	{name: "origin with a dot", client: func(c *softkey.Client) { c.Origin = origin + "." }, reason: "origin"},
	{name: "origin of the parent", client: func(c *softkey.Client) { c.Origin = "https://example.com" }, reason: "origin"},
	{name: "origin of a subdomain", client: func(c *softkey.Client) { c.Origin = "https://user.app.example.com" }, reason: "origin"},
	{name: "origin of an app", client: func(c *softkey.Client) { c.Origin = "android:apk-key-hash:app.example.com" }, reason: "origin"},
	{name: "origin null", client: func(c *softkey.Client) { c.Origin = "null" }, reason: "origin"},
	{name: "framed", client: func(c *softkey.Client) { c.More = map[string]any{"crossOrigin": true} }, reason: "frame"},
	{name: "framed by somebody", client: func(c *softkey.Client) { c.More = map[string]any{"topOrigin": "https://evil.example"} }, reason: "frame"},
	{name: "framed by itself", client: func(c *softkey.Client) { c.More = map[string]any{"crossOrigin": true, "topOrigin": origin} }, reason: "frame"},
	{name: "framed by nobody", client: func(c *softkey.Client) { c.More = map[string]any{"topOrigin": ""} }, reason: "frame"},
	{name: "framed by null", client: func(c *softkey.Client) { c.More = map[string]any{"topOrigin": nil} }, reason: "frame"},
	{name: "framed, in a text", client: func(c *softkey.Client) { c.More = map[string]any{"crossOrigin": "true"} }, code: "unreadable"},
	{name: "framed, and then not", client: prepend(`"crossOrigin":true,`), reason: "occurs twice"},
	{name: "framed, in another case", client: prepend(`"CrossOrigin":true,`), reason: "another case"},
	{name: "two origins", client: prepend(`"origin":"https://evil.example",`), reason: "occurs twice"},
	{name: "origin in another case", client: prepend(`"ORIGIN":"https://evil.example",`), reason: "another case"},
	{name: "two types", client: prepend(`"type":"webauthn.other",`), reason: "occurs twice"},
	{name: "two challenges", client: prepend(`"challenge":"AAAA",`), reason: "occurs twice"},
	{name: "a byte order mark", client: func(c *softkey.Client) {
		c.ChangeData = func(b []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }
	}, code: "unreadable"},
	{name: "client data with more behind", client: func(c *softkey.Client) { c.ChangeData = func(b []byte) []byte { return append(b, "{}"...) } }, code: "unreadable"},
	{name: "the other ceremony", client: func(c *softkey.Client) { c.Type = "webauthn.other" }, reason: "ceremony type"},
	{name: "the ceremony that it is not", only: "authenticate", client: func(c *softkey.Client) { c.Type = "webauthn.create" }, reason: "ceremony type"},
	{name: "the ceremony that it is not", only: "register", client: func(c *softkey.Client) { c.Type = "webauthn.get" }, reason: "ceremony type"},
	{name: "the ceremony in capitals", client: func(c *softkey.Client) { c.Type = "WEBAUTHN.GET" }, reason: "ceremony type"},
	{name: "a relying party of U2F", client: func(c *softkey.Client) {
		c.RPID = origin + "/appid.json"
		c.ChangeAnswer = func(a map[string]any) { a["clientExtensionResults"] = map[string]any{"appid": true} }
	}, reason: "relying party ID"},
	{name: "relying party of another site", client: func(c *softkey.Client) { c.RPID = "evil.example" }, reason: "relying party ID"},
	{name: "relying party of the parent", client: func(c *softkey.Client) { c.RPID = "example.com" }, reason: "relying party ID"},
	{name: "another challenge", client: func(c *softkey.Client) { c.Challenge = strings.Repeat("A", 43) }, code: "expired"},
	{name: "a challenge with padding", client: func(c *softkey.Client) { c.ChangeData = replaced(`","crossOrigin"`, `=","crossOrigin"`) }, code: "expired"},
	{name: "no challenge", client: func(c *softkey.Client) { c.More = map[string]any{"challenge": ""} }, code: "expired"},
	{name: "signature with a flipped bit", only: "authenticate", client: func(c *softkey.Client) {
		c.ChangeSignature = func(s []byte) []byte { s[len(s)-1] ^= 1; return s }
	}, reason: "signature"},
	{name: "signature cut short", only: "authenticate", client: func(c *softkey.Client) { c.ChangeSignature = func(s []byte) []byte { return s[:len(s)-1] } }, reason: "signature"},
	{name: "signature of a key that comes along", only: "authenticate", key: func(t testing.TB, k *softkey.Key) {
		own := softkey.New(t, softkey.ES256)
		own.ID, own.Handle, own.RPID = k.ID, k.Handle, k.RPID
		*k = *own
	}, reason: "signature", with: func(k *softkey.Key, c *softkey.Client) {
		c.ChangeAuthData = func(b []byte) []byte { return attested(b, k.ID, k.COSE()) }
	}},
	{name: "signature of nothing", only: "authenticate", client: func(c *softkey.Client) { c.ChangeSignature = func([]byte) []byte { return nil } }, reason: "signature"},
	{name: "authenticator data with more behind", client: func(c *softkey.Client) { c.ChangeAuthData = func(b []byte) []byte { return append(b, 0) } }, code: "unreadable"},
	{name: "authenticator data cut short", client: func(c *softkey.Client) { c.ChangeAuthData = func(b []byte) []byte { return b[:36] } }, code: "unreadable"},
	{name: "credential data cut short", only: "register", client: func(c *softkey.Client) { c.ChangeAuthData = func(b []byte) []byte { return b[:60] } }, code: "unreadable"},
	{name: "extensions that are not there", client: func(c *softkey.Client) {
		c.ChangeAuthData = func(b []byte) []byte { b[32] |= softkey.ED; return b }
	}, code: "unreadable"},
	{name: "attestation object cut short", only: "register", client: func(c *softkey.Client) {
		c.ChangeAnswer = func(a map[string]any) {
			r := a["response"].(map[string]any)
			r["attestationObject"] = r["attestationObject"].(string)[:40]
		}
	}, code: "unreadable"},
	{name: "an ID that is not the raw one", client: func(c *softkey.Client) { c.ChangeAnswer = func(a map[string]any) { a["rawId"] = "AAAA" } }, code: "unreadable"},
	{name: "another type", client: func(c *softkey.Client) { c.ChangeAnswer = func(a map[string]any) { a["type"] = "password" } }, code: "unreadable"},
	{name: "no response", client: func(c *softkey.Client) { c.ChangeAnswer = func(a map[string]any) { delete(a, "response") } }, code: "unreadable"},
	{name: "client data that is no JSON", client: func(c *softkey.Client) {
		c.ChangeAnswer = func(a map[string]any) { a["response"].(map[string]any)["clientDataJSON"] = "AAAA" }
	}, code: "unreadable"},
	{name: "an empty ID", client: func(c *softkey.Client) { c.ChangeAnswer = func(a map[string]any) { a["id"], a["rawId"] = "", "" } }, code: "unreadable"},
	{name: "no JSON", data: func(string) string { return "{" }, code: "unreadable"},
	{name: "JSON with more behind", data: func(s string) string { return s + "{}" }, code: "unreadable"},
	{name: "an array", data: func(string) string { return "[]" }, code: "unreadable"},
	{name: "nothing", data: func(string) string { return "" }, code: "unreadable"},
	{name: "much too long", data: func(s string) string { return strings.Replace(s, "{", `{"x":"`+strings.Repeat("x", 50<<10)+`",`, 1) }, code: "unreadable"},
	{name: "RSA with SHA-1", only: "register", key: func(t testing.TB, k *softkey.Key) { *k = *softkey.New(t, softkey.RS1) }, reason: "algorithm"},
	{name: "ES384, which was not asked for", only: "register", key: func(t testing.TB, k *softkey.Key) { *k = *softkey.New(t, softkey.ES384) }, reason: "algorithm"},
}

// prepend adds members before those of the client data.
func prepend(members string) func(c *softkey.Client) {
	return func(c *softkey.Client) { c.ChangeData = replaced("{", "{"+members) }
}

// replaced replaces the first occurrence of old.
func replaced(old, by string) func([]byte) []byte {
	return func(b []byte) []byte { return bytes.Replace(b, []byte(old), []byte(by), 1) }
}

// attested adds a credential to authenticator data that has none.
func attested(authData, id, key []byte) []byte {
	authData[32] |= softkey.AT
	b := append(authData, make([]byte, 16)...)
	return slices.Concat(binary.BigEndian.AppendUint16(b, uint16(len(id))), id, key)
}

// TestFlawedAnswers: an answer that breaks one rule is refused. The log says
// why, the user is told what to do, and nothing is stored. The same answer
// without the flaw is accepted afterwards.
func TestFlawedAnswers(t *testing.T) {
	for _, action := range []string{"register", "authenticate"} {
		for _, f := range flaws {
			if f.only != "" && f.only != action {
				continue
			}
			t.Run(action+" "+f.name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, nil)
				b := newBrowser(t, s)
				k := softkey.New(t, softkey.ES256)
				good := *k
				if action == "authenticate" {
					b.wantDone(b.register(k, "ada@example.com"))
					b.signOut()
					good = *k
				}
				before := s.authenticatorsOf(t, "ada@example.com")
				if f.key != nil {
					f.key(t, k)
				}
				c := b.client()
				if f.client != nil {
					f.client(&c)
				}
				if f.with != nil {
					f.with(k, &c)
				}
				o := b.options("action=" + action + "&email=ada@example.com")
				data := answerTo(action, k)(t, o.Options, c)
				if f.data != nil {
					data = f.data(data)
				}
				b.wantRefused(b.finish(action, data), cmp.Or(f.code, "refused"))
				b.wantNobody()
				s.wantQuietLog(t, f.reason)
				after := s.authenticatorsOf(t, "ada@example.com")
				assert.Truef(t, slices.EqualFunc(before, after, func(x, y adapter.Authenticator) bool {
					return x.CredentialID == y.CredentialID && x.Counter == y.Counter
				}), "the store has changed: %+v, %+v", before, after)
				if action == "register" {
					b.wantDone(b.register(&good, "ada@example.com"))
				} else {
					b.wantDone(b.signIn(&good))
				}
				b.wantSession("ada@example.com")
			})
		}
	}
}

// TestChallenges: a challenge is valid once, for 15 minutes, and only for the
// browser, the provider, the ceremony and the person that it was made for.
func TestChallenges(t *testing.T) {
	setUp := func(t *testing.T) (*site, *browser, *softkey.Key) {
		s := newSite(t, func(c *auth.Config) {
			c.Providers = append(c.Providers, webauthn.WebAuthn(webauthn.With(func(p *auth.WebAuthn) { p.EnableConditionalUI = false })))
		})
		b := newBrowser(t, s)
		k := softkey.New(t, softkey.ES256)
		b.wantDone(b.register(k, "ada@example.com"))
		b.signOut()
		return s, b, k
	}
	t.Run("answered twice", func(t *testing.T) {
		s, b, k := setUp(t)
		o := b.options("action=authenticate")
		kept := maps.Clone(b.cookies)
		data := k.Authenticate(t, o.Options, b.client())
		b.wantDone(b.finish("authenticate", data))
		b.cookies = kept
		b.wantRefused(b.finish("authenticate", data), "expired")
		s.wantQuietLog(t, "used before")
	})
	t.Run("answered twice at once", func(t *testing.T) {
		s, b, k := setUp(t)
		data := k.Authenticate(t, b.options("action=authenticate").Options, b.client())
		n := finishedAtOnce(16, "authenticate", func(int) (*browser, string) {
			tab := newBrowser(t, s)
			maps.Copy(tab.cookies, b.cookies)
			return tab, data
		})
		assert.Equal(t, 1, n, "how often one challenge signed in")
	})
	t.Run("too late", func(t *testing.T) {
		s, b, k := setUp(t)
		o := b.options("action=authenticate")
		s.clock.advance(16 * time.Minute)
		b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())), "expired")
	})
	t.Run("in time", func(t *testing.T) {
		s, b, k := setUp(t)
		o := b.options("action=authenticate")
		s.clock.advance(14 * time.Minute)
		b.wantDone(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())))
	})
	t.Run("of another browser", func(t *testing.T) {
		s, b, k := setUp(t)
		eve := newBrowser(t, s)
		o := eve.options("action=authenticate")
		b.options("action=authenticate")
		b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())), "expired")
	})
	t.Run("of another provider", func(t *testing.T) {
		_, b, k := setUp(t)
		o := b.options("action=authenticate")
		b.provider = "webauthn"
		b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())), "expired")
	})
	t.Run("a passkey of another provider", func(t *testing.T) {
		s, b, k := setUp(t)
		b.provider = "webauthn"
		b.wantRefused(b.signIn(k), "unknown")
		s.wantQuietLog(t, "no account of the provider")
	})
	t.Run("of the other ceremony", func(t *testing.T) {
		_, b, k := setUp(t)
		o := b.options("action=register&email=eve@example.com")
		b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())), "expired")
		o = b.options("action=authenticate")
		b.wantRefused(b.finish("register", softkey.New(t, softkey.ES256).Register(t, o.Options, b.client())), "expired")
	})
	t.Run("altered", func(t *testing.T) {
		_, b, k := setUp(t)
		o := b.options("action=authenticate")
		for name, c := range b.cookies {
			if strings.Contains(name, "challenge") {
				c.Value = c.Value[:len(c.Value)-4] + "AAAA"
			}
		}
		b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())), "expired")
	})
	t.Run("under the name of another", func(t *testing.T) {
		_, b, k := setUp(t)
		first := b.options("action=authenticate")
		names := func() (list []string) {
			for name := range b.cookies {
				if strings.Contains(name, "challenge.") {
					list = append(list, name)
				}
			}
			return list
		}
		old := names()[0]
		b.options("action=authenticate")
		for _, name := range names() {
			if name != old {
				b.cookies[old].Value = b.cookies[name].Value
			}
		}
		b.wantRefused(b.finish("authenticate", k.Authenticate(t, first.Options, b.client())), "expired")
	})
	t.Run("from another site", func(t *testing.T) {
		_, b, k := setUp(t)
		o := b.options("action=authenticate")
		form := url.Values{"action": {"authenticate"}, "data": {k.Authenticate(t, o.Options, b.client())}}.Encode()
		for name, header := range map[string]http.Header{
			"cross-site":   {"Sec-Fetch-Site": {"cross-site"}, "Origin": {origin}},
			"a sibling":    {"Sec-Fetch-Site": {"same-site"}},
			"other origin": {"Origin": {"https://evil.example"}},
			"no headers":   {},
		} {
			header.Set("Content-Type", "application/x-www-form-urlencoded")
			res := b.do(http.MethodPost, "/auth/callback/passkey", form, header)
			want := origin + "/auth/signin?error=MissingCSRF"
			assert.Equalf(t, want, res.location(), "%s: the post ends at", name)
		}
		b.wantNobody()
		// The ceremony that has begun is not affected, and the CSRF token alone
		// is sufficient.
		var token struct{ CSRFToken string }
		require.NoError(t, json.Unmarshal([]byte(b.get("/auth/csrf").body), &token))
		b.wantDone(b.do(http.MethodPost, "/auth/callback/passkey", form+"&csrfToken="+token.CSRFToken, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}))
	})
}

// TestWhoBegan: only the person who began a ceremony can end it. If another
// person or nobody is signed in by then, it fails; the same person in another
// tab can end it.
func TestWhoBegan(t *testing.T) {
	s := newSite(t, nil)
	ada, bob := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
	newUser := func(k *softkey.Key, email string) *browser {
		b := newBrowser(t, s)
		b.wantDone(b.register(k, email))
		return b
	}
	newUser(ada, "ada@example.com")
	newUser(bob, "bob@example.com")
	// Each sign-in ends the previous session of the browser.
	as := func(k *softkey.Key) func() *browser {
		return func() *browser {
			b := newBrowser(t, s)
			if k != nil {
				b.wantDone(b.signIn(k))
			}
			return b
		}
	}
	asAda, asBob, asNobody := as(ada), as(bob), as(nil)
	// become gives a browser the session of another browser.
	become := func(b, other *browser) {
		b.signOut()
		b.takeSession(other)
	}
	for name, c := range map[string]struct {
		begins, ends func() *browser
		action, code string // no code: the ceremony succeeds
		key          *softkey.Key
	}{
		"registers as Ada, ends as Bob":       {asAda, asBob, "register", "user-changed", softkey.New(t, softkey.ES256)},
		"registers as Ada, ends as nobody":    {asAda, asNobody, "register", "user-changed", softkey.New(t, softkey.ES256)},
		"registers as nobody, ends as Bob":    {asNobody, asBob, "register", "user-changed", softkey.New(t, softkey.ES256)},
		"registers as Ada, ends as Ada":       {asAda, asAda, "register", "", softkey.New(t, softkey.ES256)},
		"signs in as nobody, ends as Bob":     {asNobody, asBob, "authenticate", "user-changed", ada},
		"signs in as Ada, ends as nobody":     {asAda, asNobody, "authenticate", "user-changed", ada},
		"signs in as Ada, ends as Bob":        {asAda, asBob, "authenticate", "user-changed", ada},
		"signs in as nobody, ends as herself": {asNobody, asAda, "authenticate", "", ada},
		"signs in as Ada, ends as Ada":        {asAda, asAda, "authenticate", "", ada},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBrowser(t, s)
			become(b, c.begins())
			o := b.options("action=" + c.action + "&email=new@example.com")
			become(b, c.ends())
			res := b.finish(c.action, answerTo(c.action, c.key)(t, o.Options, b.client()))
			if c.code != "" {
				b.wantRefused(res, c.code)
				assert.Nil(t, s.authenticatorsOf(t, "new@example.com"), "a user was made")
				return
			}
			b.wantDone(res)
			b.wantSession("ada@example.com")
		})
	}
	n := len(s.authenticatorsOf(t, "bob@example.com"))
	assert.Equalf(t, 1, n, "Bob has %d passkeys, want the one that he registered", n)
}

// TestRegistrationTakesNobodyOver: a stranger who registers with the credential
// ID or the address of another user does not become that user.
func TestRegistrationTakesNobodyOver(t *testing.T) {
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(c *auth.Config) { c.Session.Strategy = strategy })
			ada := softkey.New(t, softkey.ES256)
			b := newBrowser(t, s)
			b.wantDone(b.register(ada, "ada@example.com"))
			notLinked := origin + "/auth/signin?error=AccountNotLinked"

			eve := newBrowser(t, s)
			stolen := softkey.New(t, softkey.ES256)
			stolen.ID = ada.ID
			eve.register(stolen, "eve@example.com").wantLocation(t, notLinked)
			eve.wantNobody()
			eve.register(softkey.New(t, softkey.ES256), "ADA@example.com").wantLocation(t, notLinked)
			eve.wantNobody()
			eve.wantDone(eve.register(softkey.New(t, softkey.ES256), "eve@example.com"))
			eve.register(stolen, "").wantLocation(t, notLinked) // signed in as Eve
			eve.signOut()
			eve.wantRefused(eve.signIn(stolen), "refused")

			assert.Len(t, s.authenticatorsOf(t, "ada@example.com"), 1, "Ada")
			b.signOut()
			b.wantDone(b.signIn(ada))
			b.wantSession("ada@example.com")
		})
	}
}

func (r *reply) wantLocation(t testing.TB, want string) {
	t.Helper()
	got := r.location()
	assert.Equalf(t, want, got, "the browser is sent to %q (status %d), want %q", got, r.StatusCode, want)
}

// TestBackupEligibilityChanges: a passkey that has become one that may be copied,
// or that may not be copied any more, signs in, unless the site requires an
// attestation or device-bound credentials. A backup of a credential that can't
// have one is refused.
func TestBackupEligibilityChanges(t *testing.T) {
	const present = softkey.UP | softkey.UV
	deviceBound := webauthn.With(func(p *auth.WebAuthn) { p.DeviceBound = true })
	for name, c := range map[string]struct {
		before, after byte
		option        webauthn.Option
		ok            bool
		events        int
		stored        string
	}{
		"eligible and backed up later":    {present, present | softkey.BE | softkey.BS, nil, true, 1, "multiDevice"},
		"eligible later":                  {present, present | softkey.BE, nil, true, 1, "multiDevice"},
		"no longer eligible":              {present | softkey.BE | softkey.BS, present, nil, true, 1, "singleDevice"},
		"backed up later":                 {present | softkey.BE, present | softkey.BE | softkey.BS, nil, true, 0, "multiDevice"},
		"backed up and not eligible":      {present, present | softkey.BS, nil, false, 0, "singleDevice"},
		"device-bound and eligible later": {present, present | softkey.BE, deviceBound, false, 0, "singleDevice"},
		"device-bound as before":          {present, present, deviceBound, true, 0, "singleDevice"},
	} {
		t.Run(name, func(t *testing.T) {
			var events []auth.PasskeyBackupEvent
			s := newSite(t, func(c *auth.Config) {
				c.Events.PasskeyBackup = func(_ context.Context, e auth.PasskeyBackupEvent) error { events = append(events, e); return nil }
			}, c.option)
			b := newBrowser(t, s)
			k := softkey.New(t, softkey.ES256)
			k.Flags = c.before
			b.wantDone(b.register(k, "ada@example.com"))
			b.signOut()
			k.Flags = c.after
			res := b.signIn(k)
			if c.ok {
				b.wantDone(res)
			} else {
				b.wantRefused(res, "refused")
			}
			assert.Falsef(t, len(events) != c.events || c.events == 1 && (events[0].Syncable != (c.after&softkey.BE != 0) || events[0].BackedUp != (c.after&softkey.BS != 0) || events[0].Request == nil || events[0].CredentialID == ""),
				"events %+v", events)
			got := s.authenticatorsOf(t, "ada@example.com")[0]
			assert.Truef(t, got.CredentialDeviceType == c.stored && got.Name == nil, "stored %+v, want %s", got, c.stored)
			if c.ok { // and the next time nothing has changed
				b.signOut()
				b.wantDone(b.signIn(k))
				assert.Equalf(t, c.events, len(events), "%d events", len(events))
			}
		})
	}
	t.Run("registration of a device-bound credential", func(t *testing.T) {
		s := newSite(t, nil, deviceBound)
		k := softkey.New(t, softkey.ES256)
		k.Flags = present | softkey.BE
		b := newBrowser(t, s)
		b.wantRefused(b.register(k, "ada@example.com"), "refused")
		k.Flags = present
		b.wantDone(b.register(k, "ada@example.com"))
	})
}

// TestCounters: a signature counter must rise, unless it is always zero.
func TestCounters(t *testing.T) {
	for name, c := range map[string]struct {
		stored, received uint32
		ok               bool
	}{
		"never counts": {0, 0, true}, "rises by one": {5, 6, true}, "rises far": {5, 4000000000, true}, "begins": {0, 1, true},
		"stays": {5, 5, false}, "falls": {5, 4, false}, "falls to nothing": {5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var cloned []auth.PasskeyClonedEvent
			s := newSite(t, func(c *auth.Config) {
				c.Events.PasskeyCloned = func(_ context.Context, e auth.PasskeyClonedEvent) error { cloned = append(cloned, e); return nil }
			})
			b := newBrowser(t, s)
			k := softkey.New(t, softkey.ES256)
			k.Counter = c.stored
			b.wantDone(b.register(k, "ada@example.com"))
			b.signOut()
			k.Counter = c.received
			res := b.signIn(k)
			got := s.authenticatorsOf(t, "ada@example.com")[0]
			if c.ok {
				b.wantDone(res)
				assert.Truef(t, got.Counter == int64(c.received) && len(cloned) == 0 && got.LastUsed != nil,
					"stored %+v, events %+v", got, cloned)
				return
			}
			b.wantRefused(res, "cloned")
			assert.Truef(t, got.Counter == int64(c.stored) && len(cloned) == 1 && cloned[0].Stored == int64(c.stored) && cloned[0].Received == int64(c.received) && cloned[0].Request != nil,
				"stored %+v, events %+v", got, cloned)
			// An answer with a wrong signature is not reported as a clone.
			o := b.options("action=authenticate")
			client := b.client()
			client.ChangeSignature = func(s []byte) []byte { s[len(s)-1] ^= 1; return s }
			b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, client)), "refused")
			assert.Len(t, cloned, 1, "a forged answer is reported as a clone")
		})
	}
}

// TestCopiesRace: of original and copy with the same counter, used
// concurrently, one is accepted, also with an adapter that can't compare and
// set.
func TestCopiesRace(t *testing.T) {
	for name, store := range map[string]func() adapter.Adapter{
		"compare and set": func() adapter.Adapter { return memory.New() },
		"set only":        func() adapter.Adapter { return plainAdapter{memory.New()} },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(c *auth.Config) { c.Adapter = store() })
			b := newBrowser(t, s)
			k := softkey.New(t, softkey.ES256)
			k.Counter = 1
			b.wantDone(b.register(k, "ada@example.com"))
			for round := range 20 {
				k.Counter = uint32(round + 2)
				n := finishedAtOnce(8, "authenticate", func(int) (*browser, string) {
					tab, copied := newBrowser(t, s), *k
					return tab, copied.Authenticate(t, tab.options("action=authenticate").Options, tab.client())
				})
				require.Equalf(t, 1, n, "round %d: how many copies got in with one counter", round)
			}
		})
	}
}

// plainAdapter hides all methods of an adapter except the nineteen.
type plainAdapter struct{ adapter.Adapter }

// TestAnswersAlikeForEveryAddress: a response to a stranger does not reveal
// whether a user has the address.
func TestAnswersAlikeForEveryAddress(t *testing.T) {
	for _, provider := range []string{"passkey", "webauthn"} {
		s := newSite(t, func(c *auth.Config) {
			c.Providers = append(c.Providers, webauthn.WebAuthn(webauthn.With(func(p *auth.WebAuthn) { p.EnableConditionalUI = false })))
		})
		b := newBrowser(t, s)
		b.provider = provider
		b.wantDone(b.register(softkey.New(t, softkey.ES256), "known@example.com"))
		for _, action := range []string{"", "action=authenticate", "action=register"} {
			shape := func(email string) string {
				stranger := newBrowser(t, s)
				stranger.provider = provider
				res := stranger.get("/auth/webauthn-options/" + provider + "?" + action + "&email=" + email)
				var o struct {
					Options struct {
						Challenge string
						User      struct{ ID string }
					}
				}
				require.NoError(t, json.Unmarshal([]byte(res.body), &o), res.body)
				body := strings.ReplaceAll(res.body, o.Options.Challenge, "CHALLENGE")
				if o.Options.User.ID != "" {
					body = strings.ReplaceAll(body, o.Options.User.ID, "HANDLE")
				}
				sizes := 0
				for _, c := range res.Cookies() {
					sizes += len(c.Value)
				}
				assert.Equalf(t, "private, no-cache, no-store", res.Header.Get("Cache-Control"),
					"the options may be cached: %v", res.Header)
				return strings.ReplaceAll(body, email, "EMAIL") + " " + string(rune('0'+res.StatusCode/100)) + " " + strings.Repeat(".", sizes)
			}
			known := shape("known@example.com")
			assert.Equalf(t, known, shape("other@example.com"), "%s %s", provider, action)
			assert.NotContainsf(t, known, "allowCredentials", "%s %s lists credentials", provider, action)
		}
	}
}

// TestAddressOfARegistration: the address of a registration is that of a mail
// link: normalised, or refused.
func TestAddressOfARegistration(t *testing.T) {
	for given, want := range map[string]string{
		"Ada@Example.com": "ada@example.com", " ada@example.com ": "ada@example.com", "ada@xn--bcher-kva.example": "ada@bücher.example",
		"ada": "", "ada@": "", "a b@example.com": "", "ada@example.com,eve@example.com": "", "\u212aada@example.com": "",
	} {
		b := newBrowser(t, newSite(t, nil))
		res := b.get("/auth/webauthn-options/passkey?action=register&email=" + url.QueryEscape(given))
		var o struct {
			Options struct{ User struct{ Name string } }
		}
		require.NoError(t, json.Unmarshal([]byte(res.body), &o))
		status := map[bool]int{true: http.StatusBadRequest, false: http.StatusOK}[want == ""]
		assert.Equalf(t, status, res.StatusCode, "%q: status", given)
		assert.Equalf(t, want, o.Options.User.Name, "%q: the options are for", given)
	}
}

// TestDecisions checks the decision table of webauthn-options in Auth.js, which
// DangerouslyListCredentials restores.
func TestDecisions(t *testing.T) {
	s := newSite(t, func(c *auth.Config) {
		c.Providers = []auth.Provider{webauthn.Passkey(webauthn.With(func(p *auth.WebAuthn) { p.DangerouslyListCredentials = true }))}
	})
	known := newBrowser(t, s)
	known.wantDone(known.register(softkey.New(t, softkey.ES256), "known@example.com"))
	for _, c := range []struct {
		query    string
		signedIn bool
		want     string // the action, or the error
		listed   int    // credentials in the options, -1 for no list
	}{
		{"action=authenticate", false, "authenticate", -1},
		{"action=authenticate&email=known@example.com", false, "authenticate", 1},
		{"action=authenticate&email=new@example.com", false, "authenticate", -1},
		{"action=authenticate", true, "authenticate", 1},
		{"action=register", true, "register", 1},
		{"action=register&email=new@example.com", false, "register", 0},
		{"action=register&email=KNOWN@example.com", false, "Invalid request", 0},
		{"action=register", false, "Invalid request", 0},
		{"action=register&email=no-address", false, "Invalid request", 0},
		{"", true, "Invalid request", 0},
		{"", false, "authenticate", -1},
		{"email=known@example.com", false, "authenticate", 1},
		{"email=new@example.com", false, "register", 0},
		{"action=other", false, "Invalid action", 0},
		{"action=", false, "Invalid action", 0},
		{"action=Register", true, "Invalid action", 0},
	} {
		b := newBrowser(t, s)
		if c.signedIn {
			b = known
		}
		res := b.get("/auth/webauthn-options/passkey?" + c.query)
		var o struct {
			Action, Error string
			Options       struct {
				AllowCredentials, ExcludeCredentials *[]struct{ ID string }
			}
		}
		require.NoError(t, json.Unmarshal([]byte(res.body), &o))
		got, list := o.Action, o.Options.AllowCredentials
		if o.Action == "register" {
			list = o.Options.ExcludeCredentials
		}
		listed := -1
		if list != nil {
			listed = len(*list)
		}
		if o.Error != "" {
			got, listed = o.Error, 0
			assert.Equalf(t, http.StatusBadRequest, res.StatusCode, "%s: status", c.query)
		}
		assert.Truef(t, got == c.want && listed == c.listed,
			"%s, signed in: %v: got %s with %d, want %s with %d", c.query, c.signedIn, got, listed, c.want, c.listed)
	}
}

// faultyStore fails in one method, before or after the method has done its
// work.
type faultyStore struct {
	adapter.Adapter
	fail  string
	after bool
}

var errFault = errors.New("the store is down")

func (f *faultyStore) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return fault(f, "LinkAccount", func() (*adapter.Account, error) { return f.Adapter.LinkAccount(ctx, a) })
}

func (f *faultyStore) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	return fault(f, "CreateAuthenticator", func() (*adapter.Authenticator, error) { return f.Adapter.CreateAuthenticator(ctx, a) })
}

func (f *faultyStore) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	return fault(f, "GetAuthenticator", func() (*adapter.Authenticator, error) { return f.Adapter.GetAuthenticator(ctx, id) })
}

func fault[T any](f *faultyStore, method string, do func() (*T, error)) (*T, error) {
	if f.fail != method {
		return do()
	}
	f.fail = ""
	if f.after {
		if _, err := do(); err != nil {
			return nil, err
		}
	}
	return nil, errFault
}

// TestFaultyStore: after any write of a sign-up has failed, or has only lost
// its response, the same person can sign up or sign in. A store that is down is
// not reported as a missing passkey.
func TestFaultyStore(t *testing.T) {
	for _, method := range []string{"LinkAccount", "CreateAuthenticator"} {
		for name, after := range map[string]bool{"before": false, "after": true} {
			t.Run(method+" fails "+name+" it did its work", func(t *testing.T) {
				store := &faultyStore{Adapter: memory.New(), fail: method, after: after}
				s := newSite(t, func(c *auth.Config) { c.Adapter = store })
				b := newBrowser(t, s)
				k := softkey.New(t, softkey.ES256)
				if b.register(k, "ada@example.com").location() != origin {
					b.wantNobody()
					b.wantDone(b.register(k, "ada@example.com"))
				}
				b.wantSession("ada@example.com")
				b.signOut()
				b.wantDone(b.signIn(k))
				b.wantSession("ada@example.com")
			})
		}
	}
	t.Run("a passkey that can't be read", func(t *testing.T) {
		store := &faultyStore{Adapter: memory.New()}
		s := newSite(t, func(c *auth.Config) { c.Adapter = store })
		b := newBrowser(t, s)
		k := softkey.New(t, softkey.ES256)
		b.wantDone(b.register(k, "ada@example.com"))
		b.signOut()
		store.fail = "GetAuthenticator"
		assert.Equal(t, http.StatusServiceUnavailable, b.signIn(k).StatusCode, "the status of the sign-in")
		b.wantDone(b.signIn(k))
	})
}

// TestUserHandleIsNotTheUser: an answer with the user handle of another user
// signs in the owner of the credential.
func TestUserHandleIsNotTheUser(t *testing.T) {
	s := newSite(t, nil)
	ada, bob := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
	b := newBrowser(t, s)
	b.wantDone(b.register(ada, "ada@example.com"))
	b.signOut()
	b.wantDone(b.register(bob, "bob@example.com"))
	b.signOut()
	bob.Handle = ada.Handle
	b.wantDone(b.signIn(bob))
	b.wantSession("bob@example.com")
}

// TestSignalListsAllPasskeys: the script that asks for it gets all passkeys of
// the user under the handle that it has just received. After a failure of the
// store it gets nothing.
func TestSignalListsAllPasskeys(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	k, second := softkey.New(t, softkey.ES256), softkey.New(t, softkey.ES256)
	b.wantDone(b.register(k, "ada@example.com"))
	b.wantDone(b.register(second, ""))
	b.signOut()
	form := url.Values{"action": {"authenticate"}, "data": {k.Authenticate(t, b.options("action=authenticate").Options, b.client())}, "signal": {"1"}}
	res := b.do(http.MethodPost, "/auth/callback/passkey", form.Encode(), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {origin}, "X-Auth-Return-Redirect": {"1"},
	})
	var got struct {
		URL    string
		Signal struct {
			RPID, UserID             string
			AllAcceptedCredentialIDs []string `json:"allAcceptedCredentialIds"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(res.body), &got))
	handle := base64.RawURLEncoding.EncodeToString([]byte(k.Handle))
	assert.Truef(t, got.URL == origin && got.Signal.RPID == "app.example.com" && got.Signal.UserID == handle, "got %s", res.body)
	assert.ElementsMatch(t, []string{k.IDText(), second.IDText()}, got.Signal.AllAcceptedCredentialIDs)
}

// TestPasskeyThatIsSentTwice: the answer of an authenticator that comes twice
// leads the person who is signed in on. It signs in nobody else, and nobody in
// another browser.
func TestPasskeyThatIsSentTwice(t *testing.T) {
	s := newSite(t, nil)
	k := softkey.New(t, softkey.ES256)
	b := newBrowser(t, s)
	o := b.options("action=register&email=ada@example.com")
	data := k.Register(t, o.Options, b.client())
	b.wantDone(b.finish("register", data))
	b.wantDone(b.finish("register", data))
	o = b.options("action=authenticate")
	data = k.Authenticate(t, o.Options, b.client())
	b.wantDone(b.finish("authenticate", data, "callbackUrl", origin))
	b.wantDone(b.finish("authenticate", data, "callbackUrl", origin))
	b.wantSession("ada@example.com")

	other := newBrowser(t, s)
	other.wantRefused(other.finish("authenticate", data), "expired")
	other.wantNobody()
	b.signOut()
	r := b.finish("authenticate", data)
	b.wantRefused(r, "expired")
	page := b.get(strings.TrimPrefix(r.location(), origin))
	assert.Contains(t, page.body, "You are not signed in.")
	assert.Contains(t, page.body, "try again")
}

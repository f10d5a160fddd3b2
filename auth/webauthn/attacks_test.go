package webauthn_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strategies are the two places where sessions are kept.
var strategies = map[string]auth.Strategy{"database": auth.StrategyDatabase, "token": auth.StrategyJWT}

// TestGoneInTheMeantime: a record that a ceremony needs may be deleted between
// its begin and its end. Then nobody is signed in, and no record without an
// owner is stored.
func TestGoneInTheMeantime(t *testing.T) {
	for name, strategy := range strategies {
		setUp := func(t *testing.T) (s *site, id string, b *browser, k *softkey.Key) {
			s = newSite(t, func(c *auth.Config) { c.Session.Strategy = strategy })
			b = newBrowser(t, s)
			k = softkey.New(t, softkey.ES256)
			b.wantDone(b.register(k, "ada@example.com"))
			b.wantDone(b.register(softkey.New(t, softkey.ES256), ""))
			user, err := s.store.GetUserByEmail(t.Context(), "ada@example.com")
			require.Truef(t, err == nil && user != nil, "%v %v", user, err)
			return s, user.ID, b, k
		}
		for what, remove := range map[string]func(s *site, id string, k *softkey.Key) error{
			"the passkey, removed on another device": func(s *site, id string, k *softkey.Key) error {
				return s.RemovePasskey(t.Context(), id, k.StoredID())
			},
			"the user who signs in": func(s *site, id string, _ *softkey.Key) error {
				_, err := s.store.DeleteUser(t.Context(), id)
				return err
			},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				s, id, b, k := setUp(t)
				b.signOut()
				o := b.options("action=authenticate")
				require.NoError(t, remove(s, id, k))
				b.wantRefused(b.finish("authenticate", k.Authenticate(t, o.Options, b.client())), "unknown")
				b.wantNobody()
			})
		}
		t.Run(name+", the user who adds a passkey", func(t *testing.T) {
			s, id, b, _ := setUp(t)
			o := b.options("action=register")
			must(s.store.DeleteUser(t.Context(), id))(t)
			added := softkey.New(t, softkey.ES256)
			assert.NotEqual(t, origin, b.finish("register", added.Register(t, o.Options, b.client())).location(),
				"the registration of a deleted user ends well")
			assert.Nil(t, must(s.store.GetAuthenticator(t.Context(), added.StoredID()))(t), "the store")
			assert.Nil(t, must(s.store.GetAccount(t.Context(), added.StoredID(), "passkey"))(t), "the store")
			assert.Nil(t, must(s.store.GetUserByEmail(t.Context(), "ada@example.com"))(t), "the deleted user is back")
		})
		t.Run(name+", nothing", func(t *testing.T) { // the control: nothing is deleted
			_, _, b, k := setUp(t)
			b.signOut()
			b.wantDone(b.signIn(k))
			b.wantSession("ada@example.com")
		})
	}
}

// TestRegistrationsRace: of many concurrent registrations with the same
// credential, or with the same address, one is stored, and the others store
// nothing.
func TestRegistrationsRace(t *testing.T) {
	const n = 12
	t.Run("one credential, many users", func(t *testing.T) {
		s := newSite(t, nil)
		k := softkey.New(t, softkey.ES256)
		done := finishedAtOnce(n, "register", func(i int) (*browser, string) {
			b, copied := newBrowser(t, s), *k
			o := b.options(fmt.Sprintf("action=register&email=u%d@example.com", i))
			return b, copied.Register(t, o.Options, b.client())
		})
		users := 0
		for i := range n {
			if must(s.store.GetUserByEmail(t.Context(), fmt.Sprintf("u%d@example.com", i)))(t) != nil {
				users++
			}
		}
		assert.Truef(t, done == 1 && users == 1,
			"%d registrations ended well, and there are %d users, want 1 and 1", done, users)
	})
	t.Run("one address, many credentials", func(t *testing.T) {
		s := newSite(t, nil)
		done := finishedAtOnce(n, "register", func(int) (*browser, string) {
			b := newBrowser(t, s)
			o := b.options("action=register&email=ada@example.com")
			return b, softkey.New(t, softkey.ES256).Register(t, o.Options, b.client())
		})
		assert.Equal(t, 1, done, "the number of registrations that ended well")
		assert.Len(t, s.authenticatorsOf(t, "ada@example.com"), 1, "Ada's passkeys")
	})
	t.Run("one answer, many times", func(t *testing.T) {
		s := newSite(t, nil)
		b := newBrowser(t, s)
		b.wantDone(b.register(softkey.New(t, softkey.ES256), "ada@example.com"))
		data := softkey.New(t, softkey.ES256).Register(t, b.options("action=register").Options, b.client())
		done := finishedAtOnce(n, "register", func(int) (*browser, string) {
			tab := newBrowser(t, s)
			maps.Copy(tab.cookies, b.cookies)
			return tab, data
		})
		assert.Equal(t, 1, done, "the number of registrations that ended well")
		assert.Len(t, s.authenticatorsOf(t, "ada@example.com"), 2, "Ada's passkeys")
	})
}

// finishedAtOnce lets n browsers end a ceremony at the same time, and returns how
// many of them succeed.
func finishedAtOnce(n int, action string, begin func(i int) (b *browser, data string)) int {
	var wait sync.WaitGroup
	var done atomic.Int32
	for i := range n {
		b, data := begin(i)
		wait.Go(func() {
			if b.finish(action, data).location() == origin {
				done.Add(1)
			}
		})
	}
	wait.Wait()
	return int(done.Load())
}

// TestHostileAnswers: an answer that is built to confuse a parser is refused,
// or is read as its authenticator signed it. Each is tried in a registration.
func TestHostileAnswers(t *testing.T) {
	raw := func(change func(s string) string) func(k *softkey.Key, c *softkey.Client) func(string) string {
		return func(*softkey.Key, *softkey.Client) func(string) string { return change }
	}
	answer := func(change func(a map[string]any)) func(k *softkey.Key, c *softkey.Client) func(string) string {
		return func(_ *softkey.Key, c *softkey.Client) func(string) string { c.ChangeAnswer = change; return nil }
	}
	response := func(name string, v any) func(k *softkey.Key, c *softkey.Client) func(string) string {
		return answer(func(a map[string]any) { a["response"].(map[string]any)[name] = v })
	}
	for name, c := range map[string]struct {
		attack func(k *softkey.Key, c *softkey.Client) func(string) string
		code   string // empty: the answer is accepted
	}{
		"an honest answer":   {raw(func(s string) string { return s }), ""},
		"nested 10000 times": {raw(func(s string) string { return strings.Repeat("[", 10000) + strings.Repeat("]", 10000) }), "unreadable"},
		"nested in an unknown member": {raw(func(s string) string {
			return `{"x":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "," + s[1:]
		}), ""},
		"an ID twice":                  {raw(func(s string) string { return `{"id":"AAAA",` + s[1:] }), ""},
		"an ID twice, the other last":  {raw(func(s string) string { return s[:len(s)-1] + `,"id":"AAAA"}` }), "unreadable"},
		"both IDs of somebody else":    {answer(func(a map[string]any) { a["id"], a["rawId"] = "AAAA", "AAAA" }), "refused"},
		"an ID that is a number":       {answer(func(a map[string]any) { a["id"] = 7 }), "unreadable"},
		"an ID in standard base64":     {answer(func(a map[string]any) { a["id"], a["rawId"] = "++//", "++//" }), "unreadable"},
		"an ID that is null":           {answer(func(a map[string]any) { a["id"], a["rawId"] = nil, nil }), "unreadable"},
		"a response that is an array":  {answer(func(a map[string]any) { a["response"] = []any{} }), "unreadable"},
		"client data with a null byte": {response("clientDataJSON", "\x00"), "unreadable"},
		"an object that is not base64": {response("attestationObject", "***"), "unreadable"},
		"an object nested too deeply":  {response("attestationObject", strings.Repeat("gYGB", 2000)), "unreadable"},
		"an array of four thousand MB": {response("attestationObject", "mv____8"), "unreadable"},
		"transports that are no list":  {response("transports", "usb"), "unreadable"},
		"transports that are objects":  {response("transports", []any{map[string]any{}}), "unreadable"},
		"an ID that is too long":       {func(k *softkey.Key, _ *softkey.Client) func(string) string { k.ID = make([]byte, 1024); return nil }, "unreadable"},
		"the longest ID": {func(k *softkey.Key, _ *softkey.Client) func(string) string {
			k.ID = slices.Repeat([]byte{7}, 1023)
			return nil
		}, ""},
		"an ID without a byte": {func(k *softkey.Key, _ *softkey.Client) func(string) string { k.ID = nil; return nil }, "unreadable"},
		"an ID longer than what is there": {func(_ *softkey.Key, c *softkey.Client) func(string) string {
			c.ChangeAuthData = func(b []byte) []byte { binary.BigEndian.PutUint16(b[53:], 60000); return b }
			return nil
		}, "unreadable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			b := newBrowser(t, s)
			k, client := softkey.New(t, softkey.ES256), b.client()
			change := c.attack(k, &client)
			data := k.Register(t, b.options("action=register&email=ada@example.com").Options, client)
			if change != nil {
				data = change(data)
			}
			res := b.finish("register", data)
			if c.code != "" {
				b.wantRefused(res, c.code)
				b.wantNobody()
				return
			}
			b.wantDone(res)
			got := s.authenticatorsOf(t, "ada@example.com")
			assert.Truef(t, len(got) == 1 && got[0].CredentialID == k.StoredID(), "the store holds %+v", got)
		})
	}
}

// TestHostileTransports: only names of transports are stored, and only a
// limited number.
func TestHostileTransports(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	k := softkey.New(t, softkey.ES256)
	k.Transports = append([]string{"usb", "a,b", "<script>", "", "USB", "é", strings.Repeat("x", 33), "\x00"}, slices.Repeat([]string{"nfc"}, 1000)...)
	b.wantDone(b.register(k, "ada@example.com"))
	stored := s.authenticatorsOf(t, "ada@example.com")[0]
	assert.Truef(t, stored.Transports != nil && len(*stored.Transports) <= 100 && strings.HasPrefix(*stored.Transports, "usb,nfc"),
		"the store keeps %v", stored.Transports)
	var o struct {
		ExcludeCredentials []struct{ Transports []string }
	}
	err := json.Unmarshal(b.options("action=register").Options, &o)
	require.Truef(t, err == nil && len(o.ExcludeCredentials) == 1, "%v %v", err, o)
	for _, transport := range o.ExcludeCredentials[0].Transports {
		assert.Truef(t, transport == "usb" || transport == "nfc", "the options offer the transport %q", transport)
	}
}

// TestNamesOfPasskeys: a name consists of visible text, and the page shows it
// as text only.
func TestNamesOfPasskeys(t *testing.T) {
	s := newSite(t, nil)
	id, b := signUp(t, s, "ada@example.com", 1)
	list, err := s.Passkeys(t.Context(), id)
	require.NoError(t, err)
	b.h = s.PasskeysPage()
	for name, ok := range map[string]bool{
		"Mein Schlüssel": true, "鍵": true, "مفتاح": true, "👨‍👩‍👧": true, "a b": true, `"><script>alert(1)</script>`: true, "{{.}}": true,
		"a\u202eb": false, "\u2066a": false, "a\u2028b": false, "a\tb": false, "a\x7fb": false, "\u0085": false, "\u200b": false, "\u3164\u200d": true,
		" \u00a0 ": false, "\u200f": false, "\ufeff": false, "a\xc0\xaf": false,
	} {
		form := url.Values{"op": {"rename"}, "id": {list[0].ID}, "name": {name}}
		res := b.do(http.MethodPost, "/passkeys", form.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {origin}})
		assert.Falsef(t, (res.StatusCode == http.StatusOK) != ok || !ok && res.StatusCode != http.StatusBadRequest,
			"the name %q is answered with status %d", name, res.StatusCode)
		assert.NotContainsf(t, res.body, "<script>alert", "the name %q is part of the page", name)
		csp := res.Header.Get("Content-Security-Policy")
		assert.Truef(t, strings.Contains(csp, "frame-ancestors 'none'") || res.Header.Get("X-Frame-Options") == "DENY",
			"the page may be framed: %v", res.Header)
	}
	stored, err := s.store.GetAuthenticator(t.Context(), list[0].ID)
	assert.Truef(t, err == nil && stored != nil && stored.Name != nil && !strings.ContainsAny(*stored.Name, "\u202e\u2066\u2028"),
		"the store holds %+v (%v)", stored, err)
}

// longKey has an RSA public key that is composed and not generated: nobody can
// sign with it, and anybody can register it.
type longKey struct{ public rsa.PublicKey }

func (k *longKey) Public() crypto.PublicKey { return &k.public }

func (k *longKey) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, k.public.Size()), nil
}

// replacedKey is a store in which each passkey has another public key.
type replacedKey struct {
	*memory.Adapter
	cose string // while it is empty, no key is replaced
}

func (r *replacedKey) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	found, err := r.Adapter.GetAuthenticator(ctx, id)
	if err == nil && found != nil && r.cose != "" {
		found.CredentialPublicKey = r.cose
	}
	return found, err
}

// TestLongKeysAreNotUsed: each signature with a very long key would occupy a
// processor for seconds. Such a key is refused at registration, as a key that
// signs the attestation, and when it is stored already. Long keys of usual
// sizes still work.
func TestLongKeysAreNotUsed(t *testing.T) {
	t.Parallel()
	modulus := new(big.Int).SetBytes(slices.Repeat([]byte{0xc5}, 12<<10))
	long := &longKey{rsa.PublicKey{N: modulus, E: 1<<24 - 1}}
	t.Run("in a registration", func(t *testing.T) {
		for name, statement := range map[string]func(k *softkey.Key, authData, hash []byte) map[string]any{
			"without a statement": nil,
			"signed by itself": func(k *softkey.Key, _, _ []byte) map[string]any {
				return map[string]any{"alg": k.Algorithm, "sig": make([]byte, 12<<10)}
			},
		} {
			s := newSite(t, nil)
			b, k := newBrowser(t, s), softkey.New(t, softkey.RS256)
			k.Format, k.Statement = "packed", statement
			began := time.Now()
			b.wantRefused(b.finish("register", k.WithSigner(long).Register(t, b.options("action=register&email=ada@example.com").Options, b.client())), "refused")
			took := time.Since(began)
			assert.Truef(t, took <= 2*time.Second, "%s: the registration kept a processor busy for %v", name, took)
			b.wantNobody()
			s.wantQuietLog(t, "longer than 8192 bits")
		}
	})
	t.Run("in the store", func(t *testing.T) {
		store := &replacedKey{Adapter: memory.New()}
		s := newSite(t, func(c *auth.Config) { c.Adapter = store })
		b, k := newBrowser(t, s), softkey.New(t, softkey.RS256)
		b.wantDone(b.register(k, "ada@example.com"))
		b.signOut()
		store.cose = base64.StdEncoding.EncodeToString(k.WithSigner(long).COSE())
		began := time.Now()
		b.wantRefused(b.signIn(k), "refused")
		took := time.Since(began)
		assert.Truef(t, took <= 2*time.Second, "the sign-in kept a processor busy for %v", took)
		b.wantNobody()
		s.wantQuietLog(t, "longer than 8192 bits")
	})
	t.Run("an honest one of 4096 bits", func(t *testing.T) {
		key := must(rsa.GenerateKey(rand.Reader, 4096))(t)
		b, k := newBrowser(t, newSite(t, nil)), softkey.New(t, softkey.RS256).WithSigner(key)
		b.wantDone(b.register(k, "bob@example.com"))
		b.signOut()
		b.wantDone(b.signIn(k))
	})
}

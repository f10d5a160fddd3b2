package webauthn_test

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"encoding/asn1"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/node"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// authJS is a site with the real Auth.js. It is an http.Handler, so that the
// browser of the tests can use it.
type authJS struct {
	t     testing.TB
	in    io.WriteCloser
	out   *bufio.Scanner
	trace []string
	// stop ends the process; the test calls it at its end.
	stop func()
}

func startAuthJS(t testing.TB) *authJS {
	t.Helper()
	cmd := node.Command(t, "no passkey was compared with Auth.js", "webauthn/site.mjs")
	in := must(cmd.StdinPipe())(t)
	out := must(cmd.StdoutPipe())(t)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	require.NoError(t, cmd.Start())
	s := bufio.NewScanner(out)
	s.Buffer(nil, 1<<24)
	return &authJS{t: t, in: in, out: s, stop: func() {
		_ = in.Close()
		err := cmd.Wait()
		assert.NoErrorf(t, err, "site.mjs: %v\n%s", err, &complaints)
	}}
}

// tell sends a message and reads the answer.
func (a *authJS) tell(message map[string]any, answer any) {
	a.t.Helper()
	require.NoError(a.t, json.NewEncoder(a.in).Encode(message))
	if !a.out.Scan() {
		a.t.Fatalf("site.mjs ended: %v", a.out.Err())
	}
	var failed struct{ Error string }
	err := json.Unmarshal(a.out.Bytes(), &failed)
	require.False(a.t, err == nil && failed.Error != "", failed.Error)
	if answer != nil {
		require.NoError(a.t, json.Unmarshal(a.out.Bytes(), answer))
	}
}

func (a *authJS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if !assert.NoError(a.t, err) {
		return
	}
	headers := map[string]string{}
	for name, v := range r.Header {
		headers[name] = strings.Join(v, "; ")
	}
	request := map[string]any{"method": r.Method, "url": r.URL.String(), "headers": headers}
	if len(body) > 0 {
		request["body"] = string(body)
	}
	var answer struct {
		Status    int
		Headers   map[string]string
		SetCookie []string
		Body      string
		Trace     []string
	}
	a.tell(map[string]any{"request": request}, &answer)
	a.trace = answer.Trace
	for name, v := range answer.Headers {
		w.Header().Set(name, v)
	}
	for _, line := range answer.SetCookie {
		w.Header().Add("Set-Cookie", line)
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write([]byte(answer.Body))
}

// jsRow is an authenticator as Auth.js keeps it.
type jsRow struct {
	CredentialID         string  `json:"credentialID"`
	UserID               string  `json:"userId"`
	ProviderAccountID    string  `json:"providerAccountId"`
	CredentialPublicKey  string  `json:"credentialPublicKey"`
	Counter              int64   `json:"counter"`
	CredentialBackedUp   bool    `json:"credentialBackedUp"`
	CredentialDeviceType string  `json:"credentialDeviceType"`
	Transports           *string `json:"transports,omitempty"`
}

// TestAuthJSSharesTables: a passkey that was registered with @auth/core and
// @simplewebauthn/server signs in here from the same rows. A passkey that was
// registered here signs in there. Both sides store the same row for it.
func TestAuthJSSharesTables(t *testing.T) {
	js := startAuthJS(t)
	defer js.stop()
	for name, alg := range map[string]int{"EdDSA": softkey.EdDSA, "ES256": softkey.ES256, "RS256": softkey.RS256} {
		for _, provider := range []string{"passkey", "webauthn"} {
			t.Run(provider+" "+name, func(t *testing.T) {
				js.t = t
				create := webauthn.Passkey
				if provider == "webauthn" {
					create = webauthn.WebAuthn
				}
				js.tell(map[string]any{"config": map[string]any{"secret": secret, "provider": provider, "now": time.Now().UnixMilli()}}, nil)
				ours := newSite(t, func(c *auth.Config) { c.Clock, c.Providers = time.Now, []auth.Provider{create()} })
				there, here := newBrowser(t, js), newBrowser(t, ours)
				there.provider, here.provider = provider, provider

				theirKey, ourKey := softkey.New(t, alg), longSignatures(softkey.New(t, alg))
				theirKey.Step, ourKey.Step = 1, 1
				there.wantDone(there.register(theirKey, "ada@example.com"))
				here.wantDone(here.register(ourKey, "bob@example.com"))

				var rows struct {
					Users          []struct{ ID, Email string }
					Accounts       []struct{ UserID, Type, Provider, ProviderAccountID string }
					Authenticators []jsRow
				}
				js.tell(map[string]any{"store": true}, &rows)
				ada := must(ours.store.CreateUser(t.Context(), adapter.User{Email: rows.Users[0].Email}))(t)
				must(ours.store.LinkAccount(t.Context(), adapter.Account{
					UserID: ada.ID, Type: adapter.AccountWebAuthn, Provider: rows.Accounts[0].Provider, ProviderAccountID: rows.Accounts[0].ProviderAccountID,
				}))(t)
				row := rows.Authenticators[0]
				must(ours.store.CreateAuthenticator(t.Context(), adapter.Authenticator{
					CredentialID: row.CredentialID, UserID: ada.ID, ProviderAccountID: row.ProviderAccountID, CredentialPublicKey: row.CredentialPublicKey,
					Counter: row.Counter, CredentialBackedUp: row.CredentialBackedUp, CredentialDeviceType: row.CredentialDeviceType, Transports: row.Transports,
				}))(t)
				mine := ours.authenticatorsOf(t, "bob@example.com")[0]
				js.tell(map[string]any{"seed": map[string]any{
					"users":    []any{map[string]any{"id": "bob", "email": "bob@example.com"}},
					"accounts": []any{map[string]any{"userId": "bob", "type": "webauthn", "provider": provider, "providerAccountId": mine.ProviderAccountID}},
					"authenticators": []any{jsRow{
						mine.CredentialID, "bob", mine.ProviderAccountID, mine.CredentialPublicKey, mine.Counter, mine.CredentialBackedUp, mine.CredentialDeviceType, mine.Transports,
					}},
				}}, nil)

				// The same key registered on both sides gives the same row.
				both := softkey.New(t, alg)
				second := newBrowser(t, js)
				second.provider = provider
				second.wantDone(second.register(both, "eve@example.com"))
				second = newBrowser(t, ours)
				second.provider = provider
				second.wantDone(second.register(both, "eve@example.com"))
				js.tell(map[string]any{"store": true}, &rows)
				theirs := rows.Authenticators[len(rows.Authenticators)-1]
				eve := ours.authenticatorsOf(t, "eve@example.com")[0]
				stored := jsRow{eve.CredentialID, theirs.UserID, eve.ProviderAccountID, eve.CredentialPublicKey, eve.Counter, eve.CredentialBackedUp, eve.CredentialDeviceType, eve.Transports}
				assert.Equal(t, theirs, stored, "what Auth.js keeps, and what we keep")

				for range 2 {
					there.signOut()
					here.signOut()
					there.wantDone(there.signIn(ourKey))
					there.wantSession("bob@example.com")
					here.wantDone(here.signIn(theirKey))
					here.wantSession("ada@example.com")
				}

				// A ceremony that one side began can be ended at the other.
				there.signOut()
				here.signOut()
				o := there.options("action=authenticate")
				here.cookies = there.cookies
				here.wantDone(here.finish("authenticate", theirKey.Authenticate(t, o.Options, here.client())))
				here.wantSession("ada@example.com")
				here.signOut()
				there.cookies = here.cookies
				o = here.options("action=authenticate")
				there.wantDone(there.finish("authenticate", ourKey.Authenticate(t, o.Options, there.client())))
				there.wantSession("bob@example.com")
			})
		}
	}
}

// longSignatures makes a key of ECDSA sign again until no leading zero bytes
// are missing in its signatures: @simplewebauthn/server 9 refuses the others,
// one in 128.
func longSignatures(k *softkey.Key) *softkey.Key {
	if _, ok := k.Signer().Public().(*ecdsa.PublicKey); !ok {
		return k
	}
	return k.WithSigner(ecdsaOfLength{k.Signer(), false})
}

// ecdsaOfLength signs until both numbers of the signature have 32 bytes or, if
// short is set, until one has fewer.
type ecdsaOfLength struct {
	crypto.Signer
	short bool
}

func (s ecdsaOfLength) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	for {
		sig, err := s.Signer.Sign(random, digest, opts)
		if err != nil {
			return nil, err
		}
		var numbers struct{ R, S *big.Int }
		if _, err := asn1.Unmarshal(sig, &numbers); err != nil {
			return nil, err
		}
		if min(numbers.R.BitLen(), numbers.S.BitLen()) <= 31*8 == s.short {
			return sig, nil
		}
	}
}

// TestShortSignatures: one signature of ES256 in 128 has a number with a leading
// zero byte. Gatehouse accepts it, Auth.js does not.
func TestShortSignatures(t *testing.T) {
	js := startAuthJS(t)
	defer js.stop()
	js.tell(map[string]any{"config": map[string]any{"secret": secret, "provider": "passkey", "now": time.Now().UnixMilli()}}, nil)
	ours := newSite(t, func(c *auth.Config) { c.Clock = time.Now })
	there, here := newBrowser(t, js), newBrowser(t, ours)
	k := softkey.New(t, softkey.ES256)
	k.WithSigner(ecdsaOfLength{k.Signer(), true})
	here.wantDone(here.register(k, "ada@example.com"))
	here.signOut()
	for range 3 {
		here.wantDone(here.signIn(k))
		here.wantSession("ada@example.com")
		here.signOut()
	}
	there.wantDone(there.register(k, "ada@example.com"))
	there.signOut()
	there.signIn(k)
	there.wantNobody()
	there.wantDone(there.signIn(longSignatures(k.WithSigner(k.Signer().(ecdsaOfLength).Signer))))
	there.wantSession("ada@example.com")
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b := must(json.Marshal(v))(t)
	return string(b)
}

package webauthn_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
)

// benchSite is a site with one user, whose passkey has no signature counter.
func benchSite(b *testing.B) (*site, *softkey.Key) {
	b.Helper()
	s := newSite(b, func(c *auth.Config) { c.Clock = time.Now })
	k := softkey.New(b, softkey.ES256)
	br := newBrowser(b, s)
	br.wantDone(br.register(k, "ada@example.com"))
	return s, k
}

// quiet is a ResponseWriter that stores header and body.
type quiet struct {
	header http.Header
	status int
	body   []byte
}

func (q *quiet) Header() http.Header         { return q.header }
func (q *quiet) WriteHeader(status int)      { q.status = status }
func (q *quiet) Write(p []byte) (int, error) { q.body = append(q.body, p...); return len(p), nil }
func (q *quiet) cookies() (pairs []string) {
	for _, line := range q.header["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		if !strings.HasSuffix(pair, "=") {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// BenchmarkOptions begins ceremonies of a browser that has cookies of an
// earlier visit. It compares the time with the encodings that this needs: three
// sealed tokens and the JSON.
func BenchmarkOptions(b *testing.B) {
	s, _ := benchSite(b)
	first := &quiet{header: http.Header{}}
	s.ServeHTTP(first, httptest.NewRequest(http.MethodGet, origin+"/auth/csrf", nil))
	request := httptest.NewRequest(http.MethodGet, origin+"/auth/webauthn-options/passkey?action=authenticate", nil)
	request.Header.Set("Cookie", strings.Join(first.cookies(), "; "))
	ours := func() {
		w := &quiet{header: http.Header{}}
		s.ServeHTTP(w, request)
		require.Equal(b, http.StatusOK, w.status, "status")
	}
	keys := new(jwt.Keys)
	var answer struct {
		Action  string          `json:"action"`
		Options json.RawMessage `json:"options"`
	}
	w := &quiet{header: http.Header{}}
	s.ServeHTTP(w, request)
	require.NoError(b, json.Unmarshal(w.body, &answer))
	var options protocol.PublicKeyCredentialRequestOptions
	require.NoError(b, json.Unmarshal(answer.Options, &options))
	baseline := func() {
		seal := func(salt string, claims jwt.Claims) string {
			token, err := jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: []string{secret}, Salt: salt, MaxAge: 15 * time.Minute, Keys: keys})
			require.NoError(b, err)
			return token
		}
		challenge := strings.Repeat("A", 43)
		inner := seal("encodedWebauthnChallenge", jwt.Claims{"challenge": challenge})
		seal("authjs.challenge", jwt.Claims{"value": inner, "provider": "passkey", "action": "authenticate", "rp": "app.example.com", "b": "0123456789abcdef"})
		seal("authjs.challenge.ceremony", jwt.Claims{"challenge": challenge, "provider": "passkey", "action": "authenticate", "rp": "app.example.com", "b": "0123456789abcdef"})
		_, err := json.Marshal(options)
		require.NoError(b, err)
	}
	compare(b, 200, ours, baseline)
}

// compare runs two functions in turns and reports the time of the first as a
// multiple of the time of the second.
func compare(b *testing.B, turn int, ours, baseline func()) {
	b.Helper()
	var spent, least time.Duration
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		ours()
		spent += time.Since(began)
		if n++; n%turn == 0 {
			b.StopTimer()
			began := time.Now()
			for range turn {
				baseline()
			}
			least += time.Since(began)
			b.StartTimer()
		}
	}
	if least > 0 {
		b.ReportMetric(float64(spent)/float64(n)/(float64(least)/float64(n/turn*turn)), "x-baseline")
	}
}

// BenchmarkVerify verifies assertions, and compares the time with the bare
// calls of go-webauthn.
func BenchmarkVerify(b *testing.B) {
	s, k := benchSite(b)
	stored := s.authenticatorsOf(b, "ada@example.com")[0]
	data := []byte(k.Authenticate(b, []byte(`{"challenge":"`+want.Challenge+`","rpId":"app.example.com"}`), softkey.Client{Origin: origin}))
	c := webauthn.Passkey().Ceremonies
	key := must(base64.StdEncoding.DecodeString(stored.CredentialPublicKey))(b)
	compare(b, 20, func() {
		a, err := c.ParseAuthentication(data)
		require.NoError(b, err)
		_, err = c.VerifyAuthentication(b.Context(), a, want, stored)
		require.NoError(b, err)
	}, func() {
		p, err := protocol.ParseCredentialRequestResponseBytes(data)
		require.NoError(b, err)
		err = p.Verify(want.Challenge, "app.example.com", "", []string{origin}, nil, nil, protocol.TopOriginExplicitVerificationMode, false, true, true, key, protocol.SignaturePolicy{})
		require.NoError(b, err)
	})
}

// callbackRequest begins a ceremony, and returns the request that ends it.
func callbackRequest(b *testing.B, s http.Handler, k *softkey.Key) *http.Request {
	w := &quiet{header: http.Header{}}
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, origin+"/auth/webauthn-options/passkey?action=authenticate", nil))
	var o begun
	require.NoError(b, json.Unmarshal(w.body, &o))
	form := url.Values{"action": {"authenticate"}, "data": {k.Authenticate(b, o.Options, softkey.Client{Origin: origin})}}.Encode()
	r := httptest.NewRequest(http.MethodPost, origin+"/auth/callback/passkey", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", origin)
	r.Header.Set("Cookie", strings.Join(w.cookies(), "; "))
	return r
}

// BenchmarkSignIn ends ceremonies with a store in memory. It compares the time
// with the bare call of go-webauthn and the bare calls of the store.
func BenchmarkSignIn(b *testing.B) {
	s, k := benchSite(b)
	stored := s.authenticatorsOf(b, "ada@example.com")[0]
	data := []byte(k.Authenticate(b, []byte(`{"challenge":"`+want.Challenge+`","rpId":"app.example.com"}`), softkey.Client{Origin: origin}))
	key := must(base64.StdEncoding.DecodeString(stored.CredentialPublicKey))(b)
	store := s.store.(*memory.Adapter)
	must := func(_ any, err error) { require.NoError(b, err) }
	baseline := func(n int) {
		p, err := protocol.ParseCredentialRequestResponseBytes(data)
		must(p, err)
		must(nil, p.Verify(want.Challenge, "app.example.com", "", []string{origin}, nil, nil, protocol.TopOriginExplicitVerificationMode, false, true, true, key, protocol.SignaturePolicy{}))
		ctx := b.Context()
		must(store.GetAuthenticator(ctx, stored.CredentialID))
		must(store.GetAccount(ctx, stored.ProviderAccountID, "passkey"))
		must(store.GetUser(ctx, stored.UserID))
		must(store.TouchAuthenticator(ctx, stored.CredentialID, 0, 0, time.Now()))
		must(store.GetUserByAccount(ctx, adapter.AccountKey{Provider: "passkey", ProviderAccountID: stored.ProviderAccountID}))
		must(store.CreateSession(ctx, adapter.Session{SessionToken: "bench-" + strings.Repeat("x", 20) + time.Now().String() + string(rune(n)), UserID: stored.UserID, Expires: time.Now().Add(time.Hour)}))
	}
	var spent, least time.Duration
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r := callbackRequest(b, s, k)
		w := &quiet{header: http.Header{}}
		b.StartTimer()
		began := time.Now()
		s.ServeHTTP(w, r)
		spent += time.Since(began)
		b.StopTimer()
		if w.header.Get("Location") != origin {
			b.Fatalf("the sign-in ends at %s", w.header.Get("Location"))
		}
		began = time.Now()
		baseline(n)
		least += time.Since(began)
		n++
		b.StartTimer()
	}
	b.ReportMetric(float64(spent)/float64(least), "x-baseline")
}

// BenchmarkSignInAuthJS compares BenchmarkOptions and BenchmarkSignIn with the
// real Auth.js and @simplewebauthn/server.
func BenchmarkSignInAuthJS(b *testing.B) {
	js := startAuthJS(b)
	defer js.stop()
	js.tell(map[string]any{"config": map[string]any{"secret": secret, "now": time.Now().UnixMilli()}}, nil)
	k := longSignatures(softkey.New(b, softkey.ES256))
	there := newBrowser(b, js)
	there.wantDone(there.register(k, "ada@example.com"))
	there.signOut()
	r := callbackRequest(b, js, k)
	body := must(io.ReadAll(r.Body))(b)
	form := must(url.ParseQuery(string(body)))(b)
	s, key := benchSite(b)
	request := httptest.NewRequest(http.MethodGet, origin+"/auth/webauthn-options/passkey?action=authenticate", nil)
	var options, callback time.Duration
	n := 0
	for b.Loop() {
		began := time.Now()
		s.ServeHTTP(&quiet{header: http.Header{}}, request)
		options += time.Since(began)
		r := callbackRequest(b, s, key)
		w := &quiet{header: http.Header{}}
		began = time.Now()
		s.ServeHTTP(w, r)
		callback += time.Since(began)
		n++
	}
	var theirs struct{ Options, Callback float64 } // measured for as long as ours
	js.tell(map[string]any{"bench": map[string]any{"site": origin, "data": form.Get("data"), "cookie": r.Header.Get("Cookie"), "seconds": b.Elapsed().Seconds()}}, &theirs)
	b.ReportMetric(theirs.Options*1e9, "authjs-options-ns")
	b.ReportMetric(theirs.Callback*1e9, "authjs-callback-ns")
	b.ReportMetric(theirs.Options/(options.Seconds()/float64(n)), "x-authjs-options")
	b.ReportMetric(theirs.Callback/(callback.Seconds()/float64(n)), "x-authjs-callback")
}

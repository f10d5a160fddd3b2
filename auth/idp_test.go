package auth_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
)

// The keys of the providers, made when they are first needed.
var (
	rsaKey      = sync.OnceValue(func() crypto.Signer { return orPanic(rsa.GenerateKey(rand.Reader, 2048)) })
	otherRSAKey = sync.OnceValue(func() crypto.Signer { return orPanic(rsa.GenerateKey(rand.Reader, 2048)) })
	ecKey       = sync.OnceValue(func() crypto.Signer { return orPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	edKey       = sync.OnceValue(func() crypto.Signer { _, k, err := ed25519.GenerateKey(rand.Reader); return orPanic(k, err) })
)

// orPanic is must for code that has no test at hand.
func orPanic[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const (
	idpClient = "client-1"
	idpSecret = "canary-client-secret-0123456789-abc"
)

// idp is an OpenID provider on loopback. Unless a test changes it, it is
// correct, and it strictly checks its client.
type idp struct {
	// URL is the issuer.
	URL string
	// client is an HTTP client that reaches the provider; nil means that any
	// client does.
	client *http.Client
	now    func() time.Time
	// alg, key and kid are used to sign tokens.
	alg jose.SignatureAlgorithm
	key crypto.Signer
	kid string
	// clientAuth is the required client authentication; clientKey verifies
	// private_key_jwt.
	clientAuth auth.ClientAuth
	clientKey  crypto.PublicKey
	// signedUserInfo makes the userinfo answer a JWT.
	signedUserInfo bool
	// iss is the issuer that the authorization answer names, or empty.
	iss string

	// A test can change these: the metadata, the claims of the ID token, how
	// claims become a token, the answer of the token endpoint, and whole
	// endpoints.
	metadata    func(m map[string]any)
	claims      func(m map[string]any)
	mint        func(m map[string]any) string
	tokenAnswer func(m map[string]any)
	endpoints   map[string]http.HandlerFunc

	mu       sync.Mutex
	grants   map[string]*grant
	people   map[string]string // by access token
	requests map[string]int    // by path
	// problems are the mistakes of the client.
	problems []string
	// secrets are the values that only provider, browser and client may know.
	secrets []string
}

// grant is the provider's record of a code.
type grant struct{ person, nonce, challenge, redirectURI string }

// newIDP starts a provider on loopback.
func newIDP(t testing.TB, now func() time.Time) *idp {
	p := newProvider(now)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// newBubbleIDP starts a provider that is reached through pipes, for tests in a
// synctest bubble, in which waiting takes no real time.
func newBubbleIDP(t testing.TB, now func() time.Time) *idp {
	p := newProvider(now)
	p.URL = "https://idp.example"
	l := &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: p, ErrorLog: log.New(io.Discard, "", 0)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	transport := &http.Transport{DialTLSContext: l.dial}
	p.client = &http.Client{Transport: transport}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-done
	})
	return p
}

// pipes is a net.Listener in memory.
type pipes struct {
	dialed chan net.Conn
	closed chan struct{}
}

func (l *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.dialed <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.dialed:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error   { close(l.closed); return nil }
func (l *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func newProvider(now func() time.Time) *idp {
	return &idp{
		now: now, alg: jose.RS256, key: rsaKey(), kid: "key-1", clientAuth: auth.ClientSecretBasic, endpoints: map[string]http.HandlerFunc{},
		grants: map[string]*grant{}, people: map[string]string{}, requests: map[string]int{}, secrets: []string{idpSecret},
	}
}

// provider returns the configuration of a client of the provider.
func (p *idp) provider() *auth.OAuth {
	return &auth.OAuth{
		ID: "idp", Type: auth.TypeOIDC, Issuer: p.URL, ClientID: idpClient, ClientSecret: idpSecret,
		Checks: []auth.Check{auth.CheckState, auth.CheckPKCE, auth.CheckNonce}, HTTPClient: p.client,
	}
}

func (p *idp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.requests[r.URL.Path]++
	p.mu.Unlock()
	if h := p.endpoints[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		m := map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "userinfo_endpoint": p.URL + "/userinfo",
			"jwks_uri": p.URL + "/jwks", "id_token_signing_alg_values_supported": []string{string(p.alg)},
		}
		if p.metadata != nil {
			p.metadata(m)
		}
		answerJSON(w, http.StatusOK, m)
	case "/jwks":
		answerJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: p.kid, Use: "sig"}}})
	case "/authorize":
		p.serveAuthorize(w, r)
	case "/token":
		p.serveToken(w, r)
	case "/userinfo":
		p.serveUserInfo(w, r)
	default:
		p.complain("request for %s", r.URL.Path)
		http.NotFound(w, r)
	}
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *idp) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// secret makes a value that must not be found in a log.
func (p *idp) secret(kind string) string {
	s := "canary-" + kind + "-" + rand.Text()
	p.keep(s)
	return s
}

func (p *idp) keep(secrets ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range secrets {
		if s != "" {
			p.secrets = append(p.secrets, s)
		}
	}
}

// count returns the number of requests for a path.
func (p *idp) count(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[path]
}

// serveAuthorize signs in the person named by login_hint, and sends the browser
// back.
func (p *idp) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != idpClient || q.Get("code_challenge") != "" && q.Get("code_challenge_method") != "S256" {
		p.complain("authorization request %s", r.URL.RawQuery)
	}
	person := q.Get("login_hint")
	if person == "" {
		person = "ada"
	}
	code := p.secret("code")
	p.keep(q.Get("state"), q.Get("nonce"))
	p.mu.Lock()
	p.grants[code] = &grant{person: person, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), redirectURI: q.Get("redirect_uri")}
	p.mu.Unlock()
	answer := url.Values{"code": {code}}
	if q.Has("state") {
		answer.Set("state", q.Get("state"))
	}
	if p.iss != "" {
		answer.Set("iss", p.iss)
	}
	if q.Get("response_mode") == "form_post" {
		_, _ = io.WriteString(w, answer.Encode())
		return
	}
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+answer.Encode())
	w.WriteHeader(http.StatusFound)
}

// authorize opens the provider's URL as a browser would, and returns the answer
// in the redirect.
func (p *idp) authorize(t testing.TB, location string) url.Values {
	t.Helper()
	w := serve(p, httptest.NewRequestWithContext(context.Background(), http.MethodGet, location, nil))
	answer := w.Body.String()
	if l := w.Header().Get("Location"); l != "" {
		_, answer, _ = strings.Cut(l, "?")
	}
	v, err := url.ParseQuery(answer)
	require.Truef(t, err == nil && v.Get("code") != "", "the provider answers %q", answer)
	return v
}

// acceptAgain makes the provider accept the code of an answer a second time.
func (p *idp) acceptAgain(answer url.Values) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants[answer.Get("code")] = &grant{person: "ada", redirectURI: origin + "/auth/callback/idp"}
}

func (p *idp) serveToken(w http.ResponseWriter, r *http.Request) {
	refuse := func(code string) {
		p.complain("token request: %s", code)
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": code})
	}
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.PostForm.Get("grant_type") != "authorization_code" {
		refuse("invalid_request")
		return
	}
	p.keep(r.PostForm.Get("code_verifier"), r.PostForm.Get("client_assertion"))
	if err := p.authenticate(r); err != nil {
		refuse(err.Error())
		return
	}
	code := r.PostForm.Get("code")
	p.mu.Lock()
	g := p.grants[code]
	delete(p.grants, code)
	p.mu.Unlock()
	if g == nil || r.PostForm.Get("redirect_uri") != g.redirectURI {
		refuse("invalid_grant")
		return
	}
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if g.challenge != "" && base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge {
		refuse("invalid_grant")
		return
	}
	access := p.secret("access")
	p.mu.Lock()
	p.people[access] = g.person
	p.mu.Unlock()
	now := p.now().Unix()
	claims := map[string]any{
		"iss": p.URL, "aud": idpClient, "sub": g.person, "iat": now, "exp": now + 300, "at_hash": accessTokenHash(p.alg, access),
		"name": g.person, "email": g.person + "@example.com",
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	if p.claims != nil {
		p.claims(claims)
	}
	mint := p.mint
	if mint == nil {
		mint = p.sign
	}
	answer := map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": 3600, "refresh_token": p.secret("refresh"), "id_token": mint(claims), "scope": "openid",
	}
	if p.tokenAnswer != nil {
		p.tokenAnswer(answer)
	}
	if s, ok := answer["id_token"].(string); ok {
		p.keep(s)
	}
	answerJSON(w, http.StatusOK, answer)
}

// authenticate checks that the client uses the authentication that it is
// registered with.
func (p *idp) authenticate(r *http.Request) error {
	form := r.PostForm
	id, secret, basic := r.BasicAuth()
	used := auth.ClientAuthNone
	switch {
	case basic:
		used = auth.ClientSecretBasic
		if form.Has("client_secret") || form.Has("client_assertion") {
			return errors.New("two ways to authenticate")
		}
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
	case form.Has("client_secret"):
		used, id, secret = auth.ClientSecretPost, form.Get("client_id"), form.Get("client_secret")
	case form.Has("client_assertion"):
		return p.checkAssertion(form)
	default:
		id, secret = form.Get("client_id"), idpSecret
	}
	if used != p.clientAuth || id != idpClient || secret != idpSecret {
		return errors.New("invalid_client")
	}
	return nil
}

// checkAssertion verifies a client assertion (RFC 7523 section 3).
func (p *idp) checkAssertion(form url.Values) error {
	algorithms, key := []jose.SignatureAlgorithm{jose.HS256}, any([]byte(idpSecret))
	if p.clientAuth == auth.PrivateKeyJWT {
		algorithms, key = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}, p.clientKey
	}
	signed, err := jose.ParseSignedCompact(form.Get("client_assertion"), algorithms)
	if err != nil {
		return err
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return err
	}
	var c struct {
		Iss, Sub, Jti string
		Aud           any
		Exp, Iat      int64
	}
	if err := json.Unmarshal(payload, &c); err != nil {
		return err
	}
	audience, _ := c.Aud.([]any)
	audience = append(audience, c.Aud)
	now := p.now().Unix()
	if c.Iss != idpClient || c.Sub != idpClient || c.Jti == "" || c.Exp <= now || c.Exp > now+300 || c.Iat > now ||
		!slices.ContainsFunc(audience, func(a any) bool { return a == p.URL }) ||
		form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return errors.New("invalid_client")
	}
	return nil
}

func (p *idp) serveUserInfo(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	person := p.people[token]
	p.mu.Unlock()
	if person == "" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	claims := map[string]any{"sub": person, "name": "userinfo of " + person, "email": strings.ToUpper(person) + "@example.com"}
	if !p.signedUserInfo {
		answerJSON(w, http.StatusOK, claims)
		return
	}
	claims["iss"], claims["aud"] = p.URL, idpClient
	w.Header().Set("Content-Type", "application/jwt")
	_, _ = io.WriteString(w, p.sign(claims))
}

// sign makes a JWT with the provider's key.
func (p *idp) sign(claims map[string]any) string { return sign(p.alg, p.key, p.kid, claims) }

func sign(alg jose.SignatureAlgorithm, key any, kid string, claims map[string]any) string {
	signer := orPanic(jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil))
	return orPanic(orPanic(signer.Sign(orPanic(json.Marshal(claims)))).CompactSerialize())
}

// accessTokenHash is the claim at_hash (OpenID Connect Core section 3.1.3.6).
func accessTokenHash(alg jose.SignatureAlgorithm, token string) string {
	h := sha256.New()
	if alg == jose.EdDSA {
		h = sha512.New()
	}
	_, _ = io.WriteString(h, token)
	sum := h.Sum(nil)
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

// rawToken makes a token from its parts, unsigned or with a wrong signature.
func rawToken(header, claims map[string]any, signature []byte) string {
	return base64.RawURLEncoding.EncodeToString(orPanic(json.Marshal(header))) + "." + base64.RawURLEncoding.EncodeToString(orPanic(json.Marshal(claims))) +
		"." + base64.RawURLEncoding.EncodeToString(signature)
}

// site is a Gatehouse site at which the provider is configured.
type site struct {
	*auth.Handler
	idp   *idp
	store *store
	log   *logBook
	clock *clock

	mu      sync.Mutex
	cookies []string // all cookie values; the parts of the CSRF cookie are separate entries
}

// newSite makes a site; configure, if not nil, changes its configuration.
func newSite(t testing.TB, configure func(p *idp, c *auth.Config, o *auth.OAuth)) *site {
	clock := newClock()
	return newSiteWith(t, newIDP(t, clock.Now), clock, configure)
}

func newSiteWith(t testing.TB, p *idp, now *clock, configure func(p *idp, c *auth.Config, o *auth.OAuth)) *site {
	s := &site{idp: p, store: newStore(), log: &logBook{}, clock: now}
	o := s.idp.provider()
	c := auth.Config{Clock: s.clock.Now, Adapter: s.store, Logger: s.log.logger(), Debug: true, Providers: []auth.Provider{o}}
	if configure != nil {
		configure(s.idp, &c, o)
	}
	s.Handler = newHandler(t, c)
	return s
}

// start starts a sign-in and returns the URL that the browser is sent to.
func (s *site) start(b *browser, target string) string {
	b.t.Helper()
	l := b.post(target).location()
	require.Truef(b.t, strings.HasPrefix(l, s.idp.URL+"/authorize?"),
		"start: the browser is sent to %q; log: %s", l, s.log)
	return l
}

// signIn runs a whole sign-in and returns the answer of the callback route.
func (s *site) signIn(b *browser) *reply {
	b.t.Helper()
	return b.get("/auth/callback/idp?" + s.idp.authorize(b.t, s.start(b, "/auth/signin/idp")).Encode())
}

// wantNoLeaks checks that the log and the shown texts hold no secret, that is,
// no value that only the provider, the site or a browser may know.
func (s *site) wantNoLeaks(t testing.TB, shown ...string) {
	t.Helper()
	book := s.log.String() + strings.Join(shown, "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idp.mu.Lock()
	defer s.idp.mu.Unlock()
	for _, canary := range slices.Concat(s.idp.secrets, s.cookies, []string{secret}) {
		if i := strings.Index(book, canary); i >= 0 {
			t.Errorf("a secret leaks: …%s…", book[max(0, i-120):min(len(book), i+len(canary)+20)])
		}
	}
}

// ServeHTTP keeps the values of the cookies that the site sets.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Handler.ServeHTTP(w, r)
	for _, c := range (&http.Response{Header: w.Header()}).Cookies() {
		if c.Value == "" || strings.Contains(c.Name, "callback-url") {
			continue
		}
		value, err := url.PathUnescape(c.Value)
		if err != nil {
			panic(err)
		}
		s.mu.Lock()
		s.cookies = append(s.cookies, strings.Split(value, "|")...)
		s.mu.Unlock()
	}
}

// body is an answer of the provider.
func body(status int, kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// flood returns an endless answer.
func flood(start string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, start)
		block := bytes.Repeat([]byte(" "), 64<<10)
		for r.Context().Err() == nil {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	}
}

// hang accepts the request and never answers.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// drip sends an answer without end, one byte at a time.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_, _ = io.WriteString(w, " ")
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

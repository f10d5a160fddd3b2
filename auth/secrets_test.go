package auth_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
)

// TestGuessableSecretsAreRefused: a short secret, in any field, stops New and
// Auth, except on a site that only this machine can reach.
func TestGuessableSecretsAreRefused(t *testing.T) {
	t.Parallel()
	long, short := secret, "hunter2"
	for name, c := range map[string]struct {
		config auth.Config
		ok     bool
	}{
		"long":                                   {auth.Config{URL: origin, Secret: []string{long}}, true},
		"short":                                  {auth.Config{URL: origin, Secret: []string{short}}, false},
		"31 characters":                          {auth.Config{URL: origin, Secret: []string{strings.Repeat("x", 31)}}, false},
		"31 characters of several bytes":         {auth.Config{URL: origin, Secret: []string{strings.Repeat("ü", 31)}}, false},
		"32 characters":                          {auth.Config{URL: origin, Secret: []string{strings.Repeat("x", 32)}}, true},
		"short tail":                             {auth.Config{URL: origin, Secret: []string{long, short}}, false},
		"short tail that is accepted":            {auth.Config{URL: origin, Secret: []string{long, short}, DangerouslyAcceptShortSecrets: true}, true},
		"short head with the tail accepted":      {auth.Config{URL: origin, Secret: []string{short, long}, DangerouslyAcceptShortSecrets: true}, false},
		"short for tokens":                       {auth.Config{URL: origin, Secret: []string{long}, JWT: auth.JWTConfig{Secret: []string{short}}}, false},
		"short tail for tokens that is accepted": {auth.Config{URL: origin, Secret: []string{long}, JWT: auth.JWTConfig{Secret: []string{long, short}}, DangerouslyAcceptShortSecrets: true}, true},
		"short for mail links": {auth.Config{
			URL: origin, Secret: []string{long}, Adapter: newStore(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT},
			Providers: []auth.Provider{&auth.Email{Secret: []string{short}, SendVerificationRequest: func(context.Context, auth.VerificationRequest) error { return nil }}},
		}, false},
		"short on this machine":             {auth.Config{URL: "http://localhost:3000", Secret: []string{short}}, false},
		"short on this machine, by address": {auth.Config{URL: "http://127.0.0.1", Secret: []string{short}}, false},
		"three letters":                     {auth.Config{Secret: []string{"abc"}}, false},
		"short for every trusted host":      {auth.Config{TrustHost: new(true), Secret: []string{short}}, false},
	} {
		c.config.Logger = slog.New(slog.DiscardHandler)
		_, err := auth.New(c.config)
		assert.Falsef(t, (err == nil) != c.ok || err != nil && !errors.Is(err, auth.ErrMissingSecret),
			"%s: New: got %v, want it accepted: %v", name, err, c.ok)
		assert.Falsef(t, err != nil && strings.Contains(err.Error(), short), "%s: the error holds the secret", name)
	}
	for _, host := range []string{"app.example.com", "localhost:3000", "[::1]:3000"} {
		r := httptest.NewRequest(http.MethodGet, "/auth/csrf", nil)
		r.Host, r.RemoteAddr = host, "127.0.0.1:4000"
		res := auth.Auth(r, auth.Config{Secret: []string{short}, TrustHost: new(true), Logger: slog.New(slog.DiscardHandler)})
		res.Body.Close()
		assert.Equalf(t, http.StatusInternalServerError, res.StatusCode, "%s: Auth: got status", host)
	}
}

// TestHostHeaderAloneIsNotLoopback: a client on another machine is not trusted
// because it sends the host localhost.
func TestHostHeaderAloneIsNotLoopback(t *testing.T) {
	t.Parallel()
	h := must(auth.New(auth.Config{Secret: []string{secret}, Logger: slog.New(slog.DiscardHandler)}))(t)
	for _, c := range []struct {
		peer   string
		header http.Header
		status int
	}{
		{"127.0.0.1:4000", nil, 200},
		{"[::1]:4000", nil, 200},
		{"", nil, 200}, // made in this process
		{"127.0.0.1:4000", http.Header{"X-Forwarded-For": {"127.0.0.1, ::1"}}, 200},
		{"203.0.113.5:4000", nil, 500},
		{"@", nil, 500}, // the socket of a proxy
		{"127.0.0.1:4000", http.Header{"X-Forwarded-For": {"203.0.113.5"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-For": {"127.0.0.1, 203.0.113.5"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-For": {"127.0.0.1", "203.0.113.5"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Real-Ip": {"203.0.113.5"}}, 500},
		{"127.0.0.1:4000", http.Header{"Cf-Connecting-Ip": {"203.0.113.5"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-Host": {"app.example.com"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-Host": {"localhost:5173"}, "X-Forwarded-For": {"::1"}}, 200}, // a server of the developer
		{"127.0.0.1:4000", http.Header{"X-Forwarded-Host": {"localhost:5173"}, "X-Forwarded-For": {"::ffff:127.0.0.1"}, "X-Forwarded-Proto": {"http"}, "X-Forwarded-Port": {"5173"}}, 200},
		{"127.0.0.1:4000", http.Header{"Forwarded": {`for="[::1]:4711";host=localhost:5173;proto=http`}, "Via": {"1.1 vite"}}, 200},
		{"127.0.0.1:4000", http.Header{"X-Real-Ip": {"127.0.0.1"}}, 200},
		{"127.0.0.1:4000", http.Header{"Accept-Encoding": {"gzip"}, "X-Requested-With": {"fetch"}, "X-Auth-Return-Redirect": {"1"}, "Max-Forwards": {"10"}, "Sec-Fetch-Site": {"same-origin"}}, 200},
		{"127.0.0.1:4000", http.Header{"Fly-Client-Ip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Coming-From": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Client": {"[2001:db8::7]:4711"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Client": {"::ffff:203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Scheme": {"https"}}, 500},
		{"127.0.0.1:4000", http.Header{"Front-End-Https": {"on"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Varnish": {"32770"}}, 500},
		{"127.0.0.1:4000", http.Header{"Tailscale-User-Login": {"eve@example.com"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Cloud-Trace-Context": {"105445aa7843bc8bf206b12000100000/1"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Client": {"my-program 1.2.3"}, "X-Request-Id": {"7"}, "X-Api-Version": {"1.2"}, "Sec-Websocket-Protocol": {"chat"}}, 200},
		{"127.0.0.1:4000", http.Header{"X-Client": {"127.0.0.1"}}, 200},
		{"127.0.0.1:4000", http.Header{"X-Cluster-Client-Ip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"Fastly-Client-Ip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Envoy-External-Address": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Original-Forwarded-For": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Server": {"p.example"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Azure-Clientip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Azure-Socketip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"Cf-Connecting-Ipv6": {"2001:db8::1"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Arr-Clientip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded": {"for=203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Appengine-User-Ip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Nf-Client-Connection-Ip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"Remote_addr": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"Via": {"1.1 proxy.example"}}, 500},
		{"127.0.0.1:4000", http.Header{"Via": {"1.1 proxy"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-Proto": {"https"}}, 500},
		{"127.0.0.1:4000", http.Header{"Forwarded": {"for=unknown"}}, 500},
		{"127.0.0.1:4000", http.Header{"Forwarded": {"for=127.0.0.1;host=app.example.com"}}, 500},
		{"127.0.0.1:4000", http.Header{"X-Forwarded-For": {"127.0.0.1"}, "Cdn-Loop": {"cloudflare"}, "Cf-Connecting-Ip": {"203.0.113.9"}}, 500},
		{"127.0.0.1:4000", http.Header{"Forwarded": {"for=203.0.113.5"}}, 500},
	} {
		r := httptest.NewRequest(http.MethodGet, "/auth/session", nil)
		r.Host, r.RemoteAddr = "localhost:3000", c.peer
		maps.Copy(r.Header, c.header)
		w := serve(h, r)
		assert.Equalf(t, c.status, w.Code, "from %q with %v: got status", c.peer, c.header)
	}
}

// TestMissingSecretHasItsName: the error of a missing secret is called
// MissingSecretError wherever it is seen.
func TestMissingSecretHasItsName(t *testing.T) {
	const name = "MissingSecretError"
	t.Setenv("AUTH_SECRET", "")
	_, made := auth.New(auth.Config{URL: origin, Providers: []auth.Provider{password()}})
	book := &logBook{}
	r := httptest.NewRequest(http.MethodGet, origin+"/auth/providers", nil)
	c := auth.Config{URL: origin, Providers: []auth.Provider{password()}, Logger: book.logger()}
	res := auth.Auth(r, c)
	defer res.Body.Close()
	assert.Truef(t, res.StatusCode == http.StatusInternalServerError && strings.Contains(book.String(), name),
		"Auth: status %d, log: %s", res.StatusCode, book)
	assert.NotContains(t, string(must(io.ReadAll(res.Body))(t)), "MissingSecret", "the client is told")
	_, raw := auth.Raw(r, c)
	_, token := jwt.Encode(jwt.EncodeParams{})
	for function, err := range map[string]error{"New": made, "Raw": raw, "jwt.Encode": token} {
		assert.Truef(t, err != nil && strings.Contains(err.Error(), name), "%s: got %v", function, err)
	}
	for function, err := range map[string]error{"New": made, "Raw": raw} {
		var typed *auth.Error
		assert.Truef(t, errors.As(err, &typed) && typed.Type == name && errors.Is(err, auth.ErrMissingSecret),
			"%s: got %v", function, err)
	}
	r.Header.Set("X-Auth-Return-Redirect", "1")
	assert.Equal(t, http.StatusInternalServerError, must(auth.Raw(r, c))(t).Status, "Raw, for a script: status")
}

// TestGuessableClientSecretSignsNothing: a client secret that is used as the
// key of signatures, and that can be guessed from a signature, is refused. Four
// client secrets are accepted: one that is long enough, one that is not used as
// a key, one at a provider on this machine, and one that the application
// insists on.
func TestGuessableClientSecretSignsNothing(t *testing.T) {
	const short = "short-secret-of-31-characters-x"
	for what, c := range map[string]struct {
		client  auth.ClientMetadata
		secret  string
		issuer  string
		refused bool
	}{
		"ID tokens":            {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256"}, secret: short, refused: true},
		"userinfo":             {client: auth.ClientMetadata{UserInfoSignedResponseAlg: "HS256"}, secret: short, refused: true},
		"assertions":           {client: auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientSecretJWT}, secret: short, refused: true},
		"assertions of HS384":  {client: auth.ClientMetadata{TokenEndpointAuthMethod: auth.ClientSecretJWT, TokenEndpointAuthSigningAlg: "HS384"}, secret: short + "y", refused: true},
		"32 bytes":             {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256"}, secret: short + "y"},
		"no key of signatures": {secret: "short"},
		"on this machine":      {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256"}, secret: "short", issuer: "http://localhost:9000"},
		"insisted on":          {client: auth.ClientMetadata{IDTokenSignedResponseAlg: "HS256", DangerouslyAcceptShortSecret: true}, secret: short},
	} {
		if c.issuer == "" {
			c.issuer = "https://idp.example"
		}
		_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, Providers: []auth.Provider{
			&auth.OAuth{ID: "p", Type: auth.TypeOIDC, Issuer: c.issuer, ClientID: "c", ClientSecret: c.secret, Client: c.client},
		}})
		refused := errors.Is(err, auth.ErrInvalidProvider)
		assert.Falsef(t, refused != c.refused || !refused && err != nil, "%s: got %v, want refused: %v", what, err, c.refused)
	}
}

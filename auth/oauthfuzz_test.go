package auth_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/require"
)

// fuzzSite is a site without a store and a log, at which only Ada signs in.
func fuzzSite(f *testing.F, set func(*idp, *auth.OAuth)) *site {
	f.Helper()
	return newSite(f, func(p *idp, c *auth.Config, o *auth.OAuth) {
		c.Adapter, c.Logger, c.Debug = nil, slog.New(slog.DiscardHandler), false
		set(p, o)
	})
}

// FuzzAuthorizationAnswer: only the answer of the provider signs in; no other
// answer does.
func FuzzAuthorizationAnswer(f *testing.F) {
	s := fuzzSite(f, func(*idp, *auth.OAuth) {})
	for _, q := range []string{"", "code=x&state=y", "error=access_denied", "code=a&code=b", "%zz", "iss=&code", "response=x", "id_token=x;y", "code=%00&state=%ff"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		b := newBrowser(t, s)
		s.start(b, "/auth/signin/idp")
		if u, err := url.Parse(origin + "/auth/callback/idp?" + query); err != nil || strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f }) || u.Fragment != "" {
			return
		}
		b.get("/auth/callback/idp?" + query)
		b.wantNoSession()
	})
}

// FuzzIDToken: only a token that the provider signed signs in.
func FuzzIDToken(f *testing.F) {
	s := fuzzSite(f, func(*idp, *auth.OAuth) {})
	var raw string
	s.idp.mint = func(map[string]any) string { return raw }
	good := s.idp.sign(map[string]any{"iss": "https://evil.example", "aud": idpClient, "sub": "ada"})
	for _, token := range []string{"", "a.b.c", "..", "e30.e30.", good, good + "x", strings.ToUpper(good), rawToken(map[string]any{"alg": "none"}, map[string]any{"sub": "ada"}, nil)} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		raw = token
		b := newBrowser(t, s)
		s.signIn(b)
		b.wantNoSession()
	})
}

// FuzzTokenAnswer: no answer of the token endpoint makes the callback route
// panic, and none without a signed ID token signs in.
func FuzzTokenAnswer(f *testing.F) {
	s := fuzzSite(f, func(*idp, *auth.OAuth) {})
	var status int
	var answer string
	s.idp.endpoints["/token"] = func(w http.ResponseWriter, r *http.Request) { body(status, "application/json", answer)(w, r) }
	for _, a := range []string{
		"", "{}", "null", `{"access_token":"a","token_type":"bearer"}`, `{"access_token":"a","token_type":"DPoP","expires_in":"NaN","id_token":"a.b.c"}`,
		`{"error":"x","error_description":7}`, `{"access_token":"a","token_type":"bearer","expires_in":1e400}`, `{"access_token":"a","token_type":"bearer","authorization_details":[{}],"expires_at":1e30}`,
	} {
		f.Add(200, a)
		f.Add(400, a)
	}
	f.Fuzz(func(t *testing.T, code int, text string) {
		if code < 200 || code > 599 {
			return
		}
		status, answer = code, text
		b := newBrowser(t, s)
		s.refused(t, s.signIn(b), "")
		b.wantNoSession()
	})
}

// FuzzProfile: for every profile of a provider, the callback route ends with a
// sign-in or a refusal, and a user who signs in has an ID.
func FuzzProfile(f *testing.F) {
	var profile string
	s := fuzzSite(f, plain(at("/userinfo", func(w http.ResponseWriter, r *http.Request) {
		body(200, "application/json", profile)(w, r)
	})))
	for _, p := range []string{`{"sub":"a"}`, `{"id":7,"name":null,"email":[]}`, `{"sub":"","id":1e400}`, `[]`, `{"id":"\u0000","email":"İ@x"}`, `{"sub":{"a":{}}}`} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		profile = text
		b := newBrowser(t, s)
		end := s.signIn(b).location()
		if end != origin {
			b.wantNoSession()
			return
		}
		require.Truef(t, json.Valid([]byte(text)) && strings.HasPrefix(strings.TrimSpace(text), "{"), "%q signs in", text)
	})
}

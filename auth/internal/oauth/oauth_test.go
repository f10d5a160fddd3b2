package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestIssuerMetadata: the metadata must name the configured issuer. An origin
// with and without a final slash is the same, and so is a host in another case.
func TestIssuerMetadata(t *testing.T) {
	for _, c := range []struct {
		configured, stated string
		want               bool
	}{
		{"https://a.example", "https://a.example", true},
		{"https://a.example/b", "https://a.example/b", true},
		{"https://a.example", "https://a.example/", true},
		{"https://a.example/", "https://a.example", true},
		{"https://A.example", "https://a.example", true},
		{"https://a.example/b", "https://a.example/b/", false},
		{"https://a.example/b", "https://a.example/B", false},
		{"https://a.example/b", "https://a.example/%62", false},
		{"https://a.example", "http://a.example", false},
		{"https://a.example", "https://a.example:444", false},
		{"https://a.example", "https://a.example?x", false},
		{"https://a.example", "https://a.example#x", false},
		{"https://a.example", "https://a.example.evil.example", false},
		{"https://a.example", "", false},
		{"https://a.example/t-1/v2.0", "https://a.example/{tenantid}/v2.0", true},
		{"https://a.example/t-1/v1.0", "https://a.example/{tenantid}/v2.0", false},
		{"https://a.example/t-1/x/v2.0", "https://a.example/{tenantid}/v2.0", false},
		{"https://a.example//v2.0", "https://a.example/{tenantid}/v2.0", false},
	} {
		i := &oauth.Issuer{URL: c.configured, Client: &http.Client{Transport: metadataNaming(c.stated)}, Now: time.Now}
		m, err := i.Metadata(t.Context())
		assert.Equalf(t, c.want, err == nil, "issuer %q, metadata of %q: %v", c.configured, c.stated, err)
		if err == nil {
			assert.Equal(t, c.stated, m.Issuer)
		}
	}
}

// TestIssuerOfMetadata: without a configured issuer it is the one in the
// metadata, if that is a URL. Metadata of all tenants still needs a tenant in
// the URL of the metadata.
func TestIssuerOfMetadata(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wellKnown, stated, token string
		reason                   string // empty: the issuer of the token is accepted
	}{
		{"https://a.example/.well-known/openid-configuration", "https://a.example", "https://a.example", ""},
		{"https://login.a.example/metadata.json", "https://a.example/x", "https://a.example/x", ""},
		{"https://login.a.example/.well-known/openid-configuration", "https://a.example", "https://a.example", ""},
		{"https://login.a.example/.well-known/openid-configuration", "https://a.example", "https://login.a.example", "another issuer"},
		{"https://a.example/metadata", "", "", "not an https URL"},
		{"https://a.example/metadata", "acme", "acme", "not an https URL"},
		{"https://a.example/metadata", "http://a.example", "http://a.example", "not an https URL"},
		{"https://a.example/metadata", "https://a.example?x=1", "https://a.example?x=1", "not an https URL"},
		{"https://a.example/metadata", "https://a.example#x", "https://a.example#x", "not an https URL"},
		{"https://a.example/t-1/v2.0/.well-known/openid-configuration", "https://a.example/{tenantid}/v2.0", "https://a.example/t-1/v2.0", ""},
		{"https://a.example/t-1/v2.0/.well-known/openid-configuration", "https://a.example/{tenantid}/v2.0", "https://a.example/t-2/v2.0", "another issuer"},
		{"https://a.example/metadata", "https://a.example/{tenantid}/v2.0", "https://a.example/t-1/v2.0", "another issuer"},
	} {
		i := &oauth.Issuer{WellKnown: c.wellKnown, Client: &http.Client{Transport: metadataNaming(c.stated)}, Now: time.Now}
		m, err := i.Metadata(t.Context())
		reason := ""
		switch {
		case err != nil:
			reason = err.Error()
		case !i.Accepts(m.Issuer, c.token):
			reason = "another issuer"
		}
		assert.Falsef(t, c.reason == "" && reason != "" || !strings.Contains(reason, c.reason),
			"%s, metadata of %q, token of %q: got %q, want %q", c.wellKnown, c.stated, c.token, reason, c.reason)
	}
}

// TestTransport: requests name their sender in User-Agent, unless a hook sets
// another.
func TestTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Agent", r.UserAgent())
	}))
	t.Cleanup(server.Close)
	client := oauth.Transport(&http.Client{Timeout: time.Hour})
	assert.Truef(t, client.Timeout <= time.Minute, "timeout: %v", client.Timeout)
	for given, want := range map[string]string{"": "gatehouse", "mine": "mine"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		require.NoError(t, err)
		if given != "" {
			r.Header.Set("User-Agent", given)
		}
		res, err := client.Do(r)
		require.NoError(t, err)
		res.Body.Close()
		assert.Equal(t, want, res.Header.Get("X-Agent"), "user agent")
		assert.Equal(t, given, r.Header.Get("User-Agent"), "the request was changed to")
	}
}

// TestProviderError: the texts of a provider are cut.
func TestProviderError(t *testing.T) {
	e := oauth.NewProviderError(strings.Repeat("x", 1000), strings.Repeat("y", 1000))
	assert.Truef(t, len(e.Code) == 300 && len(e.Description) == 300,
		"got %d and %d bytes", len(e.Code), len(e.Description))
}

// TestVerifierNeedsKeys: without a key for an algorithm no signature is
// accepted.
func TestVerifierNeedsKeys(t *testing.T) {
	const token = "eyJhbGciOiJIUzI1NiJ9.e30.x"
	for algorithm, want := range map[string]string{"HS256": "needs a client secret", "HS384": "not supported", "none": "not supported"} {
		v := &oauth.Verifier{Issuer: &oauth.Issuer{URL: "https://a.example", JWKS: "https://a.example/jwks"}, Algorithm: algorithm, Now: time.Now}
		_, err := v.IDToken(t.Context(), token, oauth.Expected{})
		assert.Truef(t, err != nil && strings.Contains(err.Error(), want), "%s: got %v, want %q", algorithm, err, want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTokenRequestEndsWithItsContext: the error of a token request names the endpoint, even if the context's deadline ends it.
func TestTokenRequestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err := oauth.Exchange{Endpoint: "https://idp.example/token", Code: "c", Client: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}}.Do(ctx)
	if _, ok := errors.AsType[oauth.Unavailable](err); !ok || !strings.Contains(err.Error(), "https://idp.example/token: ") {
		t.Errorf("got %v, want Unavailable with the endpoint", err)
	}
}

package oauth_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
)

type metadataOf string

func (m metadataOf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(m))), Request: r}, nil
}

// TestRemoteIssuerNamesNoLocalEndpoint: the metadata of a remote issuer can't send
// requests to this machine; that of an issuer on this machine can.
func TestRemoteIssuerNamesNoLocalEndpoint(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"} {
		for endpoint, allowed := range map[string]bool{
			"http://127.0.0.1:8080/x": false, "https://localhost/x": false, "http://[::1]/x": false, "https://a.localhost/x": false, "https://idp.example/x": true,
		} {
			for issuer, local := range map[string]bool{"https://idp.example": false, "http://localhost:9000": true} {
				m := metadataOf(`{"issuer":"` + issuer + `","` + member + `":"` + endpoint + `"}`)
				i := &oauth.Issuer{URL: issuer, Client: &http.Client{Transport: m}, Now: time.Now}
				if _, err := i.Metadata(t.Context()); (err == nil) != (allowed || local) {
					t.Errorf("%s names %s %s: %v", issuer, member, endpoint, err)
				}
			}
		}
	}
}

package oauth_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/stretchr/testify/assert"
)

type metadataOf string

func (m metadataOf) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(m))), Request: r}, nil
}

// metadataNaming is metadata that names the issuer alone.
func metadataNaming(issuer string) metadataOf {
	return metadataOf(`{"issuer":` + strconv.Quote(issuer) + `}`)
}

// TestRemoteIssuerNamesNoLocalEndpoint: the metadata of a remote issuer can't
// send requests to this machine. The metadata of an issuer on this machine can.
func TestRemoteIssuerNamesNoLocalEndpoint(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri"} {
		for endpoint, allowed := range map[string]bool{
			"http://127.0.0.1:8080/x": false, "https://localhost/x": false, "http://[::1]/x": false, "https://a.localhost/x": false, "https://idp.example/x": true,
			"https://LOCALHOST/x": false, "https://localhost./x": false, "https://127.1/x": false, "https://2130706433/x": false, "https://0x7f000001/x": false,
			"https://0177.0.0.1/x": false, "https://0.0.0.0/x": false, "https://[::]/x": false, "https://[::ffff:127.0.0.1]/x": false, "https://[::127.0.0.1]/x": false,
			"https://[64:ff9b::7f00:1]/x": false, "https://169.254.169.254/x": false, "https://[fe80::1]/x": false, "https://127.0.0.1:8443/x": false,
			"https://10.0.0.7/x": true, "https://[2001:db8::7]/x": true, "https://idp7.example./x": true, "https://a1.b2:8443/x": true,
		} {
			for issuer, local := range map[string]bool{"https://idp.example": false, "http://localhost:9000": true} {
				m := metadataOf(`{"issuer":"` + issuer + `","` + member + `":"` + endpoint + `"}`)
				i := &oauth.Issuer{URL: issuer, Client: &http.Client{Transport: m}, Now: time.Now}
				got, err := i.Metadata(t.Context())
				if err == nil {
					_, err = got.Endpoint(member)
				}
				assert.Equalf(t, allowed || local, err == nil, "%s names %s %s: %v", issuer, member, endpoint, err)
			}
		}
	}
}

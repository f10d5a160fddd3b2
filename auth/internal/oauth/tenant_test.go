package oauth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/stretchr/testify/assert"
)

// TestTenants: which tenants a configuration of Microsoft Entra ID accepts, by
// the tenant that it names and the metadata that it gets.
func TestTenants(t *testing.T) {
	t.Parallel()
	const (
		ours, other, personal = "11111111-2222-3333-4444-555555555555", "99999999-2222-3333-4444-555555555555", "9188040d-6c67-4c5b-b112-36a304b66dad"
		cloud, all            = "https://login.microsoftonline.com/", "https://login.microsoftonline.com/{tenantid}/v2.0"
	)
	for _, c := range []struct {
		name, configured, metadata string
		lets                       map[string]bool // tenant of a token: accepted
	}{
		{"tenant with the metadata of all tenants", ours, all, map[string]bool{ours: true, other: false, personal: false, "common": false}},
		{"tenant", ours, cloud + ours + "/v2.0", map[string]bool{ours: true, other: false, personal: false}},
		{"common", "common", all, map[string]bool{ours: true, other: true, personal: true, "a/b": false, "": false}},
		{"organizations", "organizations", all, map[string]bool{ours: true, other: true, personal: false}},
		{"consumers", "consumers", cloud + personal + "/v2.0", map[string]bool{personal: true, ours: false}},
		{"consumers with the metadata of all tenants", "consumers", all, map[string]bool{personal: true, ours: false}},
		{"consumers with the metadata of a company", "consumers", cloud + ours + "/v2.0", nil},
		{"domain", "contoso.onmicrosoft.com", cloud + ours + "/v2.0", map[string]bool{ours: true, other: false, personal: false}},
		{"domain with the metadata of personal accounts", "contoso.onmicrosoft.com", cloud + personal + "/v2.0", nil},
		{"domain with the metadata of all tenants", "contoso.onmicrosoft.com", all, map[string]bool{ours: false, other: false, personal: false}},
		{"tenant with the metadata of another", ours, cloud + other + "/v2.0", nil},
		{"common with the metadata of one tenant", "common", cloud + ours + "/v2.0", nil},
	} {
		i := &oauth.Issuer{URL: cloud + c.configured + "/v2.0", Client: &http.Client{Transport: metadataNaming(c.metadata)}, Now: time.Now}
		m, err := i.Metadata(t.Context())
		assert.Equalf(t, c.lets != nil, err == nil, "%s: the metadata of %s: %v", c.name, c.metadata, err)
		for tenant, want := range c.lets {
			if m == nil {
				break
			}
			assert.Equalf(t, want, i.Accepts(m.Issuer, cloud+tenant+"/v2.0"),
				"%s: an account of the tenant %q is let in", c.name, tenant)
		}
	}
	// Only Microsoft's own hosts have several names for a tenant.
	named := metadataNaming("https://idp.example/" + ours + "/v2.0")
	i := &oauth.Issuer{URL: "https://idp.example/consumers/v2.0", Client: &http.Client{Transport: named}, Now: time.Now}
	_, err := i.Metadata(t.Context())
	assert.Error(t, err, "another host may change the issuer")
}

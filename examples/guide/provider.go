// Package guide holds the programs of auth/GUIDE.md, so that they are compiled
// and tested.
package guide

import (
	"context"
	"net/url"

	"github.com/gatehouse-go/gatehouse/auth"
)

// acme is an OAuth provider that the catalogue does not have. Its URLs begin
// with base.
func acme(base string) *auth.OAuth {
	return &auth.OAuth{
		ID: "acme", Name: "Acme", // AUTH_ACME_ID and AUTH_ACME_SECRET
		Authorization: auth.AuthorizationEndpoint{URL: base + "/oauth/authorize", Params: url.Values{"scope": {"profile"}}},
		Token:         auth.TokenEndpoint{URL: base + "/oauth/token"},
		UserInfo:      auth.UserInfoEndpoint{URL: base + "/api/me"},
		Profile: func(_ context.Context, p auth.Profile, _ auth.TokenSet) (*auth.User, error) {
			return &auth.User{ID: p.String("uid"), Name: p.String("login"), Email: p.String("contact", "mail")}, nil
		},
	}
}

// acmeID is an OpenID Connect provider. Its metadata lists its endpoints.
func acmeID(issuer string) *auth.OAuth {
	return &auth.OAuth{
		ID: "acme", Name: "Acme", Type: auth.TypeOIDC, Issuer: issuer,
		Checks: []auth.Check{auth.CheckState, auth.CheckPKCE, auth.CheckNonce},
	}
}

package providers_test

import (
	"net/http"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEmailVerified: what each kind of statement in a profile says about an
// address.
func TestEmailVerified(t *testing.T) {
	t.Parallel()
	infos := map[string]providers.Info{}
	for _, i := range providers.All() {
		infos[i.ID] = i
	}
	const proven, refuted, unstated = auth.EmailProven, auth.EmailRefuted, auth.EmailUnstated
	for _, c := range []struct {
		id, profile, email string
		want               auth.EmailProof
	}{
		{"google", `{"email":"a@x.example","email_verified":true}`, "a@x.example", proven},
		{"google", `{"email":"A@x.example","email_verified":true}`, "a@x.example", proven},
		{"google", `{"email":"a@x.example","email_verified":true}`, "b@x.example", unstated},
		{"google", `{"email":"a@x.example","email_verified":false}`, "a@x.example", refuted},
		{"google", `{"email":"a@x.example"}`, "a@x.example", unstated},
		{"apple", `{"email":"a@x.example","email_verified":"true"}`, "a@x.example", proven},
		{"apple", `{"email":"a@x.example","email_verified":"false"}`, "a@x.example", refuted},
		{"discord", `{"email":"a@x.example","verified":true}`, "a@x.example", proven},
		{"discord", `{"email":"a@x.example","email_verified":true}`, "a@x.example", unstated},
		{"zoom", `{"email":"a@x.example","verified":1}`, "a@x.example", proven},
		{"zoom", `{"email":"a@x.example","verified":0}`, "a@x.example", refuted},
		{"digitalocean", `{"account":{"email":"a@x.example","email_verified":true}}`, "a@x.example", proven},
		{"eventbrite", `{"emails":[{"email":"b@x.example","verified":false},{"email":"a@x.example","primary":true,"verified":true}]}`, "a@x.example", proven},
		{"eventbrite", `{"emails":[{"email":"b@x.example","verified":true},{"email":"a@x.example","primary":true,"verified":false}]}`, "a@x.example", refuted},
		{"kakao", `{"kakao_account":{"email":"a@x.example","is_email_verified":true,"is_email_valid":true}}`, "a@x.example", proven},
		{"kakao", `{"kakao_account":{"email":"a@x.example","is_email_verified":true,"is_email_valid":false}}`, "a@x.example", refuted},
		{"kakao", `{"kakao_account":{"email":"a@x.example","is_email_verified":false}}`, "a@x.example", refuted},
		{"gitlab", `{"email":"a@x.example","confirmed_at":"2020-01-01T00:00:00Z"}`, "a@x.example", proven},
		{"gitlab", `{"email":"a@x.example","confirmed_at":null}`, "a@x.example", refuted},
		{"gitlab", `{"email":"a@x.example"}`, "a@x.example", unstated},
		// A tenant of Microsoft Entra ID can state any address.
		{"microsoft-entra-id", `{"email":"a@x.example","email_verified":true}`, "a@x.example", unstated},
		{"microsoft-entra-id", `{"email":"a@x.example","xms_edov":true}`, "a@x.example", proven},
		{"microsoft-entra-id", `{"email":"a@x.example","xms_edov":"1"}`, "a@x.example", proven},
		{"azure-ad", `{"email":"a@x.example","xms_edov":false}`, "a@x.example", refuted},
		{"azure-ad-b2c", `{"emails":["a@x.example"],"email_verified":true}`, "a@x.example", unstated},
		{"spotify", `{"email":"a@x.example"}`, "a@x.example", unstated},
		{"keycloak", `{"email":"a@x.example","email_verified":true}`, "a@x.example", proven},
	} {
		profile, _ := parseJSON(t, c.profile).(map[string]any)
		assert.Equalf(t, c.want, infos[c.id].EmailVerified(profile, c.email), "%s: %s says that %s", c.id, c.profile, c.email)
	}
	for _, i := range infos {
		assert.Equalf(t, i.EmailVerified != nil, i.Type == auth.TypeOAuth || i.Type == auth.TypeOIDC,
			"%s has EmailVerified: %v", i.ID, i.EmailVerified != nil)
	}
}

// TestGitHubSaysWhichAddressIsVerified: a person without a public address has the
// primary one, if it is verified. GitHub's list of addresses says for a public
// address too whether it is verified. The profile alone does not say it.
func TestGitHubSaysWhichAddressIsVerified(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, base, user, emails, want string
		proof                          auth.EmailProof
	}{
		{"public, and an empty list", "", `{"id":1,"email":"public@x.example"}`, `[]`, "public@x.example", auth.EmailUnstated},
		{"primary of two", "", `{"id":1,"email":null}`, `[{"email":"a@x.example","verified":true},{"email":"b@x.example","primary":true,"verified":true}]`, "b@x.example", auth.EmailProven},
		{"primary and not verified", "", `{"id":1}`, `[{"email":"b@x.example","primary":true,"verified":false}]`, "", auth.EmailUnstated},
		{"no list and no address", "", `{"id":1}`, `{"message":"no"}`, "", auth.EmailUnstated},
		{"own server", "https://git.example", `{"id":1}`, `[{"email":"b@x.example","primary":true,"verified":true}]`, "b@x.example", auth.EmailProven},
		{"public and verified", "", `{"id":1,"email":"a@x.example"}`, `[{"email":"A@x.example","verified":true}]`, "a@x.example", auth.EmailProven},
		{"public and not verified", "", `{"id":1,"email":"a@x.example"}`, `[{"email":"a@x.example","verified":false}]`, "a@x.example", auth.EmailRefuted},
		{"public and not in the list", "", `{"id":1,"email":"a@x.example"}`, `[{"email":"b@x.example","primary":true,"verified":true}]`, "a@x.example", auth.EmailUnstated},
		{"no list", "", `{"id":1,"email":"a@x.example","email_verified":true}`, `{"message":"no"}`, "a@x.example", auth.EmailUnstated},
		{"primary", "", `{"id":1}`, `[{"email":"b@x.example","primary":true,"verified":true}]`, "b@x.example", auth.EmailProven},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			api, opts := "https://api.github.com", []providers.Option{}
			if c.base != "" {
				api, opts = c.base+"/api/v3", append(opts, providers.WithBaseURL(c.base))
			}
			p := completed(t, "github", opts...)
			client := &http.Client{Transport: responder{api + "/user": c.user, api + "/user/emails": c.emails}}
			profile, err := p.UserInfo.Request(t.Context(), auth.UserInfoRequest{Provider: *p, Client: client, Tokens: auth.TokenSet{AccessToken: "t"}})
			require.NoError(t, err)
			assert.Equal(t, c.want, profile.String("email"), "the address")
			assert.Equal(t, c.proof, p.EmailVerified(profile, c.want), "the proof")
		})
	}
}

package providers

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFactsAreComplete: the facts that TestFlow compares with cover everything
// in the table.
func TestFactsAreComplete(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/facts.json")
	require.NoError(t, err)
	type user struct{ ID, Name, Email, Image string }
	var all []struct {
		ID, Variant                          string
		Authorization, Token, UserInfo, Auth string
		Exchange                             map[string]any
		Params, UserInfoQuery, Headers       map[string]string
		Options                              map[string]string
		Scope                                *string
		Given                                string
		Profile                              map[string]any
		User, BareUser                       user
	}
	require.NoError(t, json.Unmarshal(raw, &all))
	byID := map[string]int{}
	for i, f := range all {
		if f.Variant == "" {
			byID[f.ID] = i + 1
		}
	}
	// These pictures are requested or computed; see TestGraphPhoto and
	// TestDiscordAvatar.
	asked := map[string]bool{"azure-ad": true, "microsoft-entra-id": true, "discord": true}
	for _, r := range table() {
		i := byID[r.id]
		if !assert.NotEqualf(t, 0, i, "there are no facts of %s", r.id) {
			continue
		}
		f := all[i-1]
		have := func(what string, inTable, inFacts bool) {
			assert.Falsef(t, inTable && !inFacts, "the facts of %s have no %s", r.id, what)
		}
		oauth := r.kind != auth.TypeOIDC
		have("authorization URL", oauth, f.Authorization != "")
		have("token URL", oauth, f.Token != "")
		have("userinfo URL", oauth && r.id != "shopify", f.UserInfo != "")
		have("client authentication or exchange", true, f.Auth != "" || f.Exchange != nil)
		have("scope", r.scope != "", f.Scope != nil)
		have("parameters", len(r.params) > 0 && r.id != "workos" && r.id != "fusionauth", len(f.Params) > 0)
		have("userinfo parameters", len(r.userInfoQuery) > 0, len(f.UserInfoQuery) > 0)
		have("headers", len(r.request.header) > 0, len(f.Headers) > 0)
		have("profile", true, len(f.Profile) > 0)
		have("identifier", true, f.User.ID != "" && f.BareUser.ID != "")
		have("name", r.profile.name != "" || r.profile.nameBy != nil, f.User.Name != "")
		have("e-mail address", r.profile.email != "" || r.profile.emailBy != nil, f.User.Email != "")
		have("picture", r.profile.image != "" || r.profile.imageBy != nil && !asked[r.id], f.User.Image != "")
		for _, o := range r.options {
			have("option "+o.name, o.required && o.name != "issuer", f.Options[o.name] != "")
			have("issuer", o.required && o.name == "issuer", f.Given != "")
		}
	}
	assert.Equalf(t, len(table()), len(byID),
		"there are facts of %d providers, and %d in the table", len(byID), len(table()))
}

package providers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// allOptions returns the options that only some providers take, by the name of
// their function.
func allOptions() map[string]providers.Option {
	return map[string]providers.Option{
		"WithIssuer": providers.WithIssuer("https://x.example"), "WithTenant": providers.WithTenant("t"), "WithBaseURL": providers.WithBaseURL("https://x.example"),
		"WithAPIKey": providers.WithAPIKey("k"), "WithAPIVersion": providers.WithAPIVersion("1"), "WithAccountID": providers.WithAccountID("1"),
		"WithUserInfoURL": providers.WithUserInfoURL("https://x.example"), "WithAgentID": providers.WithAgentID("1"), "WithShop": providers.WithShop("acme"),
		"WithPlatform": providers.WithPlatform("WebsiteApp"), "WithConnection": providers.WithConnection("c"), "WithPhotoSize": providers.WithPhotoSize(64),
		"WithFrom": providers.WithFrom("a@b.example"), "WithServer": providers.WithServer("smtp://b.example"), "WithTemplate": providers.WithTemplate("t"),
		"WithRegion": providers.WithRegion("EU"),
	}
}

// TestEveryOption gives every option to every provider. An option that the
// provider does not take is an error that names the option; an option that it
// takes is no error.
func TestEveryOption(t *testing.T) {
	t.Parallel()
	for _, i := range providers.All() {
		if i.Type == auth.TypeCredentials || i.Type == auth.TypeWebAuthn {
			continue
		}
		var required []providers.Option
		for _, o := range i.Options {
			if o.Required {
				required = append(required, allOptions()[o.Name])
			}
		}
		if i.Type != auth.TypeEmail {
			required = append(required, providers.WithClient("id", secret))
		}
		for name, option := range allOptions() {
			taken := slices.ContainsFunc(i.Options, func(o providers.OptionInfo) bool { return o.Name == name })
			if i.ID == "lark" && name == "WithRegion" {
				option = providers.WithRegion("Global")
			}
			p := must(providers.ByID(i.ID, append(slices.Clone(required), option)...))(t)
			err := completes(p)
			switch {
			case taken && err != nil:
				t.Errorf("%s with %s: %v", i.ID, name, err)
			case !taken && (err == nil || !strings.Contains(err.Error(), name+" does not apply to this provider")):
				t.Errorf("%s with %s, which it does not take: %v", i.ID, name, err)
			}
		}
	}
}

// completes completes a provider as New does.
func completes(p auth.Provider) error {
	switch p := p.(type) {
	case *auth.OAuth:
		return p.Complete(p)
	case *auth.Email:
		return p.Complete(p)
	}
	return nil
}

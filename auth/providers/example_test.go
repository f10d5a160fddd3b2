package providers_test

import (
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// Client ID and secret of GitHub come from AUTH_GITHUB_ID and
// AUTH_GITHUB_SECRET. New names the values that are missing.
func Example() {
	_, err := auth.New(auth.Config{
		Secret: []string{"a secret of at least thirty-two characters"},
		Providers: []auth.Provider{
			providers.GitHub(providers.WithClient("id", "secret")),
			providers.Keycloak(providers.WithClient("id", "secret")),
		},
	})
	var problem *auth.Error
	fmt.Println(errors.As(err, &problem), problem.Message)
	// Output:
	// true provider "keycloak": the option issuer is missing; set it with WithIssuer or AUTH_KEYCLOAK_ISSUER
}

func ExampleByID() {
	p, err := providers.ByID("gitlab", providers.WithBaseURL("https://git.example.com"))
	fmt.Printf("%T %v\n", p, err)
	_, err = providers.ByID("yammer")
	fmt.Println(err)
	// Output:
	// *auth.OAuth <nil>
	// providers: unsupported provider "yammer": its own OAuth ended in July 2025; microsoft-entra-id signs in the same people
}

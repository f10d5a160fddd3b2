package guide

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// linking trusts one provider about e-mail addresses, if the provider says that
// it has verified them.
func linking(trusted *auth.OAuth, others []auth.Provider, store adapter.Adapter) auth.Config {
	trusted.AllowDangerousEmailAccountLinking = true
	return auth.Config{
		Adapter:   store,
		Providers: append(others, trusted),
		Callbacks: auth.Callbacks{SignIn: func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
			if p.Account.Provider == trusted.ID && p.Profile["email_verified"] != true {
				return auth.Deny(), nil
			}
			return auth.Allow(), nil
		}},
	}
}

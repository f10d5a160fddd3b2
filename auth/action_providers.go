package auth

import "github.com/gatehouse-go/gatehouse/auth/internal/wire"

// providerInfo is what a client may know about a provider.
type providerInfo struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Type        ProviderType `json:"type"`
	SignInURL   string       `json:"signinUrl"`
	CallbackURL string       `json:"callbackUrl"`
}

// listProviders serves GET providers: an object with a member for each
// provider, in the order of the configuration.
func (e *engine) listProviders(r *request) (*Result, error) {
	var list wire.Members
	for _, p := range e.config.Providers {
		list.Any(p.id(), providerInfo{
			ID: p.id(), Name: p.displayName(), Type: p.kind(),
			SignInURL: e.providerURL(r, ActionSignIn, p.id()), CallbackURL: e.providerURL(r, ActionCallback, p.id()),
		})
	}
	body, err := list.End()
	return &Result{Header: jsonHeader(), Body: body}, err
}

package auth

import (
	"bytes"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

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
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range e.config.Providers {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := wire.JSON(p.id())
		if err != nil {
			return nil, err
		}
		info, err := wire.JSON(providerInfo{
			ID: p.id(), Name: p.displayName(), Type: p.kind(),
			SignInURL: e.providerURL(r, ActionSignIn, p.id()), CallbackURL: e.providerURL(r, ActionCallback, p.id()),
		})
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(info)
	}
	b.WriteByte('}')
	return &Result{Header: jsonHeader(), Body: b.Bytes()}, nil
}

package auth

import (
	"context"
	"net/http"
)

// Credentials is a provider that asks the application whether what somebody
// submitted is right. It needs StrategyJWT.
type Credentials struct {
	// ID is part of the URL; the default is credentials.
	ID string
	// Name is shown; the default is Credentials.
	Name string
	// Fields are the inputs of the built-in sign-in page, in order. Without any
	// the page has just the button.
	Fields []Field
	// UsesAdapterIDs says that the ID of a user whom Authorize returns is that of
	// the same person in Config.Adapter. Then an account of another provider may
	// be linked to who is signed in with credentials. Set it only if every ID comes
	// from the adapter: any other one may be that of somebody else there.
	UsesAdapterIDs bool
	// Authorize returns the user whom the submitted fields belong to. Returning
	// nil refuses, like an *Error of type ErrCredentialsSignin, whose Code the
	// client is shown. Any other error is a fault of the server. The form holds
	// csrfToken and callbackUrl too, if they were submitted. Required.
	Authorize func(ctx context.Context, form Form, r *http.Request) (*User, error)
}

func (p *Credentials) id() string {
	if p.ID == "" {
		return "credentials"
	}
	return p.ID
}

func (p *Credentials) displayName() string {
	if p.Name == "" {
		return "Credentials"
	}
	return p.Name
}

func (p *Credentials) kind() ProviderType { return TypeCredentials }

package auth

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
)

// Credentials is a provider whose submitted fields, such as a name and a
// password, are checked by the application. With StrategyDatabase it needs
// UsesAdapterIDs.
type Credentials struct {
	// ID is part of the URL; the default is credentials.
	ID string
	// Name is shown; the default is Credentials, on pages in the language of the reader.
	Name string
	// Fields are the inputs of the built-in sign-in page, in order. Without fields
	// the page has only the button.
	Fields []Field
	// UsesAdapterIDs says that Authorize returns each user with the ID that the
	// same person has in Config.Adapter. Then an account of another provider may
	// be linked to a user who is signed in with credentials. Set it only if every
	// ID comes from the adapter: any other ID may be the ID of somebody else
	// there. With StrategyDatabase the sign-in makes a database session of that
	// user, and the session has what the adapter stores of the user, not what
	// Authorize returned. The ID of no user of the adapter is then an error.
	UsesAdapterIDs bool
	// Authorize returns the user whom the submitted fields belong to. A nil user
	// refuses the sign-in. An *Error of type ErrCredentialsSignin also refuses it,
	// and the client is shown its Code. Any other error means that the server
	// failed. The form holds csrfToken and callbackUrl too, if they were
	// submitted. Required.
	Authorize func(ctx context.Context, form Form, r *http.Request) (*User, error)
}

func (p *Credentials) id() string { return cmp.Or(p.ID, "credentials") }

func (p *Credentials) displayName() string { return cmp.Or(p.Name, "Credentials") }

// wayIn is what the page about a held address calls the provider.
func (p *Credentials) wayIn() pages.Credentials {
	password := slices.ContainsFunc(p.Fields, func(f Field) bool { return f.Type == "password" })
	return pages.Credentials{Name: p.Name, Password: password || len(p.Fields) == 0}
}

func (p *Credentials) kind() ProviderType { return TypeCredentials }

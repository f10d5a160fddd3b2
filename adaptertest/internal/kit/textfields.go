package kit

import (
	"encoding/json"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TextField is a text field of a record. DATA and INPUT put text into each one
// and compare the text that comes back.
type TextField struct {
	Name string
	// Key: the text is a key, or part of one.
	Key bool
	// Alone: the text is the whole key, so it must be unique to the run.
	Alone bool
	// Address: the text is the local part of an e-mail address.
	Address bool
	// Encoded: the text is inside JSON, which holds only UTF-8.
	Encoded bool
	// Private: a unique text in the field is a secret.
	Private bool
	// Chosen: an adapter may refuse or replace the text, for example a user ID.
	Chosen  bool
	Methods []string
	Put     func(c *Context, owner, text string) (*Stored, error)
}

// Stored is a record that was written for a text field.
type Stored struct {
	Want any
	// Find reads the record back by the text, or by its key if the text is not
	// part of the key.
	Find func(text string) (any, error)
}

// ExampleDomain ends the addresses that a clause makes.
const ExampleDomain = "@bücher.example"

// TextFields are the fields that hold text.
var TextFields = []TextField{
	{Name: "User.ID", Key: true, Alone: true, Chosen: true, Methods: []string{"CreateUser", "GetUser"},
		Put: func(c *Context, _, s string) (*Stored, error) {
			u := c.NewUser()
			u.ID = s
			got, err := c.Adapter.CreateUser(c.Ctx, u)
			if err != nil || got == nil {
				return nil, err
			}
			if got.ID != s && AssignsIDs(c) {
				return nil, nil
			}
			return &Stored{&u, func(s string) (any, error) { return RecordOrNil(c.Adapter.GetUser(c.Ctx, s)) }}, nil
		}},
	userTextField("User.Name", func(u *adapter.User, s string) { u.Name = &s }),
	userTextField("User.Image", func(u *adapter.User, s string) { u.Image = &s }),
	{Name: "User.Email", Key: true, Alone: true, Address: true, Methods: []string{"CreateUser", "GetUserByEmail"},
		Put: func(c *Context, _, s string) (*Stored, error) {
			u := c.NewUser()
			u.Email = s + ExampleDomain
			got, err := c.Adapter.CreateUser(c.Ctx, u)
			if err != nil || got == nil {
				return nil, err
			}
			u.ID = got.ID
			u.Email = AddressAs(c, u.Email, got.Email)
			return &Stored{&u, func(s string) (any, error) { return RecordOrNil(c.Adapter.GetUserByEmail(c.Ctx, s+ExampleDomain)) }}, nil
		}},
	updateTextField("User.Name by UpdateUser", func(u *adapter.UserUpdate, s string) { u.Name = adapter.To(&s) }),
	updateTextField("User.Image by UpdateUser", func(u *adapter.UserUpdate, s string) { u.Image = adapter.To(&s) }),
	{Name: "User.Email by UpdateUser", Key: true, Alone: true, Address: true, Methods: []string{"CreateUser", "UpdateUser", "GetUserByEmail"},
		Put: func(c *Context, _, s string) (*Stored, error) {
			u, err := c.Adapter.CreateUser(c.Ctx, c.NewUser())
			MustRecord(c, "CreateUser", u, err)
			u.Email = s + ExampleDomain
			got, err := c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To(u.Email)})
			if err != nil || got == nil {
				return nil, err
			}
			u.Email = AddressAs(c, u.Email, got.Email)
			return &Stored{u, func(s string) (any, error) { return RecordOrNil(c.Adapter.GetUserByEmail(c.Ctx, s+ExampleDomain)) }}, nil
		}},
	accountTextField("Account.Provider", TextField{Key: true}, func(a *adapter.Account, s string) { a.Provider = s }),
	accountTextField("Account.ProviderAccountID", TextField{Key: true}, func(a *adapter.Account, s string) { a.ProviderAccountID = s }),
	accountTextField("Account.AccessToken", TextField{Private: true}, func(a *adapter.Account, s string) { a.AccessToken = &s }),
	accountTextField("Account.RefreshToken", TextField{Private: true}, func(a *adapter.Account, s string) { a.RefreshToken = &s }),
	accountTextField("Account.IDToken", TextField{Private: true}, func(a *adapter.Account, s string) { a.IDToken = &s }),
	accountTextField("Account.Scope", TextField{}, func(a *adapter.Account, s string) { a.Scope = &s }),
	accountTextField("Account.TokenType", TextField{}, func(a *adapter.Account, s string) { a.TokenType = &s }),
	accountTextField("Account.SessionState", TextField{}, func(a *adapter.Account, s string) { a.SessionState = &s }),
	accountTextField("Account.AuthorizationDetails", TextField{Encoded: true}, func(a *adapter.Account, s string) {
		a.AuthorizationDetails, _ = json.Marshal([]map[string]any{{"type": "x", "text": s}}) // strings always marshal
	}),
	{Name: "Session.SessionToken", Key: true, Alone: true, Private: true, Methods: []string{"CreateUser", "CreateSession", "GetSessionAndUser"},
		Put: func(c *Context, owner, s string) (*Stored, error) {
			x := adapter.Session{SessionToken: s, UserID: owner, Expires: c.Instant(time.Hour)}
			got, err := c.Adapter.CreateSession(c.Ctx, x)
			if err != nil || got == nil {
				return nil, err
			}
			return &Stored{&x, func(s string) (any, error) {
				r, err := c.Adapter.GetSessionAndUser(c.Ctx, s)
				if r == nil {
					return nil, err
				}
				return &r.Session, err
			}}, nil
		}},
	tokenTextField("VerificationToken.Identifier", TextField{Key: true, Address: true}, func(t *adapter.VerificationToken, s string) { t.Identifier = s + ExampleDomain }),
	tokenTextField("VerificationToken.Token", TextField{Key: true, Private: true}, func(t *adapter.VerificationToken, s string) { t.Token = s }),
	authenticatorTextField("Authenticator.CredentialID", TextField{Key: true, Alone: true}, func(a *adapter.Authenticator, s string) { a.CredentialID = s }),
	authenticatorTextField("Authenticator.ProviderAccountID", TextField{}, func(a *adapter.Authenticator, s string) { a.ProviderAccountID = s }),
	authenticatorTextField("Authenticator.CredentialPublicKey", TextField{Private: true}, func(a *adapter.Authenticator, s string) { a.CredentialPublicKey = s }),
	authenticatorTextField("Authenticator.CredentialDeviceType", TextField{}, func(a *adapter.Authenticator, s string) { a.CredentialDeviceType = s }),
	authenticatorTextField("Authenticator.Transports", TextField{}, func(a *adapter.Authenticator, s string) { a.Transports = &s }),
}

func userTextField(name string, set func(*adapter.User, string)) TextField {
	return TextField{Name: name, Methods: []string{"CreateUser", "GetUser"}, Put: func(c *Context, _, s string) (*Stored, error) {
		u := c.NewUser()
		set(&u, s)
		got, err := c.Adapter.CreateUser(c.Ctx, u)
		if err != nil || got == nil {
			return nil, err
		}
		u.ID = got.ID
		return &Stored{&u, func(string) (any, error) { return RecordOrNil(c.Adapter.GetUser(c.Ctx, u.ID)) }}, nil
	}}
}

func updateTextField(name string, set func(*adapter.UserUpdate, string)) TextField {
	return TextField{Name: name, Methods: []string{"CreateUser", "UpdateUser", "GetUser"}, Put: func(c *Context, owner, s string) (*Stored, error) {
		u := c.GetUser(owner)
		if u == nil {
			c.Fatalf("GetUser of the owner: absent")
		}
		update := adapter.UserUpdate{ID: owner}
		set(&update, s)
		update.Apply(u)
		if _, err := c.Adapter.UpdateUser(c.Ctx, update); err != nil {
			return nil, err
		}
		return &Stored{u, func(string) (any, error) { return RecordOrNil(c.Adapter.GetUser(c.Ctx, owner)) }}, nil
	}}
}

func accountTextField(name string, p TextField, set func(*adapter.Account, string)) TextField {
	p.Name, p.Methods = name, []string{"CreateUser", "LinkAccount", "GetAccount"}
	p.Put = func(c *Context, owner, s string) (*Stored, error) {
		x := c.NewAccount(owner)
		set(&x, s)
		if _, err := c.Adapter.LinkAccount(c.Ctx, x); err != nil {
			return nil, err
		}
		return &Stored{&x, func(s string) (any, error) {
			y := x
			if p.Key {
				set(&y, s)
			}
			return RecordOrNil(c.Adapter.GetAccount(c.Ctx, y.ProviderAccountID, y.Provider))
		}}, nil
	}
	return p
}

func tokenTextField(name string, p TextField, set func(*adapter.VerificationToken, string)) TextField {
	p.Name, p.Methods = name, []string{"CreateVerificationToken", "UseVerificationToken"}
	p.Put = func(c *Context, _, s string) (*Stored, error) {
		x := c.NewToken()
		set(&x, s)
		if _, err := c.Adapter.CreateVerificationToken(c.Ctx, x); err != nil {
			return nil, err
		}
		return &Stored{&x, func(s string) (any, error) {
			y := x
			set(&y, s)
			got, err := c.Adapter.UseVerificationToken(c.Ctx, y.Key())
			if got != nil {
				got.Identifier = AddressAs(c, got.Identifier, x.Identifier)
			}
			return RecordOrNil(got, err)
		}}, nil
	}
	return p
}

func authenticatorTextField(name string, p TextField, set func(*adapter.Authenticator, string)) TextField {
	p.Name, p.Methods = name, []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}
	p.Put = func(c *Context, owner, s string) (*Stored, error) {
		x := c.NewAuthenticator(owner)
		set(&x, s)
		if got, err := c.Adapter.CreateAuthenticator(c.Ctx, x); err != nil || got == nil {
			return nil, err
		}
		return &Stored{&x, func(s string) (any, error) {
			y := x
			if p.Key {
				set(&y, s)
			}
			return RecordOrNil(c.Adapter.GetAuthenticator(c.Ctx, y.CredentialID))
		}}, nil
	}
	return p
}

// AssignsIDs reports whether CreateUser replaces supplied IDs, declared or not
// [USER-05].
func AssignsIDs(c *Context) bool {
	if c.Harness().Declarations.AssignsIDs {
		return true
	}
	u := c.NewUser()
	u.ID = c.ID()
	got, err := c.Adapter.CreateUser(c.Ctx, u)
	return err == nil && got != nil && got.ID != u.ID
}

// AddressAs returns other if the declared e-mail equality treats it as equal to
// address.
func AddressAs(c *Context, address, other string) string {
	if c.Harness().Declarations.EmailFoldsCase && LowerASCII(address) == LowerASCII(other) {
		return other
	}
	return address
}

// Owner returns the ID of a new user who can own records, if the adapter keeps
// users.
func Owner(c *Context) string {
	if !c.Works("CreateUser") {
		return ""
	}
	return c.User().ID
}

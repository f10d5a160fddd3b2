package kit

import (
	"encoding/json"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TextField is a text field of a record. DATA and INPUT put text into each one and compare the text that comes back.
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
	// Find reads the record back by the text, or by its key if the text is not part of the key.
	Find func(text string) (any, error)
}

// ExampleDomain ends the addresses that a clause makes.
const ExampleDomain = "@bücher.example"

// TextFields are the fields that hold text.
var TextFields = []TextField{
	userTextField("User.ID", TextField{Key: true, Alone: true, Chosen: true}, func(u *adapter.User, s string) { u.ID = s }),
	userTextField("User.Name", TextField{}, func(u *adapter.User, s string) { u.Name = &s }),
	userTextField("User.Image", TextField{}, func(u *adapter.User, s string) { u.Image = &s }),
	userTextField("User.Email", TextField{Key: true, Alone: true, Address: true}, func(u *adapter.User, s string) {
		u.Email = s + ExampleDomain
	}),
	updateTextField("User.Name by UpdateUser", func(u *adapter.UserUpdate, s string) { u.Name = adapter.To(&s) }),
	updateTextField("User.Image by UpdateUser", func(u *adapter.UserUpdate, s string) { u.Image = adapter.To(&s) }),
	{Name: "User.Email by UpdateUser", Key: true, Alone: true, Address: true, Methods: []string{"CreateUser", "UpdateUser", "GetUserByEmail"},
		Put: func(c *Context, _, s string) (*Stored, error) {
			u := c.CreateUser(adapter.User{Email: Address(c, "zoë")}) // without a proof, which is USER-17's
			u.Email = s + ExampleDomain
			got, err := c.Adapter.UpdateUser(c.Ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To(u.Email)})
			if err != nil || got == nil {
				return nil, err
			}
			u.Email = AddressAs(c, u.Email, got.Email)
			return &Stored{u, func(s string) (any, error) { return GetUserByEmail(s+ExampleDomain).find(c, c.Adapter) }}, nil
		}},
	draftTextField("Account.Provider", TextField{Key: true}, func(d *Draft, s string) { d.Account.Provider = s }),
	draftTextField("Account.ProviderAccountID", TextField{Key: true}, func(d *Draft, s string) { d.Account.ProviderAccountID = s }),
	draftTextField("Account.AccessToken", TextField{Private: true}, func(d *Draft, s string) { d.Account.AccessToken = &s }),
	draftTextField("Account.RefreshToken", TextField{Private: true}, func(d *Draft, s string) { d.Account.RefreshToken = &s }),
	draftTextField("Account.IDToken", TextField{Private: true}, func(d *Draft, s string) { d.Account.IDToken = &s }),
	draftTextField("Account.Scope", TextField{}, func(d *Draft, s string) { d.Account.Scope = &s }),
	draftTextField("Account.TokenType", TextField{}, func(d *Draft, s string) { d.Account.TokenType = &s }),
	draftTextField("Account.SessionState", TextField{}, func(d *Draft, s string) { d.Account.SessionState = &s }),
	draftTextField("Account.AuthorizationDetails", TextField{Encoded: true}, func(d *Draft, s string) {
		d.Account.AuthorizationDetails, _ = json.Marshal([]map[string]any{{"type": "x", "text": s}}) // strings always marshal
	}),
	draftTextField("Session.SessionToken", TextField{Key: true, Alone: true, Private: true}, func(d *Draft, s string) { d.Session.SessionToken = s }),
	draftTextField("VerificationToken.Identifier", TextField{Key: true, Address: true}, func(d *Draft, s string) { d.Token.Identifier = s + ExampleDomain }),
	draftTextField("VerificationToken.Token", TextField{Key: true, Private: true}, func(d *Draft, s string) { d.Token.Token = s }),
	draftTextField("Authenticator.CredentialID", TextField{Key: true, Alone: true}, func(d *Draft, s string) { d.Authenticator.CredentialID = s }),
	draftTextField("Authenticator.ProviderAccountID", TextField{}, func(d *Draft, s string) { d.Authenticator.ProviderAccountID = s }),
	draftTextField("Authenticator.CredentialPublicKey", TextField{Private: true}, func(d *Draft, s string) { d.Authenticator.CredentialPublicKey = s }),
	draftTextField("Authenticator.CredentialDeviceType", TextField{}, func(d *Draft, s string) { d.Authenticator.CredentialDeviceType = s }),
	draftTextField("Authenticator.Transports", TextField{}, func(d *Draft, s string) { d.Authenticator.Transports = &s }),
}

// userTextField is a field of a user. If it is a key, the user is found by it, and else by the ID.
func userTextField(name string, p TextField, set func(*adapter.User, string)) TextField {
	p.Name, p.Methods = name, []string{"CreateUser", "GetUser"}
	read := func(u adapter.User) Call { return GetUser(u.ID) }
	if p.Address {
		p.Methods[1], read = "GetUserByEmail", func(u adapter.User) Call { return GetUserByEmail(u.Email) }
	}
	p.Put = func(c *Context, _, s string) (*Stored, error) {
		u := c.NewUser()
		set(&u, s)
		got, err := c.Adapter.CreateUser(c.Ctx, u)
		if err != nil || got == nil || p.Chosen && got.ID != s && AssignsIDs(c) {
			return nil, err
		}
		if !p.Chosen {
			u.ID = got.ID
		}
		if p.Address {
			u.Email = AddressAs(c, u.Email, got.Email)
		}
		return &Stored{&u, func(s string) (any, error) {
			x := u
			if p.Key {
				set(&x, s)
			}
			return read(x).find(c, c.Adapter)
		}}, nil
	}
	return p
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
		return &Stored{u, func(string) (any, error) { return GetUser(owner).find(c, c.Adapter) }}, nil
	}}
}

// draftTextField is a field of a record that has an owner, or of a verification token.
func draftTextField(name string, p TextField, set func(*Draft, string)) TextField {
	of, _, _ := strings.Cut(name, ".")
	kind := map[string]Kind{"Account": AccountRecord, "Session": SessionRecord, "VerificationToken": VerificationTokenRecord,
		"Authenticator": AuthenticatorRecord}[of]
	p.Name, p.Methods = name, []string{KindOf(kind).Create, KindOf(kind).Read}
	if kind != VerificationTokenRecord {
		p.Methods = append([]string{"CreateUser"}, p.Methods...)
	}
	p.Put = func(c *Context, owner, s string) (*Stored, error) {
		x := NewDraft(c, kind, owner)
		set(x, s)
		got, err := x.Create().Do(c.Ctx, c.Adapter)
		if err != nil || kind != VerificationTokenRecord && IsNilRecord(got) {
			return nil, err
		}
		return &Stored{x.Value(), func(s string) (any, error) {
			y := *x
			if p.Key {
				set(&y, s)
			}
			return y.Look(c, c.Adapter)
		}}, nil
	}
	return p
}

// AssignsIDs reports whether CreateUser replaces supplied IDs, declared or not [USER-05].
func AssignsIDs(c *Context) bool {
	if c.Harness().Declarations.AssignsIDs {
		return true
	}
	u := UserWithID(c)
	got, err := c.Adapter.CreateUser(c.Ctx, u)
	return err == nil && got != nil && got.ID != u.ID
}

// AddressAs returns other if the declared e-mail equality treats it as equal to address.
func AddressAs(c *Context, address, other string) string {
	if c.Harness().Declarations.EmailFoldsCase && LowerASCII(address) == LowerASCII(other) {
		return other
	}
	return address
}

// Owner returns the ID of a new user who can own records, if the adapter keeps users.
func Owner(c *Context) string {
	if !c.Works("CreateUser") {
		return ""
	}
	return c.User().ID
}

package adaptertest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// textField is a text field of a record. DATA and INPUT put text into each one
// and compare the text that comes back.
type textField struct {
	name string
	// key: the text is a key, or part of one.
	key bool
	// alone: the text is the whole key, so it must be unique to the run.
	alone bool
	// address: the text is the local part of an e-mail address.
	address bool
	// encoded: the text is inside JSON, which holds only UTF-8.
	encoded bool
	// private: a unique text in the field is a secret.
	private bool
	// chosen: an adapter may refuse or replace the text, for example a user ID.
	chosen  bool
	methods []string
	put     func(c *clauseContext, owner, text string) (*stored, error)
}

// stored is a record that was written for a text field.
type stored struct {
	want any
	// find reads the record back by the text, or by its key if the text is not
	// part of the key.
	find func(text string) (any, error)
}

const exampleDomain = "@bücher.example"

var textFields = []textField{
	{name: "User.ID", key: true, alone: true, chosen: true, methods: []string{"CreateUser", "GetUser"},
		put: func(c *clauseContext, _, s string) (*stored, error) {
			u := c.newUser()
			u.ID = s
			got, err := c.a.CreateUser(c.ctx, u)
			if err != nil || got == nil {
				return nil, err
			}
			if got.ID != s && c.assignsIDs() {
				return nil, nil
			}
			return &stored{&u, func(s string) (any, error) { return record(c.a.GetUser(c.ctx, s)) }}, nil
		}},
	userTextField("User.Name", func(u *adapter.User, s string) { u.Name = &s }),
	userTextField("User.Image", func(u *adapter.User, s string) { u.Image = &s }),
	{name: "User.Email", key: true, alone: true, address: true, methods: []string{"CreateUser", "GetUserByEmail"},
		put: func(c *clauseContext, _, s string) (*stored, error) {
			u := c.newUser()
			u.Email = s + exampleDomain
			got, err := c.a.CreateUser(c.ctx, u)
			if err != nil || got == nil {
				return nil, err
			}
			u.ID = got.ID
			u.Email = c.addressAs(u.Email, got.Email)
			return &stored{&u, func(s string) (any, error) { return record(c.a.GetUserByEmail(c.ctx, s+exampleDomain)) }}, nil
		}},
	updateTextField("User.Name by UpdateUser", func(u *adapter.UserUpdate, s string) { u.Name = adapter.To(&s) }),
	updateTextField("User.Image by UpdateUser", func(u *adapter.UserUpdate, s string) { u.Image = adapter.To(&s) }),
	{name: "User.Email by UpdateUser", key: true, alone: true, address: true, methods: []string{"CreateUser", "UpdateUser", "GetUserByEmail"},
		put: func(c *clauseContext, _, s string) (*stored, error) {
			u, err := c.a.CreateUser(c.ctx, c.newUser())
			mustRecord(c, "CreateUser", u, err)
			u.Email = s + exampleDomain
			got, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: u.ID, Email: adapter.To(u.Email)})
			if err != nil || got == nil {
				return nil, err
			}
			u.Email = c.addressAs(u.Email, got.Email)
			return &stored{u, func(s string) (any, error) { return record(c.a.GetUserByEmail(c.ctx, s+exampleDomain)) }}, nil
		}},
	accountTextField("Account.Provider", textField{key: true}, func(a *adapter.Account, s string) { a.Provider = s }),
	accountTextField("Account.ProviderAccountID", textField{key: true}, func(a *adapter.Account, s string) { a.ProviderAccountID = s }),
	accountTextField("Account.AccessToken", textField{private: true}, func(a *adapter.Account, s string) { a.AccessToken = &s }),
	accountTextField("Account.RefreshToken", textField{private: true}, func(a *adapter.Account, s string) { a.RefreshToken = &s }),
	accountTextField("Account.IDToken", textField{private: true}, func(a *adapter.Account, s string) { a.IDToken = &s }),
	accountTextField("Account.Scope", textField{}, func(a *adapter.Account, s string) { a.Scope = &s }),
	accountTextField("Account.TokenType", textField{}, func(a *adapter.Account, s string) { a.TokenType = &s }),
	accountTextField("Account.SessionState", textField{}, func(a *adapter.Account, s string) { a.SessionState = &s }),
	accountTextField("Account.AuthorizationDetails", textField{encoded: true}, func(a *adapter.Account, s string) {
		a.AuthorizationDetails, _ = json.Marshal([]map[string]any{{"type": "x", "text": s}}) // strings always marshal
	}),
	{name: "Session.SessionToken", key: true, alone: true, private: true, methods: []string{"CreateUser", "CreateSession", "GetSessionAndUser"},
		put: func(c *clauseContext, owner, s string) (*stored, error) {
			x := adapter.Session{SessionToken: s, UserID: owner, Expires: c.instant(time.Hour)}
			got, err := c.a.CreateSession(c.ctx, x)
			if err != nil || got == nil {
				return nil, err
			}
			return &stored{&x, func(s string) (any, error) {
				r, err := c.a.GetSessionAndUser(c.ctx, s)
				if r == nil {
					return nil, err
				}
				return &r.Session, err
			}}, nil
		}},
	tokenTextField("VerificationToken.Identifier", textField{key: true, address: true}, func(t *adapter.VerificationToken, s string) { t.Identifier = s + exampleDomain }),
	tokenTextField("VerificationToken.Token", textField{key: true, private: true}, func(t *adapter.VerificationToken, s string) { t.Token = s }),
	authenticatorTextField("Authenticator.CredentialID", textField{key: true, alone: true}, func(a *adapter.Authenticator, s string) { a.CredentialID = s }),
	authenticatorTextField("Authenticator.ProviderAccountID", textField{}, func(a *adapter.Authenticator, s string) { a.ProviderAccountID = s }),
	authenticatorTextField("Authenticator.CredentialPublicKey", textField{private: true}, func(a *adapter.Authenticator, s string) { a.CredentialPublicKey = s }),
	authenticatorTextField("Authenticator.CredentialDeviceType", textField{}, func(a *adapter.Authenticator, s string) { a.CredentialDeviceType = s }),
	authenticatorTextField("Authenticator.Transports", textField{}, func(a *adapter.Authenticator, s string) { a.Transports = &s }),
}

func userTextField(name string, set func(*adapter.User, string)) textField {
	return textField{name: name, methods: []string{"CreateUser", "GetUser"}, put: func(c *clauseContext, _, s string) (*stored, error) {
		u := c.newUser()
		set(&u, s)
		got, err := c.a.CreateUser(c.ctx, u)
		if err != nil || got == nil {
			return nil, err
		}
		u.ID = got.ID
		return &stored{&u, func(string) (any, error) { return record(c.a.GetUser(c.ctx, u.ID)) }}, nil
	}}
}

func updateTextField(name string, set func(*adapter.UserUpdate, string)) textField {
	return textField{name: name, methods: []string{"CreateUser", "UpdateUser", "GetUser"}, put: func(c *clauseContext, owner, s string) (*stored, error) {
		u := c.getUser(owner)
		if u == nil {
			c.Fatalf("GetUser of the owner: absent")
		}
		update := adapter.UserUpdate{ID: owner}
		set(&update, s)
		update.Apply(u)
		if _, err := c.a.UpdateUser(c.ctx, update); err != nil {
			return nil, err
		}
		return &stored{u, func(string) (any, error) { return record(c.a.GetUser(c.ctx, owner)) }}, nil
	}}
}

func accountTextField(name string, p textField, set func(*adapter.Account, string)) textField {
	p.name, p.methods = name, []string{"CreateUser", "LinkAccount", "GetAccount"}
	p.put = func(c *clauseContext, owner, s string) (*stored, error) {
		x := c.newAccount(owner)
		set(&x, s)
		if _, err := c.a.LinkAccount(c.ctx, x); err != nil {
			return nil, err
		}
		return &stored{&x, func(s string) (any, error) {
			y := x
			if p.key {
				set(&y, s)
			}
			return record(c.a.GetAccount(c.ctx, y.ProviderAccountID, y.Provider))
		}}, nil
	}
	return p
}

func tokenTextField(name string, p textField, set func(*adapter.VerificationToken, string)) textField {
	p.name, p.methods = name, []string{"CreateVerificationToken", "UseVerificationToken"}
	p.put = func(c *clauseContext, _, s string) (*stored, error) {
		x := c.newToken()
		set(&x, s)
		if _, err := c.a.CreateVerificationToken(c.ctx, x); err != nil {
			return nil, err
		}
		return &stored{&x, func(s string) (any, error) {
			y := x
			set(&y, s)
			got, err := c.a.UseVerificationToken(c.ctx, y.Key())
			if got != nil {
				got.Identifier = c.addressAs(got.Identifier, x.Identifier)
			}
			return record(got, err)
		}}, nil
	}
	return p
}

func authenticatorTextField(name string, p textField, set func(*adapter.Authenticator, string)) textField {
	p.name, p.methods = name, []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}
	p.put = func(c *clauseContext, owner, s string) (*stored, error) {
		x := c.newAuthenticator(owner)
		set(&x, s)
		if got, err := c.a.CreateAuthenticator(c.ctx, x); err != nil || got == nil {
			return nil, err
		}
		return &stored{&x, func(s string) (any, error) {
			y := x
			if p.key {
				set(&y, s)
			}
			return record(c.a.GetAuthenticator(c.ctx, y.CredentialID))
		}}, nil
	}
	return p
}

// assignsIDs reports whether CreateUser replaces supplied IDs, declared or not
// [USER-05].
func (c *clauseContext) assignsIDs() bool {
	if c.harness().Declarations.AssignsIDs {
		return true
	}
	u := c.newUser()
	u.ID = c.id()
	got, err := c.a.CreateUser(c.ctx, u)
	return err == nil && got != nil && got.ID != u.ID
}

// addressAs returns other if the declared e-mail equality treats it as equal to
// address.
func (c *clauseContext) addressAs(address, other string) string {
	if c.harness().Declarations.EmailFoldsCase && lowerASCII(address) == lowerASCII(other) {
		return other
	}
	return address
}

// textFields returns the text fields that keep accepts and whose methods the adapter
// has; the clause does not apply if there is none.
func (c *clauseContext) textFields(keep func(textField) bool) []textField {
	var have []textField
	for _, p := range textFields {
		if keep(p) && !slices.ContainsFunc(p.methods, c.lacks) {
			have = append(have, p)
		}
	}
	if len(have) == 0 {
		c.notApplicable("the adapter keeps no such text")
	}
	return have
}

func everyTextField(textField) bool   { return true }
func keyTextField(p textField) bool   { return p.key }
func plainTextField(p textField) bool { return !p.encoded }

// owner returns the ID of a new user who can own records, if the adapter keeps
// users.
func (c *clauseContext) owner() string {
	if !c.works("CreateUser") {
		return ""
	}
	return c.user().ID
}

// What a store may do with a text instead of keeping it.
const (
	mustKeep  = false
	mayRefuse = true
)

// keeps puts text into a text field and compares the text that comes back. It
// returns the stored record, or nil if the write was refused.
func (c *clauseContext) keeps(p textField, owner, text string, refusable bool) *stored {
	if p.private && strings.Contains(text, c.run.nonce) {
		c.run.addSecret(text)
	}
	x, err := p.put(c, owner, text)
	switch {
	case err != nil && (refusable || p.chosen):
		return nil
	case err != nil:
		c.Errorf("%s = %s: %v", p.name, diff.Show(text), err)
		return nil
	case x == nil && p.chosen:
		return nil
	case x == nil:
		c.Errorf("%s = %s: the write returned nothing", p.name, diff.Show(text))
		return nil
	}
	got, err := x.find(text)
	switch {
	case err != nil:
		c.Errorf("%s = %s, read back: %v", p.name, diff.Show(text), err)
	case got == nil:
		c.Errorf("%s = %s was accepted and is absent", p.name, diff.Show(text))
	default:
		c.same(p.name+" = "+diff.Show(text)+", read back", got, x.want)
	}
	return x
}

// saturated stores and reads a record of each kind, with s in all of its text.
func (c *clauseContext) saturated(s string, refusable bool) {
	private := func(word string) string { return c.secret(word) + s }
	judge := func(what string, want, got any, err error) {
		switch {
		case err != nil && refusable:
		case err != nil:
			c.Errorf("%s that holds %s: %v", what, diff.Show(s), err)
		case isNilRecord(got):
			c.Errorf("%s that holds %s was accepted and is absent", what, diff.Show(s))
		default:
			c.same(what+" that holds "+diff.Show(s), got, want)
		}
	}
	owner := ""
	if c.stores(UserRecord) {
		owner = c.saturatedUser(s, judge)
	}
	if owner == "" {
		owner = c.owner()
	}
	if owner != "" && c.stores(AccountRecord) {
		x := c.newAccount(owner)
		x.Provider, x.ProviderAccountID = c.unique("x")+s, s+c.unique("x")
		x.AccessToken, x.RefreshToken, x.IDToken = new(private("x")), new(private("x")), new(private("x"))
		x.Scope, x.TokenType, x.SessionState = new(s), new(s), new(s)
		x.AuthorizationDetails, _ = json.Marshal([]map[string]any{{"type": s}}) // strings always marshal
		_, err := c.a.LinkAccount(c.ctx, x)
		got := &x
		if err == nil {
			got, err = c.a.GetAccount(c.ctx, x.ProviderAccountID, x.Provider)
		}
		judge("an account", &x, got, err)
	}
	if owner != "" && c.stores(SessionRecord) {
		x := c.newSession(owner)
		x.SessionToken = s + private("x")
		_, err := c.a.CreateSession(c.ctx, x)
		var got *adapter.Session
		if err == nil {
			var r *adapter.SessionAndUser
			if r, err = c.a.GetSessionAndUser(c.ctx, x.SessionToken); r != nil {
				got = &r.Session
			}
		}
		judge("a session", &x, got, err)
	}
	if c.stores(VerificationTokenRecord) {
		x := c.newToken()
		x.Identifier, x.Token = c.unique("x")+s+exampleDomain, s+private("x")
		_, err := c.a.CreateVerificationToken(c.ctx, x)
		var got *adapter.VerificationToken
		if err == nil {
			if got, err = c.a.UseVerificationToken(c.ctx, x.Key()); got != nil {
				got.Identifier = c.addressAs(got.Identifier, x.Identifier)
			}
		}
		judge("a verification token", &x, got, err)
	}
	if owner != "" && c.stores(AuthenticatorRecord) {
		x := c.newAuthenticator(owner)
		x.CredentialID, x.ProviderAccountID = s+c.unique("x"), s
		x.CredentialPublicKey, x.CredentialDeviceType, x.Transports = private("x"), s, new(s)
		_, err := c.a.CreateAuthenticator(c.ctx, x)
		var got *adapter.Authenticator
		if err == nil {
			got, err = c.a.GetAuthenticator(c.ctx, x.CredentialID)
		}
		judge("an authenticator", &x, got, err)
	}
}

func (c *clauseContext) saturatedUser(s string, judge func(what string, want, got any, err error)) (id string) {
	u := c.newUser()
	u.Name, u.Image, u.Email = new(s), new(s), c.unique("x")+s+exampleDomain
	created, err := c.a.CreateUser(c.ctx, u)
	if err != nil || created == nil {
		judge("a user", &u, created, err)
		return ""
	}
	u.ID, u.Email = created.ID, c.addressAs(u.Email, created.Email)
	got, err := c.a.GetUser(c.ctx, u.ID)
	judge("a user", &u, got, err)
	if c.works("GetUserByEmail") {
		got, err = c.a.GetUserByEmail(c.ctx, u.Email)
		judge("a user", &u, got, err)
	}
	if c.works("UpdateUser") {
		u.Name, u.Image = new(s+s), new(s+s)
		update := adapter.UserUpdate{ID: u.ID, Name: adapter.To(u.Name), Image: adapter.To(u.Image)}
		if got, err = c.a.UpdateUser(c.ctx, update); err == nil {
			got, err = c.a.GetUser(c.ctx, u.ID)
		}
		judge("an updated user", &u, got, err)
	}
	return u.ID
}

package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func decodeUser(raw bson.Raw) (*adapter.User, error) {
	d := &document{raw: raw}
	u := &adapter.User{
		ID:            d.id("_id").Hex(),
		Name:          d.optional("name"),
		EmailVerified: d.instant("emailVerified"),
		Image:         d.optional("image"),
	}
	if email := d.optional("email"); email != nil {
		u.Email = *email
	}
	if d.err != nil {
		return nil, d.err
	}
	return u, nil
}

// newUser returns the document of a new user, and the record as stored.
func newUser(user adapter.User) (fields, *adapter.User, error) {
	if err := storable(user.Email, optional(user.Name), optional(user.Image)); err != nil {
		return nil, nil, err
	}
	id := bson.NewObjectID()
	doc := fields{{Key: "_id", Value: id}}
	if user.Email != "" { // the index of addresses does not contain users without one
		doc.add("email", user.Email)
	}
	doc.optional("name", user.Name)
	doc.optional("image", user.Image)
	if user.EmailVerified != nil {
		doc.add("emailVerified", date(*user.EmailVerified))
		user.EmailVerified = new(kept(*user.EmailVerified))
	} else {
		doc.add("emailVerified", nil) // the Auth.js adapter stores null too
	}
	user.ID = id.Hex()
	user.Name, user.Image = clone(user.Name), clone(user.Image)
	return doc, &user, nil
}

// CreateUser implements adapter.Users. It assigns the ID and ignores an ID
// that the caller supplies.
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	doc, stored, err := newUser(user)
	if err == nil {
		err = a.site.hasEmail(ctx, user.Email)
	}
	if err == nil {
		err = a.users.insert(ctx, doc)
	}
	if err != nil {
		return nil, wrap("create user", err)
	}
	return stored, nil
}

func (a *Adapter) user(ctx context.Context, filter bson.D) (*adapter.User, error) {
	raw, err := a.users.find(ctx, filter)
	if err != nil || raw == nil {
		return nil, err
	}
	return decodeUser(raw)
}

// GetUser implements adapter.Users.
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	oid, ok := objectID(id)
	if !ok {
		return nil, wrap("get user", a.site.absent(ctx))
	}
	u, err := a.user(ctx, byID(oid))
	return u, wrap("get user", err)
}

// GetUserByEmail implements adapter.Users.
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	if !lookup(email) {
		return nil, wrap("get user by e-mail", a.site.absent(ctx))
	}
	u, err := a.user(ctx, bson.D{{Key: "email", Value: email}})
	return u, wrap("get user by e-mail", err)
}

// GetUserByAccount implements adapter.Users.
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if !lookup(key.Provider, key.ProviderAccountID) {
		return nil, wrap("get user by account", a.site.absent(ctx))
	}
	found, err := a.findAccount(ctx, key)
	if err != nil || found == nil {
		return nil, wrap("get user by account", err)
	}
	return found.owner, nil
}

// UpdateUser implements adapter.Users.
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	u, err := a.updateUser(ctx, update)
	return u, wrap("update user", err)
}

func (a *Adapter) updateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	oid, ok := objectID(update.ID)
	if !ok {
		return nil, firstOf(a.site.absent(ctx), errNoUser)
	}
	var c changes
	c.text("name", update.Name)
	c.text("image", update.Image)
	if email, ok := update.Email.Get(); ok && email == "" {
		if err := a.site.hasEmail(ctx, email); err != nil {
			return nil, err
		}
		c.remove("email")
	} else if ok {
		c.set("email", email, storable(email))
	}
	if verified, ok := update.EmailVerified.Get(); ok && verified == nil {
		c.set("emailVerified", nil, nil)
	} else if ok {
		c.set("emailVerified", date(*verified), nil)
	}
	filter := byID(oid)
	if update.IfEmail != "" {
		filter = append(filter, bson.E{Key: "email", Value: update.IfEmail})
	}
	if update.Email.IsSet() && !update.EmailVerified.IsSet() {
		c.proof, c.of = "emailVerified", "email"
	}
	raw, err := c.apply(ctx, a.users, filter)
	switch {
	case err != nil:
		return nil, err
	case raw == nil:
		return nil, errNoUser
	default:
		return decodeUser(raw)
	}
}

// DeleteUser implements adapter.Users. If the user has many sessions, it
// deletes most of them first, in batches, so that other calls do not wait for
// long. Then it deletes the user: from this instant no lookup finds a record
// of the user. It deletes the remaining records last; if that fails, a
// repeated call completes it.
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	oid, ok := objectID(id)
	if !ok {
		return nil, wrap("delete user", a.site.absent(ctx))
	}
	u, err := a.deleteUser(ctx, oid)
	if err != nil {
		return nil, wrap("delete user", err)
	}
	return u, nil
}

func (a *Adapter) deleteUser(ctx context.Context, id bson.ObjectID) (*adapter.User, error) {
	owned := bson.D{{Key: "userId", Value: id}}
	if err := a.sessions.thin(ctx, owned); err != nil {
		return nil, err
	}
	raw, err := a.users.take(ctx, byID(id))
	if err != nil {
		return nil, err
	}
	for _, c := range []collection{a.sessions, a.accounts, a.authenticators} {
		if _, err := c.delete(ctx, owned); err != nil {
			return nil, err
		}
	}
	if a.site.noPasswords.Load() == nil {
		if _, err := a.passwords.delete(ctx, byID(id)); err != nil {
			return nil, err
		}
	}
	if raw == nil {
		return nil, nil
	}
	return decodeUser(raw)
}

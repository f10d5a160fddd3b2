package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

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

// CreateUser implements adapter.Users. It assigns the ID; one that is supplied
// is replaced.
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	id := bson.NewObjectID()
	doc := fields{{Key: "_id", Value: id}}
	if err := storable(user.Email, optional(user.Name), optional(user.Image)); err != nil {
		return nil, wrap("create user", err)
	}
	if user.Email != "" { // a user without an address is in no index of addresses
		doc.add("email", user.Email)
	}
	doc.optional("name", user.Name)
	doc.optional("image", user.Image)
	if user.EmailVerified != nil {
		doc.add("emailVerified", date(*user.EmailVerified))
	} else {
		doc.add("emailVerified", nil) // as the Auth.js adapter has it
	}
	if err := a.users.insert(ctx, doc); err != nil {
		return nil, wrap("create user", err)
	}
	user.ID = id.Hex()
	user.Name, user.Image = clone(user.Name), clone(user.Image)
	if user.EmailVerified != nil {
		user.EmailVerified = new(kept(*user.EmailVerified))
	}
	return &user, nil
}

func optional(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func clone(s *string) *string {
	if s == nil {
		return nil
	}
	return new(*s)
}

func (a *Adapter) user(ctx context.Context, filter bson.D) (*adapter.User, error) {
	raw, err := a.users.find(ctx, filter)
	if err != nil || raw == nil {
		return nil, err
	}
	return decodeUser(raw)
}

func (a *Adapter) userByID(ctx context.Context, id bson.ObjectID) (*adapter.User, error) {
	return a.user(ctx, bson.D{{Key: "_id", Value: id}})
}

// GetUser implements adapter.Users.
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	oid, ok := objectID(id)
	if !ok {
		return nil, wrap("get user", ctx.Err())
	}
	u, err := a.userByID(ctx, oid)
	return u, wrap("get user", err)
}

// GetUserByEmail implements adapter.Users.
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	if !lookup(email) {
		return nil, wrap("get user by e-mail", ctx.Err())
	}
	u, err := a.user(ctx, bson.D{{Key: "email", Value: email}})
	return u, wrap("get user by e-mail", err)
}

// GetUserByAccount implements adapter.Users.
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if !lookup(key.Provider, key.ProviderAccountID) {
		return nil, wrap("get user by account", ctx.Err())
	}
	c, err := a.child(ctx, a.accounts, accountFilter(key))
	if err != nil || c == nil {
		return nil, wrap("get user by account", err)
	}
	return c.owner, nil
}

// UpdateUser implements adapter.Users.
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	u, err := a.updateUser(ctx, update)
	return u, wrap("update user", err)
}

func (a *Adapter) updateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	oid, ok := objectID(update.ID)
	if !ok {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("no user has the id: %w", adapter.ErrNotFound))
	}
	var set, unset fields
	change := func(field string, value *string) error {
		if value == nil {
			unset.add(field, "")
			return nil
		}
		set.add(field, *value)
		return storable(*value)
	}
	var problems []error
	if name, ok := update.Name.Get(); ok {
		problems = append(problems, change("name", name))
	}
	if image, ok := update.Image.Get(); ok {
		problems = append(problems, change("image", image))
	}
	if email, ok := update.Email.Get(); ok && email == "" {
		unset.add("email", "")
	} else if ok {
		problems = append(problems, change("email", &email))
	}
	if verified, ok := update.EmailVerified.Get(); ok && verified == nil {
		set.add("emailVerified", nil)
	} else if ok {
		set.add("emailVerified", date(*verified))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	var changes bson.D
	if len(set) > 0 {
		changes = append(changes, bson.E{Key: "$set", Value: bson.D(set)})
	}
	if len(unset) > 0 {
		changes = append(changes, bson.E{Key: "$unset", Value: bson.D(unset)})
	}
	if len(changes) > 0 {
		found, err := a.users.update(ctx, oid, changes)
		if err != nil {
			return nil, a.refused(ctx, err, oid, update.Email)
		}
		if !found {
			return nil, fmt.Errorf("no user has the id: %w", adapter.ErrNotFound)
		}
	}
	u, err := a.userByID(ctx, oid)
	if err == nil && u == nil {
		err = fmt.Errorf("no user has the id: %w", adapter.ErrNotFound)
	}
	return u, err
}

// refused tells a taken address from other reasons for which the server refused
// an update. Not every server names a violated unique index.
func (a *Adapter) refused(ctx context.Context, err error, id bson.ObjectID, email adapter.Change[string]) error {
	address, ok := email.Get()
	if !errors.As(err, new(mgo.ServerError)) || mgo.IsDuplicateKeyError(err) || mgo.IsNetworkError(err) || !ok || address == "" {
		return err
	}
	holder, e := a.user(ctx, bson.D{{Key: "email", Value: address}})
	if e == nil && holder != nil && holder.ID != id.Hex() {
		return errTaken
	}
	return err
}

// DeleteUser implements adapter.Users. If it fails, the user is gone or not; a
// repeated call removes what is left.
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	oid, ok := objectID(id)
	if !ok {
		return nil, wrap("delete user", ctx.Err())
	}
	u, err := a.deleteUser(ctx, oid)
	if err != nil {
		return nil, wrap("delete user", err)
	}
	return u, nil
}

func (a *Adapter) deleteUser(ctx context.Context, id bson.ObjectID) (*adapter.User, error) {
	u, err := a.userByID(ctx, id)
	if err != nil {
		return nil, err
	}
	if u != nil {
		deleted, err := a.users.delete(ctx, id)
		if err != nil {
			return nil, err
		}
		if !deleted {
			u = nil // another call deleted it
		}
	}
	for _, c := range []collection{a.sessions, a.accounts, a.authenticators} {
		if _, err := c.deleteAll(ctx, bson.D{{Key: "userId", Value: id}}); err != nil {
			return nil, err
		}
	}
	return u, nil
}

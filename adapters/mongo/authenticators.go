package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func (f forms) authenticatorFilter(credentialID string) bson.D {
	return bson.D{{Key: f.credential, Value: credentialID}}
}

func (f forms) decodeAuthenticator(raw bson.Raw) (*adapter.Authenticator, error) {
	d := &document{raw: raw}
	w := &adapter.Authenticator{
		CredentialID:         d.text(f.credential),
		UserID:               d.id("userId").Hex(),
		ProviderAccountID:    d.text("providerAccountId"),
		CredentialPublicKey:  d.text("credentialPublicKey"),
		Counter:              must(d, "counter", d.integer("counter")),
		CredentialBackedUp:   d.boolean("credentialBackedUp"),
		CredentialDeviceType: d.text("credentialDeviceType"),
		Transports:           d.optional("transports"),
		Name:                 d.optional("name"),
		Created:              d.instant("created"),
		LastUsed:             d.instant("lastUsed"),
	}
	if d.err != nil {
		return nil, d.err
	}
	return w, nil
}

// newAuthenticator returns the document of a new authenticator without its _id
// and owner, and the record as stored.
func (f forms) newAuthenticator(w adapter.Authenticator) (fields, *adapter.Authenticator, error) {
	if err := storable(w.CredentialID, w.ProviderAccountID, w.CredentialPublicKey, w.CredentialDeviceType, optional(w.Transports), optional(w.Name)); err != nil {
		return nil, nil, err
	}
	doc := fields{
		{Key: f.credential, Value: w.CredentialID},
		{Key: "providerAccountId", Value: w.ProviderAccountID},
		{Key: "credentialPublicKey", Value: w.CredentialPublicKey},
		{Key: "counter", Value: f.number(w.Counter)},
		{Key: "credentialBackedUp", Value: w.CredentialBackedUp},
		{Key: "credentialDeviceType", Value: w.CredentialDeviceType},
	}
	doc.optional("transports", w.Transports)
	doc.optional("name", w.Name)
	w.Transports, w.Name = clone(w.Transports), clone(w.Name)
	if w.Created != nil {
		doc.add("created", date(*w.Created))
		w.Created = new(kept(*w.Created))
	}
	if w.LastUsed != nil {
		doc.add("lastUsed", date(*w.LastUsed))
		w.LastUsed = new(kept(*w.LastUsed))
	}
	return doc, &w, nil
}

// CreateAuthenticator implements adapter.Authenticators. It takes two round
// trips.
func (a *Adapter) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	if err := required("credentialID", w.CredentialID, "userId", w.UserID); err != nil {
		return nil, wrap("create authenticator", err)
	}
	doc, stored, err := a.forms.newAuthenticator(w)
	if err == nil {
		err = a.create(ctx, a.authenticators, w.UserID, a.forms.authenticatorFilter(w.CredentialID), doc)
	}
	if err != nil {
		return nil, wrap("create authenticator", err)
	}
	return stored, nil
}

// GetAuthenticator implements adapter.Authenticators.
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	w, err := a.getAuthenticator(ctx, credentialID)
	return w, wrap("get authenticator", err)
}

func (a *Adapter) getAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	if !lookup(credentialID) {
		return nil, a.site.absent(ctx)
	}
	found, err := a.findOwned(ctx, a.authenticators, a.forms.authenticatorFilter(credentialID))
	if err != nil || found == nil {
		return nil, err
	}
	return a.forms.decodeAuthenticator(found.raw)
}

// ListAuthenticatorsByUserID implements adapter.Authenticators.
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	all, err := list(ctx, a, a.authenticators, userID, a.forms.decodeAuthenticator)
	return all, wrap("list authenticators", err)
}

// UpdateAuthenticatorCounter implements adapter.Authenticators.
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	w, err := a.changeAuthenticator(ctx, credentialID, nil, fields{{Key: "counter", Value: a.forms.number(counter)}})
	if err == nil && w == nil {
		err = errNoAuthenticator
	}
	return w, wrap("update authenticator counter", err)
}

// changeAuthenticator changes the authenticator if it meets the condition, and
// returns the changed record, or nil.
func (a *Adapter) changeAuthenticator(ctx context.Context, credentialID string, condition bson.D, set fields) (*adapter.Authenticator, error) {
	if !lookup(credentialID) {
		return nil, a.site.absent(ctx)
	}
	raw, err := a.authenticators.change(ctx, append(a.forms.authenticatorFilter(credentialID), condition...), bson.D{{Key: "$set", Value: bson.D(set)}})
	if err != nil || raw == nil {
		return nil, err
	}
	return a.forms.decodeAuthenticator(raw)
}

// UpdateAuthenticatorBackup implements adapter.AuthenticatorBackups.
func (a *Adapter) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (*adapter.Authenticator, error) {
	const op = "update authenticator backup"
	if err := storable(deviceType); err != nil {
		return nil, wrap(op, err)
	}
	set := fields{{Key: "credentialBackedUp", Value: backedUp}, {Key: "credentialDeviceType", Value: deviceType}}
	w, err := a.changeAuthenticator(ctx, credentialID, nil, set)
	if err == nil && w == nil {
		err = errNoAuthenticator
	}
	return w, wrap(op, err)
}

// RenameAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	ownerID, ok := objectID(userID)
	if !ok {
		return nil, wrap("rename authenticator", a.site.absent(ctx))
	}
	if err := storable(name); err != nil {
		return nil, wrap("rename authenticator", err)
	}
	w, err := a.changeAuthenticator(ctx, credentialID, bson.D{{Key: "userId", Value: ownerID}}, fields{{Key: "name", Value: name}})
	return w, wrap("rename authenticator", err)
}

// TouchAuthenticator implements adapter.AuthenticatorEdits.
func (a *Adapter) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	set := fields{{Key: "counter", Value: a.forms.number(to)}, {Key: "lastUsed", Value: date(used)}}
	w, err := a.changeAuthenticator(ctx, credentialID, bson.D{{Key: "counter", Value: from}}, set)
	if err != nil || w != nil {
		return w, wrap("touch authenticator", err)
	}
	found, err := a.getAuthenticator(ctx, credentialID)
	if err == nil && found == nil {
		err = errNoAuthenticator
	}
	return nil, wrap("touch authenticator", err)
}

// DeleteAuthenticator implements adapter.AuthenticatorEdits. The call reserves
// the user, for ten seconds at most, with the field gatehouseRemovalUntil.
//
// First the connected account is marked with the authenticator's _id. Then the
// authenticator is deleted: from this instant no lookup finds the account either.
// The account's document is deleted last.
func (a *Adapter) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	ownerID, ok := objectID(userID)
	if !ok || !lookup(credentialID) {
		return nil, wrap("delete authenticator", a.site.absent(ctx))
	}
	var taken bson.Raw
	err := a.reserved(ctx, ownerID, func(ctx context.Context) (err error) {
		taken, err = a.deleteAuthenticator(ctx, ownerID, credentialID, keepOne)
		return err
	})
	if err != nil || taken == nil {
		return nil, wrap("delete authenticator", err)
	}
	w, err := a.forms.decodeAuthenticator(taken)
	return w, wrap("delete authenticator", err)
}

func (a *Adapter) deleteAuthenticator(ctx context.Context, ownerID bson.ObjectID, credentialID string, keepOne bool) (bson.Raw, error) {
	filter := append(a.forms.authenticatorFilter(credentialID), bson.E{Key: "userId", Value: ownerID})
	raw, err := a.authenticators.find(ctx, filter)
	if err != nil || raw == nil {
		return nil, err
	}
	if keepOne {
		last, err := a.isLast(ctx, ownerID, raw)
		if err != nil {
			return nil, err
		}
		if last {
			return nil, adapter.ErrLastCredential
		}
	}
	id := raw.Lookup("_id")
	account := connected(ownerID, raw)
	sibling, err := a.authenticators.find(ctx, bson.D{{Key: "userId", Value: ownerID},
		{Key: "providerAccountId", Value: raw.Lookup("providerAccountId")}, {Key: "_id", Value: bson.D{{Key: "$ne", Value: id}}}})
	if err != nil {
		return nil, err
	}
	mark := bson.D{{Key: "$set", Value: bson.D{{Key: endsWithField, Value: id}}}}
	if sibling != nil {
		mark = bson.D{{Key: "$unset", Value: bson.D{{Key: endsWithField, Value: ""}}}}
	}
	if _, err := a.accounts.change(ctx, account, mark); err != nil {
		return nil, err
	}
	taken, err := a.authenticators.take(ctx, append(filter, bson.E{Key: "_id", Value: id}))
	if err != nil || taken == nil || sibling != nil {
		return taken, err
	}
	_, err = a.accounts.delete(ctx, append(account, bson.E{Key: endsWithField, Value: id}))
	return taken, err
}

// connected returns the filter for the account that an authenticator is connected
// to.
func connected(ownerID bson.ObjectID, authenticator bson.Raw) bson.D {
	return bson.D{
		{Key: "userId", Value: ownerID}, {Key: "type", Value: string(adapter.AccountWebAuthn)},
		{Key: "providerAccountId", Value: authenticator.Lookup("providerAccountId")},
	}
}

// isLast reports whether the user would have no credential without the
// authenticator: no other authenticator, no account except the connected one, and no
// password.
func (a *Adapter) isLast(ctx context.Context, ownerID bson.ObjectID, authenticator bson.Raw) (bool, error) {
	other, err := a.authenticators.find(ctx, bson.D{{Key: "userId", Value: ownerID}, {Key: "_id", Value: bson.D{{Key: "$ne", Value: authenticator.Lookup("_id")}}}})
	if err != nil || other != nil {
		return false, err
	}
	account, err := a.accounts.find(ctx, bson.D{{Key: "userId", Value: ownerID}, {Key: endsWithField, Value: nil}, {Key: "$nor", Value: bson.A{connected(ownerID, authenticator)}}})
	if err != nil || account != nil {
		return false, err
	}
	has, err := a.hasPassword(ctx, ownerID)
	return err == nil && !has, err
}

const (
	// removalField reserves a user until an instant of the server's clock.
	removalField = "gatehouseRemovalUntil"
	// removalTime is how long the user is reserved. The work under the
	// reservation ends three seconds earlier.
	removalTime = 10 * time.Second
	removalEnds = removalTime - 3*time.Second
	// askAgain is the pause between two attempts to reserve a user whom another
	// call has reserved.
	askAgain = 10 * time.Millisecond
)

// reserved calls do under a reservation of the user, which only one call can have
// at a time. It does nothing if the user is absent.
func (a *Adapter) reserved(ctx context.Context, id bson.ObjectID, do func(ctx context.Context) error) error {
	free := append(byID(id), bson.E{Key: "$or", Value: bson.A{
		bson.D{{Key: removalField, Value: nil}},
		bson.D{{Key: "$expr", Value: bson.D{{Key: "$lte", Value: bson.A{"$" + removalField, "$$NOW"}}}}},
	}})
	reserve := bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: removalField, Value: bson.D{{Key: "$add", Value: bson.A{"$$NOW", removalTime.Milliseconds()}}}}}}}}
	for {
		within, cancel := context.WithTimeout(ctx, removalEnds)
		raw, err := a.users.change(within, free, reserve)
		if err == nil && raw != nil {
			err = do(within)
			cancel()
			release := append(byID(id), bson.E{Key: removalField, Value: raw.Lookup(removalField)})
			_, e := a.users.change(ctx, release, bson.D{{Key: "$unset", Value: bson.D{{Key: removalField, Value: ""}}}})
			if err != nil {
				return err // the reservation expires
			}
			return e
		}
		cancel()
		if err != nil {
			return err
		}
		if there, err := a.exists(ctx, id); err != nil || !there {
			return err
		}
		if err := rest(ctx, askAgain); err != nil {
			return err
		}
	}
}

package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func authenticatorFilter(credentialID string) bson.D {
	return bson.D{{Key: "credentialID", Value: credentialID}}
}

func decodeAuthenticator(raw bson.Raw, userID string) (*adapter.Authenticator, error) {
	d := &document{raw: raw}
	w := &adapter.Authenticator{
		CredentialID:         d.text("credentialID"),
		UserID:               userID,
		ProviderAccountID:    d.text("providerAccountId"),
		CredentialPublicKey:  d.text("credentialPublicKey"),
		Counter:              must(d, "counter", d.integer("counter")),
		CredentialBackedUp:   d.boolean("credentialBackedUp"),
		CredentialDeviceType: d.text("credentialDeviceType"),
		Transports:           d.optional("transports"),
	}
	if d.err != nil {
		return nil, d.err
	}
	return w, nil
}

// CreateAuthenticator implements adapter.Authenticators.
func (a *Adapter) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	err := required("credentialID", w.CredentialID, "userId", w.UserID)
	if err == nil {
		err = storable(w.CredentialID, w.ProviderAccountID, w.CredentialPublicKey, w.CredentialDeviceType, optional(w.Transports))
	}
	if err != nil {
		return nil, wrap("create authenticator", err)
	}
	doc := fields{
		{Key: "credentialID", Value: w.CredentialID},
		{Key: "providerAccountId", Value: w.ProviderAccountID},
		{Key: "credentialPublicKey", Value: w.CredentialPublicKey},
		{Key: "counter", Value: w.Counter},
		{Key: "credentialBackedUp", Value: w.CredentialBackedUp},
		{Key: "credentialDeviceType", Value: w.CredentialDeviceType},
	}
	doc.optional("transports", w.Transports)
	if err := a.createChild(ctx, a.authenticators, w.UserID, authenticatorFilter(w.CredentialID), doc); err != nil {
		return nil, wrap("create authenticator", err)
	}
	w.Transports = clone(w.Transports)
	return &w, nil
}

// GetAuthenticator implements adapter.Authenticators.
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	_, w, err := a.authenticator(ctx, credentialID)
	return w, wrap("get authenticator", err)
}

func (a *Adapter) authenticator(ctx context.Context, credentialID string) (*child, *adapter.Authenticator, error) {
	if !lookup(credentialID) {
		return nil, nil, ctx.Err()
	}
	c, err := a.child(ctx, a.authenticators, authenticatorFilter(credentialID))
	if err != nil || c == nil {
		return nil, nil, err
	}
	w, err := decodeAuthenticator(c.raw, c.owner.ID)
	return c, w, err
}

// ListAuthenticatorsByUserID implements adapter.Authenticators.
func (a *Adapter) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	list, err := a.listAuthenticators(ctx, userID)
	if err != nil {
		return nil, wrap("list authenticators", err)
	}
	return list, nil
}

func (a *Adapter) listAuthenticators(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	list := []adapter.Authenticator{}
	ownerID, ok := objectID(userID)
	if !ok {
		return list, ctx.Err()
	}
	if err := a.exists(ctx, ownerID); err != nil {
		if errors.Is(err, adapter.ErrNotFound) {
			return list, nil
		}
		return nil, err
	}
	documents, err := a.authenticators.findAll(ctx, bson.D{{Key: "userId", Value: ownerID}})
	if err != nil {
		return nil, err
	}
	for _, raw := range documents {
		w, err := decodeAuthenticator(raw, userID)
		if err != nil {
			return nil, err
		}
		list = append(list, *w)
	}
	return list, nil
}

// UpdateAuthenticatorCounter implements adapter.Authenticators.
func (a *Adapter) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	w, err := a.updateCounter(ctx, credentialID, counter)
	return w, wrap("update authenticator counter", err)
}

func (a *Adapter) updateCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	c, w, err := a.authenticator(ctx, credentialID)
	if err != nil {
		return nil, err
	}
	found := false
	if w != nil {
		found, err = a.authenticators.update(ctx, c.id, bson.D{{Key: "$set", Value: bson.D{{Key: "counter", Value: counter}}}})
	}
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("no authenticator has the credential id: %w", adapter.ErrNotFound)
	}
	w.Counter = counter
	return w, nil
}

package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var authenticatorFields = []string{
	"credentialID", "providerAccountId", "credentialPublicKey", "counter", "credentialBackedUp", "credentialDeviceType", "transports",
}

// CreateAuthenticator implements adapter.Authenticators.
func (a *Adapter) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	if err := required("credentialID", w.CredentialID, "userId", w.UserID); err != nil {
		return nil, wrap("create authenticator", err)
	}
	fields := []any{
		"credentialID", w.CredentialID, "providerAccountId", w.ProviderAccountID, "credentialPublicKey", w.CredentialPublicKey,
		"counter", strconv.FormatInt(w.Counter, 10), "credentialBackedUp", strconv.FormatBool(w.CredentialBackedUp),
		"credentialDeviceType", w.CredentialDeviceType,
	}
	if w.Transports != nil {
		fields = append(fields, "transports", *w.Transports)
		w.Transports = new(*w.Transports)
	}
	if err := a.createChild(ctx, kindAuthenticator, a.keys.authenticator(w.CredentialID), w.UserID, "0", "", fields); err != nil {
		return nil, wrap("create authenticator", err)
	}
	return &w, nil
}

func decodeAuthenticator(userID string, values []any) (*adapter.Authenticator, error) {
	w := &adapter.Authenticator{UserID: userID}
	texts := make([]string, len(values))
	for i, v := range values {
		s, ok := text(v)
		if !ok && i < 6 {
			return nil, fmt.Errorf("an authenticator has no %s", authenticatorFields[i])
		}
		texts[i] = s
	}
	w.CredentialID, w.ProviderAccountID, w.CredentialPublicKey, w.CredentialDeviceType = texts[0], texts[1], texts[2], texts[5]
	counter, err := strconv.ParseInt(texts[3], 10, 64)
	if err != nil {
		return nil, errors.New("the counter of an authenticator can't be read")
	}
	w.Counter = counter
	if w.CredentialBackedUp, err = strconv.ParseBool(texts[4]); err != nil {
		return nil, errors.New("the credentialBackedUp of an authenticator can't be read")
	}
	if values[6] != nil {
		w.Transports = &texts[6]
	}
	return w, nil
}

// GetAuthenticator implements adapter.Authenticators.
func (a *Adapter) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	_, w, err := a.authenticator(ctx, credentialID)
	return w, wrap("get authenticator", err)
}

func (a *Adapter) authenticator(ctx context.Context, credentialID string) (*child, *adapter.Authenticator, error) {
	if credentialID == "" {
		return nil, nil, nil
	}
	c, err := a.child(ctx, a.keys.authenticator(credentialID), a.authenticators)
	if err != nil || c == nil {
		return nil, nil, err
	}
	w, err := decodeAuthenticator(c.owner.id, c.values)
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
	r, err := a.user(ctx, userID)
	if err != nil || r == nil {
		return list, err
	}
	entries, err := a.client.ZRange(ctx, a.keys.owned(userID, kindAuthenticator), 0, -1).Result()
	if err != nil {
		return nil, err
	}
	pipe := a.client.Pipeline()
	var nonces []string
	var records []*goredis.SliceCmd
	for _, entry := range entries {
		parts := strings.SplitN(entry, ":", 3)
		if len(parts) != 3 {
			return nil, errors.New("a register can't be read")
		}
		if parts[0] == r.inc {
			nonces = append(nonces, parts[1])
			records = append(records, pipe.HMGet(ctx, parts[2], a.authenticators.fields...))
		}
	}
	if len(records) == 0 {
		return list, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	for i, record := range records {
		values := record.Val()
		if mark, _ := text(values[0]); mark != nonces[i] {
			continue // registered and not written, or removed
		}
		w, err := decodeAuthenticator(userID, values[len(childFields):])
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
	if err != nil {
		return nil, wrap("update authenticator counter", err)
	}
	return w, nil
}

func (a *Adapter) updateCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	for range attempts {
		c, w, err := a.authenticator(ctx, credentialID)
		if err != nil {
			return nil, err
		}
		if w == nil {
			return nil, fmt.Errorf("no authenticator has the credential id: %w", adapter.ErrNotFound)
		}
		done, err := a.once(ctx, scriptChildUpdate, c.key, nonce(), c.nonce, "", "counter", strconv.FormatInt(counter, 10)).Bool()
		if err != nil {
			return nil, err
		}
		if done {
			w.Counter = counter
			return w, nil
		}
	}
	return nil, errContention
}

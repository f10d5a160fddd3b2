package auth

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Passkey is a passkey of a user, as lists show it.
type Passkey struct {
	// ID is the credential ID, in standard base64.
	ID string
	// Name is what the user calls it, or the name of the product that made it;
	// empty if neither is known.
	Name string
	// Created and LastUsed are nil where the store does not keep them.
	Created, LastUsed *time.Time
	// BackedUp says that the passkey had a copy in a cloud account when it was
	// registered. Syncable says that it may have one.
	BackedUp, Syncable bool
	// Transports are the ways to reach the authenticator, such as usb and
	// internal.
	Transports []string
}

// Passkeys lists the passkeys of a user. The list is empty for a user without
// passkeys, and for a user who does not exist. The error is of type
// ErrMissingAdapter without Config.Adapter, and otherwise comes from the store.
func (h *Handler) Passkeys(ctx context.Context, userID string) ([]Passkey, error) {
	return passkeysOf(ctx, h.engine.store, userID)
}

// RenamePasskey gives a passkey of the user a name. The name, without the white
// space around it, must have 1 to 64 characters. At least one of them must be
// visible; none may be a control character or a character that changes the
// direction of text. The error matches adapter.ErrNotFound if the user has no
// such passkey, and adapter.ErrUnsupported if the store has no place for names.
func (h *Handler) RenamePasskey(ctx context.Context, userID, passkeyID, name string) error {
	return renamePasskey(ctx, h.engine.store, userID, passkeyID, name)
}

// RemovePasskey removes a passkey of the user, and the account that belongs to
// it. The error matches adapter.ErrNotFound if the user has no such passkey. It
// matches adapter.ErrLastCredential if the user would have no way left to sign
// in: no other passkey, no other account, and no mail link to an address that
// they have proven. Of two concurrent removals that together would leave no
// way, one fails. The error matches adapter.ErrUnsupported if the adapter has
// no adapter.AuthenticatorEdits.
func (h *Handler) RemovePasskey(ctx context.Context, userID, passkeyID string) error {
	return removePasskey(ctx, &h.engine.config, h.engine.store, userID, passkeyID)
}

var (
	errNoAdapter   = &Error{Type: ErrMissingAdapter, Message: "passkeys need Config.Adapter"}
	errPasskeyName = errors.New("auth: the name of a passkey must have 1 to 64 characters, at least one of them visible, and no control characters")
)

const maxPasskeyName = 64

func passkeysOf(ctx context.Context, s *store, userID string) ([]Passkey, error) {
	if s == nil {
		return nil, errNoAdapter
	}
	stored, err := s.authenticators(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]Passkey, len(stored))
	for i, a := range stored {
		list[i] = Passkey{
			ID: a.CredentialID, Name: textOf(a.Name), Created: a.Created, LastUsed: a.LastUsed,
			BackedUp: a.CredentialBackedUp, Syncable: a.CredentialDeviceType == "multiDevice", Transports: transportsOf(a),
		}
	}
	return list, nil
}

// isPasskeyName reports whether a list can show a name as it is. Characters that
// change the direction of text could make it look like another name.
func isPasskeyName(name string) bool {
	visible := func(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) }
	misleading := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) }
	return utf8.ValidString(name) && utf8.RuneCountInString(name) <= maxPasskeyName &&
		strings.ContainsFunc(name, visible) && !strings.ContainsFunc(name, misleading)
}

func renamePasskey(ctx context.Context, s *store, userID, passkeyID, name string) error {
	name = strings.TrimSpace(name)
	if !isPasskeyName(name) {
		return errPasskeyName
	}
	if s == nil {
		return errNoAdapter
	}
	found, err := s.rename(ctx, userID, passkeyID, name)
	if err == nil && !found {
		err = adapter.ErrNotFound
	}
	return err
}

func removePasskey(ctx context.Context, c *Config, s *store, userID, passkeyID string) error {
	if s == nil {
		return errNoAdapter
	}
	user, err := s.user(ctx, userID)
	if err != nil {
		return err
	}
	if user == nil {
		return adapter.ErrNotFound
	}
	mails := slices.ContainsFunc(c.Providers, func(p Provider) bool { return p.kind() == TypeEmail })
	byMail := mails && user.Email != "" && user.EmailVerified != nil
	found, err := s.remove(ctx, userID, passkeyID, !byMail)
	if err == nil && !found {
		err = adapter.ErrNotFound
	}
	return err
}

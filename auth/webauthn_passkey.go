package auth

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
)

// decision says which ceremony a request gets.
type decision struct {
	action began.CeremonyAction
	// user is the user who registers; shown is what the options say about that
	// user.
	user, shown *User
	// known are the credentials to choose from, or, for a registration, those that
	// the authenticator must not have already. If known is nil, the authenticator
	// chooses.
	known []adapter.Authenticator
}

// decideCeremony decides which ceremony a request gets; nil means none. A user
// who is signed in registers another credential, or uses one of theirs. If
// nobody is signed in, the request gets the ceremony that it asks for; if it
// asks for none, it gets authentication with any credential. The answer is then
// the same for every address, unless the provider has
// DangerouslyListCredentials. Ask finds the user whom the submitted fields
// belong to.
func decideCeremony(ctx context.Context, s *store, p *WebAuthn, action began.CeremonyAction, current *User, ask userInfo) (*decision, error) {
	if current != nil {
		if action == "" {
			return nil, nil
		}
		known, err := s.authenticators(ctx, current.ID)
		return &decision{action, current, current, known}, err
	}
	if action != began.Register && !p.DangerouslyListCredentials {
		return &decision{action: began.Authenticate}, nil
	}
	user, exists, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	switch {
	case user == nil && action == began.Register:
		return nil, nil
	case user == nil:
		return &decision{action: began.Authenticate}, nil
	case !p.DangerouslyListCredentials:
		// The callback finds out whether the address is free. Until then the options
		// show only the address, which the client knows anyway.
		return &decision{action: began.Register, user: user.withID(""), shown: &User{Email: user.Email}}, nil
	case exists && action == began.Register:
		return nil, nil
	case exists:
		known, err := s.authenticators(ctx, user.ID)
		return &decision{action: began.Authenticate, known: known}, err
	case action == began.Authenticate:
		return &decision{action: began.Authenticate}, nil
	}
	return &decision{action: began.Register, user: user, shown: user}, nil
}

// userOfField is the default of WebAuthn.GetUserInfo. The store is asked only
// if the answer may depend on it.
func userOfField(ctx context.Context, s *store, form Form, ask bool) (user *User, exists bool, err error) {
	email, err := NormalizeEmail(form.Get("email"))
	if err != nil {
		return nil, false, nil //nolint:nilerr // a text that is not an address belongs to nobody
	}
	if ask {
		stored, err := s.userByEmail(ctx, email, strings.TrimSpace(form.Get("email")))
		if err != nil {
			return nil, false, err
		}
		if stored != nil {
			return userFromRecord(stored), true, nil
		}
	}
	return &User{Email: email}, false, nil
}

// provePasskey verifies an answer and returns the owner of its passkey. The
// credential alone determines the owner; the user handle is not compared.
// Tell is called with an event if the counter did not rise, or if the passkey's
// eligibility for backup changed.
func (e *engine) provePasskey(ctx context.Context, p *WebAuthn, ceremony *resumed, answer *WebAuthnAnswer, want WebAuthnExpectation, tell func(event any)) (*User, error) {
	if _, ok := e.store.edits(); !ok { // with edits, the adapter accepts only one of two uses
		release, err := e.logins.acquire(ctx, "passkey\x00"+answer.CredentialID)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	stored, err := e.store.authenticator(ctx, answer.CredentialID)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, passkeyError(codeUnknown, "no user has this passkey", nil)
	}
	used, err := p.Ceremonies.VerifyAuthentication(ctx, answer, want, *stored)
	if err != nil {
		return nil, passkeyError(codeRefused, "", err)
	}
	owner, err := ownerOfPasskey(ctx, e.store, p, stored)
	if err != nil {
		return nil, err
	}
	switch {
	case ceremony.only != "" && ceremony.only != owner.ID:
		return nil, errUserChanged
	case ceremony.Listed != "" && ceremony.Listed != owner.ID: // WebAuthn Level 3, section 7.2, steps 5 and 6
		return nil, passkeyError(codeRefused, "the passkey does not belong to the user whose passkeys the options listed", nil)
	}
	if err := countUse(ctx, e.store, stored, used.Counter, func(from, to int64) {
		tell(PasskeyClonedEvent{User: owner, CredentialID: stored.CredentialID, Stored: from, Received: to})
	}); err != nil {
		return nil, err
	}
	if stored.CredentialDeviceType != "" && stored.CredentialDeviceType != used.CredentialDeviceType {
		if err := e.store.setBackup(ctx, used); err != nil {
			e.logError(ctx, err) // the flags of the registration stay
		}
		tell(PasskeyBackupEvent{User: owner, CredentialID: stored.CredentialID, Syncable: used.CredentialDeviceType == "multiDevice", BackedUp: used.CredentialBackedUp})
	}
	return owner, nil
}

// ownerOfPasskey finds the user who has a passkey. The account of the passkey
// must be one of this provider and of the user who has the authenticator.
func ownerOfPasskey(ctx context.Context, s *store, p *WebAuthn, stored *adapter.Authenticator) (*User, error) {
	record, err := s.account(ctx, adapter.AccountKey{Provider: p.id(), ProviderAccountID: stored.ProviderAccountID})
	if err != nil {
		return nil, err
	}
	if record == nil || record.UserID != stored.UserID {
		return nil, passkeyError(codeUnknown, "no account of the provider has this passkey", nil)
	}
	owner, err := s.user(ctx, record.UserID)
	if err != nil {
		return nil, err
	}
	if owner == nil {
		return nil, passkeyError(codeUnknown, "the user who had this passkey is gone", nil)
	}
	return userFromRecord(owner), nil
}

func passkeyAccount(p *WebAuthn, credentialID, userID string) *Account {
	return &Account{Provider: p.id(), Type: TypeWebAuthn, ProviderAccountID: credentialID, UserID: userID}
}

// countUse stores the counter of a verified answer (WebAuthn Level 3, section
// 6.1.1). Where the authenticator does not count, both counters are 0, and the
// challenge, which works once, is the only protection against replay. Otherwise
// the counter must rise; if two answers have the same counter, only one of them
// is accepted.
func countUse(ctx context.Context, s *store, stored *adapter.Authenticator, counter int64, cloned func(from, to int64)) error {
	for range maxLoginRaces + 1 {
		if (stored.Counter != 0 || counter != 0) && counter <= stored.Counter {
			cloned(stored.Counter, counter)
			return passkeyError(codeCloned, "the counter of the passkey did not rise: there may be a copy of it", nil)
		}
		moved, err := s.useCounter(ctx, stored.CredentialID, stored.Counter, counter)
		if !moved || err != nil {
			return err
		}
		credentialID := stored.CredentialID
		if stored, err = s.authenticator(ctx, credentialID); err != nil {
			return err
		}
		if stored == nil {
			return passkeyError(codeUnknown, "the passkey was removed in the meantime", nil)
		}
	}
	return passkeyError(codeCloned, "the passkey is in use elsewhere at the same time", nil)
}

// passkeySignal tells a browser which passkeys a user has, for
// PublicKeyCredential.signalAllAcceptedCredentials (WebAuthn Level 3, section
// 5.1.10).
type passkeySignal struct {
	RPID   string `json:"rpId"`
	UserID string `json:"userId"`
	// AllAcceptedCredentialIDs are all credential IDs of the user.
	AllAcceptedCredentialIDs []string `json:"allAcceptedCredentialIds"`
}

// signalOf makes the signal for a user whom an answer has signed in. It is
// nil without a user handle, and if the list could not be read: an empty list
// would make the browser forget all passkeys.
func (e *engine) signalOf(ctx context.Context, rp RelyingParty, handle []byte, userID string) *passkeySignal {
	if len(handle) == 0 {
		return nil
	}
	list, err := e.store.authenticators(ctx, userID)
	if err != nil {
		e.logError(ctx, err)
		return nil
	}
	s := &passkeySignal{RPID: rp.ID, UserID: base64.RawURLEncoding.EncodeToString(handle)}
	for _, a := range list {
		s.AllAcceptedCredentialIDs = append(s.AllAcceptedCredentialIDs, base64URL(a.CredentialID))
	}
	return s
}

package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
)

// maxTries is how many codes may be tried for one mail, and maxWrongCodes how
// many wrong ones for one address on one day (UTC), for all providers together.
const (
	maxTries      = 5
	maxWrongCodes = 30
)

var errShortText = &Error{Type: ErrEmailSignIn, Message: "a verification token with less than 128 bits needs an adapter with adapter.TokenEdits, " +
	"whose CreateVerificationToken returns adapter.ErrConflict for a token that is stored"}

// A try is counted by a verification token under an identifier of its own. Of
// concurrent calls in any number of processes one stores it, so each try is
// counted once. Nobody can use it as a link: no text has such a hash. It names the
// identifier, because in tables made for Auth.js a token may be stored only once.

// clocksDiffer is how much longer a try is kept than it counts, so that no store
// drops it before all processes have stopped to accept the code.
const clocksDiffer = time.Hour

// triesOf is the identifier of the tries for one mail.
func triesOf(c began.Code) string {
	return "tries:" + c.Provider + ":" + hashed("tries", c.Handle)
}

// wrongCodesOf is the identifier of the wrong codes for an address on a day.
func wrongCodesOf(address string, day time.Time) string {
	if folded, err := FoldEmail(address); err == nil {
		address = folded
	}
	return "wrong-codes:" + day.Format(time.DateOnly) + ":" + hashed("wrong codes", address)
}

// hashed keeps a text out of an identifier, which then is no address either, so
// that no sign-in deletes what is stored under it.
func hashed(purpose, text string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + text))
	return hex.EncodeToString(sum[:16])
}

// takeTry counts a try of a code before it is compared, as a wrong one. It
// reports whether the code may be compared. The result is the record that
// counts the code against its address; it is given back if the code is right.
func (s *store) takeTry(ctx context.Context, c began.Code) (wrong adapter.VerificationTokenKey, ok bool, err error) {
	if _, ok, err = s.takeOne(ctx, triesOf(c), maxTries, time.Unix(c.Expires, 0).UTC().Add(clocksDiffer)); !ok || err != nil {
		return wrong, false, err
	}
	today := s.clock().UTC().Truncate(24 * time.Hour)
	return s.takeOne(ctx, wrongCodesOf(c.Address, today), maxWrongCodes, today.Add(24*time.Hour+clocksDiffer))
}

// takeOne stores the first of limit records under an identifier that is not
// stored yet. It reports whether there was one.
func (s *store) takeOne(ctx context.Context, identifier string, limit int, expires time.Time) (adapter.VerificationTokenKey, bool, error) {
	for n := range limit {
		record := adapter.VerificationToken{Identifier: identifier, Token: "try " + strconv.Itoa(n) + " " + identifier, Expires: expires}
		switch err := s.createVerificationToken(ctx, record); {
		case err == nil:
			return record.Key(), true, nil
		case !errors.Is(err, adapter.ErrConflict):
			return adapter.VerificationTokenKey{}, false, err
		}
	}
	return adapter.VerificationTokenKey{}, false, nil
}

// giveBack deletes the records that counted a code as wrong: it was right. If that
// fails, they stay until they expire.
func (s *store) giveBack(ctx context.Context, counted []adapter.VerificationTokenKey) {
	for _, key := range counted {
		_, _ = s.useVerificationToken(ctx, key.Identifier, key.Token)
	}
}

// createCode stores the token of a link that has a code. It stores the token
// twice: an adapter that does not refuse the second one can't count tries.
func (s *store) createCode(ctx context.Context, t adapter.VerificationToken) error {
	if s.tokens == nil {
		return errShortText
	}
	if err := s.createVerificationToken(ctx, t); err != nil {
		return err
	}
	err := s.createVerificationToken(ctx, t)
	if errors.Is(err, adapter.ErrConflict) {
		return nil
	}
	if _, failed := s.useVerificationToken(context.WithoutCancel(ctx), t.Identifier, t.Token); failed != nil || err != nil {
		return errors.Join(err, failed)
	}
	return errShortText
}

// deleteVerificationTokens deletes all texts of an identifier, if the adapter
// can.
func (s *store) deleteVerificationTokens(ctx context.Context, identifier string) error {
	if s.tokens == nil {
		return nil
	}
	s.trace(ctx, "adapter_deleteVerificationTokens")
	_, err := fromAdapter(s.tokens.DeleteVerificationTokens(ctx, identifier))
	if errors.Is(err, adapter.ErrUnsupported) {
		return nil
	}
	return err
}

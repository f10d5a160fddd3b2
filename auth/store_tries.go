package auth

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// maxTries is how often somebody may guess a text with less than secureBits.
const maxTries = 5

var errShortText = &Error{Type: ErrEmailSignIn, Message: "a verification token with less than 128 bits needs an adapter with adapter.TokenEdits"}

// triesOf is the identifier under which the tries for the short texts of an
// address are stored, as verification tokens. Each try uses up one of them, so
// that the limit holds for any number of processes and of concurrent requests.
// Nobody can use them as links: no text has such a hash.
func triesOf(provider, identifier string) string { return "tries:" + provider + ":" + identifier }

func tryToken(n int) string { return "try " + strconv.Itoa(n) }

// allowTries stores the tries for the short texts of an address. It deletes the
// earlier texts and tries.
func (s *store) allowTries(ctx context.Context, provider, identifier string, expires time.Time) error {
	if s.tokens == nil {
		return errShortText
	}
	if err := s.endTries(ctx, provider, identifier); err != nil {
		return err
	}
	for n := range maxTries {
		err := s.createVerificationToken(ctx, adapter.VerificationToken{Identifier: triesOf(provider, identifier), Token: tryToken(n), Expires: expires})
		if err != nil && !errors.Is(err, adapter.ErrConflict) {
			return err
		}
	}
	return nil
}

// useTry uses up one try and reports whether there was one, and whether it was
// the last.
func (s *store) useTry(ctx context.Context, provider, identifier string) (allowed, last bool, err error) {
	for n := range maxTries {
		used, err := s.useVerificationToken(ctx, triesOf(provider, identifier), tryToken(n))
		if err != nil {
			return false, false, err
		}
		if used != nil && s.clock().Before(used.Expires) {
			return true, n == maxTries-1, nil
		}
	}
	return false, true, nil
}

// endTries deletes the texts of an address, and the tries for them.
func (s *store) endTries(ctx context.Context, provider, identifier string) error {
	return errors.Join(s.deleteVerificationTokens(ctx, identifier), s.deleteVerificationTokens(ctx, triesOf(provider, identifier)))
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

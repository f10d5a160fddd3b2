package memory

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken stores a token. A pair that is pending already is an
// error matching adapter.ErrConflict. [VTOK-01] [VTOK-06] to [VTOK-10] [VTOK-16]
func (s *store) CreateVerificationToken(ctx context.Context, record adapter.VerificationToken) (*adapter.VerificationToken, error) {
	const op = "create verification token"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	switch {
	case record.Identifier == "":
		return nil, missing(op, "identifier")
	case record.Token == "":
		return nil, missing(op, "token")
	}
	token := ownToken(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.tokens[token.Key()]; taken {
		return nil, conflict(op, "identifier and token")
	}
	s.tokens[token.Key()] = &token
	return new(token), nil
}

// UseVerificationToken deletes the token and returns it, or nil. Exactly one
// of any number of concurrent callers in this process gets it.
// [VTOK-02] to [VTOK-06] [CONC-01] [CONC-02]
func (s *store) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	if err := begin(ctx, "use verification token"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.tokens[key]
	if !ok {
		return nil, nil
	}
	delete(s.tokens, key)
	return token, nil
}

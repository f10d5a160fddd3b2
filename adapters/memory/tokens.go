package memory

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateVerificationToken stores a token. If the pair of identifier and token
// exists already, the error matches adapter.ErrConflict. [VTOK-01] [VTOK-06] to
// [VTOK-10] [VTOK-16]
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
	pending := s.tokens[token.Identifier]
	if _, taken := pending[token.Token]; taken {
		return nil, conflict(op, "identifier and token")
	}
	if pending == nil {
		pending = make(map[string]*adapter.VerificationToken, 1)
		s.tokens[token.Identifier] = pending
	}
	pending[token.Token] = &token
	return new(token), nil
}

// UseVerificationToken deletes the token and returns it, or nil. Of any number
// of concurrent callers in this process, exactly one gets the token. [VTOK-02]
// to [VTOK-06] [CONC-01] [CONC-02]
func (s *store) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	if err := begin(ctx, "use verification token"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := s.tokens[key.Identifier][key.Token]
	if !ok {
		return nil, nil
	}
	s.dropToken(token)
	return token, nil
}

// dropToken removes the token and reports whether it was still stored. The
// caller holds the lock.
func (s *store) dropToken(token *adapter.VerificationToken) bool {
	pending := s.tokens[token.Identifier]
	if pending[token.Token] != token {
		return false
	}
	delete(pending, token.Token)
	if len(pending) == 0 {
		delete(s.tokens, token.Identifier)
	}
	return true
}

// DeleteVerificationTokens deletes all tokens of the identifier.
// [TEDIT-01] to [TEDIT-03]
func (s *store) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	if err := begin(ctx, "delete verification tokens"); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	deleted := len(s.tokens[identifier])
	delete(s.tokens, identifier)
	return int64(deleted), nil
}

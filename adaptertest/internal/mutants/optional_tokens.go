package mutants

import (
	"context"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// voiding replaces the deletion of an identifier's tokens.
func voiding(deleteTokens func(ctx context.Context, identifier string) (int64, error)) with {
	return with{optional: optional{deleteTokens: deleteTokens}}
}

// voidingWhere deletes at most the given number of tokens that match accepts.
func voidingWhere(m *mem, limit int64, matches func(identifier string, t adapter.VerificationToken) bool) with {
	return voiding(func(ctx context.Context, identifier string) (int64, error) {
		return write(ctx, m, func() (n int64, err error) {
			for key, t := range m.tokens {
				if matches(identifier, t) && n < limit {
					delete(m.tokens, key)
					n++
				}
			}
			return n, nil
		})
	})
}

func tokenEditMutants() []Mutant {
	const all = 1 << 40
	return []Mutant{
		{Name: "only one token is deleted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens deletes one token of the identifier",
			mem: func(m *mem) with {
				return voidingWhere(m, 1, func(identifier string, t adapter.VerificationToken) bool { return t.Identifier == identifier })
			}},
		{Name: "at most a thousand tokens are deleted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens deletes one page of 1,000",
			mem: func(m *mem) with {
				return voidingWhere(m, 1000, func(identifier string, t adapter.VerificationToken) bool { return t.Identifier == identifier })
			}},
		{Name: "tokens that live long are not deleted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens deletes the tokens that expire within two hours",
			lite: func(l *lite) with {
				return voiding(func(ctx context.Context, identifier string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND expires < ?`, identifier, time.Now().Add(2*time.Hour).UnixMilli())
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				})
			}},
		{Name: "deleted tokens are not counted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens always reports one",
			lite: func(l *lite) with {
				return voiding(func(ctx context.Context, identifier string) (int64, error) {
					n, err := l.DeleteVerificationTokens(ctx, identifier)
					return min(n, 1), err
				})
			}},
		{Name: "tokens are deleted by prefix", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens deletes the tokens of every identifier that begins with the one given",
			mem: func(m *mem) with {
				return voidingWhere(m, all, func(identifier string, t adapter.VerificationToken) bool {
					return identifier != "" && strings.HasPrefix(t.Identifier, identifier)
				})
			}},
		{Name: "tokens are deleted by pattern", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens compares with LIKE",
			lite: func(l *lite) with {
				return voiding(func(ctx context.Context, identifier string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "verificationToken" WHERE identifier LIKE ?`, identifier)
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				})
			}},
		{Name: "tokens are deleted regardless of case", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens folds the case of the identifier; UseVerificationToken does not",
			mem: func(m *mem) with {
				return voidingWhere(m, all, func(identifier string, t adapter.VerificationToken) bool {
					return strings.EqualFold(t.Identifier, identifier)
				})
			}},
		{Name: "tokens with one text are deleted together", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens deletes every token whose text equals a token of the identifier",
			lite: func(l *lite) with {
				return voiding(func(ctx context.Context, identifier string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "verificationToken" WHERE token IN (SELECT token FROM "verificationToken" WHERE identifier = ?)`, identifier)
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				})
			}},
		{Name: "used token is counted as deleted", Fails: []string{"TEDIT-03"}, Races: true,
			Fault: "DeleteVerificationTokens counts the tokens and deletes them a moment later",
			mem: func(m *mem) with {
				return voiding(func(ctx context.Context, identifier string) (n int64, err error) {
					m.mu.RLock()
					for key := range m.tokens {
						if key.Identifier == identifier {
							n++
						}
					}
					m.mu.RUnlock()
					gap()
					_, err = m.DeleteVerificationTokens(ctx, identifier)
					return n, err
				})
			}},
		{Name: "tokens are counted in a separate statement", Fails: []string{"TEDIT-03"}, Races: true,
			Fault: "DeleteVerificationTokens is a SELECT and a DELETE, and reports the number that the SELECT found",
			lite: func(l *lite) with {
				return voiding(func(ctx context.Context, identifier string) (int64, error) {
					found, err := l.column(ctx, `SELECT token FROM "verificationToken" WHERE identifier = ?`, identifier)
					if err != nil {
						return 0, err
					}
					_, err = l.DeleteVerificationTokens(ctx, identifier)
					return int64(len(found)), err
				})
			}},
		{Name: "failed deletion of tokens reports success", Fails: []string{"TEDIT-03"},
			Fault: "DeleteVerificationTokens ignores an error of the store",
			lite: func(l *lite) with {
				return voiding(func(ctx context.Context, identifier string) (int64, error) {
					n, err := l.DeleteVerificationTokens(ctx, identifier)
					if ctx.Err() == nil {
						err = nil
					}
					return n, err
				})
			}},
	}
}

package mutants

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func teditMutants() []Mutant {
	const all = 1 << 40
	return []Mutant{
		{Name: "set of tokens ends with the first token", Fails: []string{"TEDIT-01"},
			Fault: "The set of an identifier's tokens gets its expiry from the token that creates the set. DeleteVerificationTokens then finds no others.",
			mem:   func(m *mem, w *with) { tokensFor(m, m.common(), m.clock.Now, (*lifetimes).first, w) }},
		{Name: "set of tokens ends with the last token", Fails: []string{"TEDIT-01"},
			Fault: "Each token sets the expiry of the set of its identifier's tokens, also to an earlier one.",
			lite:  func(l *lite, w *with) { tokensFor(l, l.common(), time.Now, (*lifetimes).newest, w) }},
		{Name: "only one token is deleted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens deletes one token of the identifier",
			mem: voidingWhere(1, func(identifier string, t adapter.VerificationToken) bool {
				return t.Identifier == identifier
			})},
		{Name: "at most a thousand tokens are deleted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens deletes one page of 1,000",
			mem: voidingWhere(1000, func(identifier string, t adapter.VerificationToken) bool {
				return t.Identifier == identifier
			})},
		{Name: "tokens that live long are not deleted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens deletes the tokens that expire within two hours",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND expires < ?`, identifier, time.Now().Add(2*time.Hour).UnixMilli())
			})},
		{Name: "deleted tokens are not counted", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens always reports one",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				n, err := l.DeleteVerificationTokens(ctx, identifier)
				return min(n, 1), err
			})},
		{Name: "expired tokens of an identifier stay", Fails: []string{"TEDIT-01"},
			Fault: "DeleteVerificationTokens leaves the tokens that have expired.",
			mem: writing(deleteTokens, func(m *mem, identifier string) (int64, error) {
				return removed(m.tokens, func(key adapter.VerificationTokenKey, t adapter.VerificationToken) bool {
					return key.Identifier == identifier && t.Expires.After(m.clock.Now())
				}), nil
			})},
		{Name: "expired tokens of an identifier stay in SQL", Fails: []string{"TEDIT-01"},
			Fault: "The statement of DeleteVerificationTokens has the condition that expires lies in the future.",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND expires > ?`, identifier, time.Now().UnixMilli())
			})},
		{Name: "tokens of another case are deleted too", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens compares the identifier without regard to case.", db: func(db sqlite.DB) sqlite.DB {
				return alteredDB{DB: db, query: func(q string, args []any) (string, []any) {
					if strings.HasSuffix(q, `DELETE FROM "verificationToken" WHERE identifier = ?`) {
						q += " COLLATE NOCASE"
					}
					return q, args
				}}
			}},
		{Name: "identifier is split at semicolons", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens treats an identifier with semicolons as several.",
			mem: on(deleteTokens, func(ctx context.Context, m *mem, identifier string) (n int64, err error) {
				for _, one := range strings.Split(identifier, ";") {
					deleted, e := m.DeleteVerificationTokens(ctx, one)
					n, err = n+deleted, errors.Join(err, e)
				}
				return n, err
			})},
		{Name: "tokens are deleted by prefix", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens deletes the tokens of every identifier that begins with the one given",
			mem: voidingWhere(all, func(identifier string, t adapter.VerificationToken) bool {
				return identifier != "" && strings.HasPrefix(t.Identifier, identifier)
			})},
		{Name: "tokens are deleted by pattern", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens compares with LIKE",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "verificationToken" WHERE identifier LIKE ?`, identifier)
			})},
		{Name: "tokens are deleted regardless of case", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens folds the case of the identifier; UseVerificationToken does not",
			mem: voidingWhere(all, func(identifier string, t adapter.VerificationToken) bool {
				return strings.EqualFold(t.Identifier, identifier)
			})},
		{Name: "tokens with one text are deleted together", Fails: []string{"TEDIT-02"},
			Fault: "DeleteVerificationTokens deletes every token whose text equals a token of the identifier",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "verificationToken" WHERE token IN (SELECT token FROM "verificationToken" WHERE identifier = ?)`, identifier)
			})},
		{Name: "used token is counted as deleted", Fails: []string{"TEDIT-03"}, Races: true,
			Fault: "DeleteVerificationTokens counts the tokens and deletes them a moment later",
			mem:   countedFirst},
		{Name: "tokens are counted in a separate statement", Fails: []string{"TEDIT-03"}, Races: true,
			Fault: "DeleteVerificationTokens is a SELECT and a DELETE, and reports the number that the SELECT found",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				found, err := l.column(ctx, `SELECT token FROM "verificationToken" WHERE identifier = ?`, identifier)
				if err != nil {
					return 0, err
				}
				_, err = l.DeleteVerificationTokens(ctx, identifier)
				return int64(len(found)), err
			})},
		{Name: "failed deletion of tokens reports success", Fails: []string{"TEDIT-03"},
			Fault: "DeleteVerificationTokens ignores an error of the store",
			lite: on(deleteTokens, func(ctx context.Context, l *lite, identifier string) (int64, error) {
				n, err := l.DeleteVerificationTokens(ctx, identifier)
				if ctx.Err() == nil {
					err = nil
				}
				return n, err
			})},
	}
}

// countedFirst counts the tokens of an identifier and deletes them a moment later.
var countedFirst = on(deleteTokens, func(ctx context.Context, m *mem, identifier string) (n int64, err error) {
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

// voidingWhere deletes at most the given number of tokens that match accepts.
func voidingWhere(limit int64, matches func(identifier string, t adapter.VerificationToken) bool) func(*mem, *with) {
	return writing(deleteTokens, func(m *mem, identifier string) (n int64, err error) {
		for key, t := range m.tokens {
			if matches(identifier, t) && n < limit {
				delete(m.tokens, key)
				n++
			}
		}
		return n, nil
	})
}

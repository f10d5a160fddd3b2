package mutants

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func vtokMutants() []Mutant {
	return []Mutant{
		{Name: "used token comes without its identifier", Fails: []string{"VTOK-01"}, AuthJS: true,
			Fault: "UseVerificationToken returns token and expires only",
			mem:   changed[*mem](useToken, func(_ adapter.VerificationTokenKey, t *adapter.VerificationToken) { t.Identifier = "" })},
		{Name: "row count misread", Fails: []string{"VTOK-01"}, AuthJS: true,
			Fault: "UseVerificationToken deletes the token and reports that it found none",
			mem: on(useToken, func(ctx context.Context, m *mem, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				_, err := m.UseVerificationToken(ctx, key)
				return nil, err
			})},
		{Name: "token can be used again", Fails: []string{"VTOK-02", "VTOK-12", "CONC-01", "FLOW-01"}, AuthJS: true,
			Fault: "UseVerificationToken does not delete the token",
			mem: reading(useToken, func(m *mem, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				if t, ok := m.tokens[key]; ok {
					return &t, nil
				}
				return nil, nil
			})},
		{Name: "second use is an error", Fails: []string{"VTOK-02", "VTOK-03", "CONC-02"}, AuthJS: true,
			Fault: "UseVerificationToken fails when it finds nothing", lite: missing[*lite](useToken, errNoRows)},
		{Name: "unknown pair is an empty record", Fails: []string{"VTOK-03", "ERR-03"}, AuthJS: true,
			Fault: "UseVerificationToken converts a missing row into an empty record",
			mem:   blank(useToken)},
		{Name: "wrong guesses delete the token", Fails: []string{"VTOK-04"},
			Fault: "UseVerificationToken deletes all tokens of an identifier after three wrong ones, so a stranger can keep any person from signing in.",
			mem: on(useToken, func(ctx context.Context, m *mem, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := m.UseVerificationToken(ctx, key)
				if t == nil && err == nil {
					m.mu.Lock()
					guesses := kept(m.records, "guesses", func() map[string]int { return map[string]int{} })
					guesses[key.Identifier]++
					void := guesses[key.Identifier] > 5
					m.mu.Unlock()
					if void {
						_, err = m.DeleteVerificationTokens(ctx, key.Identifier)
					}
				}
				return t, err
			})},
		{Name: "token not checked", Listed: "M22", Fails: []string{"VTOK-04"}, AuthJS: true,
			Fault: "UseVerificationToken accepts any token of the identifier",
			db: replaced(`DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`,
				`DELETE FROM "verificationToken" WHERE (identifier, token) = (SELECT identifier, token FROM "verificationToken" WHERE identifier = ? AND ? <> '' LIMIT 1)`)},
		{Name: "use deletes all tokens", Listed: "M23", Fails: []string{"VTOK-04", "VTOK-08", "FLOW-07"},
			Fault: "UseVerificationToken deletes all tokens of the identifier, also when the token is unknown",
			lite: on(useToken, func(ctx context.Context, l *lite, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := l.UseVerificationToken(ctx, key)
				if err == nil {
					err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ?`, key.Identifier)
				}
				return t, err
			})},
		{Name: "identifier not checked", Fails: []string{"VTOK-05", "VTOK-06", "FLOW-07"}, AuthJS: true,
			Fault: "UseVerificationToken takes the token of any identifier",
			db: replaced(`DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`,
				`DELETE FROM "verificationToken" WHERE (identifier, token) = (SELECT identifier, token FROM "verificationToken" WHERE ? <> '' AND token = ? LIMIT 1)`)},
		{Name: "failed use uses the token up", Fails: []string{"VTOK-05"},
			Fault: "UseVerificationToken with a wrong identifier finds nothing, and deletes the token",
			mem: on(useToken, func(ctx context.Context, m *mem, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := m.UseVerificationToken(ctx, key)
				defer held(&m.mu)()
				maps.DeleteFunc(m.tokens, func(k adapter.VerificationTokenKey, _ adapter.VerificationToken) bool {
					return t == nil && k.Token == key.Token
				})
				return t, err
			})},
		{Name: "token value is the key", Listed: "M26", Fails: []string{"VTOK-06"},
			Fault: "CreateVerificationToken takes over the row that has the token, whosever it is",
			lite: on(createToken, func(ctx context.Context, l *lite, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
				if err := l.exec(ctx, `DELETE FROM "verificationToken" WHERE token = ?`, t.Token); err != nil {
					return nil, err
				}
				return l.CreateVerificationToken(ctx, t)
			})},
		{Name: "one pending token per identifier", Fails: []string{"VTOK-07", "VTOK-08", "VTOK-09", "VTOK-15"}, AuthJS: true,
			Fault: "CreateVerificationToken fails while the identifier has one pending",
			db:    replaced(`PRIMARY KEY (identifier, token)`, `UNIQUE (identifier), PRIMARY KEY (identifier, token)`)},
		{Name: "use leaves no other token", Fails: []string{"VTOK-08"},
			Fault: "UseVerificationToken deletes the other tokens of the identifier with the one it finds",
			lite: following(useToken, func(ctx context.Context, l *lite, t *adapter.VerificationToken) error {
				return l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ?`, t.Identifier)
			})},
		{Name: "newer token replaces the older", Fails: []string{"VTOK-09", "VTOK-08", "FLOW-05"},
			Fault: "CreateVerificationToken deletes what is pending for the identifier",
			mem: preparing(createToken, func(m *mem, t *adapter.VerificationToken) {
				maps.DeleteFunc(m.tokens, func(key adapter.VerificationTokenKey, _ adapter.VerificationToken) bool {
					return key.Identifier == t.Identifier
				})
			})},
		{Name: "five tokens of an identifier", Fails: []string{"VTOK-09"},
			Fault: "The sixth token of an identifier removes the one that expires first.",
			lite: following(createToken, func(ctx context.Context, l *lite, t *adapter.VerificationToken) error {
				return l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND token <> ? AND token NOT IN (
							SELECT token FROM "verificationToken" WHERE identifier = ? AND token <> ? ORDER BY expires DESC LIMIT 4)`,
					t.Identifier, t.Token, t.Identifier, t.Token)
			})},
		{Name: "twenty tokens of an identifier", Fails: []string{"VTOK-09"},
			Fault: "The 21st token of an identifier removes any other.",
			mem: on(createToken, func(ctx context.Context, m *mem, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
				got, err := m.CreateVerificationToken(ctx, t)
				defer held(&m.mu)()
				n := 0
				for key := range m.tokens {
					if key.Identifier != t.Identifier {
						continue
					}
					if n++; n > 20 && key.Token != t.Token {
						delete(m.tokens, key)
					}
				}
				return got, err
			})},
		{Name: "pair created twice is used twice", Fails: []string{"VTOK-10"},
			Fault: "nothing makes a pair unique, and UseVerificationToken deletes one row", mem: func(m *mem, w *with) {
				copies := kept(m.records, "copies", func() map[adapter.VerificationTokenKey][]adapter.VerificationToken {
					return map[adapter.VerificationTokenKey][]adapter.VerificationToken{}
				})
				w.createVerificationToken = func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					created, err := m.CreateVerificationToken(ctx, t)
					if errors.Is(err, adapter.ErrConflict) {
						defer held(&m.mu)()
						copies[t.Key()] = append(copies[t.Key()], copyToken(t))
						return &t, nil
					}
					return created, err
				}
				w.useVerificationToken = func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					defer held(&m.mu)()
					if n := len(copies[key]); n > 0 {
						m.tokens[key] = copies[key][n-1]
						copies[key] = copies[key][:n-1]
					}
					return t, err
				}
			}},
		{Name: "pair created twice keeps the first expiry", Fails: []string{"VTOK-10"},
			Fault: "CreateVerificationToken ignores a pair that is pending, and reports success",
			db:    replaced(`INSERT INTO "verificationToken" (identifier, token, expires) VALUES (?, ?, ?)`, `INSERT INTO "verificationToken" (identifier, token, expires) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET token = token`)},
		{Name: "invented expiry", Listed: "M24", Fails: []string{"VTOK-11", "VTOK-12"}, AuthJS: true,
			Fault: "UseVerificationToken returns the time of the call as expires",
			mem: noting(useToken, func(m *mem, _ adapter.VerificationTokenKey, t *adapter.VerificationToken) {
				t.Expires = m.clock.Now()
			})},
		{Name: "expired token gets a day", Fails: []string{"VTOK-12"},
			Fault: "UseVerificationToken returns a token that has expired with an expires to come",
			mem: noting(useToken, func(m *mem, _ adapter.VerificationTokenKey, t *adapter.VerificationToken) {
				if t.Expires.Before(m.clock.Now()) {
					t.Expires = m.clock.Now().Add(24 * time.Hour)
				}
			})},
		{Name: "expired token can be used again", Fails: []string{"VTOK-12"},
			Fault: "UseVerificationToken leaves a token that has expired to the clean-up",
			mem: on(useToken, func(ctx context.Context, m *mem, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, ok := look(m, &m.tokens, key)
				if ok && t.Expires.Before(m.clock.Now()) {
					return &t, nil
				}
				return m.UseVerificationToken(ctx, key)
			})},
		{Name: "ten tokens for an identifier", Fails: []string{"VTOK-13"},
			Fault: "The eleventh token of an identifier removes the first.",
			lite: following(createToken, func(ctx context.Context, l *lite, t *adapter.VerificationToken) error {
				return l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ?1 AND token NOT IN (SELECT token FROM "verificationToken" WHERE identifier = ?1 ORDER BY expires DESC LIMIT 10)`, t.Identifier)
			})},
		{Name: "token is used in upper case", Fails: []string{"VTOK-13"},
			Fault: "UseVerificationToken looks up an unknown token in lower case too.",
			mem: on(useToken, func(ctx context.Context, m *mem, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := m.UseVerificationToken(ctx, k)
				if t == nil && err == nil && k.Token != "" {
					return m.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: k.Identifier, Token: strings.ToLower(k.Token)})
				}
				return t, err
			})},
		{Name: "tokens fold case", Fails: []string{"VTOK-13"}, Fault: "the token column is COLLATE NOCASE",
			db: replaced(`token TEXT NOT NULL, expires`, `token TEXT COLLATE /**/ NOCASE NOT NULL, expires`)},
		{Name: "identifiers lose accents", Fails: []string{"VTOK-13"}, Fault: "identifiers are compared without accents",
			mem: func(m *mem, w *with) {
				plain := strings.NewReplacer("é", "e", "É", "E", "ü", "u")
				w.useVerificationToken = prepared(m, m.UseVerificationToken, func(key *adapter.VerificationTokenKey) {
					for k := range m.tokens {
						if k.Token == key.Token && plain.Replace(k.Identifier) == plain.Replace(key.Identifier) {
							*key = k
							break
						}
					}
				})
			}},
		{Name: "used token ends the sessions", Fails: []string{"VTOK-14"},
			Fault: "UseVerificationToken deletes the sessions of the user with the address.",
			mem: noting(useToken, func(m *mem, _ adapter.VerificationTokenKey, t *adapter.VerificationToken) {
				if id, ok := m.emails[t.Identifier]; ok {
					m.dropSessions(id)
				}
			})},
		{Name: "verified address needs no link", OnLite: "trigger removes the links of a verified address",
			Fails: []string{"VTOK-14"}, Fault: "UpdateUser that sets EmailVerified deletes the pending tokens of the address.",
			both: on(updateUser, func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
				got, err := b.UpdateUser(ctx, u)
				if at, set := u.EmailVerified.Get(); set && at != nil && err == nil && got.Email != "" {
					if _, err := b.DeleteVerificationTokens(ctx, got.Email); err != nil {
						return nil, err
					}
				}
				return got, err
			})},
		{Name: "use deletes older tokens too", Fails: []string{"VTOK-14"},
			Fault: "UseVerificationToken deletes every token that expires at the same time or earlier",
			lite: following(useToken, func(ctx context.Context, l *lite, t *adapter.VerificationToken) error {
				return l.exec(ctx, `DELETE FROM "verificationToken" WHERE expires <= ?`, t.Expires.UnixMilli())
			})},
		{Name: "create returns another pending token", Fails: []string{"VTOK-15"},
			Fault: "CreateVerificationToken reads the stored record back by the identifier only",
			lite: following(createToken, func(ctx context.Context, l *lite, created *adapter.VerificationToken) error {
				var ms int64
				err := l.db.QueryRowContext(ctx, `SELECT token, expires FROM "verificationToken" WHERE identifier = ? ORDER BY expires DESC LIMIT 1`, created.Identifier).
					Scan(&created.Token, &ms)
				created.Expires = millis(ms)
				return err
			})},
		{Name: "tokens need a user", Fails: []string{"VTOK-16", "VTOK-01"}, AuthJS: true,
			Fault: "CreateVerificationToken fails if no user has the identifier as e-mail",
			mem: on(createToken, func(ctx context.Context, m *mem, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
				if u, err := m.GetUserByEmail(ctx, t.Identifier); u == nil && err == nil {
					return nil, notFound("user")
				}
				return m.CreateVerificationToken(ctx, t)
			})},
	}
}

package mutants

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func tokenMutants() []Mutant {
	return []Mutant{
		{Name: "used token comes without its identifier", Fails: []string{"VTOK-01"}, AuthJS: true,
			Fault: "UseVerificationToken returns token and expires only",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					if t != nil {
						t.Identifier = ""
					}
					return t, err
				}}
			}},
		{Name: "row count misread", Fails: []string{"VTOK-01"}, AuthJS: true,
			Fault: "UseVerificationToken deletes the token and reports that it found none",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					_, err := m.UseVerificationToken(ctx, key)
					return nil, err
				}}
			}},
		{Name: "token can be used again", Fails: []string{"VTOK-02", "VTOK-12", "CONC-01", "FLOW-01"}, AuthJS: true,
			Fault: "UseVerificationToken does not delete the token",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					return read(ctx, m, func() (*adapter.VerificationToken, error) {
						if t, ok := m.tokens[key]; ok {
							return &t, nil
						}
						return nil, nil
					})
				}}
			}},
		{Name: "second use is an error", Fails: []string{"VTOK-02", "VTOK-03", "CONC-02"}, AuthJS: true,
			Fault: "UseVerificationToken fails when it finds nothing",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.UseVerificationToken(ctx, key)
					if t == nil && err == nil {
						return nil, errNoRows
					}
					return t, err
				}}
			}},
		{Name: "unknown pair is an empty record", Fails: []string{"VTOK-03", "ERR-03"}, AuthJS: true,
			Fault: "UseVerificationToken converts a missing row into an empty record",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					if t == nil && err == nil {
						t = &adapter.VerificationToken{}
					}
					return t, err
				}}
			}},
		{Name: "token not checked", Listed: "M22", Fails: []string{"VTOK-04"}, AuthJS: true,
			Fault: "UseVerificationToken accepts any token of the identifier",
			db: replaced(`DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`,
				`DELETE FROM "verificationToken" WHERE (identifier, token) = (SELECT identifier, token FROM "verificationToken" WHERE identifier = ? AND ? <> '' LIMIT 1)`)},
		{Name: "use deletes all tokens", Listed: "M23", Fails: []string{"VTOK-04", "VTOK-08", "FLOW-07"},
			Fault: "UseVerificationToken deletes all tokens of the identifier, also when the token is unknown",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.UseVerificationToken(ctx, key)
					if err == nil {
						err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ?`, key.Identifier)
					}
					return t, err
				}}
			}},
		{Name: "identifier not checked", Fails: []string{"VTOK-05", "VTOK-06", "FLOW-07"}, AuthJS: true,
			Fault: "UseVerificationToken takes the token of any identifier",
			db: replaced(`DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`,
				`DELETE FROM "verificationToken" WHERE (identifier, token) = (SELECT identifier, token FROM "verificationToken" WHERE ? <> '' AND token = ? LIMIT 1)`)},
		{Name: "failed use uses the token up", Fails: []string{"VTOK-05"},
			Fault: "UseVerificationToken with a wrong identifier finds nothing, and deletes the token",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					m.mu.Lock()
					defer m.mu.Unlock()
					for k := range m.tokens {
						if t == nil && k.Token == key.Token {
							delete(m.tokens, k)
						}
					}
					return t, err
				}}
			}},
		{Name: "token value is the key", Listed: "M26", Fails: []string{"VTOK-06"},
			Fault: "CreateVerificationToken takes over the row that has the token, whosever it is",
			lite: func(l *lite) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					if err := l.exec(ctx, `DELETE FROM "verificationToken" WHERE token = ?`, t.Token); err != nil {
						return nil, err
					}
					return l.CreateVerificationToken(ctx, t)
				}}
			}},
		{Name: "one pending token per identifier", Fails: []string{"VTOK-07", "VTOK-08", "VTOK-09", "VTOK-15"}, AuthJS: true,
			Fault: "CreateVerificationToken fails while the identifier has one pending",
			db:    replaced(`PRIMARY KEY (identifier, token)`, `PRIMARY KEY (identifier)`)},
		{Name: "use leaves no other token", Fails: []string{"VTOK-08"},
			Fault: "UseVerificationToken deletes the other tokens of the identifier with the one it finds",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.UseVerificationToken(ctx, key)
					if t != nil {
						err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE identifier = ?`, key.Identifier)
					}
					return t, err
				}}
			}},
		{Name: "newer token replaces the older", Fails: []string{"VTOK-09", "VTOK-08", "FLOW-05"},
			Fault: "CreateVerificationToken deletes what is pending for the identifier",
			mem: func(m *mem) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					m.mu.Lock()
					for key := range m.tokens {
						if key.Identifier == t.Identifier {
							delete(m.tokens, key)
						}
					}
					m.mu.Unlock()
					return m.CreateVerificationToken(ctx, t)
				}}
			}},
		{Name: "pair created twice is used twice", Fails: []string{"VTOK-10"},
			Fault: "nothing makes a pair unique, and UseVerificationToken deletes one row",
			mem: func(m *mem) with {
				copies := kept(m.records, "copies", func() map[adapter.VerificationTokenKey][]adapter.VerificationToken {
					return map[adapter.VerificationTokenKey][]adapter.VerificationToken{}
				})
				return with{
					createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
						created, err := m.CreateVerificationToken(ctx, t)
						if errors.Is(err, adapter.ErrConflict) {
							m.mu.Lock()
							defer m.mu.Unlock()
							copies[t.Key()] = append(copies[t.Key()], copyToken(t))
							return &t, nil
						}
						return created, err
					},
					useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
						t, err := m.UseVerificationToken(ctx, key)
						m.mu.Lock()
						defer m.mu.Unlock()
						if n := len(copies[key]); n > 0 {
							m.tokens[key] = copies[key][n-1]
							copies[key] = copies[key][:n-1]
						}
						return t, err
					},
				}
			}},
		{Name: "pair created twice keeps the first expiry", Fails: []string{"VTOK-10"},
			Fault: "CreateVerificationToken ignores a pair that is pending, and reports success",
			db:    replaced(`INSERT INTO "verificationToken" (identifier, token, expires) VALUES (?, ?, ?)`, `INSERT INTO "verificationToken" (identifier, token, expires) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET token = token`)},
		{Name: "invented expiry", Listed: "M24", Fails: []string{"VTOK-11", "VTOK-12"}, AuthJS: true,
			Fault: "UseVerificationToken returns the time of the call as expires",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					if t != nil {
						t.Expires = m.clock.Now()
					}
					return t, err
				}}
			}},
		{Name: "expired token gets a day", Fails: []string{"VTOK-12"},
			Fault: "UseVerificationToken returns a token that has expired with an expires to come",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := m.UseVerificationToken(ctx, key)
					if t != nil && t.Expires.Before(m.clock.Now()) {
						t.Expires = m.clock.Now().Add(24 * time.Hour)
					}
					return t, err
				}}
			}},
		{Name: "expired token can be used again", Fails: []string{"VTOK-12"},
			Fault: "UseVerificationToken leaves a token that has expired to the clean-up",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					m.mu.RLock()
					t, ok := m.tokens[key]
					m.mu.RUnlock()
					if ok && t.Expires.Before(m.clock.Now()) {
						return &t, nil
					}
					return m.UseVerificationToken(ctx, key)
				}}
			}},
		{Name: "tokens fold case", Fails: []string{"VTOK-13"},
			Fault: "the token column is COLLATE NOCASE",
			db:    replaced(`token TEXT NOT NULL, expires`, `token TEXT COLLATE NOCASE NOT NULL, expires`)},
		{Name: "identifiers lose accents", Fails: []string{"VTOK-13"},
			Fault: "identifiers are compared without accents",
			mem: func(m *mem) with {
				plain := strings.NewReplacer("é", "e", "É", "E", "ü", "u")
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					m.mu.RLock()
					for k := range m.tokens {
						if k.Token == key.Token && plain.Replace(k.Identifier) == plain.Replace(key.Identifier) {
							key = k
							break
						}
					}
					m.mu.RUnlock()
					return m.UseVerificationToken(ctx, key)
				}}
			}},
		{Name: "use deletes older tokens too", Fails: []string{"VTOK-14"},
			Fault: "UseVerificationToken deletes every token that expires at the same time or earlier",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.UseVerificationToken(ctx, key)
					if t != nil {
						err = l.exec(ctx, `DELETE FROM "verificationToken" WHERE expires <= ?`, t.Expires.UnixMilli())
					}
					return t, err
				}}
			}},
		{Name: "create returns another pending token", Fails: []string{"VTOK-15"},
			Fault: "CreateVerificationToken reads the stored record back by the identifier only",
			lite: func(l *lite) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					created, err := l.CreateVerificationToken(ctx, t)
					if created == nil {
						return created, err
					}
					var ms int64
					err = l.db.QueryRowContext(ctx, `SELECT token, expires FROM "verificationToken" WHERE identifier = ? ORDER BY expires DESC LIMIT 1`, t.Identifier).
						Scan(&created.Token, &ms)
					created.Expires = time.UnixMilli(ms).UTC()
					return created, err
				}}
			}},
		{Name: "tokens need a user", Fails: []string{"VTOK-16", "VTOK-01"}, AuthJS: true,
			Fault: "CreateVerificationToken fails if no user has the identifier as e-mail",
			mem: func(m *mem) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					if u, err := m.GetUserByEmail(ctx, t.Identifier); u == nil && err == nil {
						return nil, notFound("user")
					}
					return m.CreateVerificationToken(ctx, t)
				}}
			}},
	}
}

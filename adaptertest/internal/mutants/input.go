package mutants

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func inputMutants() []Mutant {
	return []Mutant{
		{Name: "empty address finds a user", Fails: []string{"INPUT-01"},
			Fault: "GetUserByEmail drops the condition on an empty address",
			lite: func(l *lite) with {
				return with{getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
					if email != "" {
						return l.GetUserByEmail(ctx, email)
					}
					ids, err := l.column(ctx, `SELECT id FROM "user" LIMIT 1`)
					if err != nil || len(ids) == 0 {
						return nil, err
					}
					return l.GetUser(ctx, ids[0])
				}}
			}},
		{Name: "empty provider matches any", Fails: []string{"INPUT-01"},
			Fault: "UnlinkAccount drops the condition on an empty provider",
			db:    replaced(`DELETE FROM "account" WHERE provider = ? AND`, `DELETE FROM "account" WHERE provider = COALESCE(NULLIF(?, ''), provider) AND`)},
		{Name: "statement is built from text", Fails: []string{"INPUT-02"},
			Fault: "GetUserByEmail puts the address between quotes",
			lite: func(l *lite) with {
				return with{getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
					ids, err := l.column(ctx, `SELECT id FROM "user" WHERE email <> '' AND email = '`+email+`'`)
					if err != nil || len(ids) == 0 {
						return nil, err
					}
					return l.GetUser(ctx, ids[0])
				}}
			}},
		{Name: "session tokens are patterns", Fails: []string{"INPUT-03"},
			Fault: "GetSessionAndUser compares with GLOB",
			db:    replaced(`WHERE s.sessionToken = ?`, `WHERE s.sessionToken GLOB ?`)},
		{Name: "concatenated verification tokens", Fails: []string{"INPUT-04"},
			Fault: "a verification token is keyed by identifier + ':' + token",
			mem: func(m *mem) with {
				join := func(k adapter.VerificationTokenKey) string { return k.Identifier + ":" + k.Token }
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					m.mu.RLock()
					for k := range m.tokens {
						if join(k) == join(key) {
							key = k
							break
						}
					}
					m.mu.RUnlock()
					return m.UseVerificationToken(ctx, key)
				}}
			}},
		{Name: "keys are read as filters", Fails: []string{"INPUT-05"},
			Fault: "GetSessionAndUser treats a token that is a JSON object with $ne or $gt as a condition, which every session meets",
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					if strings.HasPrefix(token, `{"$ne"`) || strings.HasPrefix(token, `{"$gt"`) {
						m.mu.RLock()
						for t := range m.sessions {
							token = t
						}
						m.mu.RUnlock()
					}
					return m.GetSessionAndUser(ctx, token)
				}}
			}},
		{Name: "keys are cut at a line break", Fails: []string{"INPUT-06"},
			Fault: "a key is cut at its first line break",
			mem: func(m *mem) with {
				return keyed(m, func(key string) string { key, _, _ = strings.Cut(key, "\r\n"); return key })
			}},
		{Name: "keys are read as paths", Fails: []string{"INPUT-07"},
			Fault: "session tokens are cleaned like paths and cut at a question mark",
			mem: func(m *mem) with {
				return keyedSessions(m, func(token string) string {
					token, _, _ = strings.Cut(token, "?")
					return path.Clean(strings.ReplaceAll(token, ":", "/"))
				})
			}},
		{Name: "one key space for all kinds", Fails: []string{"INPUT-08"},
			Fault: "users and sessions share keys: GetUser of a session token finds the session's user",
			mem: func(m *mem) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					m.mu.RLock()
					if s, ok := m.sessions[id]; ok {
						id = s.UserID
					}
					m.mu.RUnlock()
					return m.GetUser(ctx, id)
				}}
			}},
		{Name: "index entries are read as users", Fails: []string{"INPUT-09"},
			Fault: "GetUser of 'email:' and an address returns the index entry of the address",
			mem: func(m *mem) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					if email, ok := strings.CutPrefix(id, "email:"); ok {
						if u, _ := m.GetUserByEmail(ctx, email); u != nil {
							return &adapter.User{ID: id}, nil
						}
					}
					return m.GetUser(ctx, id)
				}}
			}},
		{Name: "NUL is an error", Fails: []string{"INPUT-10"},
			Fault: "GetSessionAndUser fails for a token with a NUL byte",
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					if strings.Contains(token, "\x00") {
						return nil, errors.New("mem: invalid byte sequence for encoding UTF8: 0x00")
					}
					return m.GetSessionAndUser(ctx, token)
				}}
			}},
		{Name: "huge key breaks later calls", Fails: []string{"INPUT-12"},
			Fault: "a key of more than 64 KiB breaks the connection, and the adapter does not open another",
			mem: func(m *mem) with {
				broken := false
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						m.mu.Lock()
						broken = broken || len(id) > 1<<16
						down := broken
						m.mu.Unlock()
						if down {
							return nil, errors.New("mem: packet too large")
						}
						return m.GetUser(ctx, id)
					},
				}
			}},
		{Name: "the text null becomes null", Fails: []string{"INPUT-13", "DATA-04"},
			Fault: "the name \"null\" is stored as null",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if u, ok := record.(*adapter.User); ok && u.Name != nil && *u.Name == "null" {
						u.Name = nil
					}
				})
			}},
		{Name: "reserved words are not found", Fails: []string{"INPUT-13"},
			Fault: "GetAccount finds no account whose id is undefined, __proto__ or constructor",
			mem: func(m *mem) with {
				reserved := []string{"undefined", "__proto__", "constructor"}
				return with{getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					if slices.Contains(reserved, id) || slices.Contains(reserved, provider) {
						return nil, m.begin(ctx)
					}
					return m.GetAccount(ctx, id, provider)
				}}
			}},
		{Name: "empty session token accepted", Fails: []string{"INPUT-14"},
			Fault: "CreateSession stores a session under the empty token",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					if s.SessionToken != "" {
						return m.CreateSession(ctx, s)
					}
					return write(ctx, m, func() (*adapter.Session, error) {
						m.sessions[""] = s
						return &s, nil
					})
				}}
			}},
		{Name: "odd instants panic", Fails: []string{"INPUT-15"},
			Fault: "an instant that JSON can't express panics",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if s, ok := record.(*adapter.Session); ok {
						if _, err := s.Expires.MarshalJSON(); err != nil {
							panic(err)
						}
					}
				})
			}},
	}
}

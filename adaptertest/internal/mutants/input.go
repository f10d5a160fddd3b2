package mutants

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func inputMutants() []Mutant {
	return []Mutant{
		{Name: "empty address finds a user", Fails: []string{"INPUT-01"},
			Fault: "GetUserByEmail drops the condition on an empty address",
			lite: on(getUserByEmail, func(ctx context.Context, l *lite, email string) (*adapter.User, error) {
				if email != "" {
					return l.GetUserByEmail(ctx, email)
				}
				ids, err := l.column(ctx, `SELECT id FROM "user" LIMIT 1`)
				if err != nil || len(ids) == 0 {
					return nil, err
				}
				return l.GetUser(ctx, ids[0])
			})},
		{Name: "empty provider matches any", Fails: []string{"INPUT-01"},
			Fault: "UnlinkAccount drops the condition on an empty provider",
			db:    replaced(`DELETE FROM "account" WHERE provider = ? AND`, `DELETE FROM "account" WHERE provider = COALESCE(NULLIF(?, ''), provider) AND`)},
		{Name: "statement is built from text", Fails: []string{"INPUT-02"},
			Fault: "GetUserByEmail puts the address between quotes",
			lite: on(getUserByEmail, func(ctx context.Context, l *lite, email string) (*adapter.User, error) {
				ids, err := l.column(ctx, `SELECT id FROM "user" WHERE email <> '' AND email = '`+email+`'`)
				if err != nil || len(ids) == 0 {
					return nil, err
				}
				return l.GetUser(ctx, ids[0])
			})},
		{Name: "session tokens are patterns", Fails: []string{"INPUT-03"}, Fault: "GetSessionAndUser compares with GLOB",
			db: replaced(`WHERE s.sessionToken = ?`, `WHERE s.sessionToken GLOB ?`)},
		{Name: "concatenated pair", Listed: "M07", Fails: []string{"INPUT-04"},
			Fault: "accounts are keyed by provider + ':' + id", mem: keyedAccounts(joinedPair)},
		{Name: "concatenated verification tokens", Fails: []string{"INPUT-04"},
			Fault: "a verification token is keyed by identifier + ':' + token", mem: func(m *mem, w *with) {
				join := func(k adapter.VerificationTokenKey) string { return k.Identifier + ":" + k.Token }
				w.useVerificationToken = prepared(m, m.UseVerificationToken, func(key *adapter.VerificationTokenKey) {
					for k := range m.tokens {
						if join(k) == join(*key) {
							*key = k
							break
						}
					}
				})
			}},
		{Name: "touched credential ID is trimmed", Fails: []string{"INPUT-04"},
			Fault: "TouchAuthenticator removes blanks at the ends of the credential ID; the other methods do not.",
			mem: onTouch(func(ctx context.Context, m *mem, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				return m.TouchAuthenticator(ctx, strings.TrimSpace(credentialID), from, to, used)
			})},
		{Name: "deleted passkey is found by another case of the user", Fails: []string{"INPUT-04"},
			Fault: "DeleteAuthenticator compares the user ID in a collation that ignores case.",
			db:    replaced(`DELETE FROM "authenticator" WHERE credentialID = ? AND userId = ?`, `DELETE FROM "authenticator" WHERE credentialID = ? AND userId = ? COLLATE NOCASE`)},
		{Name: "keys are read as filters", Fails: []string{"INPUT-05"},
			Fault: "GetSessionAndUser treats a token that is a JSON object with $ne or $gt as a condition, which every session meets",
			mem: on(getSessionAndUser, func(ctx context.Context, m *mem, token string) (*adapter.SessionAndUser, error) {
				if strings.HasPrefix(token, `{"$ne"`) || strings.HasPrefix(token, `{"$gt"`) {
					m.mu.RLock()
					for t := range m.sessions {
						token = t
					}
					m.mu.RUnlock()
				}
				return m.GetSessionAndUser(ctx, token)
			})},
		{Name: "keys are cut at a line break", Fails: []string{"INPUT-06"}, Fault: "a key is cut at its first line break",
			mem: keyed[*mem](func(key string) string { key, _, _ = strings.Cut(key, "\r\n"); return key })},
		{Name: "keys are read as paths", Fails: []string{"INPUT-07"},
			Fault: "session tokens are cleaned like paths and cut at a question mark",
			mem: keyedSessions(func(token string) string {
				token, _, _ = strings.Cut(token, "?")
				return path.Clean(strings.ReplaceAll(token, ":", "/"))
			})},
		{Name: "one key space for all kinds", Fails: []string{"INPUT-08"},
			Fault: "users and sessions share keys: GetUser of a session token finds the session's user",
			mem: preparing(getUser, func(m *mem, id *string) {
				if s, ok := m.sessions[*id]; ok {
					*id = s.UserID
				}
			})},
		{Name: "index entries are read as users", Fails: []string{"INPUT-09"},
			Fault: "GetUser of 'email:' and an address returns the index entry of the address",
			mem: on(getUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
				if email, ok := strings.CutPrefix(id, "email:"); ok {
					if u, _ := m.GetUserByEmail(ctx, email); u != nil {
						return &adapter.User{ID: id}, nil
					}
				}
				return m.GetUser(ctx, id)
			})},
		{Name: "NUL is an error", Fails: []string{"INPUT-10"}, Fault: "GetSessionAndUser fails for a token with a NUL byte",
			mem: refusing(getSessionAndUser, errors.New("mem: invalid byte sequence for encoding UTF8: 0x00"),
				func(_ *mem, token string) bool { return strings.Contains(token, "\x00") })},
		{Name: "huge key breaks later calls", Fails: []string{"INPUT-12"},
			Fault: "a key of more than 64 KiB breaks the connection, and the adapter does not open another",
			mem: func(m *mem, w *with) {
				broken := false
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					m.mu.Lock()
					broken = broken || len(id) > 1<<16
					down := broken
					m.mu.Unlock()
					if down {
						return nil, errors.New("mem: packet too large")
					}
					return m.GetUser(ctx, id)
				}
			}},
		{Name: "the text null becomes null", Fails: []string{"INPUT-13", "DATA-04"},
			Fault: "the name \"null\" is stored as null", mem: given[*mem](createUser, func(u *adapter.User) {
				if u.Name != nil && *u.Name == "null" {
					u.Name = nil
				}
			})},
		{Name: "reserved words are not found", Fails: []string{"INPUT-13"},
			Fault: "GetAccount finds no account whose id is undefined, __proto__ or constructor", mem: func(m *mem, w *with) {
				reserved := []string{"undefined", "__proto__", "constructor"}
				w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					if slices.Contains(reserved, id) || slices.Contains(reserved, provider) {
						return nil, m.begin(ctx)
					}
					return m.GetAccount(ctx, id, provider)
				}
			}},
		{Name: "empty session token accepted", Fails: []string{"INPUT-14"},
			Fault: "CreateSession stores a session under the empty token",
			mem: on(createSession, func(ctx context.Context, m *mem, s adapter.Session) (*adapter.Session, error) {
				if s.SessionToken != "" {
					return m.CreateSession(ctx, s)
				}
				return write(ctx, m, func() (*adapter.Session, error) {
					m.sessions[""] = s
					return &s, nil
				})
			})},
		{Name: "odd instants panic", Fails: []string{"INPUT-15"}, Fault: "an instant that JSON can't express panics",
			mem: given[*mem](createSession, func(s *adapter.Session) {
				if _, err := s.Expires.MarshalJSON(); err != nil {
					panic(err)
				}
			})},
	}
}

func joinedPair(k adapter.AccountKey) adapter.AccountKey {
	return adapter.AccountKey{ProviderAccountID: k.Provider + ":" + k.ProviderAccountID}
}

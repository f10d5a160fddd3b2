package mutants

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// resemblingMutants compare a text carelessly that is not the key of the record, or only in
// one method.
func resemblingMutants() []Mutant {
	return []Mutant{
		{Name: "connection of another passkey ignores case", Fault: "DeleteAuthenticator looks for another authenticator of the account in a column with a collation that ignores case. It finds one of a similar account, and the account stays.", Fails: []string{"AEDIT-02"},
			db: replaced(`AND NOT EXISTS (SELECT 1 FROM "authenticator" WHERE userId = ? AND providerAccountId = ?)`,
				`AND NOT EXISTS (SELECT 1 FROM "authenticator" WHERE userId = ? AND providerAccountId = ? COLLATE NOCASE)`)},
		{Name: "account ends with a similar passkey", Fault: "DeleteAuthenticator deletes the user's account whose ID is the authenticator's without regard to padding.", Fails: []string{"AEDIT-02"},
			mem: func(m *mem) with {
				return with{optional: optional{deleteAuthenticator: func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
					deleted, err := m.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
					if deleted == nil || err != nil {
						return deleted, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					for key, a := range m.accounts {
						if a.UserID == userID && a.Type == adapter.AccountWebAuthn && strings.TrimRight(a.ProviderAccountID, "=") == strings.TrimRight(deleted.ProviderAccountID, "=") {
							delete(m.accounts, key)
						}
					}
					return deleted, nil
				}}}
			}},

		{Name: "touched credential ID is trimmed", Fault: "TouchAuthenticator removes blanks at the ends of the credential ID; the other methods do not.", Fails: []string{"INPUT-04"},
			mem: func(m *mem) with {
				return with{optional: optional{touch: func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					return m.TouchAuthenticator(ctx, strings.TrimSpace(credentialID), from, to, used)
				}}}
			}},
		{Name: "deleted passkey is found by another case of the user", Fault: "DeleteAuthenticator compares the user ID in a collation that ignores case.", Fails: []string{"INPUT-04"},
			db: replaced(`DELETE FROM "authenticator" WHERE credentialID = ? AND userId = ?`, `DELETE FROM "authenticator" WHERE credentialID = ? AND userId = ? COLLATE NOCASE`)},

		{Name: "assigned numbers meet given ones", Fault: "CreateUser takes the next number of a sequence if no ID is given, also a number that a user was given. It fails then.", Fails: []string{"USER-06"},
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.ID == "" {
						u.ID = m.number()
					}
					return m.CreateUser(ctx, u)
				}}
			}},
		{Name: "sequence does not follow an import", Fault: "CreateUser takes the next value of a sequence, which rows with a given ID do not advance.", Fails: []string{"USER-06"},
			lite: func(l *lite) with {
				last := l.common()
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.ID == "" {
						n, _ := last.LoadOrStore("last", new(atomic.Int64))
						u.ID = strconv.FormatInt(n.(*atomic.Int64).Add(1), 10)
					}
					return l.CreateUser(ctx, u)
				}}
			}},

		{Name: "exception is decoded", Fault: "DeleteSessionsByUserID decodes percent encodings in the exception.", Fails: []string{"SLIST-05"},
			mem: func(m *mem) with { return exceptionAs(m, decoded) }},
		{Name: "exception has no padding", Fault: "DeleteSessionsByUserID compares the tokens without base64 padding.", Fails: []string{"SLIST-05"},
			lite: func(l *lite) with {
				return exceptionAs(l, func(token string) string { return strings.TrimRight(token, "=") + "=" })
			}},

		{Name: "sessions of a user in another case are deleted", Fault: "DeleteUser deletes the sessions whose user ID is the deleted one regardless of case.", Fails: []string{"CASC-05"},
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					if u == nil || err != nil {
						return u, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					for token, s := range m.sessions {
						if strings.EqualFold(s.UserID, id) {
							delete(m.sessions, token)
						}
					}
					return u, nil
				}}
			}},
		{Name: "accounts of a user with a blank more are deleted", Fault: "DeleteUser deletes the accounts in a collation that ignores trailing blanks.", Fails: []string{"CASC-05"},
			lite: func(l *lite) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := l.DeleteUser(ctx, id)
					if u == nil || err != nil {
						return u, err
					}
					return u, l.exec(ctx, `DELETE FROM "account" WHERE userId = ? COLLATE RTRIM`, id)
				}}
			}},
	}
}

func decoded(text string) string {
	if d, err := url.PathUnescape(text); err == nil {
		return d
	}
	return text
}

// exceptionAs changes the exception of DeleteSessionsByUserID.
func exceptionAs(b base, change func(string) string) with {
	return with{optional: optional{deleteSessions: func(ctx context.Context, user, except string) (int64, error) {
		if except != "" {
			list, err := b.ListSessionsByUserID(ctx, user)
			if err != nil {
				return 0, err
			}
			for _, s := range list {
				if change(s.SessionToken) == change(except) {
					except = s.SessionToken
				}
			}
		}
		return b.DeleteSessionsByUserID(ctx, user, except)
	}}}
}

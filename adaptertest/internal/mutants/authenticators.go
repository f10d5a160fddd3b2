package mutants

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func authenticatorMutants() []Mutant {
	return []Mutant{
		{Name: "device type and account exchanged", Fails: []string{"AUTHN-01", "AUTHN-22", "DATA-01"}, AuthJS: true,
			Fault: "CreateAuthenticator stores credentialDeviceType and providerAccountId in each other's place",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					given := a
					a.CredentialDeviceType, a.ProviderAccountID = a.ProviderAccountID, a.CredentialDeviceType
					created, err := m.CreateAuthenticator(ctx, a)
					if err != nil {
						return created, err
					}
					return &given, nil
				}}
			}},
		{Name: "unknown credential is an error", Fails: []string{"AUTHN-02"}, AuthJS: true,
			Fault: "GetAuthenticator of an unknown credential fails",
			mem: func(m *mem) with {
				return with{getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					a, err := m.GetAuthenticator(ctx, id)
					if a == nil && err == nil {
						return nil, notFound("authenticator")
					}
					return a, err
				}}
			}},
		{Name: "duplicate credential changes hands", Listed: "M29", Fails: []string{"AUTHN-03"},
			Fault: "CreateAuthenticator overwrites the credential and moves it to the new user",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					m.mu.Lock()
					if old, ok := m.authenticators[a.CredentialID]; ok {
						m.credentials[old.UserID] = without(m.credentials[old.UserID], a.CredentialID)
						delete(m.authenticators, a.CredentialID)
					}
					m.mu.Unlock()
					return m.CreateAuthenticator(ctx, a)
				}}
			}},
		{Name: "refused credential is in the list", Fails: []string{"AUTHN-03"},
			Fault: "CreateAuthenticator of a credential in use fails, but the credential is in the list of the second user",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					created, err := m.CreateAuthenticator(ctx, a)
					if errors.Is(err, adapter.ErrConflict) {
						m.mu.Lock()
						defer m.mu.Unlock()
						if !slices.Contains(m.credentials[a.UserID], a.CredentialID) {
							m.credentials[a.UserID] = append(m.credentials[a.UserID], a.CredentialID)
						}
					}
					return created, err
				}}
			}},
		{Name: "list has one element at most", Listed: "M27", Fails: []string{"AUTHN-04", "VOL-01"},
			Fault: "ListAuthenticatorsByUserID has LIMIT 1",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId = ? LIMIT 1`)},
		{Name: "list has five elements at most", Fails: []string{"AUTHN-04"},
			Fault: "ListAuthenticatorsByUserID returns a page of five",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId = ? LIMIT 5`)},
		{Name: "list contains other users' authenticators", Fails: []string{"AUTHN-05", "AUTHN-06"}, AuthJS: true,
			Fault: "ListAuthenticatorsByUserID ignores the user",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE ? IS NOT NULL`)},
		{Name: "list of an unknown user is an error", Fails: []string{"AUTHN-06"}, AuthJS: true,
			Fault: "ListAuthenticatorsByUserID fails when there is no such user",
			mem: func(m *mem) with {
				return with{listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					if u, err := m.GetUser(ctx, id); u == nil && err == nil {
						return nil, notFound("user")
					}
					return m.ListAuthenticatorsByUserID(ctx, id)
				}}
			}},
		{Name: "empty list is a nil slice", Fails: []string{"AUTHN-07"}, AuthJS: true,
			Fault: "ListAuthenticatorsByUserID returns a nil slice when the user has no authenticator",
			mem: func(m *mem) with {
				return with{listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					list, err := m.ListAuthenticatorsByUserID(ctx, id)
					if len(list) == 0 {
						list = nil
					}
					return list, err
				}}
			}},
		{Name: "counter not stored", Listed: "M28", Fails: []string{"AUTHN-08"},
			Fault: "UpdateAuthenticatorCounter changes a copy, returns it and does not store it",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					a, err := m.GetAuthenticator(ctx, id)
					if a == nil && err == nil {
						return nil, notFound("authenticator")
					}
					if a != nil {
						a.Counter = counter
					}
					return a, err
				}}
			}},
		{Name: "counter is added", Fails: []string{"AUTHN-08", "AUTHN-13"}, AuthJS: true,
			Fault: "UpdateAuthenticatorCounter adds the value to the stored one",
			db:    replaced(`SET counter = ?`, `SET counter = counter + ?`)},
		{Name: "counter update without WHERE", Listed: "M31", Fails: []string{"AUTHN-09"},
			Fault: "UpdateAuthenticatorCounter sets every counter",
			lite: func(l *lite) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					a, err := l.UpdateAuthenticatorCounter(ctx, id, counter)
					if a != nil {
						err = l.exec(ctx, `UPDATE "authenticator" SET counter = ?`, counter)
					}
					return a, err
				}}
			}},
		{Name: "counter update corrupts the list", Fails: []string{"AUTHN-09"},
			Fault: "UpdateAuthenticatorCounter inserts the credential at the front of the list and does not remove its old entry",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
					if a != nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						m.credentials[a.UserID] = append([]string{id}, m.credentials[a.UserID]...)
					}
					return a, err
				}}
			}},
		{Name: "counter update creates an authenticator", Fails: []string{"AUTHN-10"}, AuthJS: true,
			Fault: "UpdateAuthenticatorCounter of an unknown credential stores one",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
					if errors.Is(err, adapter.ErrNotFound) {
						m.mu.Lock()
						defer m.mu.Unlock()
						ghost := adapter.Authenticator{CredentialID: strings.Clone(id), Counter: counter}
						m.putAuthenticator(ghost)
						return &ghost, nil
					}
					return a, err
				}}
			}},
		{Name: "32-bit numbers", Listed: "M30", Fails: []string{"AUTHN-11", "ACCT-15"},
			Fault: "counter and expires_at are bound as 32-bit integers",
			lite: func(l *lite) with {
				return with{
					createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
						a.Counter = int64(int32(a.Counter))
						return l.CreateAuthenticator(ctx, a)
					},
					updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
						return l.UpdateAuthenticatorCounter(ctx, id, int64(int32(counter)))
					},
					linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
						if a.ExpiresAt != nil {
							a.ExpiresAt = new(int64(int32(*a.ExpiresAt)))
						}
						return l.LinkAccount(ctx, a)
					},
				}
			}},
		{Name: "counters are floats", Fails: []string{"AUTHN-12"},
			Fault: "counters pass through a 32-bit float above 2^32",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					if a.Counter > 1<<32 {
						a.Counter = int64(float32(a.Counter))
					}
					return m.CreateAuthenticator(ctx, a)
				}}
			}},
		{Name: "counter of zero is not stored", Fails: []string{"AUTHN-13", "DATA-12"},
			Fault: "UpdateAuthenticatorCounter leaves out a counter of 0",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					if counter == 0 {
						a, err := m.GetAuthenticator(ctx, id)
						if a == nil && err == nil {
							return nil, notFound("authenticator")
						}
						return a, err
					}
					return m.UpdateAuthenticatorCounter(ctx, id, counter)
				}}
			}},
		{Name: "update to the same counter is a miss", Fails: []string{"AUTHN-13"},
			Fault: "UpdateAuthenticatorCounter counts changed rows: writing the stored value again fails",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					if a, _ := m.GetAuthenticator(ctx, id); a != nil && a.Counter == counter {
						return nil, notFound("authenticator")
					}
					return m.UpdateAuthenticatorCounter(ctx, id, counter)
				}}
			}},
		{Name: "refused counter is stored", Fails: []string{"AUTHN-14"},
			Fault: "UpdateAuthenticatorCounter fails for a lower counter after it has stored it",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					before, _ := m.GetAuthenticator(ctx, id)
					a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
					if before != nil && counter < before.Counter {
						return nil, errors.New("mem: the counter went back")
					}
					return a, err
				}}
			}},
		{Name: "credential ids in base64 and base64url are equal", Fails: []string{"AUTHN-15"},
			Fault: "GetAuthenticator compares credential ids as if base64 and base64url were the same",
			mem: func(m *mem) with {
				same := strings.NewReplacer("-", "+", "_", "/")
				return with{getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					return read(ctx, m, func() (*adapter.Authenticator, error) {
						if a, ok := m.authenticators[id]; ok {
							return new(copyAuthenticator(a)), nil
						}
						for _, a := range m.authenticators {
							if same.Replace(a.CredentialID) == same.Replace(id) {
								return new(copyAuthenticator(a)), nil
							}
						}
						return nil, nil
					})
				}}
			}},
		{Name: "padding is ignored", Fails: []string{"AUTHN-15"},
			Fault: "UpdateAuthenticatorCounter ignores the padding of a credential id",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					m.mu.RLock()
					for known := range m.authenticators {
						if strings.TrimRight(known, "=") == strings.TrimRight(id, "=") {
							id = known
							break
						}
					}
					m.mu.RUnlock()
					return m.UpdateAuthenticatorCounter(ctx, id, counter)
				}}
			}},
		{Name: "credential ids cut", Fails: []string{"AUTHN-16", "DATA-08"},
			Fault: "credential ids are cut at 1,000 characters, stored and looked up",
			mem: func(m *mem) with {
				return with{
					createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
						a.CredentialID = a.CredentialID[:min(len(a.CredentialID), 1000)]
						return m.CreateAuthenticator(ctx, a)
					},
					getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
						return m.GetAuthenticator(ctx, id[:min(len(id), 1000)])
					},
				}
			}},
		{Name: "long public keys refused", Fails: []string{"AUTHN-17"},
			Fault: "CreateAuthenticator fails for a public key of more than 2,048 characters",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					if len(a.CredentialPublicKey) > 2048 {
						return nil, errors.New("mem: value too long for column")
					}
					return m.CreateAuthenticator(ctx, a)
				}}
			}},
		{Name: "false is not stored", Fails: []string{"AUTHN-18", "DATA-12"},
			Fault: "credentialBackedUp false is left out, and the column's default is true",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					a.CredentialBackedUp = true
					return m.CreateAuthenticator(ctx, a)
				}}
			}},
		{Name: "empty transports are null", Fails: []string{"AUTHN-19", "DATA-03"},
			Fault: "CreateAuthenticator stores the empty string as null",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					if a.Transports != nil && *a.Transports == "" {
						a.Transports = nil
					}
					return m.CreateAuthenticator(ctx, a)
				}}
			}},
		{Name: "failed creation swallowed", Fails: []string{"AUTHN-03", "AUTHN-20", "ERR-02"},
			Fault: "CreateAuthenticator returns its argument when it fails",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					created, err := m.CreateAuthenticator(ctx, a)
					if errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
						return new(copyAuthenticator(a)), nil
					}
					return created, err
				}}
			}},
		{Name: "rows.Err not checked", Fails: []string{"AUTHN-21", "FAULT-09"},
			Fault: "ListAuthenticatorsByUserID returns the rows that it has read when reading fails",
			lite: func(l *lite) with {
				return with{listAuthenticators: func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
					list := []adapter.Authenticator{}
					ids, err := l.column(ctx, `SELECT credentialID FROM "authenticator" WHERE userId = ?`, userID)
					if err != nil && len(ids) == 0 {
						return nil, err
					}
					for _, id := range ids {
						a, err := l.GetAuthenticator(ctx, id)
						if err != nil {
							return nil, err
						}
						if a != nil {
							list = append(list, *a)
						}
					}
					return list, nil
				}}
			}},
	}
}

package mutants

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func authnMutants() []Mutant {
	credential := func(a adapter.Authenticator) string { return a.CredentialID }
	return []Mutant{
		{Name: "device type and account exchanged", Fails: []string{"AUTHN-01", "AUTHN-22", "DATA-01"}, AuthJS: true,
			Fault: "CreateAuthenticator stores credentialDeviceType and providerAccountId in each other's place",
			mem: on(createAuthenticator, func(ctx context.Context, m *mem, a adapter.Authenticator) (*adapter.Authenticator, error) {
				given := a
				a.CredentialDeviceType, a.ProviderAccountID = a.ProviderAccountID, a.CredentialDeviceType
				created, err := m.CreateAuthenticator(ctx, a)
				if err != nil {
					return created, err
				}
				return &given, nil
			})},
		{Name: "unknown credential is an error", Fails: []string{"AUTHN-02"}, AuthJS: true,
			Fault: "GetAuthenticator of an unknown credential fails",
			mem:   missing[*mem](getAuthenticator, notFound("authenticator"))},
		{Name: "duplicate credential changes hands", Listed: "M29", Fails: []string{"AUTHN-03"},
			Fault: "CreateAuthenticator overwrites the credential and moves it to the new user",
			mem: preparing(createAuthenticator, func(m *mem, a *adapter.Authenticator) {
				if old, ok := m.authenticators[a.CredentialID]; ok {
					m.credentials[old.UserID] = without(m.credentials[old.UserID], a.CredentialID)
					delete(m.authenticators, a.CredentialID)
				}
			})},
		{Name: "refused credential is in the list", Fails: []string{"AUTHN-03"},
			Fault: "CreateAuthenticator of a credential in use fails, but the credential is in the list of the second user",
			mem: spoiling(createAuthenticator, adapter.ErrConflict, func(m *mem, a adapter.Authenticator) {
				if !slices.Contains(m.credentials[a.UserID], a.CredentialID) {
					m.credentials[a.UserID] = append(m.credentials[a.UserID], a.CredentialID)
				}
			})},
		{Name: "failed creation swallowed", Fails: []string{"AUTHN-03", "AUTHN-20", "ERR-02"},
			Fault: "CreateAuthenticator returns its argument when it fails",
			mem: on(createAuthenticator, func(ctx context.Context, m *mem, a adapter.Authenticator) (*adapter.Authenticator, error) {
				created, err := m.CreateAuthenticator(ctx, a)
				if errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
					return new(copyAuthenticator(a)), nil
				}
				return created, err
			})},
		{Name: "list has one element at most", Listed: "M27", Fails: []string{"AUTHN-04", "VOL-01"},
			Fault: "ListAuthenticatorsByUserID has LIMIT 1",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId = ? LIMIT 1`)},
		{Name: "list has five elements at most", Fails: []string{"AUTHN-04"},
			Fault: "ListAuthenticatorsByUserID returns a page of five",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId = ? LIMIT 5`)},
		{Name: "credentials of a user are joined with line breaks", Fails: []string{"AUTHN-04"},
			Fault: "The list of a user's credential ids is one text with a line for each.",
			lite: on(listAuthenticators, func(ctx context.Context, l *lite, id string) ([]adapter.Authenticator, error) {
				ids, err := l.column(ctx, `SELECT credentialID FROM "authenticator" WHERE userId = ?`, id)
				list := []adapter.Authenticator{}
				for _, line := range strings.Fields(strings.Join(ids, "\n")) {
					a, e := l.GetAuthenticator(ctx, line)
					if a != nil {
						list = append(list, *a)
					}
					err = errors.Join(err, e)
				}
				return list, err
			})},
		{Name: "pages of passkeys by OFFSET", Fails: []string{"AUTHN-04"}, Races: true,
			Fault: "ListAuthenticatorsByUserID reads pages of 25 with OFFSET.", lite: func(l *lite, w *with) {
				w.listAuthenticatorsByUserID = byPosition(l.ListAuthenticatorsByUserID, credential)
			}},
		{Name: "list of passkeys meets a deleted one", Fails: []string{"AUTHN-04"}, Races: true,
			Fault: "ListAuthenticatorsByUserID reads the credential IDs, then each authenticator, and fails if one was deleted in between.",
			mem: func(m *mem, w *with) {
				w.listAuthenticatorsByUserID = oneByOne(m.ListAuthenticatorsByUserID, m.GetAuthenticator, credential)
			}},
		{Name: "authenticators joined with accounts", Fails: []string{"AUTHN-04"},
			Fault: "ListAuthenticatorsByUserID joins the user's accounts, and returns each authenticator once for each account.",
			mem: on(listAuthenticators, func(ctx context.Context, m *mem, id string) ([]adapter.Authenticator, error) {
				list, err := m.ListAuthenticatorsByUserID(ctx, id)
				if err != nil {
					return nil, err
				}
				accounts, err := m.ListAccountsByUserID(ctx, id)
				joined := list
				for i := 1; i < len(accounts); i++ {
					for _, a := range list {
						joined = append(joined, copyAuthenticator(a))
					}
				}
				return joined, err
			})},
		{Name: "list elements are decoded into one variable", OnLite: "rows are scanned into one variable",
			Fails: []string{"AUTHN-04"}, Fault: "An authenticator without transports gets those of its predecessor in the list.",
			both: on(listAuthenticators, func(ctx context.Context, b base, id string) ([]adapter.Authenticator, error) {
				all, err := b.ListAuthenticatorsByUserID(ctx, id)
				for i := 1; i < len(all); i++ {
					if all[i].Transports == nil {
						all[i].Transports = copyText(all[i-1].Transports)
					}
				}
				return all, err
			})},
		{Name: "authenticators are joined with accounts", Fails: []string{"AUTHN-04"},
			Fault: "ListAuthenticatorsByUserID returns an authenticator once for each account with the ID that it is connected to.",
			mem: on(listAuthenticators, func(ctx context.Context, m *mem, id string) ([]adapter.Authenticator, error) {
				return joined(ctx, id, m.ListAuthenticatorsByUserID, m.ListAccountsByUserID,
					func(w adapter.Authenticator, a adapter.Account) bool {
						return a.ProviderAccountID == w.ProviderAccountID
					})
			})},
		{Name: "list contains other users' authenticators", Fails: []string{"AUTHN-05", "AUTHN-06"}, AuthJS: true,
			Fault: "ListAuthenticatorsByUserID ignores the user",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE ? IS NOT NULL`)},
		{Name: "list of an unknown user is an error", Fails: []string{"AUTHN-06"}, AuthJS: true,
			Fault: "ListAuthenticatorsByUserID fails when there is no such user",
			mem: on(listAuthenticators, func(ctx context.Context, m *mem, id string) ([]adapter.Authenticator, error) {
				if u, err := m.GetUser(ctx, id); u == nil && err == nil {
					return nil, notFound("user")
				}
				return m.ListAuthenticatorsByUserID(ctx, id)
			})},
		{Name: "empty list is a nil slice", Fails: []string{"AUTHN-07"}, AuthJS: true,
			Fault: "ListAuthenticatorsByUserID returns a nil slice when the user has no authenticator",
			mem: on(listAuthenticators, func(ctx context.Context, m *mem, id string) ([]adapter.Authenticator, error) {
				list, err := m.ListAuthenticatorsByUserID(ctx, id)
				if len(list) == 0 {
					list = nil
				}
				return list, err
			})},
		{Name: "counter not stored", Listed: "M28", Fails: []string{"AUTHN-08"},
			Fault: "UpdateAuthenticatorCounter changes a copy, returns it and does not store it",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				a, err := m.GetAuthenticator(ctx, id)
				if a == nil && err == nil {
					return nil, notFound("authenticator")
				}
				if a != nil {
					a.Counter = counter
				}
				return a, err
			})},
		{Name: "counter is added", Fails: []string{"AUTHN-08", "AUTHN-13"}, AuthJS: true,
			Fault: "UpdateAuthenticatorCounter adds the value to the stored one",
			db:    replaced(`SET counter = ?`, `SET counter = counter + ?`)},
		{Name: "counter update without WHERE", Listed: "M31", Fails: []string{"AUTHN-09"},
			Fault: "UpdateAuthenticatorCounter sets every counter",
			lite: onUpdateCounter(func(ctx context.Context, l *lite, id string, counter int64) (*adapter.Authenticator, error) {
				a, err := l.UpdateAuthenticatorCounter(ctx, id, counter)
				if a != nil {
					err = l.exec(ctx, `UPDATE "authenticator" SET counter = ?`, counter)
				}
				return a, err
			})},
		{Name: "counter update corrupts the list", Fails: []string{"AUTHN-09"},
			Fault: "UpdateAuthenticatorCounter inserts the credential at the front of the list and does not remove its old entry",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
				if a != nil {
					defer held(&m.mu)()
					m.credentials[a.UserID] = append([]string{id}, m.credentials[a.UserID]...)
				}
				return a, err
			})},
		{Name: "counter update forgets the name", Fails: []string{"AUTHN-09"},
			Fault: "UpdateAuthenticatorCounter writes the record again with the fields of WebAuthn only.",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				_, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
				if err != nil {
					return nil, err
				}
				m.mu.Lock()
				a := m.authenticators[id]
				a.Name, a.Created = nil, nil
				m.authenticators[id] = a
				m.mu.Unlock()
				return m.GetAuthenticator(ctx, id)
			})},
		{Name: "counter update creates an authenticator", Fails: []string{"AUTHN-10"}, AuthJS: true,
			Fault: "UpdateAuthenticatorCounter of an unknown credential stores one",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
				if errors.Is(err, adapter.ErrNotFound) {
					defer held(&m.mu)()
					ghost := adapter.Authenticator{CredentialID: strings.Clone(id), Counter: counter}
					m.putAuthenticator(ghost)
					return &ghost, nil
				}
				return a, err
			})},
		{Name: "32-bit numbers", Listed: "M30", Fails: []string{"AUTHN-11", "ACCT-15"},
			Fault: "counter and expires_at are bound as 32-bit integers", lite: func(l *lite, w *with) {
				w.createAuthenticator = altered(l.CreateAuthenticator, func(a *adapter.Authenticator) { a.Counter = int64(int32(a.Counter)) })
				w.updateAuthenticatorCounter = func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					return l.UpdateAuthenticatorCounter(ctx, id, int64(int32(counter)))
				}
				w.linkAccount = altered(l.LinkAccount, func(a *adapter.Account) {
					if a.ExpiresAt != nil {
						a.ExpiresAt = new(int64(int32(*a.ExpiresAt)))
					}
				})
			}},
		{Name: "counters are floats", Fails: []string{"AUTHN-12"}, Fault: "counters pass through a 32-bit float above 2^32",
			mem: given[*mem](createAuthenticator, func(a *adapter.Authenticator) {
				if a.Counter > 1<<32 {
					a.Counter = int64(float32(a.Counter))
				}
			})},
		{Name: "counter of zero is not stored", Fails: []string{"AUTHN-13", "DATA-12"},
			Fault: "UpdateAuthenticatorCounter leaves out a counter of 0",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				if counter == 0 {
					a, err := m.GetAuthenticator(ctx, id)
					if a == nil && err == nil {
						return nil, notFound("authenticator")
					}
					return a, err
				}
				return m.UpdateAuthenticatorCounter(ctx, id, counter)
			})},
		{Name: "update to the same counter is a miss", Fails: []string{"AUTHN-13"},
			Fault: "UpdateAuthenticatorCounter counts changed rows: writing the stored value again fails",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				if a, _ := m.GetAuthenticator(ctx, id); a != nil && a.Counter == counter {
					return nil, notFound("authenticator")
				}
				return m.UpdateAuthenticatorCounter(ctx, id, counter)
			})},
		{Name: "refused counter is stored", Fails: []string{"AUTHN-14"},
			Fault: "UpdateAuthenticatorCounter fails for a lower counter after it has stored it",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				before, _ := m.GetAuthenticator(ctx, id)
				a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
				if before != nil && counter < before.Counter {
					return nil, errors.New("mem: the counter went back")
				}
				return a, err
			})},
		{Name: "credential ids in base64 and base64url are equal", Fails: []string{"AUTHN-15"},
			Fault: "GetAuthenticator compares credential ids as if base64 and base64url were the same", mem: func(m *mem, w *with) {
				same := strings.NewReplacer("-", "+", "_", "/")
				w.getAuthenticator = rlocked(m, func(id string) (*adapter.Authenticator, error) {
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
			}},
		{Name: "padding is ignored", Fails: []string{"AUTHN-15"},
			Fault: "UpdateAuthenticatorCounter ignores the padding of a credential id",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				m.mu.RLock()
				for known := range m.authenticators {
					if strings.TrimRight(known, "=") == strings.TrimRight(id, "=") {
						id = known
						break
					}
				}
				m.mu.RUnlock()
				return m.UpdateAuthenticatorCounter(ctx, id, counter)
			})},
		{Name: "credential is found in lower case", Fails: []string{"AUTHN-15"},
			Fault: "GetAuthenticator looks up an unknown id in upper case too.",
			lite:  func(l *lite, w *with) { w.getAuthenticator = again(l.GetAuthenticator, strings.ToUpper) }},
		{Name: "credential ids cut", Fails: []string{"AUTHN-16", "DATA-08"},
			Fault: "credential ids are cut at 1,000 characters, stored and looked up", mem: func(m *mem, w *with) {
				w.createAuthenticator = altered(m.CreateAuthenticator, func(a *adapter.Authenticator) { a.CredentialID = a.CredentialID[:min(len(a.CredentialID), 1000)] })
				w.getAuthenticator = func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					return m.GetAuthenticator(ctx, id[:min(len(id), 1000)])
				}
			}},
		{Name: "long public keys refused", Fails: []string{"AUTHN-17"},
			Fault: "CreateAuthenticator fails for a public key of more than 2,048 characters",
			mem: refusing(createAuthenticator, errors.New("mem: value too long for column"),
				func(_ *mem, a adapter.Authenticator) bool { return len(a.CredentialPublicKey) > 2048 })},
		{Name: "false is not stored", Fails: []string{"AUTHN-18", "DATA-12"},
			Fault: "credentialBackedUp false is left out, and the column's default is true",
			mem:   given[*mem](createAuthenticator, func(a *adapter.Authenticator) { a.CredentialBackedUp = true })},
		{Name: "empty transports are null", Fails: []string{"AUTHN-19", "DATA-03"},
			Fault: "CreateAuthenticator stores the empty string as null",
			mem: given[*mem](createAuthenticator, func(a *adapter.Authenticator) {
				if a.Transports != nil && *a.Transports == "" {
					a.Transports = nil
				}
			})},
		{Name: "rows.Err not checked", Fails: []string{"AUTHN-21", "FAULT-09"},
			Fault: "ListAuthenticatorsByUserID returns the rows that it has read when reading fails",
			lite: on(listAuthenticators, func(ctx context.Context, l *lite, userID string) ([]adapter.Authenticator, error) {
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
			})},
	}
}

// oneByOne lists by an index, and fails if a record of the index is absent.
func oneByOne[T any](index func(context.Context, string) ([]T, error), get func(context.Context, string) (*T, error), key func(T) string) func(context.Context, string) ([]T, error) {
	return func(ctx context.Context, userID string) ([]T, error) {
		all, err := index(ctx, userID)
		for i, r := range all {
			now, err := get(ctx, key(r))
			if err != nil {
				return nil, err
			}
			if now == nil {
				return nil, fmt.Errorf("the record %q is absent", key(r))
			}
			all[i] = *now
		}
		return all, err
	}
}

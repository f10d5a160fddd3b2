package mutants

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func aeditMutants() []Mutant {
	return []Mutant{
		{Name: "deleted passkey is returned as it was read first", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator returns the record as GetAuthenticator read it first, without the changes since.",
			mem: func(m *mem, w *with) {
				loaded := passkeyMap(m, w)
				w.getAuthenticator = func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					return loaded(m.GetAuthenticator(ctx, id))
				}

			}},
		{Name: "deleted passkey is returned as it was created", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator returns the record as CreateAuthenticator stored it.", lite: func(l *lite, w *with) {
				loaded := passkeyMap(l, w)
				w.createAuthenticator = func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					return loaded(l.CreateAuthenticator(ctx, a))
				}

			}},
		{Name: "anybody deletes an authenticator", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator does not check who owns the authenticator",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				if a, _ := m.GetAuthenticator(ctx, id); a != nil {
					userID = a.UserID
				}
				return m.DeleteAuthenticator(ctx, userID, id, keepOne)
			})},
		{Name: "another user's authenticator is an error", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator of another user's or an unknown authenticator fails with ErrNotFound",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
				if a == nil && err == nil {
					return nil, notFound("authenticator")
				}
				return a, err
			})},
		{Name: "deleted authenticator stays in the list", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator deletes the record but not its entry in the user's list",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
				if a != nil {
					m.mu.Lock()
					m.credentials[userID] = append(m.credentials[userID], id)
					m.mu.Unlock()
				}
				return a, err
			})},
		{Name: "all authenticators go at once", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator deletes all authenticators of the user",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
				if a == nil || err != nil {
					return a, err
				}
				return a, l.exec(ctx, `DELETE FROM "authenticator" WHERE userId = ?`, userID)
			})},
		{Name: "deletion returns nothing", Fails: []string{"AEDIT-01"},
			Fault: "DeleteAuthenticator deletes the authenticator and reports that there was none",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				_, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
				return nil, err
			})},
		{Name: "deleted passkey stays in the index", OnLite: "deleted passkey stays in the index of SQL",
			Fails: []string{"AEDIT-01"}, Fault: "DeleteAuthenticator leaves the credential ID in the first owner's index, which the list follows without comparing the owner.",
			both: func(b base, w *with) {
				var former formerKeys[string]
				w.createAuthenticator = then(b.CreateAuthenticator, func(a adapter.Authenticator, _ *adapter.Authenticator) { former.note(a.UserID, a.CredentialID) })
				w.listAuthenticatorsByUserID = func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
					list, err := b.ListAuthenticatorsByUserID(ctx, userID)
					if err != nil {
						return nil, err
					}
					for _, id := range former.all(userID) {
						a, err := b.GetAuthenticator(ctx, id)
						if err != nil {
							return nil, err
						}
						if a != nil && a.UserID != userID {
							list = append(list, *a)
						}
					}
					return list, nil
				}
			}},
		{Name: "passkey of another user holds the account", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator does not delete the connected account if an authenticator of another user has the same ProviderAccountID.",
			mem: heldByOthers(func(_ context.Context, m *mem, gone adapter.Authenticator) (bool, error) {
				defer held(m.mu.RLocker())()
				for _, w := range m.authenticators {
					if w.ProviderAccountID == gone.ProviderAccountID {
						return true, nil
					}
				}
				return false, nil
			})},
		{Name: "row of another user's passkey holds the account", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator counts the authenticators of the connected account without the user ID.",
			lite: heldByOthers(func(ctx context.Context, l *lite, gone adapter.Authenticator) (bool, error) {
				return l.exists(ctx, `SELECT 1 FROM "authenticator" WHERE providerAccountId = ?`, gone.ProviderAccountID)
			})},
		{Name: "account of any type is deleted with the authenticator", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator deletes every account of the user that has the connected id, of any type.",
			mem: takingAccounts(func(_ bool, gone adapter.Authenticator, x adapter.Account) bool {
				return x.UserID == gone.UserID && x.ProviderAccountID == gone.ProviderAccountID
			})},
		{Name: "account of a deleted passkey stays", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator leaves the account that it was connected to",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				return write(ctx, m, func() (*adapter.Authenticator, error) {
					a, ok := m.authenticators[id]
					if !ok || a.UserID != userID {
						return nil, nil
					}
					m.dropAuthenticator(a)
					return &a, nil
				})
			})},
		{Name: "shared account is deleted with the first passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator deletes the account although another authenticator is connected to it",
			mem: takingAccounts(func(_ bool, gone adapter.Authenticator, x adapter.Account) bool {
				return x.UserID == gone.UserID && connects(x, gone)
			})},
		{Name: "accounts of every type are deleted with the passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator removes all accounts of the user that have the id",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
				if a == nil || err != nil {
					return a, err
				}
				return a, l.exec(ctx, `DELETE FROM "account" WHERE userId = ? AND providerAccountId = ?`, userID, a.ProviderAccountID)
			})},
		{Name: "accounts of other users are deleted with the passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator removes the WebAuthn accounts of all users that have the id",
			mem: takingAccounts(func(_ bool, gone adapter.Authenticator, x adapter.Account) bool {
				return x.UserID != gone.UserID && connects(x, gone)
			})},
		{Name: "keep one forgets who shares the account", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator with keepOne deletes the connected account, although another authenticator is connected to it.",
			mem: takingAccounts(func(keepOne bool, gone adapter.Authenticator, x adapter.Account) bool {
				return keepOne && x.UserID == gone.UserID && connects(x, gone)
			})},
		{Name: "keep one keeps the connected account", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator with keepOne does not delete the connected account.",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, user, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := l.GetAuthenticator(ctx, id)
				if err != nil {
					return nil, err
				}
				var connected *adapter.Account
				if a != nil && keepOne {
					accounts, err := l.ListAccountsByUserID(ctx, user)
					if err != nil {
						return nil, err
					}
					for _, x := range accounts {
						if connects(x, *a) {
							connected = &x
						}
					}
				}
				deleted, err := l.DeleteAuthenticator(ctx, user, id, keepOne)
				if err != nil || deleted == nil || connected == nil {
					return deleted, err
				}
				if left, err := l.GetAccount(ctx, connected.ProviderAccountID, connected.Provider); left != nil || err != nil {
					return deleted, err
				}
				_, err = l.LinkAccount(ctx, *connected)
				return deleted, err
			})},
		{Name: "connection of another passkey ignores case", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator looks for another authenticator of the account in a column with a collation that ignores case. It finds one of a similar account, and the account stays.",
			db: replaced(`AND NOT EXISTS (SELECT 1 FROM "authenticator" WHERE userId = ? AND providerAccountId = ?)`,
				`AND NOT EXISTS (SELECT 1 FROM "authenticator" WHERE userId = ? AND providerAccountId = ? COLLATE NOCASE)`)},
		{Name: "account ends with a similar passkey", Fails: []string{"AEDIT-02"},
			Fault: "DeleteAuthenticator deletes the user's account whose ID is the authenticator's without regard to padding.",
			mem: takingAccounts(func(_ bool, gone adapter.Authenticator, x adapter.Account) bool {
				similar := strings.TrimRight(x.ProviderAccountID, "=") == strings.TrimRight(gone.ProviderAccountID, "=")
				return x.UserID == gone.UserID && x.Type == adapter.AccountWebAuthn && similar
			})},
		{Name: "accounts are not counted as ways to sign in", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne counts authenticators only",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				m.mu.RLock()
				authenticators, _ := m.waysIn(userID)
				a, ok := m.authenticators[id]
				m.mu.RUnlock()
				if keepOne && ok && a.UserID == userID && authenticators == 1 {
					return nil, fmt.Errorf("mem: %w", adapter.ErrLastCredential)
				}
				return m.DeleteAuthenticator(ctx, userID, id, keepOne)
			})},
		{Name: "account of the passkey is counted as a way to sign in", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne counts the account that is deleted with the authenticator",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				m.mu.RLock()
				authenticators, accounts := m.waysIn(userID)
				m.mu.RUnlock()
				return m.DeleteAuthenticator(ctx, userID, id, keepOne && authenticators+accounts < 2)
			})},
		{Name: "keepOne keeps the passkey of the last account", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne assumes that every account of type webauthn is deleted with the authenticator",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				if keepOne {
					others, err := l.column(ctx, `SELECT 1 FROM "authenticator" WHERE userId = ?1 AND credentialID <> ?2 UNION ALL SELECT 1 FROM "account" WHERE userId = ?1 AND type <> 'webauthn'`, userID, id)
					own, ownErr := l.exists(ctx, `SELECT 1 FROM "authenticator" WHERE userId = ? AND credentialID = ?`, userID, id)
					if err := errors.Join(err, ownErr); err != nil {
						return nil, err
					}
					if own && len(others) == 0 {
						return nil, fmt.Errorf("lite: %w", adapter.ErrLastCredential)
					}
				}
				return l.DeleteAuthenticator(ctx, userID, id, keepOne)
			})},
		{Name: "refusal for the last credential is another error", Fails: []string{"AEDIT-03"},
			Fault: "the refusal of DeleteAuthenticator matches ErrNotFound",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
				if errors.Is(err, adapter.ErrLastCredential) {
					err = notFound("other credential")
				}
				return a, err
			})},
		{Name: "refusal comes after the removal", Fails: []string{"AEDIT-03"},
			Fault: "DeleteAuthenticator with keepOne deletes the connected account, and then refuses",
			mem: onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
				if errors.Is(err, adapter.ErrLastCredential) {
					m.mu.Lock()
					m.dropAccounts(userID)
					m.mu.Unlock()
				}
				return a, err
			})},
		{Name: "refused account counts as a credential", Fails: []string{"AEDIT-03"},
			Fault: "A counter has the ways to sign in of each user. LinkAccount increments it before it finds that another user has the account.",
			mem: func(m *mem, w *with) {
				count := countsCredentials(m, m.common(), w)
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					return linked, count(a.UserID, err)
				}

			}},
		{Name: "refused passkey counts as a credential", Fails: []string{"AEDIT-03"},
			Fault: "A counter has the ways to sign in of each user. CreateAuthenticator increments it before the insert fails.",
			lite: func(l *lite, w *with) {
				count := countsCredentials(l, l.common(), w)
				w.createAuthenticator = func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					created, err := l.CreateAuthenticator(ctx, a)
					return created, count(a.UserID, err)
				}

			}},
		{Name: "sign-up counts as one credential", Fails: []string{"AEDIT-03"},
			Fault: "A counter has the ways to sign in of each user. CreateUserWithAccount sets it to one, also with a passkey.",
			mem: func(m *mem, w *with) {
				miscountsSignUps(m, m.common(), func(passkey bool) int {
					if passkey {
						return -1
					}
					return 0
				}, w)
			}},
		{Name: "sign-up counts as two credentials", Fails: []string{"AEDIT-03"},
			Fault: "A counter has the ways to sign in of each user. CreateUserWithAccount sets it to two, also without a passkey.",
			lite: func(l *lite, w *with) {
				miscountsSignUps(l, l.common(), func(passkey bool) int {
					if passkey {
						return 0
					}
					return 1
				}, w)
			}},
		{Name: "two tabs remove two passkeys", OnLite: "passkeys are counted in a separate statement", Fails: []string{"AEDIT-04"}, Races: true,
			Fault: "DeleteAuthenticator with keepOne lists the authenticators, then deletes one",
			both: onDeleteAuthenticator(func(ctx context.Context, b base, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				list, err := b.ListAuthenticatorsByUserID(ctx, userID)
				if err != nil {
					return nil, err
				}
				gap()
				return b.DeleteAuthenticator(ctx, userID, id, keepOne && len(list) < 2)
			})},
		{Name: "account and passkey are deleted separately", Fails: []string{"AEDIT-05"},
			Fault: "DeleteAuthenticator deletes the authenticator and the account in two statements without a transaction",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, _ bool) (*adapter.Authenticator, error) {
				a, err := l.GetAuthenticator(ctx, id)
				if a == nil || err != nil || a.UserID != userID {
					return nil, err
				}
				if err := l.exec(ctx, `DELETE FROM "authenticator" WHERE credentialID = ?`, id); err != nil {
					return nil, err
				}
				return a, l.exec(ctx, `DELETE FROM "account" WHERE userId = ? AND type = 'webauthn' AND providerAccountId = ?`, userID, a.ProviderAccountID)
			})},
		{Name: "new name is cut", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator cuts the name after 60 characters.",
			mem:   func(m *mem, w *with) { w.renameAuthenticator = cuttingNames(m.RenameAuthenticator, 60) }},
		{Name: "new name is cut to the column", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator cuts the name after 255 characters, the width of its column.",
			lite:  func(l *lite, w *with) { w.renameAuthenticator = cuttingNames(l.RenameAuthenticator, 255) }},
		{Name: "anybody renames an authenticator", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator does not check who owns the authenticator",
			mem: onRename(func(ctx context.Context, m *mem, userID, id, name string) (*adapter.Authenticator, error) {
				if a, _ := m.GetAuthenticator(ctx, id); a != nil {
					userID = a.UserID
				}
				return m.RenameAuthenticator(ctx, userID, id, name)
			})},
		{Name: "new name is not stored", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator returns the record with the name and stores nothing",
			lite: onRename(func(ctx context.Context, l *lite, userID, id, name string) (*adapter.Authenticator, error) {
				a, err := l.GetAuthenticator(ctx, id)
				if a == nil || err != nil || a.UserID != userID {
					return nil, err
				}
				a.Name = &name
				return a, nil
			})},
		{Name: "counter update loses the name", Fails: []string{"AEDIT-06"},
			Fault: "UpdateAuthenticatorCounter writes the record without its name",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				m.mu.Lock()
				if a, ok := m.authenticators[id]; ok {
					a.Name = new("")
					m.authenticators[id] = a
				}
				m.mu.Unlock()
				return m.UpdateAuthenticatorCounter(ctx, id, counter)
			})},
		{Name: "creation and last use of a passkey are exchanged", Fails: []string{"AEDIT-06"},
			Fault: "GetAuthenticator returns the instant of last use as the instant of creation",
			mem:   changed[*mem](getAuthenticator, func(_ string, a *adapter.Authenticator) { a.Created, a.LastUsed = a.LastUsed, a.Created })},
		{Name: "names of a user's passkeys are unique", OnLite: "unique index over user and name of a passkey",
			Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator returns ErrConflict if another authenticator of the user has the name.",
			both: onRename(func(ctx context.Context, b base, user string, id string, name string) (*adapter.Authenticator, error) {
				list, err := b.ListAuthenticatorsByUserID(ctx, user)
				if err != nil {
					return nil, err
				}
				for _, w := range list {
					if w.CredentialID != id && w.Name != nil && *w.Name == name {
						return nil, conflict("the name")
					}
				}
				return b.RenameAuthenticator(ctx, user, id, name)
			})},
		{Name: "same name changes no row", Fails: []string{"AEDIT-06"},
			Fault: "RenameAuthenticator to the name that the authenticator has returns nil, because no row has changed.",
			both: onRename(func(ctx context.Context, b base, userID, credentialID, name string) (*adapter.Authenticator, error) {
				a, err := b.GetAuthenticator(ctx, credentialID)
				if err != nil || a != nil && a.UserID == userID && a.Name != nil && *a.Name == name {
					return nil, err
				}
				return b.RenameAuthenticator(ctx, userID, credentialID, name)
			})},
		{Name: "instant of use is the store's time", Fails: []string{"AEDIT-07"},
			Fault: "TouchAuthenticator stores the time of the store, not the instant given.",
			mem: onTouch(func(ctx context.Context, m *mem, id string, from, to int64, _ time.Time) (*adapter.Authenticator, error) {
				return m.TouchAuthenticator(ctx, id, from, to, m.clock.Now())
			})},
		{Name: "touch forgets the name", Fails: []string{"AEDIT-07"},
			Fault: "TouchAuthenticator writes the record again with the fields of WebAuthn only.",
			lite: onTouch(func(ctx context.Context, l *lite, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				a, err := l.TouchAuthenticator(ctx, id, from, to, used)
				if a == nil || err != nil {
					return nil, err
				}
				if err := l.exec(ctx, `UPDATE "authenticator" SET name = NULL WHERE credentialID = ?`, id); err != nil {
					return nil, err
				}
				return l.GetAuthenticator(ctx, id)
			})},
		{Name: "touch to the same counter is not stored", Fails: []string{"AEDIT-07"},
			Fault: "TouchAuthenticator does nothing if the new counter equals the stored one, as with authenticators that do not count",
			mem: onTouch(func(ctx context.Context, m *mem, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				if a, _ := m.GetAuthenticator(ctx, id); a != nil && to <= from {
					return nil, nil
				}
				return m.TouchAuthenticator(ctx, id, from, to, used)
			})},
		{Name: "touch adds one", Fails: []string{"AEDIT-07"}, Fault: "TouchAuthenticator stores the old counter plus one",
			lite: onTouch(func(ctx context.Context, l *lite, id string, from, _ int64, used time.Time) (*adapter.Authenticator, error) {
				return l.TouchAuthenticator(ctx, id, from, from+1, used)
			})},
		{Name: "touch that changes nothing", Fails: []string{"AEDIT-07"},
			Fault: "TouchAuthenticator with the counter and the instant that are stored returns nil, because no row has changed.",
			both: onTouch(func(ctx context.Context, b base, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				a, err := b.GetAuthenticator(ctx, credentialID)
				if err != nil || a != nil && a.Counter == from && from == to && a.LastUsed != nil && a.LastUsed.UnixMilli() == used.UnixMilli() {
					return nil, err
				}
				return b.TouchAuthenticator(ctx, credentialID, from, to, used)
			})},
		{Name: "touch from zero has no condition", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator from counter zero drops the condition on the stored counter.",
			lite: onTouch(func(ctx context.Context, l *lite, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				if from == 0 {
					if err := l.exec(ctx, `UPDATE "authenticator" SET counter = 0 WHERE credentialID = ?`, id); err != nil {
						return nil, err
					}
				}
				return l.TouchAuthenticator(ctx, id, from, to, used)
			})},
		{Name: "backup keeps the device type", Fails: []string{"AEDIT-11"},
			Fault: "UpdateAuthenticatorBackup stores the flag, and the device type of the registration stays.",
			both: onBackup(func(ctx context.Context, b base, id string, backedUp bool, device string) (*adapter.Authenticator, error) {
				a, err := b.GetAuthenticator(ctx, id)
				if a != nil && err == nil {
					device = a.CredentialDeviceType
				}
				return b.UpdateAuthenticatorBackup(ctx, id, backedUp, device)
			})},
		{Name: "backup of all passkeys", Fails: []string{"AEDIT-11"},
			Fault: "UpdateAuthenticatorBackup changes all passkeys of the user.",
			both: onBackup(func(ctx context.Context, b base, id string, backedUp bool, device string) (*adapter.Authenticator, error) {
				a, err := b.UpdateAuthenticatorBackup(ctx, id, backedUp, device)
				if err != nil {
					return nil, err
				}
				all, err := b.ListAuthenticatorsByUserID(ctx, a.UserID)
				for _, other := range all {
					if err == nil {
						_, err = b.UpdateAuthenticatorBackup(ctx, other.CredentialID, backedUp, device)
					}
				}
				return a, err
			})},
		{Name: "backup that changes nothing is not found", Fails: []string{"AEDIT-11"},
			Fault: "UpdateAuthenticatorBackup to the stored flags is ErrNotFound, because no row has changed.",
			both: onBackup(func(ctx context.Context, b base, id string, backedUp bool, device string) (*adapter.Authenticator, error) {
				a, err := b.GetAuthenticator(ctx, id)
				if err == nil && a != nil && a.CredentialBackedUp == backedUp && a.CredentialDeviceType == device {
					return nil, notFound("authenticator")
				}
				return b.UpdateAuthenticatorBackup(ctx, id, backedUp, device)
			})},
		{Name: "touch stores any counter", Fails: []string{"AEDIT-08", "AEDIT-10"},
			Fault: "TouchAuthenticator does not compare the stored counter",
			mem: onTouch(func(ctx context.Context, m *mem, id string, _, to int64, used time.Time) (*adapter.Authenticator, error) {
				return reworked(ctx, m, id, func(a *adapter.Authenticator) bool {
					a.Counter, a.LastUsed = to, copyInstant(&used)
					return true
				})
			})},
		{Name: "touch compares 32 bits", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator compares the counters as 32-bit numbers",
			mem: onTouch(func(ctx context.Context, m *mem, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				if a, _ := m.GetAuthenticator(ctx, id); a != nil && uint32(a.Counter) == uint32(from) { //nolint:gosec // the fault
					from = a.Counter
				}
				return m.TouchAuthenticator(ctx, id, from, to, used)
			})},
		{Name: "touch from another counter fails", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator fails with ErrConflict when the stored counter is another one",
			lite: onTouch(func(ctx context.Context, l *lite, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				a, err := l.TouchAuthenticator(ctx, id, from, to, used)
				if a == nil && err == nil {
					return nil, conflict("the counter")
				}
				return a, err
			})},
		{Name: "touch from another counter is a use", Fails: []string{"AEDIT-08"},
			Fault: "TouchAuthenticator stores the instant of use also when the stored counter is another one",
			mem: onTouch(func(ctx context.Context, m *mem, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				m.mu.Lock()
				if a, ok := m.authenticators[id]; ok {
					a.LastUsed = copyInstant(&used)
					m.authenticators[id] = a
				}
				m.mu.Unlock()
				return m.TouchAuthenticator(ctx, id, from, to, used)
			})},
		{Name: "touch of an absent passkey is not an error", Fails: []string{"AEDIT-09"},
			Fault: "TouchAuthenticator of an unknown authenticator returns no record and no error, as for another counter",
			lite: onTouch(func(ctx context.Context, l *lite, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				a, err := l.TouchAuthenticator(ctx, id, from, to, used)
				if errors.Is(err, adapter.ErrNotFound) {
					return nil, nil
				}
				return a, err
			})},
		{Name: "two concurrent touches succeed", OnLite: "two concurrent touches succeed between statements", Fails: []string{"AEDIT-10"}, Races: true,
			Fault: "TouchAuthenticator is a SELECT and an UPDATE",
			both: onTouch(func(ctx context.Context, b base, id string, from, to int64, _ time.Time) (*adapter.Authenticator, error) {
				a, err := b.GetAuthenticator(ctx, id)
				if err != nil {
					return nil, err
				}
				if a != nil && a.Counter != from {
					return nil, nil
				}
				gap()
				return b.UpdateAuthenticatorCounter(ctx, id, to)
			})},
	}
}

// takingAccounts deletes the accounts that goes accepts with an authenticator.
func takingAccounts(goes func(keepOne bool, gone adapter.Authenticator, x adapter.Account) bool) func(*mem, *with) {
	return onDeleteAuthenticator(func(ctx context.Context, m *mem, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
		gone, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
		if gone != nil {
			defer held(&m.mu)()
			maps.DeleteFunc(m.accounts, func(_ adapter.AccountKey, x adapter.Account) bool { return goes(keepOne, *gone, x) })
		}
		return gone, err
	})
}

// connects reports whether an account is the one of an authenticator, if one user has both.
func connects(x adapter.Account, a adapter.Authenticator) bool {
	return x.Type == adapter.AccountWebAuthn && x.ProviderAccountID == a.ProviderAccountID
}

// heldByOthers keeps the connected account of a deleted authenticator if held says so.
func heldByOthers[B base](held func(ctx context.Context, b B, gone adapter.Authenticator) (bool, error)) func(B, *with) {
	return func(b B, w *with) {
		w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
			before, err := b.ListAccountsByUserID(ctx, userID)
			if err != nil {
				return nil, err
			}
			gone, err := b.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
			if gone == nil || err != nil {
				return nil, err
			}
			if is, err := held(ctx, b, *gone); !is || err != nil {
				return gone, err
			}
			for _, a := range before {
				if _, err := b.LinkAccount(ctx, a); err != nil && !errors.Is(err, adapter.ErrConflict) {
					return nil, err
				}
			}
			return gone, nil
		}
	}
}

// passkeyMap returns a deleted authenticator as it was when a call was given to loaded first.
func passkeyMap(b base, w *with) (loaded func(*adapter.Authenticator, error) (*adapter.Authenticator, error)) {
	var first firstReads[adapter.Authenticator]
	w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
		a, err := b.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
		return first.deleted(credentialID, a), err
	}
	return func(a *adapter.Authenticator, err error) (*adapter.Authenticator, error) {
		if a != nil {
			first.records.LoadOrStore(a.CredentialID, copyAuthenticator(*a))
		}
		return a, err
	}
}

type renaming func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error)

func cuttingNames(rename renaming, length int) renaming {
	return func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
		letters := []rune(name)
		return rename(ctx, userID, credentialID, string(letters[:min(len(letters), length)]))
	}
}

// waysIn counts the authenticators and accounts that the user can sign in with.
func (r *records) waysIn(userID string) (authenticators, accounts int) {
	for _, a := range r.accounts {
		if a.UserID == userID {
			accounts++
		}
	}
	return len(r.credentials[userID]), accounts
}

// countsCredentials lets a user remove the last credential after one of theirs was refused.
// count notes the outcome of a creation, and returns its error.
func countsCredentials(b base, shared *sync.Map, w *with) (count func(user string, err error) error) {
	w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
		_, more := shared.Load(userID)
		return b.DeleteAuthenticator(ctx, userID, credentialID, keepOne && !more)
	}
	return func(user string, err error) error {
		if errors.Is(err, adapter.ErrConflict) {
			shared.Store(user, true)
		}
		return err
	}
}

// miscountsSignUps decides by a counter whether a user loses the last credential. By off it is
// wrong for the users who signed up.
func miscountsSignUps(b base, shared *sync.Map, off func(passkey bool) int, w *with) {
	w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
		created, err := b.CreateUserWithAccount(ctx, u, a, w)
		if created != nil {
			shared.Store(created.ID, off(w != nil))
		}
		return created, err
	}
	w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
		found, err := b.GetAuthenticator(ctx, credentialID)
		wrong, signedUp := shared.Load(userID)
		if !keepOne || err != nil || found == nil || found.UserID != userID || !signedUp {
			return b.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
		}
		accounts, err := b.ListAccountsByUserID(ctx, userID)
		passkeys, listErr := b.ListAuthenticatorsByUserID(ctx, userID)
		left := len(accounts) + len(passkeys) - 1 + wrong.(int)
		for _, a := range accounts {
			if connects(a, *found) {
				left-- // in these tests no two passkeys have one account
			}
		}
		switch {
		case err != nil || listErr != nil:
			return nil, errors.Join(err, listErr)
		case left <= 0:
			return nil, adapter.ErrLastCredential
		}
		return b.DeleteAuthenticator(ctx, userID, credentialID, false)
	}
}

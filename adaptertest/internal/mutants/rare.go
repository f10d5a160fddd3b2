package mutants

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// rareMutants are wrong only with a certain argument, a certain history or many
// records. The suite missed them in a batch that its authors had not seen.
func rareMutants() []Mutant {
	return []Mutant{
		{Name: "same name changes no row", Fault: "RenameAuthenticator to the name that the authenticator has returns nil, because no row has changed.", Fails: []string{"AEDIT-06"},
			mem: func(m *mem) with {
				return with{optional: optional{renameAuthenticator: changedRowsOnly(m.GetAuthenticator, m.RenameAuthenticator)}}
			}},
		{Name: "same name changes no row in SQL", Fault: "RenameAuthenticator reads the number of changed rows, which is 0 for the name that the authenticator has, and returns nil.", Fails: []string{"AEDIT-06"},
			lite: func(l *lite) with {
				return with{optional: optional{renameAuthenticator: changedRowsOnly(l.GetAuthenticator, l.RenameAuthenticator)}}
			}},
		{Name: "a session is absent while it moves", Races: true, Fault: "UpdateSession with another owner deletes the session and creates it again. A lookup in between returns nil.", Fails: []string{"CONC-14"},
			mem: func(m *mem) with { return with{updateSession: recreating(m)} }},
		{Name: "a row is absent while it moves", Races: true, Fault: "UpdateSession with another owner deletes the row and inserts it again, in two transactions. A lookup in between returns nil.", Fails: []string{"CONC-14"},
			lite: func(l *lite) with { return with{updateSession: recreating(l)} }},
		{Name: "links of one user conflict", Races: true, Fault: "Two LinkAccount of one user at a time, with different keys: the second one waits for nothing and returns ErrConflict.", Fails: []string{"CONC-15"},
			mem: func(m *mem) with {
				busy := kept(m.records, "busy", func() *sync.Map { return new(sync.Map) })
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return oneAtATime(busy, a.UserID, func() (*adapter.Account, error) { gap(); return m.LinkAccount(ctx, a) })
				}}
			}},
		{Name: "sessions of one user conflict", Races: true, Fault: "Two CreateSession of one user at a time, with different tokens: the transaction of the second one fails, and the call returns ErrConflict.", Fails: []string{"CONC-15"},
			lite: func(l *lite) with {
				busy, _ := busyFiles.LoadOrStore(l.path, new(sync.Map))
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					return oneAtATime(busy.(*sync.Map), s.UserID, func() (*adapter.Session, error) { return l.CreateSession(ctx, s) })
				}}
			}},
		{Name: "a new image alone reaches no other handle", Fault: "GetUser has a cache of the handle. An entry is refreshed when name, address or verification differ, but not when only the image does.", Fails: []string{"ISO-03"},
			mem: func(m *mem) with { return cachingImages(m) }},
		{Name: "a new image alone reaches no other process", Fault: "GetUser has a cache of the process. An entry is refreshed when name, address or verification differ, but not when only the image does.", Fails: []string{"ISO-03"},
			lite: func(l *lite) with { return cachingImages(l) }},
		{Name: "an empty update finds anybody", Fault: "UpdateUser without a field to change returns nil and no error for a user who is absent.", Fails: []string{"USER-20"},
			mem: func(m *mem) with { return with{updateUser: emptyUpdates(m.GetUser, m.UpdateUser)} }},
		{Name: "an empty UPDATE is not sent", Fault: "UpdateUser without a column to set reads the user and returns what it found, also nothing.", Fails: []string{"USER-20"},
			lite: func(l *lite) with { return with{updateUser: emptyUpdates(l.GetUser, l.UpdateUser)} }},
		{Name: "keep one forgets who shares the account", Fault: "DeleteAuthenticator with keepOne deletes the connected account, although another authenticator is connected to it.", Fails: []string{"AEDIT-02"},
			mem: func(m *mem) with {
				return with{optional: optional{deleteAuthenticator: func(ctx context.Context, user, id string, keepOne bool) (*adapter.Authenticator, error) {
					a, err := m.DeleteAuthenticator(ctx, user, id, keepOne)
					if a == nil || !keepOne {
						return a, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					for key, x := range m.accounts {
						if x.UserID == user && x.Type == adapter.AccountWebAuthn && x.ProviderAccountID == a.ProviderAccountID {
							delete(m.accounts, key)
						}
					}
					return a, nil
				}}}
			}},
		{Name: "keep one keeps the connected account", Fault: "DeleteAuthenticator with keepOne does not delete the connected account.", Fails: []string{"AEDIT-02"},
			lite: func(l *lite) with {
				return with{optional: optional{deleteAuthenticator: func(ctx context.Context, user, id string, keepOne bool) (*adapter.Authenticator, error) {
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
							if x.Type == adapter.AccountWebAuthn && x.ProviderAccountID == a.ProviderAccountID {
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
				}}}
			}},
		{Name: "expired tokens of an identifier stay", Fault: "DeleteVerificationTokens leaves the tokens that have expired.", Fails: []string{"TEDIT-01"},
			mem: func(m *mem) with {
				return with{optional: optional{deleteTokens: func(ctx context.Context, identifier string) (int64, error) {
					return write(ctx, m, func() (deleted int64, err error) {
						for key, t := range m.tokens {
							if key.Identifier == identifier && t.Expires.After(m.clock.Now()) {
								delete(m.tokens, key)
								deleted++
							}
						}
						return deleted, nil
					})
				}}}
			}},
		{Name: "expired tokens of an identifier stay in SQL", Fault: "The statement of DeleteVerificationTokens has the condition that expires lies in the future.", Fails: []string{"TEDIT-01"},
			lite: func(l *lite) with {
				return with{optional: optional{deleteTokens: func(ctx context.Context, identifier string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND expires > ?`, identifier, time.Now().UnixMilli())
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				}}}
			}},
		{Name: "nothing expires before 1970", Fault: "DeleteExpired leaves the sessions that expired before 1970: its index sorts negative instants last.", Fails: []string{"EXP-06"},
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool { return s.Expires.Unix() >= 0 })
				}}
			}},
		{Name: "nothing expires before 1970 in SQL", Fault: "The statements of DeleteExpired take only instants since 1970.", Fails: []string{"EXP-06"},
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
					for table, n := range map[string]*int64{"session": &swept.Sessions, "verificationToken": &swept.VerificationTokens} {
						r, err := l.db.ExecContext(ctx, `DELETE FROM "`+table+`" WHERE expires BETWEEN 0 AND ?`, now.UnixMilli())
						if err != nil {
							return swept, err
						}
						if *n, err = r.RowsAffected(); err != nil {
							return swept, err
						}
					}
					return swept, nil
				}}
			}},
		{Name: "linked again with the old tokens", Fault: "UnlinkAccount marks the account as deleted. LinkAccount revives it and leaves the fields that the new account does not have.", Fails: []string{"ACCT-13"},
			mem: func(m *mem) with {
				s := kept(m.records, "unlinked", newSoftDeleted)
				return with{linkAccount: s.link(m.LinkAccount), unlinkAccount: s.unlink(m.UnlinkAccount)}
			}},
		{Name: "linked again with the old tokens in SQL", Fault: "UnlinkAccount sets deleted_at. LinkAccount is an upsert that clears deleted_at and does not clear the tokens that are NULL in the new row.", Fails: []string{"ACCT-13"},
			lite: func(l *lite) with {
				s := newSoftDeleted()
				return with{linkAccount: s.link(l.LinkAccount), unlinkAccount: s.unlink(l.UnlinkAccount)}
			}},
		{Name: "count of the last batch", Fault: "DeleteExpired works in batches of 500 and returns the counts of the last one.", Fails: []string{"EXP-08"},
			mem: func(m *mem) with { return with{deleteExpired: lastBatch(m.DeleteExpired)} }},
		{Name: "count of the last batch in SQL", Fault: "DeleteExpired repeats a DELETE with a LIMIT of 500 and returns the rows of the last one.", Fails: []string{"EXP-08"},
			lite: func(l *lite) with { return with{deleteExpired: lastBatch(l.DeleteExpired)} }},
		{Name: "account by e-mail verifies the user", Fault: "LinkAccount of an account of type email sets EmailVerified of its owner.", Fails: []string{"ACCT-01"},
			mem: func(m *mem) with { return with{linkAccount: verifying(m.LinkAccount, m.UpdateUser)} }},
		{Name: "account by e-mail verifies the user in SQL", Fault: "A hook after LinkAccount sets EmailVerified of the owner of an account of type email.", Fails: []string{"ACCT-01"},
			lite: func(l *lite) with { return with{linkAccount: verifying(l.LinkAccount, l.UpdateUser)} }},
		{Name: "touch that changes nothing", Fault: "TouchAuthenticator with the counter and the instant that are stored returns nil, because no row has changed.", Fails: []string{"AEDIT-07"},
			mem: func(m *mem) with {
				return with{optional: optional{touch: touchedRowsOnly(m.GetAuthenticator, m.TouchAuthenticator)}}
			}},
		{Name: "touch that changes nothing in SQL", Fault: "TouchAuthenticator reads the number of changed rows, which is 0 if counter and instant are as stored, and returns nil.", Fails: []string{"AEDIT-07"},
			lite: func(l *lite) with {
				return with{optional: optional{touch: touchedRowsOnly(l.GetAuthenticator, l.TouchAuthenticator)}}
			}},
		{Name: "unlinked account stays in the index", Fault: "UnlinkAccount leaves the key in the first owner's index, which the list follows without comparing the owner.", Fails: []string{"ALIST-01"},
			mem: func(m *mem) with { return listingFormerAccounts(m) }},
		{Name: "unlinked account stays in the index of SQL", Fault: "The list of accounts joins a table of owners, from which UnlinkAccount deletes nothing.", Fails: []string{"ALIST-01"},
			lite: func(l *lite) with { return listingFormerAccounts(l) }},
		{Name: "deleted passkey stays in the index", Fault: "DeleteAuthenticator leaves the credential ID in the first owner's index, which the list follows without comparing the owner.", Fails: []string{"AEDIT-01"},
			mem: func(m *mem) with { return listingFormerAuthenticators(m) }},
		{Name: "deleted passkey stays in the index of SQL", Fault: "The list of authenticators joins a table of owners, from which DeleteAuthenticator deletes nothing.", Fails: []string{"AEDIT-01"},
			lite: func(l *lite) with { return listingFormerAuthenticators(l) }},
		{Name: "pages by the instant of creation", Fault: "ListAuthenticatorsByUserID reads pages of 50. The next page begins after the Created of the last authenticator, so others with this instant are missing.", Fails: []string{"VOL-01"},
			mem: func(m *mem) with {
				return with{listAuthenticators: pagedBy(m.ListAuthenticatorsByUserID, func(a adapter.Authenticator) *time.Time { return a.Created })}
			}},
		{Name: "pages by the instant of use in SQL", Fault: "ListAuthenticatorsByUserID reads pages of 50 with WHERE lastUsed > ? ORDER BY lastUsed, so others with the instant of the last row are missing.", Fails: []string{"VOL-01"},
			lite: func(l *lite) with {
				return with{listAuthenticators: pagedBy(l.ListAuthenticatorsByUserID, func(a adapter.Authenticator) *time.Time { return a.LastUsed })}
			}},
		{Name: "ids of a moment", Races: true, Fault: "CreateUser makes an id of the millisecond and a count of the handle: two handles make the same one at one moment.", Fails: []string{"USER-06"},
			mem: func(m *mem) with { return with{createUser: idsOfMoments(m.CreateUser)} }},
		{Name: "ids of a moment in SQL", Races: true, Fault: "CreateUser makes an id of the millisecond and a count of the process: two processes make the same one at one moment.", Fails: []string{"USER-06"},
			lite: func(l *lite) with { return with{createUser: idsOfMoments(l.CreateUser)} }},
		{Name: "deletion races a move", Races: true, Fault: "UpdateSession checks that the new owner exists, then stores; a session that is given to a user who is being deleted belongs to the next user with the id.", Fails: []string{"CONC-11"},
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					owner, moves := u.UserID.Get()
					if exists, err := m.GetUser(ctx, owner); !moves || err != nil || exists == nil {
						return m.UpdateSession(ctx, u)
					}
					gap()
					return write(ctx, m, func() (*adapter.Session, error) {
						s, ok := m.sessions[u.SessionToken]
						if !ok {
							return nil, nil
						}
						u.Apply(&s)
						s = copySession(s)
						m.putSession(s)
						return &s, nil
					})
				}}
			}},
		{Name: "deletion races a move in SQL", Races: true, Fault: "UpdateSession reads the new owner before the UPDATE, and no foreign key is declared.", Fails: []string{"CONC-11"},
			lite: func(l *lite) with {
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					owner, moves := u.UserID.Get()
					if !moves {
						return l.UpdateSession(ctx, u)
					}
					exists, err := l.GetUser(ctx, owner)
					if err != nil {
						return nil, err
					}
					if exists == nil {
						s, err := l.GetSessionAndUser(ctx, u.SessionToken)
						if s == nil || err != nil {
							return nil, err
						}
						return nil, notFound("user")
					}
					for range 100 { // the longer it takes, the more often the user is deleted meanwhile
						if _, err := l.GetSessionAndUser(ctx, u.SessionToken); err != nil {
							return nil, err
						}
					}
					return l.UpdateSession(ctx, u)
				}}
			},
			db: replaced(`REFERENCES "user" (id) ON DELETE CASCADE`, ``, `userId = (SELECT id FROM "user" WHERE id = ?)`, `userId = ?`)},
		{Name: "text that is no UTF-8 is a conflict", Fault: "CreateUser and UpdateUser refuse a name that is not UTF-8, with ErrConflict.", Fails: []string{"ERR-11"},
			mem: func(m *mem) with {
				refuses := func(name *string) error {
					if name != nil && !utf8.ValidString(*name) {
						return conflict("the name")
					}
					return nil
				}
				return with{
					createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
						if err := refuses(u.Name); err != nil {
							return nil, err
						}
						return m.CreateUser(ctx, u)
					},
					updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
						name, _ := u.Name.Get()
						if err := refuses(name); err != nil {
							return nil, err
						}
						return m.UpdateUser(ctx, u)
					},
				}
			}},
		{Name: "text that is too long is a conflict in SQL", Fault: "LinkAccount reports every error of the classes 22 and 23 as ErrConflict, also a token that is too long for its column.", Fails: []string{"ERR-11"},
			lite: func(l *lite) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if len(text(a.AccessToken)) > 1<<16 {
						return nil, conflict("the account")
					}
					return l.LinkAccount(ctx, a)
				}}
			}},
		{Name: "sign-up with capitals", Fault: "The store folds case, and CreateUserWithAccount stores the address as it is given, under which no lookup finds it.", Fails: []string{"USER-27"},
			harness: folded, mem: func(m *mem) with { return foldingExceptSignUps(m) }},
		{Name: "sign-up with capitals in SQL", Fault: "CreateUser, UpdateUser and GetUserByEmail convert the address to lower case, CreateUserWithAccount doesn't.", Fails: []string{"USER-27"},
			harness: folded, lite: func(l *lite) with { return foldingExceptSignUps(l) }},
	}
}

// foldingExceptSignUps stores and looks up addresses in lower case, but those of
// sign-ups as they are.
func foldingExceptSignUps(b base) with {
	return with{
		createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
			u.Email = lowerASCII(u.Email)
			return b.CreateUser(ctx, u)
		},
		updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
			if email, set := u.Email.Get(); set {
				u.Email = adapter.To(lowerASCII(email))
			}
			return b.UpdateUser(ctx, u)
		},
		getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
			return b.GetUserByEmail(ctx, lowerASCII(email))
		},
	}
}

// touchedRowsOnly returns nil where a touch leaves the row as it is.
func touchedRowsOnly(
	get func(context.Context, string) (*adapter.Authenticator, error),
	touch func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error),
) func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	return func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
		a, err := get(ctx, credentialID)
		if err != nil || a != nil && a.Counter == from && from == to && a.LastUsed != nil && a.LastUsed.UnixMilli() == used.UnixMilli() {
			return nil, err
		}
		return touch(ctx, credentialID, from, to, used)
	}
}

// formerKeys has the keys of the records that each user ever had.
type formerKeys[K comparable] struct {
	mu sync.Mutex
	of map[string]map[K]bool
}

func (f *formerKeys[K]) note(userID string, key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string]map[K]bool{}
	}
	note(f.of, userID, key)
}

func (f *formerKeys[K]) all(userID string) []K {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.of[userID]))
}

// listingFormerAccounts lists the accounts that a user once had too, if another
// user has them.
func listingFormerAccounts(b base) with {
	var former formerKeys[adapter.AccountKey]
	return with{
		linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
			linked, err := b.LinkAccount(ctx, a)
			if err == nil {
				former.note(a.UserID, a.Key())
			}
			return linked, err
		},
		optional: optional{listAccounts: func(ctx context.Context, userID string) ([]adapter.Account, error) {
			list, err := b.ListAccountsByUserID(ctx, userID)
			if err != nil {
				return nil, err
			}
			for _, key := range former.all(userID) {
				a, err := b.GetAccount(ctx, key.ProviderAccountID, key.Provider)
				if err != nil {
					return nil, err
				}
				if a != nil && a.UserID != userID {
					list = append(list, *a)
				}
			}
			return list, nil
		}},
	}
}

// listingFormerAuthenticators lists the authenticators that a user once had too, if
// another user has them.
func listingFormerAuthenticators(b base) with {
	var former formerKeys[string]
	return with{
		createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
			created, err := b.CreateAuthenticator(ctx, a)
			if err == nil {
				former.note(a.UserID, a.CredentialID)
			}
			return created, err
		},
		listAuthenticators: func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
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
		},
	}
}

// pagedBy lists in pages of 50. A page begins after the instant with which the one
// before it ended; no instant comes before all others.
func pagedBy(
	list func(context.Context, string) ([]adapter.Authenticator, error), at func(adapter.Authenticator) *time.Time,
) func(context.Context, string) ([]adapter.Authenticator, error) {
	const page = 50
	instant := func(a adapter.Authenticator) (t time.Time) {
		if x := at(a); x != nil {
			t = *x
		}
		return t
	}
	order := func(a, b adapter.Authenticator) int { return instant(a).Compare(instant(b)) }
	return func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
		rest, err := list(ctx, userID)
		if err != nil {
			return nil, err
		}
		slices.SortFunc(rest, order)
		pages := []adapter.Authenticator{}
		for len(rest) > page {
			last := rest[page-1]
			pages = append(pages, rest[:page]...)
			rest = slices.DeleteFunc(rest[page:], func(a adapter.Authenticator) bool { return order(a, last) <= 0 })
		}
		return append(pages, rest...), nil
	}
}

// idsOfMoments makes ids of the millisecond and of a count that begins with it.
func idsOfMoments(create func(context.Context, adapter.User) (*adapter.User, error)) func(context.Context, adapter.User) (*adapter.User, error) {
	var mu sync.Mutex
	var last int64
	var count int
	return func(ctx context.Context, u adapter.User) (*adapter.User, error) {
		if u.ID == "" {
			mu.Lock()
			count++
			if now := time.Now().UnixMilli(); now != last {
				last, count = now, 0
			}
			u.ID = fmt.Sprintf("%d-%d", last, count)
			mu.Unlock()
		}
		return create(ctx, u)
	}
}

// changedRowsOnly returns nil where a rename leaves the row as it is.
func changedRowsOnly(
	get func(context.Context, string) (*adapter.Authenticator, error),
	rename func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error),
) func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	return func(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
		a, err := get(ctx, credentialID)
		if err != nil || a != nil && a.UserID == userID && a.Name != nil && *a.Name == name {
			return nil, err
		}
		return rename(ctx, userID, credentialID, name)
	}
}

// softDeleted has the accounts that were unlinked.
type softDeleted struct {
	mu       sync.Mutex
	accounts map[adapter.AccountKey]adapter.Account
}

func newSoftDeleted() *softDeleted {
	return &softDeleted{accounts: map[adapter.AccountKey]adapter.Account{}}
}

func (s *softDeleted) link(link func(context.Context, adapter.Account) (*adapter.Account, error)) func(context.Context, adapter.Account) (*adapter.Account, error) {
	return func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if old, ok := s.accounts[a.Key()]; ok {
			for _, x := range []struct{ field, old **string }{
				{&a.AccessToken, &old.AccessToken}, {&a.RefreshToken, &old.RefreshToken}, {&a.IDToken, &old.IDToken},
				{&a.Scope, &old.Scope}, {&a.TokenType, &old.TokenType}, {&a.SessionState, &old.SessionState},
			} {
				if *x.field == nil {
					*x.field = *x.old
				}
			}
		}
		return link(ctx, a)
	}
}

func (s *softDeleted) unlink(unlink func(context.Context, adapter.AccountKey) (*adapter.Account, error)) func(context.Context, adapter.AccountKey) (*adapter.Account, error) {
	return func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		a, err := unlink(ctx, key)
		if a != nil {
			s.accounts[key] = copyAccount(*a)
		}
		return a, err
	}
}

// lastBatch returns the counts of the last batch of 500.
func lastBatch(sweep func(context.Context, time.Time) (adapter.Swept, error)) func(context.Context, time.Time) (adapter.Swept, error) {
	last := func(n int64) int64 { return n - (max(n, 1)-1)/500*500 }
	return func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		swept, err := sweep(ctx, now)
		return adapter.Swept{Sessions: last(swept.Sessions), VerificationTokens: last(swept.VerificationTokens)}, err
	}
}

// verifying sets EmailVerified of the owner of each new account of type email.
func verifying(
	link func(context.Context, adapter.Account) (*adapter.Account, error), update func(context.Context, adapter.UserUpdate) (*adapter.User, error),
) func(context.Context, adapter.Account) (*adapter.Account, error) {
	return func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
		linked, err := link(ctx, a)
		if err == nil && a.Type == adapter.AccountEmail {
			_, err = update(ctx, adapter.UserUpdate{ID: a.UserID, EmailVerified: adapter.To(new(time.Now().UTC()))})
		}
		return linked, err
	}
}

// recreating moves a session to another user in two steps.
func recreating(a adapter.Adapter) func(context.Context, adapter.SessionUpdate) (*adapter.Session, error) {
	return func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		owner, moves := u.UserID.Get()
		if !moves {
			return a.UpdateSession(ctx, u)
		}
		if exists, err := a.GetUser(ctx, owner); err != nil || exists == nil {
			return a.UpdateSession(ctx, u)
		}
		s, err := a.DeleteSession(ctx, u.SessionToken)
		if s == nil || err != nil {
			return nil, err
		}
		gap()
		u.Apply(s)
		return a.CreateSession(ctx, *s)
	}
}

// busyFiles has the users of each database file for whom a transaction runs.
var busyFiles sync.Map

// oneAtATime refuses a call while another one of the user runs.
func oneAtATime[T any](busy *sync.Map, user string, call func() (*T, error)) (*T, error) {
	if _, runs := busy.LoadOrStore(user, true); runs {
		return nil, conflict("the transaction")
	}
	defer busy.Delete(user)
	return call()
}

// cachedImages keeps the images of users by what else a user has.
type cachedImages struct{ of sync.Map }

type imageKey struct{ id, name, email, verified string }

func keyOfImage(u adapter.User) imageKey {
	return imageKey{u.ID, fmt.Sprint(u.Name == nil, text(u.Name)), u.Email, fmt.Sprint(u.EmailVerified)}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (c *cachedImages) image(u *adapter.User, err error) (*adapter.User, error) {
	if u != nil {
		image, _ := c.of.LoadOrStore(keyOfImage(*u), u.Image)
		u.Image = copyText(image.(*string))
	}
	return u, err
}

func (c *cachedImages) refresh(u *adapter.User, err error) (*adapter.User, error) {
	if u != nil {
		c.of.Store(keyOfImage(*u), copyText(u.Image))
	}
	return u, err
}

// cachingImages answers GetUser from a cache of images.
func cachingImages(b base) with {
	var cached cachedImages
	return with{
		getUser: func(ctx context.Context, id string) (*adapter.User, error) { return cached.image(b.GetUser(ctx, id)) },
		updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
			return cached.refresh(b.UpdateUser(ctx, u))
		},
	}
}

func emptyUpdates(
	get func(context.Context, string) (*adapter.User, error), update func(context.Context, adapter.UserUpdate) (*adapter.User, error),
) func(context.Context, adapter.UserUpdate) (*adapter.User, error) {
	return func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
		if (u == adapter.UserUpdate{ID: u.ID}) {
			return get(ctx, u.ID)
		}
		return update(ctx, u)
	}
}

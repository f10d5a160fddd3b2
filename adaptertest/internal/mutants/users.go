package mutants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func userMutants() []Mutant {
	return []Mutant{
		{Name: "created user has no id", Fails: []string{"USER-01"},
			Fault: "CreateUser returns its argument, without the id that was assigned",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if _, err := m.CreateUser(ctx, u); err != nil {
						return nil, err
					}
					return new(copyUser(u)), nil
				}}
			}},
		{Name: "image is not stored", Fails: []string{"USER-02", "DATA-01"}, AuthJS: true,
			Fault: "CreateUser leaves out the image",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					u.Image = nil
					return m.CreateUser(ctx, u)
				}}
			}},
		{Name: "created user is returned without emailVerified", Fails: []string{"USER-03"},
			Fault: "CreateUser stores emailVerified, and does not return it",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					created, err := m.CreateUser(ctx, u)
					if created != nil {
						created.EmailVerified = nil
					}
					return created, err
				}}
			}},
		{Name: "taken id overwrites the user", Fails: []string{"USER-04"},
			Fault: "CreateUser inserts or updates by id",
			db: replaced(`INSERT INTO "user" (id, name, email, emailVerified, image) VALUES (?, ?, ?, ?, ?)`,
				`INSERT INTO "user" (id, name, email, emailVerified, image) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email`)},
		{Name: "supplied id is replaced", Fails: []string{"USER-05"},
			Fault: "CreateUser assigns ids of its own, and the harness does not declare it",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					u.ID = ""
					return m.CreateUser(ctx, u)
				}}
			}},
		{Name: "ids are the time in milliseconds", Fails: []string{"USER-06"},
			Fault: "CreateUser assigns the current millisecond as id, and overwrites a user who has that id",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.ID != "" {
						return m.CreateUser(ctx, u)
					}
					return write(ctx, m, func() (*adapter.User, error) {
						if _, taken := m.emails[u.Email]; taken {
							return nil, conflict("the e-mail")
						}
						u.ID = fmt.Sprint("u", time.Now().UnixMilli())
						m.putUser(u)
						return new(copyUser(u)), nil
					})
				}}
			}},
		{Name: "unknown user is an error", Fails: []string{"USER-07", "USER-08"}, AuthJS: true,
			Fault: "GetUser of an unknown id fails with ErrNotFound",
			mem: func(m *mem) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.GetUser(ctx, id)
					if u == nil && err == nil {
						return nil, notFound("user")
					}
					return u, err
				}}
			}},
		{Name: "ids must be UUIDs", Listed: "M20", Fails: []string{"USER-08", "AUTHN-06", "CASC-06"}, AuthJS: true,
			Fault: "GetUser, ListAuthenticatorsByUserID and DeleteUser fail for an id that is not a UUID",
			lite: func(l *lite) with {
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						if err := isUUID(id); err != nil {
							return nil, err
						}
						return l.GetUser(ctx, id)
					},
					listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
						if err := isUUID(id); err != nil {
							return nil, err
						}
						return l.ListAuthenticatorsByUserID(ctx, id)
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						if err := isUUID(id); err != nil {
							return nil, err
						}
						return l.DeleteUser(ctx, id)
					},
				}
			}},
		{Name: "ids are trimmed", Fails: []string{"USER-08"},
			Fault: "GetUser ignores blanks around the id",
			mem: func(m *mem) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					return m.GetUser(ctx, strings.TrimSpace(id))
				}}
			}},
		{Name: "user found by e-mail lacks fields", Fails: []string{"USER-09", "FLOW-06"}, AuthJS: true,
			Fault: "GetUserByEmail returns the fields of its index only: id and e-mail",
			mem: func(m *mem) with {
				return with{getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
					u, err := m.GetUserByEmail(ctx, email)
					if u != nil {
						u = &adapter.User{ID: u.ID, Email: u.Email}
					}
					return u, err
				}}
			}},
		{Name: "e-mail lookup by LIKE", Fails: []string{"USER-10", "INPUT-03"},
			Fault: "GetUserByEmail treats the address as a pattern, and finds addresses that begin with it",
			db:    replaced(`FROM "user" WHERE email = ?`, `FROM "user" WHERE email LIKE ? || '%'`)},
		{Name: "duplicate e-mail accepted", Listed: "M01", Fails: []string{"USER-11", "CONC-03"},
			Fault: "CreateUser does not look at the e-mail index; GetUserByEmail finds the newer user",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					return write(ctx, m, func() (*adapter.User, error) {
						if u.ID == "" {
							u.ID = newID()
						}
						if _, taken := m.users[u.ID]; taken {
							return nil, conflict("the id")
						}
						m.putUser(u)
						return new(copyUser(u)), nil
					})
				}}
			}},
		{Name: "refused user stays", Fails: []string{"USER-11"},
			Fault: "CreateUser stores the user before it checks whether the e-mail is taken",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					created, err := m.CreateUser(ctx, u)
					if err != nil && u.ID != "" {
						m.mu.Lock()
						defer m.mu.Unlock()
						if _, taken := m.users[u.ID]; !taken {
							m.users[u.ID] = copyUser(u)
						}
					}
					return created, err
				}}
			}},
		{Name: "only one user may have no e-mail", Fails: []string{"USER-12"},
			Fault: "the empty e-mail is unique like any other",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					if u.Email == "" {
						taken, err := l.exists(ctx, `SELECT 1 FROM "user" WHERE COALESCE(email, '') = ''`)
						if err != nil {
							return nil, err
						}
						if taken {
							return nil, conflict("the e-mail")
						}
					}
					return l.CreateUser(ctx, u)
				}}
			}},
		{Name: "lookup folds case, uniqueness does not", Fails: []string{"USER-13", "USER-15"},
			Fault: "GetUserByEmail ignores ASCII case, the unique index does not",
			lite: func(l *lite) with {
				return with{getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
					ids, err := l.column(ctx, `SELECT id FROM "user" WHERE email = ? COLLATE NOCASE AND email <> ''`, email)
					if err != nil || len(ids) == 0 {
						return nil, err
					}
					return l.GetUser(ctx, ids[0])
				}}
			}},
		{Name: "uniqueness folds case, lookup does not", Fails: []string{"USER-13"},
			Fault: "the unique index ignores ASCII case, GetUserByEmail does not",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					taken, err := l.exists(ctx, `SELECT 1 FROM "user" WHERE email = ? COLLATE NOCASE AND email <> ''`, u.Email)
					if err != nil {
						return nil, err
					}
					if taken {
						return nil, conflict("the e-mail")
					}
					return l.CreateUser(ctx, u)
				}}
			}},
		{Name: "e-mails fold case by Unicode", Fails: []string{"USER-14"},
			Fault: "lookup and uniqueness ignore case in all scripts, so that a Kelvin sign equals a k",
			mem: func(m *mem) with {
				return foldedEmails(m, func(s string) string { return strings.ToLower(strings.ToUpper(s)) })
			},
			harness: func(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }},
		{Name: "e-mails lose blanks", Fails: []string{"USER-14"},
			Fault: "lookup and uniqueness ignore blanks around an address",
			mem:   func(m *mem) with { return foldedEmails(m, strings.TrimSpace) }},
		{Name: "e-mails fold case, undeclared", Fails: []string{"USER-15"},
			Fault: "lookup and uniqueness ignore ASCII case, and the harness does not declare it",
			mem:   func(m *mem) with { return foldedEmails(m, lowerASCII) }},
		{Name: "user comes with the address asked for", Fails: []string{"USER-16"},
			Fault: "GetUserByEmail returns the spelling of the query, not the stored one",
			mem: func(m *mem) with {
				w := foldedEmails(m, lowerASCII)
				lookup := w.getUserByEmail
				w.getUserByEmail = func(ctx context.Context, email string) (*adapter.User, error) {
					u, err := lookup(ctx, email)
					if u != nil {
						u.Email = email
					}
					return u, err
				}
				return w
			},
			harness: func(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }},
		{Name: "partial update clears the rest", Listed: "M04", Fails: []string{"USER-17"}, AuthJS: true,
			Fault: "UpdateUser writes all columns; a field that is not given becomes NULL",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					var name, image *string
					var verified *time.Time
					u.Name.Apply(&name)
					u.Image.Apply(&image)
					u.EmailVerified.Apply(&verified)
					u.Name, u.Image, u.EmailVerified = adapter.To(name), adapter.To(image), adapter.To(verified)
					return l.UpdateUser(ctx, u)
				}}
			}},
		{Name: "cannot clear", Listed: "M05", Fails: []string{"USER-18"},
			Fault: "UpdateUser treats an explicit null as a field that is not given",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					if v, set := u.Name.Get(); set && v == nil {
						u.Name = adapter.Change[*string]{}
					}
					if v, set := u.Image.Get(); set && v == nil {
						u.Image = adapter.Change[*string]{}
					}
					if v, set := u.EmailVerified.Get(); set && v == nil {
						u.EmailVerified = adapter.Change[*time.Time]{}
					}
					return l.UpdateUser(ctx, u)
				}}
			}},
		{Name: "e-mail change keeps the verification", Fails: []string{"USER-18"},
			Fault: "UpdateUser does not clear emailVerified if the e-mail changes in the same call",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					if v, set := update.EmailVerified.Get(); set && v == nil && update.Email.IsSet() {
						update.EmailVerified = adapter.Change[*time.Time]{}
					}
					return m.UpdateUser(ctx, update)
				}}
			}},
		{Name: "update returns the record before it", Fails: []string{"USER-19"}, AuthJS: true,
			Fault: "UpdateUser returns the record that it read before it wrote",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					before, _ := m.GetUser(ctx, update.ID)
					after, err := m.UpdateUser(ctx, update)
					if err != nil {
						return after, err
					}
					return before, nil
				}}
			}},
		{Name: "updateUser upserts", Listed: "M02", Fails: []string{"USER-20"},
			Fault: "UpdateUser of an unknown id creates a user",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					u, err := l.UpdateUser(ctx, update)
					if !errors.Is(err, adapter.ErrNotFound) {
						return u, err
					}
					ghost := adapter.User{ID: update.ID}
					update.Apply(&ghost)
					return l.CreateUser(ctx, ghost)
				}}
			}},
		{Name: "update of an unknown user reports success", Fails: []string{"USER-20"},
			Fault: "UpdateUser returns its argument when no row matches",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					u, err := m.UpdateUser(ctx, update)
					if errors.Is(err, adapter.ErrNotFound) {
						u = &adapter.User{ID: update.ID}
						update.Apply(u)
						err = nil
					}
					return u, err
				}}
			}},
		{Name: "old address keeps working", Listed: "M03", Fails: []string{"USER-21", "USER-26"},
			Fault: "UpdateUser adds the new e-mail to the index and does not remove the old one",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					before, _ := m.GetUser(ctx, update.ID)
					after, err := m.UpdateUser(ctx, update)
					if err == nil && before != nil && before.Email != "" {
						m.mu.Lock()
						defer m.mu.Unlock()
						m.emails[before.Email] = before.ID
					}
					return after, err
				}}
			}},
		{Name: "new address is not found", Fails: []string{"USER-21"},
			Fault: "UpdateUser changes the record but not the index",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					before, _ := m.GetUser(ctx, update.ID)
					after, err := m.UpdateUser(ctx, update)
					if err == nil && before != nil && before.Email != after.Email {
						m.mu.Lock()
						defer m.mu.Unlock()
						delete(m.emails, after.Email)
						m.emails[before.Email] = before.ID
					}
					return after, err
				}}
			}},
		{Name: "change to a taken e-mail accepted", Fails: []string{"USER-22"},
			Fault: "UpdateUser does not check whether the new e-mail is taken",
			mem: func(m *mem) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					return write(ctx, m, func() (*adapter.User, error) {
						u, ok := m.users[update.ID]
						if !ok {
							return nil, notFound("user")
						}
						update.Apply(&u)
						m.putUser(u)
						return new(copyUser(u)), nil
					})
				}}
			}},
		{Name: "refused update changes the name", Fails: []string{"USER-22"},
			Fault: "UpdateUser writes the fields one by one, the e-mail last, without a transaction",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					email := update.Email
					update.Email = adapter.Change[string]{}
					if _, err := l.UpdateUser(ctx, update); err != nil {
						return nil, err
					}
					return l.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Email: email})
				}}
			}},
		{Name: "empty update fails", Fails: []string{"USER-23"},
			Fault: "UpdateUser with only the id runs a statement without columns",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					if update == (adapter.UserUpdate{ID: update.ID}) {
						return nil, errors.New("lite: syntax error near WHERE")
					}
					return l.UpdateUser(ctx, update)
				}}
			}},
		{Name: "image update without WHERE", Fails: []string{"USER-24"},
			Fault: "UpdateUser with an image changes the image of every user",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
					u, err := l.UpdateUser(ctx, update)
					if err == nil && update.Image.IsSet() && u.Image != nil {
						err = l.exec(ctx, `UPDATE "user" SET image = ?`, *u.Image)
					}
					return u, err
				}}
			}},
		{Name: "null emailVerified read as the zero time", Fails: []string{"USER-25", "DATA-02"},
			Fault: "GetUserByAccount scans a null emailVerified into a time.Time",
			mem: func(m *mem) with {
				return with{
					getUserByAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
						u, err := m.GetUserByAccount(ctx, key)
						return zeroVerified(u), err
					},
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						u, err := m.GetUser(ctx, id)
						return zeroVerified(u), err
					},
				}
			}},
		{Name: "session verifies the user", Fails: []string{"USER-25"},
			Fault: "GetSessionAndUser fills a null emailVerified with the time of the call",
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					s, err := m.GetSessionAndUser(ctx, token)
					if s != nil && s.User.EmailVerified == nil {
						s.User.EmailVerified = new(m.clock.Now())
					}
					return s, err
				}}
			}},
		{Name: "address of a deleted user stays taken", Fails: []string{"USER-26", "CASC-07"},
			Fault: "DeleteUser leaves the e-mail in the index",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					if u != nil && u.Email != "" {
						m.mu.Lock()
						defer m.mu.Unlock()
						m.emails[u.Email] = u.ID
					}
					return u, err
				}}
			}},
	}
}

// isUUID returns an error if the id is not a UUID.
func isUUID(id string) error {
	if len(id) != 36 || strings.Trim(id, "0123456789abcdef-") != "" {
		return fmt.Errorf("lite: invalid input syntax for type uuid: %q", id)
	}
	return nil
}

// foldedEmails keys the e-mail index by the text that fold returns for an address.
func foldedEmails(m *mem, fold func(string) string) with {
	holder := func(email string) (adapter.User, bool) {
		for _, u := range m.users {
			if email != "" && fold(u.Email) == fold(email) {
				return u, true
			}
		}
		return adapter.User{}, false
	}
	return with{
		createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
			m.mu.RLock()
			_, taken := holder(u.Email)
			m.mu.RUnlock()
			if taken {
				return nil, conflict("the e-mail")
			}
			return m.CreateUser(ctx, u)
		},
		getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
			return read(ctx, m, func() (*adapter.User, error) {
				if u, ok := holder(email); ok {
					return new(copyUser(u)), nil
				}
				return nil, nil
			})
		},
	}
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func zeroVerified(u *adapter.User) *adapter.User {
	if u != nil && u.EmailVerified == nil {
		u.EmailVerified = new(time.Time)
	}
	return u
}

package mutants

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func userMutants() []Mutant {
	return []Mutant{
		{Name: "created user has no id", Fails: []string{"USER-01"},
			Fault: "CreateUser returns its argument, without the id that was assigned",
			mem: on(createUser, func(ctx context.Context, m *mem, u adapter.User) (*adapter.User, error) {
				if _, err := m.CreateUser(ctx, u); err != nil {
					return nil, err
				}
				return new(copyUser(u)), nil
			})},
		{Name: "image is not stored", Fails: []string{"USER-02", "DATA-01"}, AuthJS: true,
			Fault: "CreateUser leaves out the image", mem: given[*mem](createUser, func(u *adapter.User) { u.Image = nil })},
		{Name: "created user is returned without emailVerified", Fails: []string{"USER-03"},
			Fault: "CreateUser stores emailVerified, and does not return it",
			mem:   changed[*mem](createUser, func(_ adapter.User, created *adapter.User) { created.EmailVerified = nil })},
		{Name: "taken id overwrites the user", Fails: []string{"USER-04"}, Fault: "CreateUser inserts or updates by id",
			db: replaced(`INSERT INTO "user" (id, name, email, emailVerified, image) VALUES (?, ?, ?, ?, ?)`,
				`INSERT INTO "user" (id, name, email, emailVerified, image) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name, email = excluded.email`)},
		{Name: "supplied id is replaced", Fails: []string{"USER-05"},
			Fault: "CreateUser assigns ids of its own, and the harness does not declare it",
			mem:   given[*mem](createUser, func(u *adapter.User) { u.ID = "" })},
		{Name: "each handle counts its own users", Fails: []string{"USER-06"},
			Fault: "Ids come from a counter in the adapter, so two processes assign the same id.", lite: func(l *lite, w *with) {
				var mu sync.Mutex
				var last int
				w.createUser = altered(l.CreateUser, func(u *adapter.User) {
					if u.ID == "" {
						mu.Lock()
						last++
						u.ID = fmt.Sprintf("user-%d", last)
						mu.Unlock()
					}
				})
			}},
		{Name: "ids of a moment", Fails: []string{"USER-06"}, Races: true,
			Fault: "CreateUser makes an id of the millisecond and a count of the handle: two handles make the same one at one moment.",
			both:  func(b base, w *with) { w.createUser = idsOfMoments(b.CreateUser) }},
		{Name: "assigned numbers meet given ones", OnLite: "sequence does not follow an import", Fails: []string{"USER-06"},
			Fault: "CreateUser takes the next number of a sequence if no ID is given, also a number that a user was given. It fails then.",
			both: on(createUser, func(ctx context.Context, b base, u adapter.User) (*adapter.User, error) {
				if u.ID == "" {
					n, _ := b.common().LoadOrStore("last", new(atomic.Int64))
					u.ID = strconv.FormatInt(n.(*atomic.Int64).Add(1), 10)
				}
				return b.CreateUser(ctx, u)
			})},
		{Name: "ids are the time in milliseconds", Fails: []string{"USER-06"},
			Fault: "CreateUser assigns the current millisecond as id, and overwrites a user who has that id",
			mem: on(createUser, func(ctx context.Context, m *mem, u adapter.User) (*adapter.User, error) {
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
			})},
		{Name: "unknown user is an error", Fails: []string{"USER-07", "USER-08"}, AuthJS: true,
			Fault: "GetUser of an unknown id fails with ErrNotFound", mem: missing[*mem](getUser, notFound("user"))},
		{Name: "UUID is found in other spellings", Fails: []string{"USER-08"},
			Fault: "GetUser accepts every spelling of a UUID.", mem: func(m *mem, w *with) {
				hex := regexp.MustCompile(`^[0-9a-fA-F]{32}$`)
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.GetUser(ctx, id)
					if u != nil || err != nil {
						return u, err
					}
					plain := strings.ToLower(strings.ReplaceAll(strings.Trim(id, "{}"), "-", ""))
					if !hex.MatchString(plain) {
						return nil, nil
					}
					return m.GetUser(ctx, plain[:8]+"-"+plain[8:12]+"-"+plain[12:16]+"-"+plain[16:20]+"-"+plain[20:])
				}
			}},
		{Name: "id is found in upper case", Fails: []string{"USER-08"},
			Fault: "GetUser looks up an unknown id in lower case too.",
			lite:  func(l *lite, w *with) { w.getUser = again(l.GetUser, strings.ToLower) }},
		{Name: "ids must be UUIDs", Listed: "M20", Fails: []string{"USER-08", "AUTHN-06", "CASC-06"}, AuthJS: true,
			Fault: "GetUser, ListAuthenticatorsByUserID and DeleteUser fail for an id that is not a UUID",
			lite: together(refusing(getUser, errNoUUID, noUUID), refusing(listAuthenticators, errNoUUID, noUUID),
				refusing(deleteUser, errNoUUID, noUUID))},
		{Name: "ids are trimmed", Fails: []string{"USER-08"}, Fault: "GetUser ignores blanks around the id",
			mem: given[*mem](getUser, func(id *string) { *id = strings.TrimSpace(*id) })},
		{Name: "user found by e-mail lacks fields", Fails: []string{"USER-09", "FLOW-06"}, AuthJS: true,
			Fault: "GetUserByEmail returns the fields of its index only: id and e-mail",
			mem: changed[*mem](getUserByEmail, func(_ string, u *adapter.User) {
				*u = adapter.User{ID: u.ID, Email: u.Email}
			})},
		{Name: "e-mail lookup by LIKE", Fails: []string{"USER-10", "INPUT-03"},
			Fault: "GetUserByEmail treats the address as a pattern, and finds addresses that begin with it",
			db:    replaced(`FROM "user" WHERE email = ?`, `FROM "user" WHERE email LIKE ? || '%'`)},
		{Name: "duplicate e-mail accepted", Listed: "M01", Fails: []string{"USER-11", "CONC-03"},
			Fault: "CreateUser does not look at the e-mail index; GetUserByEmail finds the newer user",
			mem: writing(createUser, func(m *mem, u adapter.User) (*adapter.User, error) {
				if u.ID == "" {
					u.ID = newID()
				}
				if _, taken := m.users[u.ID]; taken {
					return nil, conflict("the id")
				}
				m.putUser(u)
				return new(copyUser(u)), nil
			})},
		{Name: "refused user stays", Fails: []string{"USER-11"},
			Fault: "CreateUser stores the user before it checks whether the e-mail is taken",
			mem: spoiling(createUser, adapter.ErrConflict, func(m *mem, u adapter.User) {
				if _, taken := m.users[u.ID]; !taken && u.ID != "" {
					m.users[u.ID] = copyUser(u)
				}
			})},
		{Name: "one sign-up without an address", OnLite: "one row without an address", Fails: []string{"USER-12"},
			Fault: "The index of addresses that a sign-up fills holds the empty one: the second sign-up without an address is a conflict.",
			both:  func(b base, w *with) { w.createUserWithAccount = oneNameless(b.CreateUserWithAccount) }},
		{Name: "only one user may have no e-mail", Fails: []string{"USER-12"},
			Fault: "the empty e-mail is unique like any other",
			lite: refusingRows(createUser, conflict("the e-mail"),
				`SELECT 1 FROM "user" WHERE ? = '' AND COALESCE(email, '') = ''`,
				func(u adapter.User) []any { return []any{u.Email} })},
		{Name: "lookup folds case, uniqueness does not", Fails: []string{"USER-13", "USER-15"},
			Fault: "GetUserByEmail ignores ASCII case, the unique index does not",
			lite: on(getUserByEmail, func(ctx context.Context, l *lite, email string) (*adapter.User, error) {
				ids, err := l.column(ctx, `SELECT id FROM "user" WHERE email = ? COLLATE NOCASE AND email <> ''`, email)
				if err != nil || len(ids) == 0 {
					return nil, err
				}
				return l.GetUser(ctx, ids[0])
			})},
		{Name: "uniqueness folds case, lookup does not", Fails: []string{"USER-13"},
			Fault: "the unique index ignores ASCII case, GetUserByEmail does not",
			lite: refusingRows(createUser, conflict("the e-mail"),
				`SELECT 1 FROM "user" WHERE email = ? COLLATE NOCASE AND email <> ''`,
				func(u adapter.User) []any { return []any{u.Email} })},
		{Name: "plus tag is dropped", Fails: []string{"USER-14"},
			Fault: "the part of the local part that follows a plus sign is dropped",
			mem: foldedBy[*mem](byParts(func(local, domain string) string {
				local, _, _ = strings.Cut(local, "+")
				return local + "@" + domain
			}))},
		{Name: "dots in an address are dropped", Fails: []string{"USER-14"}, Fault: "dots in the local part are dropped",
			mem: foldedBy[*mem](byParts(func(local, domain string) string {
				return strings.ReplaceAll(local, ".", "") + "@" + domain
			}))},
		{Name: "look-alike letters are equal", Fails: []string{"USER-14"},
			Fault: "Cyrillic and Greek letters are replaced by the Latin ones that they look like",
			mem:   foldedBy[*mem](strings.NewReplacer("р", "p", "ο", "o", "а", "a", "е", "e").Replace)},
		{Name: "invisible characters are dropped", Fails: []string{"USER-14"},
			Fault: "soft hyphens, joiners and marks are dropped from addresses",
			lite:  foldedBy[*lite](strings.NewReplacer("\u00ad", "", "\u200d", "", "\ufeff", "").Replace)},
		{Name: "e-mails fold case by Unicode", Fails: []string{"USER-14"},
			Fault:   "lookup and uniqueness ignore case in all scripts, so that a Kelvin sign equals a k",
			harness: func(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true },
			mem: foldedEmails(func(s string) string {
				return strings.ToLower(strings.ToUpper(s))
			})},
		{Name: "e-mails lose blanks", Fails: []string{"USER-14"},
			Fault: "lookup and uniqueness ignore blanks around an address",
			mem:   foldedEmails(strings.TrimSpace)},
		{Name: "e-mails fold case, undeclared", Fails: []string{"USER-15"},
			Fault: "lookup and uniqueness ignore ASCII case, and the harness does not declare it",
			mem:   foldedEmails(lowerASCII)},
		{Name: "user comes with the address asked for", Fails: []string{"USER-16"},
			Fault:   "GetUserByEmail returns the spelling of the query, not the stored one",
			harness: func(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }, mem: func(m *mem, w *with) {
				foldedEmails(lowerASCII)(m, w)
				lookup := w.getUserByEmail
				w.getUserByEmail = func(ctx context.Context, email string) (*adapter.User, error) {
					u, err := lookup(ctx, email)
					if u != nil {
						u.Email = email
					}
					return u, err
				}

			}},
		{Name: "same address is not verified", Fails: []string{"USER-17", "USER-28"},
			Fault: "UpdateUser with an address alone clears emailVerified, also if the user has that address already.",
			lite: given[*lite](updateUser, func(u *adapter.UserUpdate) {
				if u.Email.IsSet() && !u.EmailVerified.IsSet() {
					u.EmailVerified = adapter.To[*time.Time](nil)
				}
			})},
		{Name: "new address keeps the proof", OnLite: "new address keeps the proof in SQL", Fails: []string{"USER-17"},
			Fault: "UpdateUser with an address alone leaves emailVerified as it is.",
			both:  keepsProof(func(old, to string) bool { return true })},
		{Name: "other spelling keeps the proof", Fails: []string{"USER-17"},
			Fault: "UpdateUser with another spelling of the address leaves emailVerified, and the store compares spellings.",
			mem:   func(m *mem, w *with) { keepsProof(strings.EqualFold)(m, w) }},
		{Name: "cleared address keeps the proof", Fails: []string{"USER-29"},
			Fault: "UpdateUser that clears the address leaves emailVerified.",
			mem:   func(m *mem, w *with) { keepsProof(func(_, to string) bool { return to == "" })(m, w) }},
		{Name: "partial update clears the rest", Listed: "M04", Fails: []string{"USER-17"}, AuthJS: true,
			Fault: "UpdateUser writes all columns; a field that is not given becomes NULL",
			lite: given[*lite](updateUser, func(u *adapter.UserUpdate) {
				var name, image *string
				var verified *time.Time
				u.Name.Apply(&name)
				u.Image.Apply(&image)
				u.EmailVerified.Apply(&verified)
				u.Name, u.Image, u.EmailVerified = adapter.To(name), adapter.To(image), adapter.To(verified)
			})},
		{Name: "cannot clear", Listed: "M05", Fails: []string{"USER-18"},
			Fault: "UpdateUser treats an explicit null as a field that is not given",
			lite: given[*lite](updateUser, func(u *adapter.UserUpdate) {
				if v, set := u.Name.Get(); set && v == nil {
					u.Name = adapter.Change[*string]{}
				}
				if v, set := u.Image.Get(); set && v == nil {
					u.Image = adapter.Change[*string]{}
				}
				if v, set := u.EmailVerified.Get(); set && v == nil {
					u.EmailVerified = adapter.Change[*time.Time]{}
				}
			})},
		{Name: "e-mail change keeps the verification", Fails: []string{"USER-18"},
			Fault: "UpdateUser does not clear emailVerified if the e-mail changes in the same call",
			mem: on(updateUser, func(ctx context.Context, m *mem, update adapter.UserUpdate) (*adapter.User, error) {
				if v, set := update.EmailVerified.Get(); set && v == nil && update.Email.IsSet() {
					m.mu.RLock()
					update.EmailVerified = adapter.To(m.users[update.ID].EmailVerified)
					m.mu.RUnlock()
				}
				return m.UpdateUser(ctx, update)
			})},
		{Name: "user that an update does not change is not found", OnLite: "update of a user counts changed rows", Fails: []string{"USER-19"},
			Fault: "UpdateUser replaces the document, counts the modified ones and reports ErrNotFound if there are none.",
			both: on(updateUser, func(ctx context.Context, b base, update adapter.UserUpdate) (*adapter.User, error) {
				before, err := b.GetUser(ctx, update.ID)
				if err != nil || before == nil {
					return b.UpdateUser(ctx, update)
				}
				after := *before
				update.Apply(&after)
				if update != (adapter.UserUpdate{ID: update.ID}) && reflect.DeepEqual(&after, before) {
					return nil, notFound("changed user")
				}
				return b.UpdateUser(ctx, update)
			})},
		{Name: "update returns the record before it", Fails: []string{"USER-19"}, AuthJS: true,
			Fault: "UpdateUser returns the record that it read before it wrote",
			mem: on(updateUser, func(ctx context.Context, m *mem, update adapter.UserUpdate) (*adapter.User, error) {
				before, _ := m.GetUser(ctx, update.ID)
				after, err := m.UpdateUser(ctx, update)
				if err != nil {
					return after, err
				}
				return before, nil
			})},
		{Name: "an empty update finds anybody", OnLite: "an empty UPDATE is not sent", Fails: []string{"USER-20"},
			Fault: "UpdateUser without a field to change returns nil and no error for a user who is absent.",
			both: on(updateUser, func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
				if (u == adapter.UserUpdate{ID: u.ID}) {
					return b.GetUser(ctx, u.ID)
				}
				return b.UpdateUser(ctx, u)
			})},
		{Name: "updateUser upserts", Listed: "M02", Fails: []string{"USER-20"},
			Fault: "UpdateUser of an unknown id creates a user",
			lite: answering(updateUser, adapter.ErrNotFound,
				func(ctx context.Context, l *lite, update adapter.UserUpdate) (*adapter.User, error) {
					ghost := adapter.User{ID: update.ID}
					update.Apply(&ghost)
					return l.CreateUser(ctx, ghost)
				})},
		{Name: "update of an unknown user reports success", Fails: []string{"USER-20"},
			Fault: "UpdateUser returns its argument when no row matches",
			mem: answering(updateUser, adapter.ErrNotFound,
				func(_ context.Context, _ *mem, update adapter.UserUpdate) (*adapter.User, error) {
					u := &adapter.User{ID: update.ID}
					update.Apply(u)
					return u, nil
				})},
		{Name: "old address keeps working", Listed: "M03", Fails: []string{"USER-21", "USER-26"},
			Fault: "UpdateUser adds the new e-mail to the index and does not remove the old one",
			mem: on(updateUser, func(ctx context.Context, m *mem, update adapter.UserUpdate) (*adapter.User, error) {
				before, _ := m.GetUser(ctx, update.ID)
				after, err := m.UpdateUser(ctx, update)
				if err == nil && before != nil && before.Email != "" {
					defer held(&m.mu)()
					m.emails[before.Email] = before.ID
				}
				return after, err
			})},
		{Name: "new address is not found", Fails: []string{"USER-21"},
			Fault: "UpdateUser changes the record but not the index",
			mem: on(updateUser, func(ctx context.Context, m *mem, update adapter.UserUpdate) (*adapter.User, error) {
				before, _ := m.GetUser(ctx, update.ID)
				after, err := m.UpdateUser(ctx, update)
				if err == nil && before != nil && before.Email != after.Email {
					defer held(&m.mu)()
					delete(m.emails, after.Email)
					m.emails[before.Email] = before.ID
				}
				return after, err
			})},
		{Name: "change to a taken e-mail accepted", Fails: []string{"USER-22"},
			Fault: "UpdateUser does not check whether the new e-mail is taken",
			mem:   writing(updateUser, (*mem).updateAnyUser)},
		{Name: "refused update changes the name", Fails: []string{"USER-22"},
			Fault: "UpdateUser writes the fields one by one, the e-mail last, without a transaction",
			lite: on(updateUser, func(ctx context.Context, l *lite, update adapter.UserUpdate) (*adapter.User, error) {
				email := update.Email
				update.Email = adapter.Change[string]{}
				if _, err := l.UpdateUser(ctx, update); err != nil {
					return nil, err
				}
				return l.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Email: email})
			})},
		{Name: "empty update fails", Fails: []string{"USER-23"},
			Fault: "UpdateUser with only the id runs a statement without columns",
			lite: refusing(updateUser, errors.New("lite: syntax error near WHERE"),
				func(_ *lite, u adapter.UserUpdate) bool { return u == adapter.UserUpdate{ID: u.ID} })},
		{Name: "image update without WHERE", Fails: []string{"USER-24"},
			Fault: "UpdateUser with an image changes the image of every user",
			lite: on(updateUser, func(ctx context.Context, l *lite, update adapter.UserUpdate) (*adapter.User, error) {
				u, err := l.UpdateUser(ctx, update)
				if err == nil && update.Image.IsSet() && u.Image != nil {
					err = l.exec(ctx, `UPDATE "user" SET image = ?`, *u.Image)
				}
				return u, err
			})},
		{Name: "null emailVerified read as the zero time", Fails: []string{"USER-25", "DATA-02"},
			Fault: "GetUserByAccount scans a null emailVerified into a time.Time",
			mem: together(changed[*mem](getUserByAccount, zeroVerified[adapter.AccountKey]),
				changed[*mem](getUser, zeroVerified[string]))},
		{Name: "session verifies the user", Fails: []string{"USER-25"},
			Fault: "GetSessionAndUser fills a null emailVerified with the time of the call",
			mem: noting(getSessionAndUser, func(m *mem, _ string, s *adapter.SessionAndUser) {
				if s.User.EmailVerified == nil {
					s.User.EmailVerified = new(m.clock.Now())
				}
			})},
		{Name: "id is derived from the address", Fails: []string{"USER-26"},
			Fault: "CreateUser assigns the address as id, so nobody can take an address that its first holder has given up.",
			mem: given[*mem](createUser, func(u *adapter.User) {
				if u.ID == "" && u.Email != "" {
					u.ID = "user-" + u.Email
				}
			})},
		{Name: "former addresses are freed again", Fails: []string{"USER-26"},
			Fault: "UpdateUser with a new address frees all addresses that the user ever had, also one that another user has by now.",
			mem: func(m *mem, w *with) {
				had := kept(m.records, "had", func() map[string][]string { return map[string][]string{} })
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					before, err := m.GetUser(ctx, u.ID)
					if before == nil || err != nil {
						return m.UpdateUser(ctx, u)
					}
					after, err := m.UpdateUser(ctx, u)
					if err != nil || after.Email == before.Email {
						return after, err
					}
					defer held(&m.mu)()
					had[u.ID] = append(had[u.ID], before.Email)
					for _, former := range had[u.ID] {
						if former != after.Email {
							delete(m.emails, former)
						}
					}
					return after, nil
				}
			}},
		{Name: "address of a deleted user stays taken", Fails: []string{"USER-26", "CASC-07"},
			Fault: "DeleteUser leaves the e-mail in the index", mem: noting(deleteUser, func(m *mem, _ string, u *adapter.User) {
				if u.Email != "" {
					m.emails[u.Email] = u.ID
				}
			})},
		{Name: "domain is folded", Fails: []string{"USER-27"},
			Fault: "addresses are equal if their domains differ in case only",
			mem: foldedBy[*mem](byParts(func(local, domain string) string {
				return local + "@" + lowerASCII(domain)
			}))},
		{Name: "first letter is folded", Fails: []string{"USER-27"},
			Fault: "the first letter of an address is stored in lower case", mem: foldedBy[*mem](func(email string) string {
				if email == "" {
					return ""
				}
				return lowerASCII(email[:1]) + email[1:]
			})},
		{Name: "local part is folded", Fails: []string{"USER-27"},
			Fault: "the adapter declares that it folds case, and folds only the local part", harness: folded,
			mem: foldedBy[*mem](byParts(func(local, domain string) string {
				return lowerASCII(local) + "@" + domain
			}))},
		{Name: "change of case conflicts with itself", Fails: []string{"USER-27"},
			Fault:   "addresses are folded, and UpdateUser that changes only the case of the user's address is a conflict",
			harness: folded, mem: func(m *mem, w *with) {
				foldedBy[*mem](lowerASCII)(m, w)
				update := w.updateUser
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					if email, set := u.Email.Get(); set {
						if holder, _ := w.getUserByEmail(ctx, email); holder != nil && holder.Email != email {
							return nil, conflict("the e-mail")
						}
					}
					return update(ctx, u)
				}

			}},
		{Name: "change of case frees the address", Fails: []string{"USER-27"},
			Fault: "addresses are folded, and a change of case only removes the address from the index", harness: folded,
			mem: func(m *mem, w *with) {
				foldedBy[*mem](lowerASCII)(m, w)
				update := w.updateUser
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					email, set := u.Email.Get()
					before, _ := m.GetUser(ctx, u.ID)
					updated, err := update(ctx, u)
					if err == nil && set && before != nil && email != before.Email && lowerASCII(email) == before.Email {
						m.mu.Lock()
						delete(m.emails, before.Email)
						m.mu.Unlock()
					}
					return updated, err
				}

			}},
		{Name: "update compares addresses exactly", Fails: []string{"USER-27"},
			Fault: "lookups and CreateUser fold addresses; UpdateUser indexes an address as given", harness: folded,
			mem: func(m *mem, w *with) {
				foldedBy[*mem](lowerASCII)(m, w)
				w.updateUser = m.UpdateUser

			}},
		{Name: "sign-up with capitals", Fails: []string{"USER-27"},
			Fault:   "The store folds case, and CreateUserWithAccount stores the address as it is given, under which no lookup finds it.",
			harness: folded, both: foldedBy[base](lowerASCII)},
		{Name: "own address is a conflict", Fails: []string{"USER-28"},
			Fault: "UpdateUser first asks whether the address is in use, and does not check that the user of it is another one.",
			mem:   func(m *mem, w *with) { w.updateUser = ownAddressTaken(m.GetUser, m.GetUserByEmail, m.UpdateUser) }},
		{Name: "own address with a name is a conflict", Fails: []string{"USER-28"},
			Fault: "UpdateUser refuses the user's own address if another field is given with it.", lite: func(l *lite, w *with) {
				update := ownAddressTaken(l.GetUser, l.GetUserByEmail, l.UpdateUser)
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					if u.Name.IsSet() {
						return update(ctx, u)
					}
					return l.UpdateUser(ctx, u)
				}
			}},
		{Name: "address can't be cleared", Fails: []string{"USER-29"},
			Fault: "UpdateUser treats an empty address as a field that is not given.",
			lite: given[*lite](updateUser, func(u *adapter.UserUpdate) {
				if email, set := u.Email.Get(); set && email == "" {
					u.Email = adapter.Change[string]{}
				}
			})},
		{Name: "only one user may clear the address", Fails: []string{"USER-29"},
			Fault: "The index of addresses contains the empty address: clearing the address of a second user is a conflict.",
			mem: on(updateUser, func(ctx context.Context, m *mem, u adapter.UserUpdate) (*adapter.User, error) {
				if email, set := u.Email.Get(); set && email == "" {
					m.mu.Lock()
					first := kept(m.records, "without an address", func() *string { return new("") })
					taken := *first != "" && *first != u.ID
					*first = u.ID
					m.mu.Unlock()
					if taken {
						return nil, conflict("the e-mail")
					}
				}
				return m.UpdateUser(ctx, u)
			})},
		{Name: "condition on the address is ignored", OnLite: "condition on the address is ignored in SQL", Fails: []string{"USER-30", "CONC-22"},
			Fault: "UpdateUser does not know the field IfEmail.",
			both:  given[base](updateUser, func(u *adapter.UserUpdate) { u.IfEmail = "" })},
		{Name: "condition on the address folds case", Fails: []string{"USER-30"},
			Fault: "UpdateUser compares IfEmail without regard to case, and the store compares spellings.",
			mem: preparing(updateUser, func(m *mem, u *adapter.UserUpdate) {
				if stored := m.users[u.ID].Email; strings.EqualFold(stored, u.IfEmail) {
					u.IfEmail = stored
				}
			})},
		{Name: "condition on the address guards the proof only", Fails: []string{"USER-30"},
			Fault: "UpdateUser without the address IfEmail leaves emailVerified, and changes the other fields.",
			lite: onRefusal(func(ctx context.Context, l *lite, u adapter.UserUpdate) (*adapter.User, error) {
				u.IfEmail, u.EmailVerified = "", adapter.Change[*time.Time]{}
				_, err := l.UpdateUser(ctx, u)
				return nil, errors.Join(notFound("user"), err)
			})},
		{Name: "condition on the address finds the user by it", Fails: []string{"USER-30"},
			Fault: "UpdateUser with IfEmail updates the user who has the address.",
			lite: on(updateUser, func(ctx context.Context, l *lite, u adapter.UserUpdate) (*adapter.User, error) {
				holder, err := l.GetUserByEmail(ctx, u.IfEmail)
				if err != nil {
					return nil, err
				}
				if holder != nil {
					u.ID = holder.ID
				}
				return l.UpdateUser(ctx, u)
			})},
		{Name: "other address is a conflict", Fails: []string{"USER-30"},
			Fault: "UpdateUser of a user without the address IfEmail is ErrConflict.",
			lite: onRefusal(func(context.Context, *lite, adapter.UserUpdate) (*adapter.User, error) {
				return nil, conflict("the e-mail")
			})},
		{Name: "other address is no error", OnLite: "other address is no error in SQL", Fails: []string{"USER-30"},
			Fault: "UpdateUser of a user without the address IfEmail changes nothing and returns the user.",
			both: onRefusal(func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
				return b.GetUser(ctx, u.ID)
			})},
	}
}

// keepsProof keeps emailVerified when an update sets the address alone, if keeps says so of
// the old and the new address.
func keepsProof(keeps func(old, to string) bool) func(base, *with) {
	return on(updateUser, func(ctx context.Context, b base, u adapter.UserUpdate) (*adapter.User, error) {
		email, set := u.Email.Get()
		if set && !u.EmailVerified.IsSet() {
			before, err := b.GetUser(ctx, u.ID)
			if err != nil {
				return nil, err
			}
			if before != nil && keeps(before.Email, email) {
				u.EmailVerified = adapter.To(before.EmailVerified)
			}
		}
		return b.UpdateUser(ctx, u)
	})
}

// onRefusal answers an update of a user who is there and does not have the address IfEmail.
func onRefusal[B base](answer func(context.Context, B, adapter.UserUpdate) (*adapter.User, error)) func(B, *with) {
	return on(updateUser, func(ctx context.Context, b B, u adapter.UserUpdate) (*adapter.User, error) {
		updated, err := b.UpdateUser(ctx, u)
		if u.IfEmail == "" || !errors.Is(err, adapter.ErrNotFound) {
			return updated, err
		}
		if there, failed := b.GetUser(ctx, u.ID); there == nil || failed != nil {
			return nil, err
		}
		return answer(ctx, b, u)
	})
}

// folded is mem with addresses that are compared without regard to case.
func folded(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }

// byParts joins the two parts of an address anew, and leaves other texts.
func byParts(join func(local, domain string) string) func(string) string {
	return func(email string) string {
		if local, domain, found := strings.Cut(email, "@"); found {
			return join(local, domain)
		}
		return email
	}
}

// foldedBy stores addresses under the text that key returns for them. The record
// keeps the given spelling in lower case.
func foldedBy[B base](key func(string) string) func(B, *with) {
	return func(b B, w *with) {
		storing[B](func(record any) {
			switch r := record.(type) {
			case *adapter.User:
				r.Email = key(r.Email)
			case *adapter.UserUpdate:
				if email, set := r.Email.Get(); set {
					r.Email = adapter.To(key(email))
				}
			}
		})(b, w)
		w.getUserByEmail = rekeyed(b.GetUserByEmail, key)
	}
}

// ownAddressTaken refuses an address that any user has, also the user itself.
func ownAddressTaken(get, byEmail func(context.Context, string) (*adapter.User, error), update func(context.Context, adapter.UserUpdate) (*adapter.User, error)) func(context.Context, adapter.UserUpdate) (*adapter.User, error) {
	return func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
		if email, set := u.Email.Get(); set && email != "" {
			known, err := get(ctx, u.ID)
			if err != nil {
				return nil, err
			}
			holder, err := byEmail(ctx, email)
			if err != nil {
				return nil, err
			}
			if known != nil && holder != nil {
				return nil, conflict("the e-mail")
			}
		}
		return update(ctx, u)
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

// oneNameless lets one user sign up without an address.
func oneNameless(signUp signUpFunc) signUpFunc {
	var once sync.Mutex
	return func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
		if u.Email == "" && !once.TryLock() {
			return nil, conflict("the e-mail")
		}
		return signUp(ctx, u, a, w)
	}
}

var errNoUUID = errors.New("lite: invalid input syntax for type uuid")

func noUUID(_ *lite, id string) bool {
	return len(id) != 36 || strings.Trim(id, "0123456789abcdef-") != ""
}

// foldedEmails keys the e-mail index by the text that fold returns for an address.
func foldedEmails(fold func(string) string) func(*mem, *with) {
	return func(m *mem, w *with) {
		holder := func(email string) (adapter.User, bool) {
			for _, u := range m.users {
				if email != "" && fold(u.Email) == fold(email) {
					return u, true
				}
			}
			return adapter.User{}, false
		}
		w.createUser = func(ctx context.Context, u adapter.User) (*adapter.User, error) {
			m.mu.RLock()
			_, taken := holder(u.Email)
			m.mu.RUnlock()
			if taken {
				return nil, conflict("the e-mail")
			}
			return m.CreateUser(ctx, u)
		}
		w.getUserByEmail = rlocked(m, func(email string) (*adapter.User, error) {
			if u, ok := holder(email); ok {
				return new(copyUser(u)), nil
			}
			return nil, nil
		})
	}
}

func zeroVerified[A any](_ A, u *adapter.User) {
	if u.EmailVerified == nil {
		u.EmailVerified = new(time.Time)
	}
}

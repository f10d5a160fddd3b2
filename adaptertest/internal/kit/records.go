package kit

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Records are the records of a user that are stored: one of each kind, and more of the
// kinds of which a user has several.
type Records struct {
	Draft
	// Passkey is the account that the authenticator is connected to. It is stored if the
	// adapter can delete authenticators.
	Passkey        adapter.Account
	Accounts       []adapter.Account
	Sessions       []adapter.Session
	Tokens         []adapter.VerificationToken
	Authenticators []adapter.Authenticator
	// New is for the calls that create and change records of the user, SignUp for one that
	// creates another user, and Entrant for one that creates a third with a password.
	New, SignUp, Entrant Draft
	// Swapped is the password that takes the place of the user's by a swap.
	Swapped adapter.Password

	has   map[Kind]bool  // of the kinds of which a record was found
	found map[string]any // what the lookups found, by their methods
}

// RecordsOf returns the records of a user who has no others yet.
func RecordsOf(u *adapter.User) *Records { return &Records{Draft: Draft{User: *u}} }

// NewFixture creates, through an adapter, the records that a call of every method needs.
func NewFixture(c *Context, a adapter.Adapter) *Records {
	k := Newcomer(c, a)
	k.Passkey = c.NewAccount(k.User.ID)
	k.Passkey.Type, k.Passkey.ProviderAccountID = adapter.AccountWebAuthn, k.Authenticator.ProviderAccountID
	if Connects(c) {
		Done(c, a, LinkAccount(k.Passkey))
	}
	k.New.User = UserWithID(c)
	k.New.Account, k.New.Session, k.New.Token = c.NewAccount(k.User.ID), c.NewSession(k.User.ID), c.NewToken()
	k.New.Authenticator = c.NewAuthenticator(k.User.ID)
	k.New.UserUpdate = UserUpdate(c, k.User.ID, UserFields)
	k.New.SessionUpdate = adapter.SessionUpdate{SessionToken: k.Session.SessionToken, Expires: adapter.To(c.Instant(3 * time.Hour))}
	k.New.Password, k.Swapped = NewPassword(c, k.User.ID), NewPassword(c, k.User.ID)
	k.SignUp, k.Entrant = NewSignUp(c), NewEntrant(c)
	k.New.accountUpdate = AccountUpdate(c, k.Account.Key(), AccountFields)
	k.New.Touched = c.Instant(0)
	return k
}

// Add adds the draft's record to the list of its kind, or makes it the user.
func (k *Records) Add(d *Draft) {
	switch d.Kind {
	case UserRecord:
		k.User = d.User
	case AccountRecord:
		k.Accounts = append(k.Accounts, d.Account)
	case SessionRecord:
		k.Sessions = append(k.Sessions, d.Session)
	case VerificationTokenRecord:
		k.Tokens = append(k.Tokens, d.Token)
	case AuthenticatorRecord:
		k.Authenticators = append(k.Authenticators, d.Authenticator)
	}
}

// Drafts returns each record of the lists: accounts, sessions, tokens, authenticators.
func (k *Records) Drafts() []*Draft {
	return slices.Concat(
		Map(k.Accounts, func(x adapter.Account) *Draft { return &Draft{Kind: AccountRecord, Account: x} }),
		Map(k.Sessions, func(x adapter.Session) *Draft { return &Draft{Kind: SessionRecord, Session: x} }),
		Map(k.Tokens, func(x adapter.VerificationToken) *Draft { return &Draft{Kind: VerificationTokenRecord, Token: x} }),
		Map(k.Authenticators, func(x adapter.Authenticator) *Draft { return &Draft{Kind: AuthenticatorRecord, Authenticator: x} }))
}

// Expected is a lookup with the record that it must return.
type Expected struct {
	Call
	Want any
}

// Expected returns the lookups of the user and of the records of the lists.
func (k *Records) Expected() []Expected {
	all := []Expected{{GetUser(k.User.ID), &k.User}, {GetUserByEmail(k.User.Email), &k.User}}
	for _, x := range k.Accounts {
		all = append(all, Expected{GetAccountByKey(x.Key()), &x}, Expected{GetUserByAccount(x.Key()), &k.User})
	}
	for _, x := range k.Sessions {
		all = append(all, Expected{GetSessionAndUser(x.SessionToken), &adapter.SessionAndUser{Session: x, User: k.User}})
	}
	for _, x := range k.Authenticators {
		all = append(all, Expected{GetAuthenticator(x.CredentialID), &x})
	}
	return all
}

// Lists returns the lists of the user's records.
func (k *Records) Lists() []Expected {
	return []Expected{{ListAuthenticatorsByUserID(k.User.ID), k.Authenticators}, {ListAccountsByUserID(k.User.ID), k.Accounts},
		{ListSessionsByUserID(k.User.ID), k.Sessions}}
}

// Compare makes the lookups that the adapter has, and compares what they return.
func Compare(c *Context, a adapter.Adapter, when string, all []Expected) {
	for _, x := range all {
		if !c.Works(x.Method) {
			continue
		}
		what := x.Method + " " + when
		if got, err := x.Do(c.Ctx, a); err != nil {
			c.Errorf("%s: %v", what, err)
		} else {
			c.Same(what, got, x.Want)
		}
	}
}

// Connects reports whether the adapter deletes an account together with the authenticator that is connected to it.
func Connects(c *Context) bool {
	return c.Works("DeleteAuthenticator") && c.Stores(AccountRecord)
}

// Keys returns the keys of all records of a fixture except verification tokens.
func (k *Records) Keys() Keys {
	email, _ := k.New.UserUpdate.Email.Get()
	return Keys{
		Users:       []string{k.User.ID, k.New.User.ID, k.SignUp.User.ID, k.Entrant.User.ID},
		Emails:      []string{k.User.Email, email, k.New.User.Email, k.SignUp.User.Email, k.Entrant.User.Email},
		Accounts:    []adapter.AccountKey{k.Account.Key(), k.New.Account.Key(), k.Passkey.Key(), k.SignUp.Account.Key()},
		Sessions:    []string{k.Session.SessionToken, k.New.Session.SessionToken},
		Credentials: []string{k.Authenticator.CredentialID, k.New.Authenticator.CredentialID, k.SignUp.Authenticator.CredentialID},
	}
}

// Newcomer creates a user with one record of each kind that the adapter stores. The records of the
// other kinds are not stored.
func Newcomer(c *Context, a adapter.Adapter) *Records {
	k := &Records{has: map[Kind]bool{}}
	for _, kind := range RecordKinds {
		k.fill(c, kind.Kind, k.User.ID)
		if k.has[kind.Kind] = c.Works(kind.Create); k.has[kind.Kind] {
			k.Store(c, a)
		}
	}
	k.Kind = ""
	if k.Password = NewPassword(c, k.User.ID); c.Works("SetPassword") {
		Done(c, a, SetPassword(k.Password))
	}
	return k
}

// Residents creates n further users with one record of each kind, whose keys
// a clause may use. The clause must call Intact at its end.
func Residents(c *Context, n int) []*Records {
	return Times(n, func() *Records { return addUninvolved(c) })
}

// Intact compares the residents' records with those before.
func Intact(c *Context, residents []*Records) {
	for _, k := range residents {
		k.Check(c, c.Raw)
	}
}

// addUninvolved creates the uninvolved user: a user with one record of each kind, whom a clause does not use and must
// not change. The lookups before the clause are compared with those after it. A store that loses a record at once
// breaks other clauses. A kind of record that can't be created is left out.
func addUninvolved(c *Context) *Records {
	k := &Records{has: map[Kind]bool{}}
	for _, kind := range RecordKinds {
		if kind.Kind != UserRecord && kind.Kind != VerificationTokenRecord && k.User.ID == "" {
			continue
		}
		d := k.Draft
		d.fill(c, kind.Kind, k.User.ID)
		if kind.Kind == UserRecord {
			d.User.ID = "" // the adapter assigns it
		}
		made, err := d.Create().Do(c.Ctx, c.Raw)
		if err != nil {
			continue
		}
		if kind.Kind == UserRecord {
			u, _ := made.(*adapter.User)
			if u == nil {
				continue
			}
			d.User = *u
		}
		k.Draft = d
	}
	k.Kind = ""
	if c.Works("SetPassword") && k.User.ID != "" {
		_, _ = SetPassword(NewPassword(c, k.User.ID)).Do(c.Ctx, c.Raw) // one that is not stored is left out, as the records are
	}
	Wrote(c)
	k.found = k.look(c, c.Raw)
	k.has[VerificationTokenRecord] = k.Token.Token != ""
	for method, record := range k.found {
		if m, _ := MethodNamed(method); !IsNothing(record) {
			k.has[m.Kind] = true
		}
	}
	return k
}

// Has reports whether the user has a record of the kind.
func (k *Records) Has(kind Kind) bool { return k.has[kind] }

// Forget forgets the record of the kind.
func (k *Records) Forget(kind Kind) { delete(k.has, kind) }

// look makes all lookups of the records except of the verification token, which a lookup
// would use up. What a failed lookup returns does not count.
func (k *Records) look(c *Context, a adapter.Adapter) map[string]any {
	c.Settle()
	look := k.Draft.Keys()
	if k.User.ID == "" {
		look.Emails = nil
	}
	found := map[string]any{}
	for _, l := range lookups(c, look) {
		if record, err := l.call.Do(c.Ctx, a); err == nil {
			found[l.Method] = record
		}
	}
	return found
}

// comparisons are the lookups of the uninvolved user in words.
var comparisons = []struct {
	method, article, what string
	lasting               bool // the record never expires
}{
	{"GetUser", "a", "user", true},
	{"GetUserByEmail", "a", "user by e-mail", true},
	{"GetAccount", "an", "account", true},
	{"GetUserByAccount", "a", "user by account", true},
	{"GetSessionAndUser", "a", "session and user", false},
	{"GetAuthenticator", "an", "authenticator", true},
	{"ListAccountsByUserID", "the", "list of accounts", false},
	{"ListSessionsByUserID", "the", "list of sessions", false},
	{"ListAuthenticatorsByUserID", "the", "list of authenticators", true},
	{"GetPassword", "a", "password", true},
}

// Check compares the uninvolved user's records with those before the clause.
func (k *Records) Check(c *Context, a adapter.Adapter) {
	defer inThreeLines(c, breaches(c))
	Wrote(c)
	after := k.look(c, a)
	for _, x := range comparisons {
		c.Same("the uninvolved user's "+x.what+" changed", after[x.method], k.found[x.method])
	}
	if k.Has(VerificationTokenRecord) {
		if t, err := a.UseVerificationToken(c.Ctx, k.Token.Key()); err == nil && t == nil {
			c.Errorf("the uninvolved user's verification token is absent")
		}
	}
}

// Lasting compares the uninvolved user's records that never expire.
func (k *Records) Lasting(c *Context, when string) {
	lasting := *k
	lasting.Session.SessionToken = ""
	after := lasting.look(c, c.Raw)
	if !IsNothing(k.found["GetUser"]) && IsNothing(after["GetUser"]) {
		c.Errorf("a user is absent %s", when)
	}
	for _, x := range comparisons {
		if x.lasting {
			c.Same(x.article+" "+x.what+" "+when, after[x.method], k.found[x.method])
		}
	}
}

// breaches returns how many breaches were reported.
func breaches(c *Context) int {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.failures)
}

// inThreeLines shortens the list of breaches after the first n to three lines. The
// last line gives the number of the others.
func inThreeLines(c *Context, n int) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if more := len(c.failures) - n - 2; more > 1 {
		c.failures = append(c.failures[:n+2], fmt.Sprintf("and %d more differences of the uninvolved user", more))
	}
}

// Values returns the keys, and the parts of keys, of all records of the user.
func (k *Records) Values() map[string]string {
	values := map[string]string{}
	for _, x := range []struct {
		kind        Kind
		part, value string
	}{
		{UserRecord, "user id", k.User.ID},
		{UserRecord, "e-mail", k.User.Email},
		{AccountRecord, "provider", k.Account.Provider},
		{AccountRecord, "account id", k.Account.ProviderAccountID},
		{SessionRecord, "session token", k.Session.SessionToken},
		{VerificationTokenRecord, "identifier", k.Token.Identifier},
		{VerificationTokenRecord, "token", k.Token.Token},
		{AuthenticatorRecord, "credential id", k.Authenticator.CredentialID},
		{AuthenticatorRecord, "passkey account id", k.Authenticator.ProviderAccountID},
	} {
		if k.Has(x.kind) {
			values[x.part] = x.value
		}
	}
	return values
}

// Key returns the user's key for the method, if it has one.
func (k *Records) Key(m Method) ([]string, bool) {
	values := k.Values()
	key := Map(m.Parts, func(part string) string { return values[part] })
	return key, k.Has(m.Kind) && !slices.Contains(key, "")
}

// Populate calls f(0) to f(n-1), from one goroutine or from several, after measuring which is faster with the store.
func Populate(c *Context, n int, f func(i int)) {
	const sample = 24
	run := func(from, to, workers int) time.Duration {
		start := time.Now()
		c.Parallel(workers, func(worker int) {
			for i := from + worker; i < to && !c.Failed(); i += workers {
				f(i)
			}
		})
		return time.Since(start)
	}
	first, second := min(sample, n), min(2*sample, n)
	alone, together := run(0, first, 1), run(first, second, volumeWorkers)
	workers := volumeWorkers
	if alone < together {
		workers = 1
	}
	run(second, n, workers)
}

// Many is ManyRecords, or fewer in a run of less than one round.
func Many(c *Context) int { return ManyRecords / min(7, c.Stride) }

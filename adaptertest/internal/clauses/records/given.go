package records

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// everything creates a user with one record of each kind.
func everything(c *kit.Context) *kit.Records {
	b := userWith(c, 1, 1, 1)
	if c.Stores(kit.VerificationTokenRecord) {
		b.Tokens = append(b.Tokens, c.Token())
	}
	return b
}

// userWith creates a user with the given numbers of records, of each kind that the adapter keeps.
func userWith(c *kit.Context, accounts, sessions, authenticators int) *kit.Records {
	return give(c, c.User(), accounts, sessions, authenticators)
}

// give creates the given numbers of records for the user, of each kind that the adapter keeps.
func give(c *kit.Context, u *adapter.User, accounts, sessions, authenticators int) *kit.Records {
	b := kit.RecordsOf(u)
	for _, of := range []struct {
		kind kit.Kind
		n    int
	}{{kit.AccountRecord, accounts}, {kit.SessionRecord, sessions}, {kit.AuthenticatorRecord, authenticators}} {
		for range of.n {
			if x := kit.NewDraft(c, of.kind, u.ID); c.Works(x.Create().Method) {
				x.Store(c, c.Adapter)
				b.Add(x)
			}
		}
	}
	return b
}

// cameBack takes the records away from the user and gives them back, and returns them: sessions move to
// another user and back, or are deleted and created again; accounts and authenticators
// go and come, and another user has an account in between.
func cameBack(c *kit.Context, b *kit.Records) *kit.Records {
	other := c.User().ID
	moves := len(b.Sessions) > 0 && kit.SessionsMove(c)
	for i, s := range b.Sessions {
		switch {
		case i%2 == 0 && moves:
			for _, owner := range []string{other, b.User.ID} {
				c.UpdateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(owner)})
			}
		case c.Works("DeleteSession"):
			c.DeleteSession(s.SessionToken)
			c.CreateSession(s)
		}
	}
	for i, a := range b.Accounts {
		if !c.Works("UnlinkAccount") {
			break
		}
		c.UnlinkAccount(a.Key())
		if i%2 == 0 {
			c.LinkAccount(accountWith(c, other, a.Key()))
			c.UnlinkAccount(a.Key())
		}
		c.LinkAccount(a)
	}
	for _, a := range b.Authenticators {
		if c.Works("DeleteAuthenticator") {
			kit.Of[*adapter.Authenticator](c, kit.DeleteAuthenticator(b.User.ID, a.CredentialID, false))
			c.CreateAuthenticator(a)
		}
	}
	return b
}

// outgrown creates users whose sessions have outlived the lifetime that they were created with, because they were
// extended: of one user only these, of another they also moved to the user, and a third has one more session,
// which was created after them. A fourth has sessions that had expired before. What a store keeps beside a
// session, such as a list of the user's sessions, must live as long as the session.
func outgrown(c *kit.Context) []*kit.Records {
	if !c.Works("UpdateSession") {
		return nil
	}
	moves := kit.SessionsMove(c)
	for soon := 1200 * time.Millisecond; ; soon *= 2 {
		end := c.Now().Add(soon).UTC().Truncate(time.Millisecond)
		users := []*kit.Records{extended(c, end, false), extended(c, end, moves), extended(c, end, false)}
		users[2].Sessions = append(users[2].Sessions, c.Session(users[2].User.ID))
		if left := end.Sub(c.Now()); left > 0 || soon > faulted.OpenTime {
			kit.Wait(c, max(left, 0)+50*time.Millisecond+c.Harness().Precision())
			if b := revived(c); b != nil {
				users = append(users, b)
			}
			return users
		} // else a session may have expired before it was extended, and others get more time
	}
}

// extended creates a user with sessions that expire at the instant, or that expire then
// and belong to another user, and extends them.
func extended(c *kit.Context, end time.Time, fromAnother bool) *kit.Records {
	b := kit.RecordsOf(c.User())
	for i := range 3 {
		s := c.NewSession(b.User.ID)
		s.Expires = end
		update := adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.Instant(time.Duration(1+i) * time.Hour))}
		if fromAnother {
			s.UserID, update.UserID = c.User().ID, adapter.To(b.User.ID)
		}
		c.CreateSession(s)
		c.UpdateSession(update)
		update.Apply(&s)
		b.Sessions = append(b.Sessions, s)
	}
	return b
}

// revived creates a user with sessions that have expired, and extends them. It returns nil if
// the adapter takes an expired session for absent.
func revived(c *kit.Context) *kit.Records {
	b := kit.RecordsOf(c.User())
	for i := range 3 {
		s := c.NewSession(b.User.ID)
		s.Expires = c.Instant(-time.Minute)
		if _, err := c.Adapter.CreateSession(c.Ctx, s); err != nil {
			return nil // an instant that has passed may be refused
		}
		update := adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.Instant(time.Duration(1+i) * time.Hour))}
		_, _ = c.Adapter.UpdateSession(c.Ctx, update)
		update.Apply(&s)
		if got := c.GetSession(s.SessionToken); got == nil || c.Unlike(&got.Session, &s) != "" {
			return nil
		}
		b.Sessions = append(b.Sessions, s)
	}
	return b
}

// unchanged compares the stored records with the created ones, by every lookup except the one that uses up a token.
func unchanged(c *kit.Context, when string, a adapter.Adapter, b *kit.Records) {
	kit.Compare(c, a, when, b.Expected())
	if c.Works("CreateAuthenticator") {
		kit.Compare(c, a, when, b.Lists()[:1])
	}
}

// linkedAs links an account of the user, with what change gives it.
func linkedAs(c *kit.Context, userID string, change func(*adapter.Account)) adapter.Account {
	a := c.NewAccount(userID)
	change(&a)
	return c.LinkAccount(a)
}

// registeredAs creates an authenticator of the user, with what change gives it.
func registeredAs(c *kit.Context, userID string, change func(*adapter.Authenticator)) adapter.Authenticator {
	w := c.NewAuthenticator(userID)
	change(&w)
	c.CreateAuthenticator(w)
	return w
}

// connectedTo returns the account that the authenticator is connected to.
func connectedTo(c *kit.Context, w adapter.Authenticator) adapter.Account {
	a := c.NewAccount(w.UserID)
	a.Type, a.ProviderAccountID = adapter.AccountWebAuthn, w.ProviderAccountID
	return a
}

// accountWith returns an account with the key and every field set.
func accountWith(c *kit.Context, userID string, key adapter.AccountKey) adapter.Account {
	a := c.NewAccount(userID)
	a.Provider, a.ProviderAccountID = key.Provider, key.ProviderAccountID
	return a
}

// owned compares an account and its owner, by every lookup.
func owned(c *kit.Context, what string, a adapter.Account, owner *adapter.User) {
	c.Same("GetUserByAccount of "+what, c.GetUserByAccount(a.Key()), owner)
	kit.Sees(c, "GetAccount of "+what, kit.GetAccountByKey(a.Key()), &a)
}

// resolves compares a session and its user.
func resolves(c *kit.Context, what string, s adapter.Session, u *adapter.User) {
	c.Same(what, c.GetSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: *u})
}

// surround gives a user two records of each kind but one, so that a list of that kind which joins another one
// would have each record twice. The accounts and authenticators are connected to the account IDs.
func surround(c *kit.Context, userID string, but kit.Kind, connections ...string) {
	for _, kind := range []kit.Kind{kit.AccountRecord, kit.SessionRecord, kit.AuthenticatorRecord} {
		if kind == but || !c.Works(kit.KindOf(kind).Create) {
			continue
		}
		for range 2 {
			for _, connection := range append(connections, c.Unique("connection")) {
				x := kit.NewDraft(c, kind, userID)
				x.Account.Type, x.Account.Provider, x.Account.ProviderAccountID = adapter.AccountWebAuthn, c.Unique("provider"), connection
				x.Authenticator.ProviderAccountID = connection
				x.Store(c, c.Adapter)
			}
		}
	}
}

// giveOwner gives each session the user whom it has already. The update may be refused.
func giveOwner(c *kit.Context, sessions ...adapter.Session) {
	for _, s := range sessions {
		_, _ = c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(s.UserID)})
	}
}

// rawSessions creates n sessions of the user, without the observer.
func rawSessions(c *kit.Context, userID string, n int) []adapter.Session {
	return kit.Times(n, func() adapter.Session { return kit.StoreRaw(c, kit.CreateSession, c.NewSession(userID)) })
}

// clearing returns an update of the field to null.
func clearing(key adapter.AccountKey, field string) adapter.AccountUpdate {
	null := adapter.To[*string](nil)
	return kit.OnlyFields(adapter.AccountUpdate{
		Provider: key.Provider, ProviderAccountID: key.ProviderAccountID, AccessToken: null, RefreshToken: null, IDToken: null,
		Scope: null, TokenType: null, SessionState: null, ExpiresAt: adapter.To[*int64](nil),
		AuthorizationDetails: adapter.To[json.RawMessage](nil),
	}, []string{field})
}

// textOf returns a text of length bytes that begins with start and repeats no
// part, so that every cut or exchange of parts changes it.
func textOf(length int, start string) string {
	var b strings.Builder
	b.WriteString(start)
	for i := 0; b.Len() < length; i++ {
		fmt.Fprintf(&b, ".%x", i)
	}
	return b.String()[:length]
}

// unknownOwner is an id that no user has.
type unknownOwner struct {
	what, ID string
	mayCome  bool // a user with this id can be created
}

func unknownOwners(c *kit.Context) []unknownOwner {
	owners := []unknownOwner{
		{"an unknown user", c.ID(), c.Works("CreateUser") && !c.Harness().Declarations.AssignsIDs},
		{"a malformed user id", "zzzzzzzzzzzzzzzzzzzzzzzz", false},
		{"a short user id", "zz-" + c.Unique(""), false},
	}
	if id, ok := deletedUser(c); ok {
		owners = append(owners, unknownOwner{"a deleted user", id, false})
	}
	return owners
}

// deletedUser returns the ID of a user who was deleted, if the adapter can do that.
func deletedUser(c *kit.Context) (id string, ok bool) {
	if !c.Works("DeleteUser") {
		return "", false
	}
	id = c.User().ID
	c.DeleteUser(id)
	return id, true
}

// unknownUsers are IDs that no user has, well-formed and not.
func unknownUsers(c *kit.Context) []string {
	ids := []string{c.ID(), "", "nobody", "000000000000000000000000", "zzzzzzzzzzzzzzzzzzzzzzzz", "00000000-0000-0000-0000-000000000000", "99999999999999999999", "-1", "%", "*", "' OR ''='"}
	if id, ok := deletedUser(c); ok {
		ids = append(ids, id)
	}
	return ids
}

package mongo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestOptionalMethods calls the methods of the optional interfaces, for success
// and for each refusal.
func TestOptionalMethods(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a, _ := s.newStore(t)
		callOptionalMethods(t, a)
	})
}

func callOptionalMethods(t *testing.T, a *mongo.Adapter) {
	ctx := t.Context()
	at := time.Date(2039, 3, 1, 12, 30, 15, 123456789, time.FixedZone("", 20700))
	stored := at.UTC().Truncate(time.Millisecond)

	account := adapter.Account{Type: adapter.AccountWebAuthn, Provider: "passkey", ProviderAccountID: "1",
		AuthorizationDetails: json.RawMessage(`[{"type":"x"}]`)}
	first := adapter.Authenticator{CredentialID: "first", ProviderAccountID: "1", CredentialPublicKey: "key",
		Counter: 5, Name: new("Ada's key"), Created: &at}
	ada := must(a.CreateUserWithAccount(ctx, adapter.User{Name: new("Ada"), Email: "ada@example.com", EmailVerified: &at}, account, &first))(t)
	same(t, "CreateUserWithAccount", ada, adapter.User{ID: ada.ID, Name: new("Ada"), Email: "ada@example.com", EmailVerified: &stored})
	account.UserID, first.UserID, first.Created = ada.ID, ada.ID, &stored
	same(t, "GetUserByAccount", must(a.GetUserByAccount(ctx, account.Key()))(t), *ada)
	same(t, "GetAccount", must(a.GetAccount(ctx, "1", "passkey"))(t), account)
	same(t, "GetAuthenticator", must(a.GetAuthenticator(ctx, "first"))(t), first)
	bob := must(a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "bob"}, nil))(t)
	for what, c := range map[string]struct {
		user    adapter.User
		account string
		authn   *adapter.Authenticator
	}{
		"address":    {adapter.User{Email: "ada@example.com"}, "new", nil},
		"account":    {adapter.User{Email: "eve@example.com"}, "bob", nil},
		"credential": {adapter.User{Email: "eve@example.com"}, "new", &adapter.Authenticator{CredentialID: "first"}},
	} {
		made, err := a.CreateUserWithAccount(ctx, c.user, adapter.Account{Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: c.account}, c.authn)
		refused(t, "CreateUserWithAccount, same "+what, made, err, adapter.ErrConflict)
		left, err := a.GetUserByEmail(ctx, "eve@example.com")
		absent(t, "the user after the refusal", left, err)
		gone, err := a.GetAccount(ctx, "new", "p")
		absent(t, "the account after the refusal", gone, err)
	}

	second := adapter.Account{UserID: ada.ID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "ada", AccessToken: new("old"), Scope: new("openid")}
	must(a.LinkAccount(ctx, second))(t)
	second.AccessToken, second.ExpiresAt, second.AuthorizationDetails = new("fresh"), new(int64(1<<40)), json.RawMessage(`[]`)
	update := adapter.AccountUpdate{Provider: "p", ProviderAccountID: "ada", AccessToken: adapter.To(second.AccessToken),
		ExpiresAt: adapter.To(second.ExpiresAt), AuthorizationDetails: adapter.To(second.AuthorizationDetails)}
	same(t, "UpdateAccount", must(a.UpdateAccount(ctx, update))(t), second)
	same(t, "UpdateAccount of nothing", must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "ada"}))(t), second)
	second.Scope, second.AuthorizationDetails = nil, nil
	same(t, "UpdateAccount to null", must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "ada",
		Scope: adapter.To[*string](nil), AuthorizationDetails: adapter.To[json.RawMessage](nil)}))(t), second)
	for _, key := range []string{"nobody", "", "a\x00"} {
		updated, err := a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: key, Scope: adapter.To(new("x"))})
		refused(t, "UpdateAccount of none", updated, err, adapter.ErrNotFound)
	}
	if list := must(a.ListAccountsByUserID(ctx, ada.ID))(t); len(list) != 2 {
		t.Errorf("ListAccountsByUserID: got %v", list)
	}

	for i := range 3 {
		must(a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprint("s", i), UserID: ada.ID, Expires: at}))(t)
	}
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "bob", UserID: bob.ID, Expires: at}))(t)
	if list := must(a.ListSessionsByUserID(ctx, ada.ID))(t); len(list) != 3 || !list[0].Expires.Equal(stored) {
		t.Errorf("ListSessionsByUserID: got %v", list)
	}
	for _, c := range []struct {
		except string
		want   int64
	}{{"s1", 2}, {"s1", 0}, {"bob", 1}, {"\xff", 0}, {"", 0}} {
		if n := must(a.DeleteSessionsByUserID(ctx, ada.ID, c.except))(t); n != c.want {
			t.Errorf("DeleteSessionsByUserID but %q: got %d, want %d", c.except, n, c.want)
		}
	}
	if list := must(a.ListSessionsByUserID(ctx, bob.ID))(t); len(list) != 1 {
		t.Errorf("the sessions of another user: got %v", list)
	}
	for _, id := range []string{"", "nobody", "0123456789ABCDEF01234567", "a\x00"} {
		if list := must(a.ListSessionsByUserID(ctx, id))(t); list == nil || len(list) != 0 {
			t.Errorf("ListSessionsByUserID of %q: got %#v", id, list)
		}
		if list := must(a.ListAccountsByUserID(ctx, id))(t); list == nil || len(list) != 0 {
			t.Errorf("ListAccountsByUserID of %q: got %#v", id, list)
		}
		if n := must(a.DeleteSessionsByUserID(ctx, id, ""))(t); n != 0 {
			t.Errorf("DeleteSessionsByUserID of %q: got %d", id, n)
		}
		none, err := a.DeleteAuthenticator(ctx, id, "first", false)
		absent(t, "DeleteAuthenticator of "+id, none, err)
		none, err = a.RenameAuthenticator(ctx, id, "first", "x")
		absent(t, "RenameAuthenticator of "+id, none, err)
	}

	first.Name = new("Schlüssel 🗝")
	same(t, "RenameAuthenticator", must(a.RenameAuthenticator(ctx, ada.ID, "first", *first.Name))(t), first)
	none, err := a.RenameAuthenticator(ctx, bob.ID, "first", "x")
	absent(t, "RenameAuthenticator of another user", none, err)
	first.Counter, first.LastUsed = 6, &stored
	same(t, "TouchAuthenticator", must(a.TouchAuthenticator(ctx, "first", 5, 6, at))(t), first)
	none, err = a.TouchAuthenticator(ctx, "first", 5, 7, at)
	absent(t, "TouchAuthenticator from another counter", none, err)
	same(t, "GetAuthenticator", must(a.GetAuthenticator(ctx, "first"))(t), first)
	for _, id := range []string{"First", "", "a\x00"} {
		none, err = a.TouchAuthenticator(ctx, id, 0, 1, at)
		refused(t, "TouchAuthenticator of none", none, err, adapter.ErrNotFound)
	}

	none, err = a.DeleteAuthenticator(ctx, bob.ID, "first", false)
	absent(t, "DeleteAuthenticator of another user", none, err)
	must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: ada.ID, CredentialID: "twin", ProviderAccountID: "1"}))(t)
	must(a.DeleteAuthenticator(ctx, ada.ID, "twin", true))(t)
	same(t, "the account of two authenticators", must(a.GetAccount(ctx, "1", "passkey"))(t), account)
	same(t, "DeleteAuthenticator", must(a.DeleteAuthenticator(ctx, ada.ID, "first", true))(t), first)
	gone, err := a.GetAccount(ctx, "1", "passkey")
	absent(t, "the account of the deleted authenticator", gone, err)
	none, err = a.DeleteAuthenticator(ctx, ada.ID, "first", true)
	absent(t, "DeleteAuthenticator again", none, err)

	for _, token := range []adapter.VerificationTokenKey{{Identifier: "ada", Token: "1"}, {Identifier: "ada", Token: "2"}, {Identifier: "adam", Token: "1"}} {
		must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: token.Identifier, Token: token.Token, Expires: at}))(t)
	}
	for identifier, want := range map[string]int64{"ada": 2, "": 0, "%": 0, "a\x00": 0, "adam": 1} {
		if n := must(a.DeleteVerificationTokens(ctx, identifier))(t); n != want {
			t.Errorf("DeleteVerificationTokens of %q: got %d, want %d", identifier, n, want)
		}
	}
}

// TestLastCredentialStays deletes all authenticators of a user at once, and
// keeps one. [AEDIT-04] [AEDIT-05]
func TestLastCredentialStays(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a, db := s.newStore(t)
		ctx := t.Context()
		const keys = 4
		for round := range 10 {
			user := must(a.CreateUser(ctx, adapter.User{}))(t)
			for i := range keys {
				id := fmt.Sprint(round, "-", i)
				must(a.LinkAccount(ctx, adapter.Account{UserID: user.ID, Provider: "passkey", ProviderAccountID: id, Type: adapter.AccountWebAuthn}))(t)
				must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: id, ProviderAccountID: id}))(t)
			}
			var kept atomic.Int32
			var wg sync.WaitGroup
			for i := range keys {
				wg.Go(func() {
					deleted, err := a.DeleteAuthenticator(ctx, user.ID, fmt.Sprint(round, "-", i), true)
					if errors.Is(err, adapter.ErrLastCredential) {
						kept.Add(1)
					} else if err != nil || deleted == nil {
						t.Errorf("got %v, %v", deleted, err)
					}
				})
			}
			wg.Wait()
			credentials := must(a.ListAuthenticatorsByUserID(ctx, user.ID))(t)
			accounts := must(a.ListAccountsByUserID(ctx, user.ID))(t)
			if kept.Load() != 1 || len(credentials) != 1 || len(accounts) != 1 {
				t.Fatalf("%d calls kept the last credential; %v and %v are left", kept.Load(), credentials, accounts)
			}
		}
		n := must(db.Collection("users").CountDocuments(ctx, bson.D{{Key: "gatehouseRemovalUntil", Value: bson.D{{Key: "$exists", Value: true}}}}))(t)
		if n != 0 {
			t.Errorf("%d users are still reserved", n)
		}
	})
}

// TestAbandonedReservation: a process that ended while it deleted an
// authenticator keeps others waiting for a while only.
func TestAbandonedReservation(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	for _, id := range []string{"first", "second"} {
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: id}))(t)
	}
	reserve := func(until time.Time) {
		id := must(bson.ObjectIDFromHex(user.ID))(t)
		must(db.Collection("users").UpdateByID(ctx, id, bson.D{{Key: "$set", Value: bson.D{{Key: "gatehouseRemovalUntil", Value: until}}}}))(t)
	}
	reserve(time.Now().Add(time.Hour))
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	got, err := a.DeleteAuthenticator(soon, user.ID, "first", true)
	refused(t, "DeleteAuthenticator of a user who is reserved", got, err, context.DeadlineExceeded)
	reserve(time.Now().Add(-time.Second))
	must(a.DeleteAuthenticator(ctx, user.ID, "first", true))(t)
}

// TestSignUpRaces has several people sign up with one account at once: one gets
// it, and nobody is left without.
func TestSignUpRaces(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a, db := s.newStore(t)
		ctx := t.Context()
		const callers, rounds = 8, 25
		for round := range rounds {
			account := adapter.Account{Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: fmt.Sprint(round)}
			var wg sync.WaitGroup
			var made atomic.Int32
			for i := range callers {
				wg.Go(func() {
					authn := &adapter.Authenticator{CredentialID: fmt.Sprint(round, " ", i%2)}
					_, err := a.CreateUserWithAccount(ctx, adapter.User{Email: fmt.Sprint(round, "-", i, "@example.com")}, account, authn)
					switch {
					case err == nil:
						made.Add(1)
					case !errors.Is(err, adapter.ErrConflict):
						t.Errorf("got %v, want a conflict", err)
					}
				})
			}
			wg.Wait()
			owner := must(a.GetUserByAccount(ctx, account.Key()))(t)
			if made.Load() > 1 || made.Load() == 1 && owner == nil || made.Load() == 0 && owner != nil {
				t.Fatalf("%d sign-ups with one account succeeded, and its owner is %v", made.Load(), owner)
			}
			if owner != nil {
				if list := must(a.ListAuthenticatorsByUserID(ctx, owner.ID))(t); len(list) != 1 {
					t.Fatalf("the user has the authenticators %v, want one", list)
				}
			}
		}
		users := must(db.Collection("users").CountDocuments(ctx, bson.D{}))(t)
		accounts := must(db.Collection("accounts").CountDocuments(ctx, bson.D{}))(t)
		if users > rounds || users != accounts {
			t.Errorf("%d users and %d accounts are left, want as many", users, accounts)
		}
	})
}

// TestSignUpCutOff fails each step of a sign-up in turn: nobody is there without
// an account, and a second try is possible.
func TestSignUpCutOff(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a := s.env(t).Harness().New(t).(interface {
			adapter.Adapter
			adapter.SignUps
		})
		control := s.env(t).Harness().Faults(a)
		ctx := t.Context()
		for _, kind := range []fault.Kind{fault.FailRequest, fault.LoseReply} {
			for step := 1; step < 12; step++ {
				email := fmt.Sprint(kind, step, "@example.com")
				user, account := adapter.User{Email: email}, adapter.Account{Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: email}
				authn := &adapter.Authenticator{CredentialID: email}
				injected := must(control.Inject(kind, step))(t)
				_, err := a.CreateUserWithAccount(ctx, user, account, authn)
				injected.Release()
				control.Heal()
				hit := isClosed(injected.Hit())
				found := must(a.GetUserByEmail(ctx, email))(t)
				owner := must(a.GetUserByAccount(ctx, account.Key()))(t)
				key := must(a.GetAuthenticator(ctx, email))(t)
				if (found == nil) != (owner == nil) || (found == nil) != (key == nil) || err == nil && found == nil {
					t.Fatalf("%v at step %d: %v; the user is %v, the owner of the account %v, the authenticator %v", kind, step, err, found, owner, key)
				}
				if found == nil {
					if _, err := a.CreateUserWithAccount(ctx, user, account, authn); err != nil {
						t.Fatalf("%v at step %d, second try: %v", kind, step, err)
					}
				}
				if !hit {
					break
				}
			}
		}
	})
}

// TestManySessions deletes a user, and the sessions of a user, who has more than
// one batch.
func TestManySessions(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	const many = 2500
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	fill := func() {
		var all []any
		for i := range many {
			all = append(all, bson.D{{Key: "sessionToken", Value: fmt.Sprint(i)}, {Key: "userId", Value: must(bson.ObjectIDFromHex(user.ID))(t)}, {Key: "expires", Value: time.Now().Add(time.Hour)}})
		}
		must(db.Collection("sessions").InsertMany(ctx, all))(t)
	}
	fill()
	if list := must(a.ListSessionsByUserID(ctx, user.ID))(t); len(list) != many {
		t.Errorf("%d sessions are listed, want %d", len(list), many)
	}
	if n := must(a.DeleteSessionsByUserID(ctx, user.ID, "7"))(t); n != many-1 {
		t.Errorf("%d sessions were deleted, want %d", n, many-1)
	}
	must(a.DeleteSession(ctx, "7"))(t)
	fill()
	same(t, "DeleteUser", must(a.DeleteUser(ctx, user.ID))(t), *user)
	if n := must(db.Collection("sessions").CountDocuments(ctx, bson.D{}))(t); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// TestSweep removes what has expired, in several batches, and nothing else.
func TestSweep(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	now := time.Now()
	const each = 2200
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	var sessions, tokens []any
	for i := range 2 * each {
		expires := now.Add(time.Duration(i%2*2-1) * time.Minute)
		sessions = append(sessions, bson.D{{Key: "sessionToken", Value: fmt.Sprint(i)}, {Key: "userId", Value: must(bson.ObjectIDFromHex(user.ID))(t)}, {Key: "expires", Value: expires}})
		tokens = append(tokens, bson.D{{Key: "identifier", Value: "x"}, {Key: "token", Value: fmt.Sprint(i)}, {Key: "expires", Value: expires}})
	}
	must(db.Collection("sessions").InsertMany(ctx, sessions))(t)
	must(db.Collection("verification_tokens").InsertMany(ctx, tokens))(t)
	if swept := must(a.DeleteExpired(ctx, now))(t); swept != (adapter.Swept{Sessions: each, VerificationTokens: each}) {
		t.Errorf("got %+v, want %d of each", swept, each)
	}
	for _, name := range []string{"sessions", "verification_tokens"} {
		if n := must(db.Collection(name).CountDocuments(ctx, bson.D{}))(t); n != each {
			t.Errorf("%d documents are left in %s, want %d", n, name, each)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.DeleteExpired(ended, now); !errors.Is(err, context.Canceled) {
		t.Errorf("a sweep whose context has ended: got %v", err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

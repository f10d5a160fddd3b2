package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The methods of the optional interfaces on a pool, on a connection and in a
// transaction of the caller's, for success and for each refusal.
func TestOptionalMethods(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for name, handle := range map[string]func(t *testing.T, db *sql.DB) sqlite.DB{
			"pool": func(_ *testing.T, db *sql.DB) sqlite.DB { return db },
			"connection": func(t *testing.T, db *sql.DB) sqlite.DB {
				conn := must(db.Conn(t.Context()))(t)
				t.Cleanup(func() { _ = conn.Close() })
				return conn
			},
			"transaction": func(t *testing.T, db *sql.DB) sqlite.DB {
				tx := must(db.BeginTx(context.Background(), nil))(t)
				t.Cleanup(func() { _ = tx.Rollback() })
				return tx
			},
		} {
			t.Run(name, func(t *testing.T) {
				_, db := w.newAdapter(t)
				callOptionalMethods(t, must(sqlite.New(handle(t, db)))(t))
			})
		}
	})
}

func callOptionalMethods(t *testing.T, a *sqlite.Adapter) {
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
	for _, id := range []string{"", "nobody", "31415926", "a\x00"} {
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
	eachWiring(t, func(t *testing.T, w wiring) {
		a, _ := w.newAdapter(t)
		ctx := t.Context()
		const keys = 4
		for round := range 30 {
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
			if kept.Load() != 1 || len(credentials) != 1 || len(accounts) != 1 || accounts[0].ProviderAccountID != credentials[0].ProviderAccountID {
				t.Fatalf("%d refused; left are %v and %v", kept.Load(), credentials, accounts)
			}
		}
	})
}

// TestCounterIsComparedAndSet has many sign-ins with one counter, of which one
// wins. [AEDIT-07] to [AEDIT-10]
func TestCounterIsComparedAndSet(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		a, _ := w.newAdapter(t)
		ctx := t.Context()
		user := must(a.CreateUser(ctx, adapter.User{}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: "c"}))(t)
		for counter := range int64(30) {
			var won atomic.Int32
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					touched, err := a.TouchAuthenticator(ctx, "c", counter, counter+1, time.Now())
					if err != nil {
						t.Error(err)
					} else if touched != nil {
						won.Add(1)
					}
				})
			}
			wg.Wait()
			if stored := must(a.GetAuthenticator(ctx, "c"))(t); won.Load() != 1 || stored.Counter != counter+1 {
				t.Fatalf("%d calls won; the stored counter is %d, want %d", won.Load(), stored.Counter, counter+1)
			}
		}
	})
}

// must fails the test on an error and hands the value on.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	if got == nil {
		t.Fatalf("%s: got nil", what)
	}
	if !reflect.DeepEqual(want, *got) {
		t.Fatalf("%s: got %+v, want %+v", what, *got, want)
	}
}

func absent[T any](t testing.TB, what string, got *T, err error) {
	t.Helper()
	if got != nil || err != nil {
		t.Fatalf("%s: got %v, %v, want nil, nil", what, got, err)
	}
}

func refused[T any](t testing.TB, what string, got *T, err, want error) {
	t.Helper()
	if got != nil || !errors.Is(err, want) {
		t.Fatalf("%s: got %v, %v, want %v", what, got, err, want)
	}
}

package memory_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestSignUpIsAllOrNothing(t *testing.T) {
	a, ctx := memory.New(), t.Context()
	first, err := a.CreateUserWithAccount(ctx, adapter.User{Email: "ada@example.com"},
		adapter.Account{Provider: "p", ProviderAccountID: "1", Type: adapter.AccountWebAuthn}, &adapter.Authenticator{CredentialID: "c", ProviderAccountID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if owner, err := a.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}); err != nil || owner == nil || owner.ID != first.ID {
		t.Errorf("the account belongs to %v, %v; want %s", owner, err, first.ID)
	}
	if list, err := a.ListAuthenticatorsByUserID(ctx, first.ID); err != nil || len(list) != 1 || list[0].UserID != first.ID {
		t.Errorf("authenticators: got %v, %v", list, err)
	}
	for name, c := range map[string]struct {
		user    adapter.User
		account adapter.Account
		authn   *adapter.Authenticator
	}{
		"id":         {adapter.User{ID: first.ID, Email: "bob@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "2"}, nil},
		"address":    {adapter.User{ID: "bob", Email: "ada@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "2"}, nil},
		"account":    {adapter.User{ID: "bob", Email: "bob@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "1"}, nil},
		"credential": {adapter.User{ID: "bob", Email: "bob@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "2"}, &adapter.Authenticator{CredentialID: "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := a.CreateUserWithAccount(ctx, c.user, c.account, c.authn); !errors.Is(err, adapter.ErrConflict) {
				t.Fatalf("got %v, want ErrConflict", err)
			}
			byID, _ := a.GetUser(ctx, "bob")
			byEmail, _ := a.GetUserByEmail(ctx, "bob@example.com")
			byAccount, _ := a.GetAccount(ctx, "2", "p")
			if byID != nil || byEmail != nil || byAccount != nil {
				t.Errorf("left behind: %v, %v, %v", byID, byEmail, byAccount)
			}
		})
	}
}

func TestLastCredentialStays(t *testing.T) {
	const rounds, keys = 200, 3
	for range rounds {
		a, ctx := memory.New(), t.Context()
		u := newUser(t, a, "")
		for i := range keys {
			id := fmt.Sprint(i)
			if _, err := a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Provider: "passkey", ProviderAccountID: id, Type: adapter.AccountWebAuthn}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: u.ID, CredentialID: id, ProviderAccountID: id}); err != nil {
				t.Fatal(err)
			}
		}
		var refused atomic.Int32
		var wg sync.WaitGroup
		for i := range keys {
			wg.Go(func() {
				if _, err := a.DeleteAuthenticator(ctx, u.ID, fmt.Sprint(i), true); errors.Is(err, adapter.ErrLastCredential) {
					refused.Add(1)
				} else if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		credentials, _ := a.ListAuthenticatorsByUserID(ctx, u.ID)
		accounts, _ := a.ListAccountsByUserID(ctx, u.ID)
		if refused.Load() != 1 || len(credentials) != 1 || len(accounts) != 1 || accounts[0].ProviderAccountID != credentials[0].ProviderAccountID {
			t.Fatalf("%d refused; left are %v and %v", refused.Load(), credentials, accounts)
		}
	}
}

func TestCounterIsComparedAndSet(t *testing.T) {
	a, ctx := memory.New(), t.Context()
	u := newUser(t, a, "")
	if _, err := a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: u.ID, CredentialID: "c", Counter: 5}); err != nil {
		t.Fatal(err)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	used := time.Now()
	for range 16 {
		wg.Go(func() {
			if touched, err := a.TouchAuthenticator(ctx, "c", 5, 6, used); err != nil {
				t.Error(err)
			} else if touched != nil {
				won.Add(1)
			}
		})
	}
	wg.Wait()
	stored, err := a.GetAuthenticator(ctx, "c")
	if err != nil || won.Load() != 1 || stored.Counter != 6 || !stored.LastUsed.Equal(used) {
		t.Errorf("%d won; stored is %+v, %v", won.Load(), stored, err)
	}
	if _, err := a.TouchAuthenticator(ctx, "unknown", 0, 1, used); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("unknown credential: got %v, want ErrNotFound", err)
	}
}

func TestSessionsOfAUserEnd(t *testing.T) {
	a, ctx := memory.New(), t.Context()
	ada, bob := newUser(t, a, "ada@example.com"), newUser(t, a, "bob@example.com")
	for i := range 10 {
		newSession(t, a, fmt.Sprint("ada", i), ada.ID, time.Now())
	}
	newSession(t, a, "bob", bob.ID, time.Now())
	if n, err := a.DeleteSessionsByUserID(ctx, ada.ID, "ada3"); n != 9 || err != nil {
		t.Fatalf("got %d, %v; want 9", n, err)
	}
	if list, err := a.ListSessionsByUserID(ctx, ada.ID); err != nil || len(list) != 1 || list[0].SessionToken != "ada3" {
		t.Errorf("got %v, %v", list, err)
	}
	if n, err := a.DeleteSessionsByUserID(ctx, ada.ID, "bob"); n != 1 || err != nil {
		t.Errorf("got %d, %v; want 1", n, err)
	}
	if list, err := a.ListSessionsByUserID(ctx, bob.ID); err != nil || len(list) != 1 {
		t.Errorf("another user's sessions: got %v, %v", list, err)
	}
}

func TestTokensOfAnIdentifierEnd(t *testing.T) {
	a, ctx := memory.New(), t.Context()
	for _, key := range []adapter.VerificationTokenKey{{Identifier: "ada", Token: "1"}, {Identifier: "ada", Token: "2"}, {Identifier: "bob", Token: "1"}} {
		if _, err := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := a.DeleteVerificationTokens(ctx, "ada"); n != 2 || err != nil {
		t.Errorf("got %d, %v; want 2", n, err)
	}
	if n, err := a.DeleteVerificationTokens(ctx, "ada"); n != 0 || err != nil {
		t.Errorf("again: got %d, %v; want 0", n, err)
	}
	if token, err := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "bob", Token: "1"}); token == nil || err != nil {
		t.Errorf("another identifier's token: got %v, %v", token, err)
	}
}

func TestUpdateAccountChangesWhatIsSet(t *testing.T) {
	a, ctx := memory.New(), t.Context()
	u := newUser(t, a, "")
	if _, err := a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Provider: "p", ProviderAccountID: "1", AccessToken: new("old"), Scope: new("openid")}); err != nil {
		t.Fatal(err)
	}
	updated, err := a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", AccessToken: adapter.To(new("fresh")), ExpiresAt: adapter.To(new(int64(1 << 40)))})
	if err != nil || *updated.AccessToken != "fresh" || *updated.Scope != "openid" || *updated.ExpiresAt != 1<<40 || updated.UserID != u.ID {
		t.Errorf("got %+v, %v", updated, err)
	}
	if _, err := a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", AuthorizationDetails: adapter.To(json.RawMessage("[{"))}); err == nil {
		t.Error("details that are not JSON are kept")
	}
	if _, err := a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "2"}); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("absent account: got %v, want ErrNotFound", err)
	}
}

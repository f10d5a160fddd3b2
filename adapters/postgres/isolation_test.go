package postgres_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// isolated runs the test at each isolation level that can be a database's
// default.
func isolated(t *testing.T, test func(t *testing.T, a *postgres.Adapter)) {
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			schema := newSchema(t)
			parameters := map[string]string{"default_transaction_isolation": isolation, "deadlock_timeout": "20ms"}
			pool := withParameters(t, parameters)
			a := newAdapter(t, pool, postgres.WithSchema(schema))
			require.NoError(t, a.EnsureSchema(t.Context()))
			test(t, a)
		})
	}
}

// TestLastCredentialStays deletes all authenticators of a user in concurrent
// calls; one must stay. [AEDIT-04] [AEDIT-05]
func TestLastCredentialStays(t *testing.T) {
	isolated(t, func(t *testing.T, a *postgres.Adapter) {
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
			require.Truef(t, kept.Load() == 1 && len(credentials) == 1 && len(accounts) == 1 && accounts[0].ProviderAccountID == credentials[0].ProviderAccountID,
				"%d refused; left are %v and %v", kept.Load(), credentials, accounts)
		}
	})
}

// TestCounterIsComparedAndSet makes many concurrent sign-ins with the same
// counter; one must succeed. [AEDIT-07] to [AEDIT-10]
func TestCounterIsComparedAndSet(t *testing.T) {
	isolated(t, func(t *testing.T, a *postgres.Adapter) {
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
			require.EqualValues(t, 1, won.Load(), "calls that won")
			require.Equal(t, counter+1, must(a.GetAuthenticator(ctx, "c"))(t).Counter, "the stored counter")
		}
	})
}

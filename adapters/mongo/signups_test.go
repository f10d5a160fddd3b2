package mongo_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestSignUpMeetsAnother: on a standalone server a sign-up that finds the account of
// another one waits for its user, and then says that the account is taken. If it took
// the account away, the user of the other one would have no account for a while, and a
// person who signs in then would read that the address belongs to somebody else.
func TestSignUpMeetsAnother(t *testing.T) {
	a, db := standalone.newStore(t)
	// before calls a function before each command on a collection.
	before := func(do func(command, collection string)) *mongo.Adapter {
		client := standalone.connect(t, func(o *options.ClientOptions) {
			o.SetMonitor(&event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
				collection, _ := e.Command.Lookup(e.CommandName).StringValueOK()
				do(e.CommandName, collection)
			}})
		})
		return newAdapter(t, client.Database(db.Name()))
	}
	signUp := func(a *mongo.Adapter) error {
		return erred(a.CreateUserWithAccount(t.Context(), adapter.User{Email: "ada@example.com"},
			adapter.Account{Type: "oidc", Provider: "google", ProviderAccountID: "1"}, nil))
	}

	held, free, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	first := before(func(command, collection string) {
		if command == "insert" && collection == "users" {
			close(held)
			<-free
		}
	})
	var firstErr error
	goOn := sync.OnceFunc(func() {
		close(free)
		firstErr = <-ended
	})
	reads := 0
	second := before(func(command, collection string) {
		if collection != "accounts" || command == "insert" {
			return
		}
		if reads++; reads == 2 {
			assert.Equal(t, "find", command, "what is done with the account of a sign-up that goes on")
			goOn()
		}
	})
	go func() { ended <- signUp(first) }()
	<-held
	err := signUp(second)
	goOn()
	require.NoError(t, firstErr)
	assert.ErrorIs(t, err, adapter.ErrConflict)
	owner, err := a.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "google", ProviderAccountID: "1"})
	require.NoError(t, err)
	require.NotNil(t, owner)
	assert.Equal(t, "ada@example.com", owner.Email)
}

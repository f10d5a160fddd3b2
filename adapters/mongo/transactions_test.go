package mongo_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestTransactionThatCantBeEndedAtOnce withholds the answer to each step of a
// sign-up until its deadline. Then it cuts off the server, so that the command
// that ends the transaction is lost. Soon after the server is back, the
// transaction's locks are free, and a repeated sign-up meets no conflict with it.
func TestTransactionThatCantBeEndedAtOnce(t *testing.T) {
	env := replicaSet.env(t)
	_, db := replicaSet.newStore(t)
	h := env.Handle(t, db.Name(), 8)
	if _, err := h.CreateUserWithAccount(t.Context(), adapter.User{}, adapter.Account{Type: "oidc", Provider: "google", ProviderAccountID: "0"}, nil); err != nil {
		t.Fatal(err) // the first sign-up asks whether the server supports transactions
	}
	const steps = 3 // user, account, commit
	for step := 1; step <= steps; step++ {
		user := adapter.User{Email: fmt.Sprintf("ada%d@example.com", step)}
		account := adapter.Account{Type: "oidc", Provider: "google", ProviderAccountID: fmt.Sprint(step)}
		signUp := func(ctx context.Context) error {
			_, err := h.CreateUserWithAccount(ctx, user, account, nil)
			return err
		}
		must(h.Proxy.Inject(fault.HoldReply, step))(t)
		down := must(h.Proxy.Inject(fault.Down, step+1))(t)
		if err := within(t, 200*time.Millisecond, signUp); err == nil {
			t.Fatalf("the sign-up needs no answer of step %d", step)
		}
		<-down.Hit()
		h.Proxy.Heal()
		ping := func(ctx context.Context) error { return h.Client.Ping(ctx, nil) }
		for within(t, time.Second, ping) != nil { // each failure ends a dead connection
			if t.Failed() || t.Context().Err() != nil {
				return
			}
		}
		err := within(t, 30*time.Second, signUp)
		if err != nil && (step < steps || !errors.Is(err, adapter.ErrConflict)) { // the commit may have taken effect
			t.Errorf("server down after step %d: trying again: %v", step, err)
		}
	}
}

func within(t *testing.T, limit time.Duration, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return call(ctx)
}

package mysql_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/require"
)

// TestConnectionKilledInEachStep: the server kills the connection of a write after each of its steps. Before COMMIT the
// call then says that it failed, and has done nothing; the pool works on.
func TestConnectionKilledInEachStep(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	sure := on(t, env.Admin)
	db, proxy := poolThroughProxy(t, env, 1)
	a := on(t, db)
	require.NoError(t, a.CheckSchema(t.Context()))
	// done reports whether all that the call does is there; part reports whether some of it is.
	for name, call := range map[string]struct {
		prepare, run func(ctx context.Context, a *mysql.Adapter, id string) error
		effects      func(ctx context.Context, id string) (done, part bool, err error)
	}{
		"sign-up": {
			run: func(ctx context.Context, a *mysql.Adapter, id string) error {
				return erred(a.CreateUserWithAccount(ctx, adapter.User{ID: id},
					adapter.Account{Type: adapter.AccountOAuth, Provider: "p", ProviderAccountID: id}, nil))
			},
			effects: func(ctx context.Context, id string) (bool, bool, error) {
				user, err := sure.GetUser(ctx, id)
				if err != nil {
					return false, false, err
				}
				owner, err := sure.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: id})
				return user != nil && owner != nil, user != nil || owner != nil, err
			},
		},
		"token": {
			prepare: func(ctx context.Context, a *mysql.Adapter, id string) error {
				return erred(a.CreateVerificationToken(ctx,
					adapter.VerificationToken{Identifier: id, Token: "t", Expires: time.Now().Add(time.Hour)}))
			},
			run: func(ctx context.Context, a *mysql.Adapter, id string) error {
				return erred(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: id, Token: "t"}))
			},
			effects: func(ctx context.Context, id string) (bool, bool, error) {
				left, err := sure.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: id, Token: "t"})
				return left == nil, left == nil, err
			},
		},
	} {
		for step := 1; ; step++ {
			id := name + strings.Repeat("i", step)
			if call.prepare != nil {
				require.NoError(t, call.prepare(t.Context(), sure, id))
			}
			conn := number(t, db, "SELECT CONNECTION_ID()")
			lost, err := proxy.Inject(fault.HoldReply, step)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() { ended <- call.run(t.Context(), a, id) }()
			finished := false
			select {
			case <-lost.Hit():
				killed(t, env, conn)
				lost.Release()
				err = <-ended
			case err = <-ended:
				finished = true
			}
			proxy.Heal()
			done, part, look := call.effects(t.Context(), id)
			switch {
			case look != nil:
				t.Fatal(look)
			case done != part:
				t.Errorf("%s killed in step %d has done a part", name, step)
			case err == nil && !done:
				t.Errorf("%s killed in step %d says that it is done, and is not", name, step)
			case err != nil && done || finished && err != nil:
				t.Errorf("%s killed in step %d says %v; it is done: %v", name, step, err, done)
			}
			if finished {
				t.Logf("%s has %d steps", name, step-1)
				break
			}
			u, err := a.GetUser(t.Context(), "nobody")
			if errors.Is(err, driver.ErrBadConn) { // a call that got its reply may have returned before the end of the connection came
				u, err = a.GetUser(t.Context(), "nobody")
			}
			if u != nil || err != nil {
				t.Errorf("the call after %s was killed in step %d: %v", name, step, err)
			}
		}
	}
}

// killed kills a connection and returns when the server has closed it.
func killed(t *testing.T, env *mysqltest.Env, conn int) {
	t.Helper()
	statement(t, env.Admin, fmt.Sprint("KILL ", conn))
	awaitClosed(t, env, conn)
}

// awaitClosed returns when the server has closed a connection.
func awaitClosed(t *testing.T, env *mysqltest.Env, conn int) {
	t.Helper()
	await(t, env, 5*time.Millisecond, 0, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", conn)
}

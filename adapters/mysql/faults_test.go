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
				_, err := a.CreateUserWithAccount(ctx, adapter.User{ID: id},
					adapter.Account{Type: adapter.AccountOAuth, Provider: "p", ProviderAccountID: id}, nil)
				return err
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
				_, err := a.CreateVerificationToken(ctx,
					adapter.VerificationToken{Identifier: id, Token: "t", Expires: time.Now().Add(time.Hour)})
				return err
			},
			run: func(ctx context.Context, a *mysql.Adapter, id string) error {
				_, err := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: id, Token: "t"})
				return err
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
				if err := call.prepare(t.Context(), sure, id); err != nil {
					t.Fatal(err)
				}
			}
			var conn int64
			if err := db.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&conn); err != nil {
				t.Fatal(err)
			}
			lost, err := proxy.Inject(fault.HoldReply, step)
			if err != nil {
				t.Fatal(err)
			}
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
func killed(t *testing.T, env *mysqltest.Env, conn int64) {
	t.Helper()
	_, err := env.Admin.ExecContext(t.Context(), fmt.Sprint("KILL ", conn))
	require.NoError(t, err)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for open := 1; open > 0; <-tick.C {
		err := env.Admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?",
			conn).Scan(&open)
		require.NoError(t, err)
	}
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// stores opens an adapter on our schema, and one on tables that Auth.js made.
func stores(t *testing.T, f func(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, prefix string)) {
	t.Run("gatehouse", func(t *testing.T) {
		t.Parallel()
		a, pool, schema := wirings[0].newStore(t)
		f(t, a, pool, schema+".")
	})
	t.Run("authjs", func(t *testing.T) {
		t.Parallel()
		pool := authJSDatabase(t)
		a := newAdapter(t, pool)
		require.NoError(t, a.EnsureSchema(t.Context()))
		f(t, a, pool, "")
	})
}

// begin starts a transaction that is rolled back at the end unless it was
// committed, and returns the ID of its server process.
func begin(t *testing.T, pool *pgxpool.Pool) (pgx.Tx, uint32) {
	t.Helper()
	tx := must(pool.Begin(t.Context()))(t)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx, tx.Conn().PgConn().PID()
}

// awaitBlocked returns when a process waits for a lock that the given process
// holds.
func awaitBlocked(t *testing.T, pool *pgxpool.Pool, pid uint32) {
	t.Helper()
	await(t, "somebody waits for the lock", func() bool {
		return value[bool](t, pool, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $1::int = ANY (pg_blocking_pids(pid)))`, pid)
	})
}

// TestDeleteUserAfterUncommittedWrites deletes a user while transactions that
// commit later are writing records of the user. [CONC-11]
func TestDeleteUserAfterUncommittedWrites(t *testing.T) {
	stores(t, func(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, _ string) {
		ctx := t.Context()
		user := must(a.CreateUser(ctx, adapter.User{}))(t)
		tx, pid := begin(t, pool)
		must(a.On(tx).CreateSession(ctx, adapter.Session{SessionToken: "late", UserID: user.ID}))(t)
		must(a.On(tx).LinkAccount(ctx, adapter.Account{Provider: "late", ProviderAccountID: "1", UserID: user.ID}))(t)
		done := make(chan error, 1)
		go func() {
			deleted, err := a.DeleteUser(ctx, user.ID)
			if err == nil && deleted == nil {
				err = errors.New("the user was not found")
			}
			done <- err
		}()
		awaitBlocked(t, pool, pid)
		require.NoError(t, tx.Commit(ctx))
		require.NoError(t, <-done)
		require.Nil(t, must(a.DeleteSession(ctx, "late"))(t), "the session")
		require.Nil(t, must(a.GetAccount(ctx, "1", "late"))(t), "the account")
	})
}

// TestWritesAfterUncommittedDeleteUser writes records of a user while a
// transaction is deleting the user. [CONC-11]
func TestWritesAfterUncommittedDeleteUser(t *testing.T) {
	stores(t, func(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, _ string) {
		ctx := t.Context()
		user := must(a.CreateUser(ctx, adapter.User{}))(t)
		other := must(a.CreateUser(ctx, adapter.User{}))(t)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "moving", UserID: other.ID}))(t)
		for name, write := range map[string]func() error{
			"create session": func() error {
				return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "late", UserID: user.ID}))
			},
			"link account": func() error {
				return erred(a.LinkAccount(ctx, adapter.Account{Provider: "late", ProviderAccountID: "1", UserID: user.ID}))
			},
			"move session": func() error {
				return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "moving", UserID: adapter.To(user.ID)}))
			},
		} {
			t.Run(name, func(t *testing.T) {
				tx, pid := begin(t, pool)
				must(a.On(tx).DeleteUser(ctx, user.ID))(t)
				done := make(chan error, 1)
				go func() { done <- write() }()
				awaitBlocked(t, pool, pid)
				require.NoError(t, tx.Commit(ctx))
				err := <-done
				assert.ErrorIsf(t, err, adapter.ErrNotFound, "got %v, want ErrNotFound", err)
				user = must(a.CreateUser(ctx, adapter.User{}))(t) // for the next iteration
			})
		}
	})
}

// TestTouchAfterUncommittedDelete: a touch that waits for a deletion finds no record, and
// not another counter.
func TestTouchAfterUncommittedDelete(t *testing.T) {
	t.Parallel()
	a, pool, _ := wirings[0].newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: user.ID, Counter: 7}))(t)
	tx, pid := begin(t, pool)
	must(a.On(tx).DeleteAuthenticator(ctx, user.ID, "c", false))(t)
	done := make(chan error, 1)
	go func() {
		_, err := a.TouchAuthenticator(ctx, "c", 7, 8, time.Now())
		done <- err
	}()
	awaitBlocked(t, pool, pid)
	require.NoError(t, tx.Commit(ctx))
	err := <-done
	assert.ErrorIsf(t, err, adapter.ErrNotFound, "got %v, want ErrNotFound", err)
}

// TestDeleteUserRaces runs all these calls at once, many times.
func TestDeleteUserRaces(t *testing.T) {
	stores(t, func(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, prefix string) {
		for round := range 30 {
			ctx := t.Context()
			user := must(a.CreateUser(ctx, adapter.User{}))(t)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i := range 16 {
				key := fmt.Sprintf("%d-%d", round, i)
				wg.Go(func() {
					<-start
					var err error
					switch i % 4 {
					case 0:
						_, err = a.DeleteUser(ctx, user.ID)
					case 1:
						_, err = a.LinkAccount(ctx, adapter.Account{Provider: key, ProviderAccountID: "1", UserID: user.ID})
					default:
						_, err = a.CreateSession(ctx, adapter.Session{SessionToken: key, UserID: user.ID})
					}
					assert.Truef(t, err == nil || errors.Is(err, adapter.ErrNotFound), "%v", err)
				})
			}
			close(start)
			wg.Wait()
			for _, table := range []string{"sessions", "accounts"} {
				n := value[int](t, pool, `SELECT count(*) FROM `+prefix+table+` WHERE "userId"::text = $1`, user.ID)
				require.Equalf(t, 0, n, "round %d: %d %s of the deleted user are left", round, n, table)
			}
		}
	})
}

// TestConflictInTransaction: two transactions store the same unique key. The
// second one gets a conflict and stays usable.
func TestConflictInTransaction(t *testing.T) {
	t.Parallel()
	a, pool, _ := wirings[0].newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	other := must(a.CreateUser(ctx, adapter.User{}))(t)
	for name, take := range map[string]func(a *postgres.Adapter, id string) error{
		"create user": func(a *postgres.Adapter, id string) error {
			return erred(a.CreateUser(ctx, adapter.User{Email: "create"}))
		},
		"update user": func(a *postgres.Adapter, id string) error {
			return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: id, Email: adapter.To("update")}))
		},
		"create session": func(a *postgres.Adapter, id string) error {
			return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "t", UserID: id}))
		},
		"link account": func(a *postgres.Adapter, id string) error {
			return erred(a.LinkAccount(ctx, adapter.Account{Provider: "p", ProviderAccountID: "1", UserID: id}))
		},
		"create verification token": func(a *postgres.Adapter, id string) error {
			return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t"}))
		},
		"create authenticator": func(a *postgres.Adapter, id string) error {
			return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: id}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, pid := begin(t, pool)
			two, _ := begin(t, pool)
			require.NoError(t, take(a.On(one), user.ID))
			done := make(chan error, 1)
			go func() { done <- take(a.On(two), other.ID) }()
			awaitBlocked(t, pool, pid)
			require.NoError(t, one.Commit(ctx))
			err := <-done
			require.ErrorIsf(t, err, adapter.ErrConflict, "got %v, want ErrConflict", err)
			token := "after " + name
			must(a.On(two).CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: token}))(t)
			require.NoError(t, two.Commit(ctx))
			assert.NotNil(t, must(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "i", Token: token}))(t),
				"the rest of the transaction is lost")
		})
	}
}

// TestContention: many writers change a few records in serializable
// transactions, of which the server ends many. [CONC-15]
func TestContention(t *testing.T) {
	isolated(t, func(t *testing.T, a *postgres.Adapter) {
		ctx := t.Context()
		var ids [2]string
		for i := range ids {
			ids[i] = must(a.CreateUser(ctx, adapter.User{Email: fmt.Sprint(i)}))(t).ID
		}
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: ids[0]}))(t)
		var used [20]int
		var mu sync.Mutex
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				for round := range used {
					fail := func(err error) { assert.Truef(t, err == nil || errors.Is(err, adapter.ErrConflict), "%v", err) }
					key := adapter.VerificationTokenKey{Identifier: "i", Token: fmt.Sprint(round)}
					_, err := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: key.Token, Expires: time.Now().Add(time.Hour)})
					if errors.Is(err, adapter.ErrConflict) {
						err = nil
					} else if err == nil {
						mu.Lock()
						used[round]--
						mu.Unlock()
					}
					fail(err)
					v, err := a.UseVerificationToken(ctx, key)
					fail(err)
					if v != nil {
						mu.Lock()
						used[round]++
						mu.Unlock()
					}
					// The writers keep exchanging the addresses of two users, which causes
					// deadlocks.
					_, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: ids[g%2], Email: adapter.To(fmt.Sprint((g/2 + round) % 3))})
					fail(err)
					_, err = a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s", UserID: adapter.To(ids[round%2]), Expires: adapter.To(time.Now())})
					fail(err)
					_, err = a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprint(g, " ", round), UserID: ids[g%2], Expires: time.Now().Add(-time.Hour)})
					fail(err)
					_, err = a.DeleteExpired(ctx, time.Now().Add(-time.Minute))
					fail(err)
				}
			})
		}
		wg.Wait()
		for round, n := range used {
			assert.Equalf(t, 0, n, "token %d was used %+d times more often than made", round, n)
		}
	})
}

// TestOneConnection shares a bare connection among goroutines, which pgx itself
// forbids. [CONC-13]
func TestOneConnection(t *testing.T) {
	t.Parallel()
	a, pool, schema := wirings[0].newStore(t)
	pooled := must(pool.Acquire(t.Context()))(t)
	defer pooled.Release()
	for name, on := range map[string]*postgres.Adapter{"conn": a.On(pooled.Conn()), "pool conn": a.On(pooled)} {
		callEveryMethod(t, on)
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := on.CreateUser(t.Context(), adapter.User{Email: fmt.Sprint(name, i)})
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		execSQL(t, pool, `TRUNCATE `+schema+`.users, `+schema+`.verification_token CASCADE`)
	}
}

func TestWaitingForTheConnectionEnds(t *testing.T) {
	t.Parallel()
	a, pool, _ := wirings[0].newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	blocker, pid := begin(t, pool)
	must(a.On(blocker).DeleteUser(ctx, user.ID))(t)
	tx, _ := begin(t, pool)
	on := a.On(tx)
	first, cancelFirst := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		_, err := on.UpdateUser(first, adapter.UserUpdate{ID: user.ID, Name: adapter.To(new("x"))})
		done <- err
	}()
	awaitBlocked(t, pool, pid)
	second, cancelSecond := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancelSecond()
	refused(on.GetUser(second, user.ID))(t, "a read whose connection is in use", context.DeadlineExceeded)
	cancelFirst()
	err := <-done
	assert.ErrorIsf(t, err, context.Canceled, "got %v, want Canceled", err)
}

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// watched opens the file of a database again, with its driver wrapped by
// package fault.
func (w wiring) watched(t testing.TB, path string) (*sql.DB, *fault.Driver) {
	t.Helper()
	plain := w.openDB(t, path)
	connector := must(fault.Connector(plain.Driver(), w.dsn(path)))(t)
	faults := fault.NewDriver(connector)
	db := sql.OpenDB(faults)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db, faults
}

// locked returns an adapter with one connection over a database that another
// connection has locked for writing, and a function that ends the lock.
func (w wiring) locked(t *testing.T, busyTimeout time.Duration) (*sqlite.Adapter, *fault.Driver, func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	holder := w.openDB(t, path)
	newAdapter(t, holder)
	tx := must(holder.BeginTx(t.Context(), nil))(t) // takes the write lock: _txlock=immediate
	db, faults := w.watched(t, path)
	db.SetMaxOpenConns(1)
	a := must(sqlite.New(db))(t)
	run(t, db, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout.Milliseconds()))
	return a, faults, func() {
		err := tx.Commit()
		assert.Truef(t, err == nil || errors.Is(err, sql.ErrTxDone), "%v", err)
	}
}

// [CONC-15]
func TestWaitsForALockedDatabase(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		a, faults, unlock := w.locked(t, 0)
		done := make(chan error, 1)
		go func() {
			_, err := a.CreateUser(t.Context(), adapter.User{Email: "ada@example.com"})
			done <- err
		}()
		tries := faults.Stats().Statements
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for faults.Stats().Statements < tries+3 { // until it has tried again at least three times
			select {
			case <-tick.C:
			case err := <-done:
				t.Fatalf("gave up at once: %v", err)
			case <-t.Context().Done():
				t.Fatal("does not try again")
			}
		}
		unlock()
		assert.NoError(t, <-done)
	})
}

// The context ends the wait for a lock, in the adapter and in the driver.
// [CTX-01] [CTX-02]
func TestContextEndsTheWaitForALock(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for _, busyTimeout := range []time.Duration{0, time.Minute} {
			t.Run(busyTimeout.String(), func(t *testing.T) {
				a, _, unlock := w.locked(t, busyTimeout)
				defer unlock()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				start := time.Now()
				_, err := a.CreateUser(ctx, adapter.User{ID: "late"})
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				assert.LessOrEqual(t, time.Since(start), 3*time.Second, "want the end of the context, after 50ms")
				unlock()
				assert.Nil(t, must(a.GetUser(t.Context(), "late"))(t), "afterwards")
			})
		}
	})
}

// A write has succeeded only when its rows were read to the end, because a
// statement with RETURNING commits after the last row. [FAULT-01] [FAULT-09]
func TestAnswerCutShortIsAnError(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		db, faults := w.watched(t, filepath.Join(t.TempDir(), "test.db"))
		db.SetMaxOpenConns(1)
		a := newAdapter(t, db)
		ctx := t.Context()
		u := newUser(t, a, "")
		for _, id := range []string{"1", "2", "3"} {
			must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: u.ID, CredentialID: id}))(t)
		}
		token := adapter.VerificationToken{Identifier: "i", Token: "t", Expires: time.Now()}
		must(a.CreateVerificationToken(ctx, token))(t)
		// The first calls prepare their statements. Preparations are not
		// counted as steps.
		must(faults.Inject(fault.CutReply, 1))(t)
		if list, err := a.ListAuthenticatorsByUserID(ctx, u.ID); !errors.Is(err, fault.ErrInjected) || list != nil {
			t.Errorf("list: got %v, %v; want the injected error", list, err)
		}
		must(faults.Inject(fault.CutReply, 1))(t)
		got, err := a.UseVerificationToken(ctx, token.Key())
		assert.Truef(t, errors.Is(err, fault.ErrInjected) && got == nil, "use: got %v, %v; want the injected error", got, err)
		open := faults.Stats()
		assert.Truef(t, open.Rows == 0 && open.Transactions == 0, "left open: %+v", open)
	})
}

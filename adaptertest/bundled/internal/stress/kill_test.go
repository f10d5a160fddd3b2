package stress_test

import (
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// TestKilledUnderLoad kills each server while clients write, and starts it again: no acknowledged write is
// lost, no token is used twice, and no method ever returns absent for a record that exists. In a replica set
// it kills the member that is the primary at that moment.
func TestKilledUnderLoad(t *testing.T) {
	for _, name := range []string{stores.EnvPostgres, stores.EnvPgBouncer, stores.EnvMariaDB, "GATEHOUSE_MYSQL_9_URL",
		stores.EnvRedis, stores.EnvRedisCluster, stores.EnvMongo, stores.EnvMongoSet} {
		t.Setenv(name, "") // the test may kill only a server that this run started
	}
	servers := wiringstest.Servers(t, stores.Options{})
	each(t, servers, func(t *testing.T, w wirings.Wiring, o *wirings.Opened) {
		if o.Store == nil {
			return // an embedded store has no server; the adapter's own tests kill its process
		}
		l := &load{t: t, a: o.Harness.New(t)}
		start := time.Now()
		for range *rounds {
			l.round(o.Store)
			if t.Failed() {
				break
			}
		}
		t.Logf("%s (%s %s): killed %d times, %s", w, o.Server, o.Version, *rounds, l.counts(start))
	})
}

// load has the calls of the clients and their results.
type load struct {
	t      *testing.T
	a      adapter.Adapter
	others []adapter.Adapter // further handles, on other nodes

	acknowledged, failed, reads atomic.Int64
	lost, twice, absent         atomic.Int64
}

// counts says what the clients have done since the start.
func (l *load) counts(start time.Time) string {
	return fmt.Sprintf("%d writes acknowledged, %d calls failed, %d reads, %v: %d lost, %d spent twice, %d absent",
		l.acknowledged.Load(), l.failed.Load(), l.reads.Load(), time.Since(start).Round(10*time.Millisecond),
		l.lost.Load(), l.twice.Load(), l.absent.Load())
}

// any returns one of the handles.
func (l *load) any() adapter.Adapter {
	if n := mathrand.IntN(len(l.others) + 1); n > 0 {
		return l.others[n-1]
	}
	return l.a
}

// found has the stored records that one client knows.
type found struct {
	users    []adapter.User
	sessions []adapter.Session
	accounts []adapter.Account
	fresh    []adapter.VerificationTokenKey // created, and never used
	spent    []adapter.VerificationTokenKey // returned to this client
}

// round loads the server, kills it in the middle, starts it again, and compares.
func (l *load) round(server *stores.Store) {
	primary, err := server.Primary(l.t.Context())
	switch {
	case err != nil:
		l.t.Error(err)
	case primary != nil:
		l.killed(primary.Kill, primary.Start)
	default:
		l.killed(server.Kill, server.Start)
	}
}

// killed is a round with the functions that kill and start a server.
func (l *load) killed(kill, restart func(context.Context) error) {
	t := l.t
	const clients = 16
	stop := make(chan struct{})
	known := make([]found, clients)
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { l.client(&known[i], stop) })
	}
	pause(time.Duration(200+mathrand.IntN(400)) * time.Millisecond)
	assert.NoError(t, kill(t.Context()))
	pause(time.Duration(mathrand.IntN(300)) * time.Millisecond)
	assert.NoError(t, restart(t.Context()))
	before := l.acknowledged.Load()
	assert.Eventually(t, func() bool { return l.acknowledged.Load() >= before+clients }, time.Minute, 10*time.Millisecond,
		"the adapter does not recover after the server is back")
	close(stop)
	wg.Wait()
	for i := range clients {
		wg.Go(func() { l.compare(&known[i]) })
	}
	wg.Wait()
}

// pause waits while the load continues.
func pause(d time.Duration) { <-time.After(d) }

// call runs one call under a deadline and reports whether it succeeded.
func (l *load) call(do func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(l.t.Context(), 3*time.Second)
	defer cancel()
	if err := do(ctx); err != nil {
		l.failed.Add(1)
		return false
	}
	return true
}

// client writes records, uses tokens and reads until stop is closed.
func (l *load) client(k *found, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		id := rand.Text()
		user := adapter.User{ID: "", Email: id + "@example.com"}
		session := adapter.Session{SessionToken: "session-" + id, Expires: time.Now().Add(time.Hour)}
		account := adapter.Account{Type: adapter.AccountOAuth, Provider: "killed", ProviderAccountID: id}
		token := adapter.VerificationToken{Identifier: id + "@example.com", Token: "token-" + id, Expires: time.Now().Add(time.Hour)}
		if !l.call(func(ctx context.Context) error {
			u, err := l.any().CreateUser(ctx, user)
			if err == nil {
				user = *u
			}
			return err
		}) {
			continue
		}
		k.users = append(k.users, user)
		l.acknowledged.Add(1)
		session.UserID, account.UserID = user.ID, user.ID
		if l.call(func(ctx context.Context) error { _, err := l.any().CreateSession(ctx, session); return err }) {
			k.sessions = append(k.sessions, session)
			l.acknowledged.Add(1)
		}
		if l.call(func(ctx context.Context) error { _, err := l.any().LinkAccount(ctx, account); return err }) {
			k.accounts = append(k.accounts, account)
			l.acknowledged.Add(1)
		}
		if l.call(func(ctx context.Context) error { _, err := l.any().CreateVerificationToken(ctx, token); return err }) {
			l.acknowledged.Add(1)
			l.spend(k, token.Key(), n)
		}
		l.readSomething(k)
	}
}

// spend uses every other token.
func (l *load) spend(k *found, key adapter.VerificationTokenKey, n int) {
	if n%2 == 0 {
		k.fresh = append(k.fresh, key)
		return
	}
	l.call(func(ctx context.Context) error {
		got, err := l.any().UseVerificationToken(ctx, key)
		switch {
		case err == nil && got == nil:
			l.absent.Add(1)
			l.t.Errorf("UseVerificationToken returns absent for a token that was created and never used")
		case err == nil:
			k.spent = append(k.spent, key)
			l.acknowledged.Add(1)
		}
		return err
	})
}

// readSomething looks up an acknowledged record. The call must return the record or an error.
func (l *load) readSomething(k *found) {
	if len(k.sessions) == 0 || len(k.accounts) == 0 {
		return
	}
	session := k.sessions[mathrand.IntN(len(k.sessions))]
	account := k.accounts[mathrand.IntN(len(k.accounts))]
	l.call(func(ctx context.Context) error {
		l.reads.Add(1)
		got, err := l.any().GetSessionAndUser(ctx, session.SessionToken)
		if err == nil && (got == nil || got.User.ID != session.UserID) {
			l.absent.Add(1)
			l.t.Errorf("GetSessionAndUser returns %v for a session that exists", got)
		}
		return err
	})
	l.call(func(ctx context.Context) error {
		l.reads.Add(1)
		got, err := l.any().GetUserByAccount(ctx, account.Key())
		if err == nil && (got == nil || got.ID != account.UserID) {
			l.absent.Add(1)
			l.t.Errorf("GetUserByAccount returns %v for an account that exists", got)
		}
		return err
	})
}

// compare looks for every acknowledged write.
func (l *load) compare(k *found) {
	for _, u := range k.users {
		l.expect("user", func(ctx context.Context) (bool, error) {
			byID, err := l.any().GetUser(ctx, u.ID)
			if err != nil || byID == nil {
				return false, err
			}
			byEmail, err := l.any().GetUserByEmail(ctx, u.Email)
			return byEmail != nil && byEmail.ID == u.ID, err
		})
	}
	for _, s := range k.sessions {
		l.expect("session", func(ctx context.Context) (bool, error) {
			got, err := l.any().GetSessionAndUser(ctx, s.SessionToken)
			return got != nil && got.User.ID == s.UserID, err
		})
	}
	for _, x := range k.accounts {
		l.expect("account", func(ctx context.Context) (bool, error) {
			got, err := l.any().GetUserByAccount(ctx, x.Key())
			return got != nil && got.ID == x.UserID, err
		})
	}
	for _, key := range k.spent {
		l.again(func(ctx context.Context) error {
			got, err := l.any().UseVerificationToken(ctx, key)
			if err == nil && got != nil {
				l.twice.Add(1)
				l.t.Errorf("a token was returned, and returned again after the server was killed")
			}
			return err
		})
	}
	for _, key := range k.fresh {
		// There is only one call: a call that fails may have used the token.
		ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
		got, err := l.any().UseVerificationToken(ctx, key)
		cancel()
		if err == nil && got == nil {
			l.lost.Add(1)
			l.t.Errorf("a token that was acknowledged is lost")
		}
	}
}

// expect reports a record that is lost.
func (l *load) expect(what string, look func(ctx context.Context) (bool, error)) {
	l.again(func(ctx context.Context) error {
		there, err := look(ctx)
		if err == nil && !there {
			l.lost.Add(1)
			l.t.Errorf("a %s that was acknowledged is lost", what)
		}
		return err
	})
}

// again repeats a call that fails. Connections that were open when the server was killed may still be in the pool, and a
// cluster on a busy machine needs a moment to notice that its member runs again.
func (l *load) again(do func(ctx context.Context) error) {
	var err error
	for start := time.Now(); time.Since(start) < time.Minute; {
		ctx, cancel := context.WithTimeout(l.t.Context(), 10*time.Second)
		err = do(ctx)
		cancel()
		if err == nil {
			return
		}
		pause(20 * time.Millisecond)
	}
	l.t.Error(fmt.Errorf("the server runs again, and a call fails: %w", err))
}

package memory_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// erred returns the error of a call.
func erred[T any](_ T, err error) error { return err }

func newUser(t *testing.T, a *memory.Adapter, email string) *adapter.User {
	t.Helper()
	return must(a.CreateUser(t.Context(), adapter.User{Email: email}))(t)
}

func newSession(t *testing.T, a *memory.Adapter, token, userID string, expires time.Time) {
	t.Helper()
	must(a.CreateSession(t.Context(), adapter.Session{SessionToken: token, UserID: userID, Expires: expires}))(t)
}

func TestCopyIsAnotherHandle(t *testing.T) {
	first := memory.New()
	second := *first
	u := newUser(t, first, "ada@example.com")
	assert.Equal(t, u, must(second.GetUserByEmail(t.Context(), "ada@example.com"))(t), "the copy sees")
	assert.Nil(t, must(memory.New().GetUser(t.Context(), u.ID))(t), "another adapter sees")
}

func TestMovedSessionFollowsItsNewOwner(t *testing.T) {
	a := memory.New()
	ctx := t.Context()
	ada, bob := newUser(t, a, "ada@example.com"), newUser(t, a, "bob@example.com")
	for i := range 5 {
		newSession(t, a, fmt.Sprint(i), ada.ID, time.Now())
	}
	for _, token := range []string{"0", "3"} {
		must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(bob.ID)}))(t)
	}
	err := erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "4", UserID: adapter.To("nobody")}))
	assert.ErrorIs(t, err, adapter.ErrNotFound, "moving a session to nobody")
	must(a.DeleteUser(ctx, ada.ID))(t)
	for i := range 5 {
		got := must(a.GetSessionAndUser(ctx, fmt.Sprint(i)))(t)
		moved := i == 0 || i == 3
		assert.Falsef(t, moved != (got != nil) || moved && got.User.ID != bob.ID, "session %d: got %v", i, got)
	}
}

// TestNobodyStallsMeanwhile deletes a user who has very many sessions, deletes as
// many sessions of another user, and sweeps as many, while other goroutines read
// and write. No call may wait for longer than 50 ms, or for longer than a quarter
// of the deletion where the deletion takes longer than 200 ms. A busy machine may
// delay any call, so the test takes the best of several attempts.
func TestNobodyStallsMeanwhile(t *testing.T) {
	const most, attempts = 50 * time.Millisecond, 5
	many := 300_000
	if testing.Short() {
		many = 30_000
	}
	for name, remove := range map[string]func(a *memory.Adapter, userID string) error{
		"DeleteUser": func(a *memory.Adapter, userID string) error { return erred(a.DeleteUser(t.Context(), userID)) },
		"DeleteSessionsByUserID": func(a *memory.Adapter, userID string) error {
			return erred(a.DeleteSessionsByUserID(t.Context(), userID, ""))
		},
		"DeleteExpired": func(a *memory.Adapter, _ string) error {
			return erred(a.DeleteExpired(t.Context(), time.Now()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			well := false
			for attempt := 0; attempt < attempts && !well; attempt++ {
				a := memory.New()
				other, user := newUser(t, a, ""), newUser(t, a, "")
				for n := range many {
					newSession(t, a, fmt.Sprint(n), user.ID, time.Now().Add(-time.Hour))
				}
				var longest time.Duration
				done, calls, start := make(chan error, 1), 0, time.Now()
				go func() { done <- remove(a, user.ID) }()
				for running := true; running; calls++ {
					began := time.Now()
					newSession(t, a, fmt.Sprint("other", calls), other.ID, time.Now().Add(time.Hour))
					require.NotNil(t, must(a.GetSessionAndUser(t.Context(), fmt.Sprint("other", calls)))(t))
					longest = max(longest, time.Since(began))
					select {
					case err := <-done:
						require.NoError(t, err)
						running = false
					default:
					}
				}
				require.Empty(t, must(a.ListSessionsByUserID(t.Context(), user.ID))(t), "sessions are left")
				took := time.Since(start)
				t.Logf("%d sessions in %v; %d times two calls of somebody else meanwhile, the longest in %v", many, took, calls, longest)
				well = longest < max(most, took/4)
			}
			assert.Truef(t, well, "in each of %d attempts somebody waited for longer than %v", attempts, most)
		})
	}
}

func TestDeleteExpired(t *testing.T) {
	a := memory.New()
	now := time.Now()
	u := newUser(t, a, "")
	const n = 5000
	for i := range n {
		expires := now.Add(time.Duration(i%2) * time.Nanosecond)
		newSession(t, a, fmt.Sprint(i), u.ID, expires)
		must(a.CreateVerificationToken(t.Context(), adapter.VerificationToken{Identifier: "i", Token: fmt.Sprint(i), Expires: expires}))(t)
	}
	var wg sync.WaitGroup
	for i := range n / 2 { // at the same time, some of the sessions that are kept are deleted
		wg.Go(func() {
			_, err := a.DeleteSession(t.Context(), fmt.Sprint(i*4+1))
			assert.NoError(t, err)
		})
	}
	got, err := a.DeleteExpired(t.Context(), now)
	wg.Wait()
	require.NoError(t, err)
	assert.Equal(t, adapter.Swept{Sessions: n / 2, VerificationTokens: n / 2}, got)
	for i := range n {
		living := i%4 == 3
		s, err := a.GetSessionAndUser(t.Context(), fmt.Sprint(i))
		require.Truef(t, err == nil && living == (s != nil), "session %d: got %v, %v; living is %v", i, s, err, living)
	}
	got, err = a.DeleteExpired(t.Context(), now.Add(time.Hour))
	assert.Truef(t, err == nil && got.Sessions == n/4, "second sweep: got %v, %v; want %d sessions", got, err, n/4)
}

func TestRefusesWhatItCannotKeep(t *testing.T) {
	a := memory.New()
	u := newUser(t, a, "")
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"session token": func() error { return erred(a.CreateSession(ctx, adapter.Session{UserID: u.ID})) },
		"provider": func() error {
			return erred(a.LinkAccount(ctx, adapter.Account{UserID: u.ID, ProviderAccountID: "1"}))
		},
		"provider account id": func() error {
			return erred(a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Provider: "p"}))
		},
		"authorization details": func() error {
			return erred(a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Provider: "p", ProviderAccountID: "1", AuthorizationDetails: []byte("[{")}))
		},
		"identifier": func() error {
			return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Token: "t"}))
		},
		"token": func() error {
			return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i"}))
		},
		"credential id": func() error { return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: u.ID})) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil || errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
				t.Errorf("got %v, want an error of its own", err)
			}
		})
	}
}

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

func newUser(t *testing.T, a *memory.Adapter, email string) *adapter.User {
	t.Helper()
	u, err := a.CreateUser(t.Context(), adapter.User{Email: email})
	require.NoError(t, err)
	return u
}

func newSession(t *testing.T, a *memory.Adapter, token, userID string, expires time.Time) {
	t.Helper()
	_, err := a.CreateSession(t.Context(), adapter.Session{SessionToken: token, UserID: userID, Expires: expires})
	require.NoError(t, err)
}

func TestCopyIsAnotherHandle(t *testing.T) {
	first := memory.New()
	second := *first
	u := newUser(t, first, "ada@example.com")
	got, err := second.GetUserByEmail(t.Context(), "ada@example.com")
	assert.Truef(t, err == nil && got != nil && got.ID == u.ID, "the copy sees %v, %v; want user %s", got, err, u.ID)
	got, _ = memory.New().GetUser(t.Context(), u.ID)
	assert.Nil(t, got, "another adapter sees")
}

func TestMovedSessionFollowsItsNewOwner(t *testing.T) {
	a := memory.New()
	ctx := t.Context()
	ada, bob := newUser(t, a, "ada@example.com"), newUser(t, a, "bob@example.com")
	for i := range 5 {
		newSession(t, a, fmt.Sprint(i), ada.ID, time.Now())
	}
	for _, token := range []string{"0", "3"} {
		_, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(bob.ID)})
		require.NoError(t, err)
	}
	_, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "4", UserID: adapter.To("nobody")})
	assert.ErrorIsf(t, err, adapter.ErrNotFound, "moving a session to nobody: got %v, want ErrNotFound", err)
	_, err = a.DeleteUser(ctx, ada.ID)
	require.NoError(t, err)
	for i := range 5 {
		got, err := a.GetSessionAndUser(ctx, fmt.Sprint(i))
		require.NoError(t, err)
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
		"DeleteUser": func(a *memory.Adapter, userID string) error { _, err := a.DeleteUser(t.Context(), userID); return err },
		"DeleteSessionsByUserID": func(a *memory.Adapter, userID string) error {
			_, err := a.DeleteSessionsByUserID(t.Context(), userID, "")
			return err
		},
		"DeleteExpired": func(a *memory.Adapter, _ string) error {
			_, err := a.DeleteExpired(t.Context(), time.Now())
			return err
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
					if found, err := a.GetSessionAndUser(t.Context(), fmt.Sprint("other", calls)); err != nil || found == nil {
						t.Fatal(found, err)
					}
					longest = max(longest, time.Since(began))
					select {
					case err := <-done:
						if err != nil {
							t.Fatal(err)
						}
						running = false
					default:
					}
				}
				if left, err := a.ListSessionsByUserID(t.Context(), user.ID); err != nil || len(left) != 0 {
					t.Fatalf("%d sessions are left, %v", len(left), err)
				}
				took := time.Since(start)
				t.Logf("%d sessions in %v; %d times two calls of somebody else meanwhile, the longest in %v", many, took, calls, longest)
				well = longest < max(most, took/4)
			}
			if !well {
				t.Errorf("in each of %d attempts somebody waited for longer than %v", attempts, most)
			}
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
		_, err := a.CreateVerificationToken(t.Context(), adapter.VerificationToken{Identifier: "i", Token: fmt.Sprint(i), Expires: expires})
		require.NoError(t, err)
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
	want := (adapter.Swept{Sessions: n / 2, VerificationTokens: n / 2})
	assert.Truef(t, err == nil && got == want, "got %v, %v; want %v", got, err, want)
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
		"session token": func() error { _, err := a.CreateSession(ctx, adapter.Session{UserID: u.ID}); return err },
		"provider": func() error {
			_, err := a.LinkAccount(ctx, adapter.Account{UserID: u.ID, ProviderAccountID: "1"})
			return err
		},
		"provider account id": func() error {
			_, err := a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Provider: "p"})
			return err
		},
		"authorization details": func() error {
			_, err := a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Provider: "p", ProviderAccountID: "1", AuthorizationDetails: []byte("[{")})
			return err
		},
		"identifier": func() error {
			_, err := a.CreateVerificationToken(ctx, adapter.VerificationToken{Token: "t"})
			return err
		},
		"token": func() error {
			_, err := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i"})
			return err
		},
		"credential id": func() error {
			_, err := a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: u.ID})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(); err == nil || errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
				t.Errorf("got %v, want an error of its own", err)
			}
		})
	}
}

package concurrency

import (
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pairLost loses an account when its user's other account is unlinked.
type pairLost struct{ *model.Model }

func (a pairLost) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	account, err := a.Model.UnlinkAccount(ctx, key)
	if account != nil {
		for k, other := range a.Accounts {
			if other.UserID == account.UserID {
				delete(a.Accounts, k)
			}
		}
	}
	return account, err
}

// revived brings the authenticators back when a user with the same address is
// created.
type revived struct {
	*model.Model
	buried map[string][]adapter.Authenticator
}

func (a revived) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	list, err := a.ListAuthenticatorsByUserID(ctx, id)
	if err != nil {
		return nil, err
	}
	u, err := a.Model.DeleteUser(ctx, id)
	if u != nil && u.Email != "" {
		a.buried[u.Email] = list
	}
	return u, err
}

func (a revived) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	r, err := a.Model.CreateUser(ctx, u)
	if err == nil {
		for _, w := range a.buried[u.Email] {
			w.UserID = r.ID
			a.Authenticators[w.CredentialID] = w
		}
	}
	return r, err
}

// stingy refuses the third session of a user.
type stingy struct{ *model.Model }

func (a stingy) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	count := 0
	for _, other := range a.Sessions {
		if other.UserID == s.UserID {
			count++
		}
	}
	if count == 2 {
		return nil, adapter.ErrConflict
	}
	return a.Model.CreateSession(ctx, s)
}

// tired refuses new users once it has had three hundred.
type tired struct {
	*model.Model
	had *int
}

func (a tired) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	if *a.had++; *a.had > 300 {
		return nil, adapter.ErrConflict
	}
	return a.Model.CreateUser(ctx, u)
}

func randomSequencesAlone(c *kit.Context) { randomSequences(c, 1) }

// modelHarness opens a model that is broken.
func modelHarness(wrap func(m *model.Model) adapter.Adapter) *kit.Harness {
	open := func(testing.TB) adapter.Adapter { return wrap(model.New()) }
	return &kit.Harness{New: open, Declarations: kit.Declarations{Precision: time.Nanosecond}}
}

// TestRandomSequencesThatDependOnEarlierOnes finds a fault that no single sequence
// shows: the evidence says so, and names the method and its rules.
func TestRandomSequencesThatDependOnEarlierOnes(t *testing.T) {
	check := kit.Check{ID: "ISO-05", Words: "random-sequences", Test: randomSequencesAlone}
	h := modelHarness(func(m *model.Model) adapter.Adapter { return tired{m, new(int)} })
	r := kit.NewRun(h, rand.Uint64()>>11, 20)
	x := r.Check(t.Context(), check)
	require.Equalf(t, kit.Fail, x.Outcome, "got %s, want a failure", x.Outcome)
	title, _, _ := strings.Cut(x.Evidence[0], "\n")
	assert.Truef(t, strings.HasPrefix(title, "CreateUser does not keep its rules (USER-01 to") && strings.Contains(title, "earlier sequences left behind"),
		"got the title %q", title)
}

func TestRandomSequencesShrink(t *testing.T) {
	for name, broken := range map[string]struct {
		wrap  func(m *model.Model) adapter.Adapter
		calls int // in the shortest sequence that shows the difference
	}{
		"unlinking one pair removes two":    {func(m *model.Model) adapter.Adapter { return pairLost{m} }, 4},
		"deleted authenticators come back":  {func(m *model.Model) adapter.Adapter { return revived{m, map[string][]adapter.Authenticator{}} }, 4},
		"the third session of a user fails": {func(m *model.Model) adapter.Adapter { return stingy{m} }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			check := kit.Check{ID: "ISO-05", Words: "random-sequences", Test: randomSequencesAlone}
			// Without shrinking, the sequence has a hundred calls. How short rapid makes it depends on
			// chance, and on the time that it gets: the shortest of some attempts counts.
			shortest := ""
			for range 5 {
				h := modelHarness(broken.wrap)
				r := kit.NewRun(h, rand.Uint64()>>11, 20) // one round finds the difference nineteen times in twenty
				x := r.Check(t.Context(), check)
				require.Equalf(t, kit.Fail, x.Outcome, "got %s, want a failure", x.Outcome)
				if shortest == "" || strings.Count(x.Evidence[0], "\n") < strings.Count(shortest, "\n") {
					shortest = x.Evidence[0]
				}
				if strings.Count(shortest, "\n") <= broken.calls+20 {
					break
				}
			}
			title, _, _ := strings.Cut(shortest, "\n")
			if got := strings.Count(shortest, "\n"); !strings.Contains(title, "the shortest sequence") || got < broken.calls-1 || got > broken.calls+20 {
				t.Errorf("got %d calls, want %d or a few more\n%s", got, broken.calls, shortest)
			}
			written, err := os.ReadDir(".")
			assert.Truef(t, err == nil && len(written) <= 0, "files were written: %v, error %v", written, err)
			t.Log(shortest)
		})
	}
}

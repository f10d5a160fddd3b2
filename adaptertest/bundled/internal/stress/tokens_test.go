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

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Sixteen teams of four clients share two handles. In each team one client creates a token, and then all four use it
// concurrently.
const (
	teams      = 16
	teamSize   = 4
	patience   = 3 * time.Second // for one call
	faultEvery = 60 * time.Millisecond
	faultFor   = 30 * time.Millisecond // the duration of a fault that lasts
)

// TestTokensUnderFire tests [VTOK-04] under the hardest conditions: with 64 clients, two handles and random faults. Every
// history must be possible for one register: no token is used twice, and no created token is lost.
func TestTokensUnderFire(t *testing.T) {
	each(t, wiringstest.Servers(t, stores.Options{Fast: true}), tokensUnderFire)
}

// TestTokensOnGalera does the same with handles on two nodes.
func TestTokensOnGalera(t *testing.T) { onGalera(t, tokensUnderFire) }

func tokensUnderFire(t *testing.T, w wirings.Wiring, o *wirings.Opened) {
	one := o.Harness.New(t)
	handles := []adapter.Adapter{one, o.Harness.Second(t, one)}
	var controls []fault.Control
	if o.Harness.Faults != nil {
		for _, h := range handles {
			controls = append(controls, o.Harness.Faults(h))
		}
	}
	start := time.Now()
	stop := make(chan struct{})
	var fire sync.WaitGroup
	var struck atomic.Int64
	var first []fault.Injection // at least these take effect, however fast the store is
	for _, control := range controls {
		if i, err := control.Inject(fault.LoseReply, 1); err == nil {
			first = append(first, i)
		}
		fire.Go(func() { struck.Add(bombard(control, stop)) })
	}

	s := &shooting{handles: handles, start: start, nonce: rand.Text(), histories: make([][]porcupine.Operation, *tokens)}
	var clients sync.WaitGroup
	for team := range teams {
		clients.Go(func() { s.team(t.Context(), team) })
	}
	clients.Wait()
	close(stop)
	fire.Wait()
	for _, i := range first {
		select {
		case <-i.Hit():
			struck.Add(1)
		default:
		}
	}
	for _, control := range controls {
		control.Heal()
	}
	s.settle(t)

	double, lost, unknown := s.judge(t)
	t.Logf("%s (%s %s): %d tokens, %d spent, %d operations, of which %d failed, %d faults, %v: %d spent twice, %d lost, %d undecided",
		w, o.Server, o.Version, *tokens, s.spent.Load(), s.operations.Load(), s.failed.Load(), struck.Load(), time.Since(start).Round(10*time.Millisecond), double, lost, unknown)
	assert.False(t, len(controls) > 0 && struck.Load() == 0, "no fault took effect, so the test proves nothing")
	assert.True(t, s.spent.Load() != 0, "no token was used, so the test proves nothing")
}

// bombard injects faults until stop is closed, and returns the number of faults that took effect.
func bombard(control fault.Control, stop <-chan struct{}) (struck int64) {
	kinds := []fault.Kind{
		fault.FailRequest, fault.LoseReply, fault.LoseReply, fault.LoseReply, fault.CutReply, fault.CutReply,
		fault.Cut, fault.HalfClose, fault.HoldReply, fault.Stall, fault.Down, fault.Delay,
	}
	tick := time.NewTicker(faultEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return struck
		case <-tick.C:
		}
		i, err := control.Inject(kinds[mathrand.IntN(len(kinds))], 1+mathrand.IntN(8))
		if err != nil { // the control does not have this fault
			continue
		}
		timer := time.NewTimer(faultFor)
		select {
		case <-i.Hit():
			struck++
		case <-timer.C:
		case <-stop:
		}
		timer.Stop()
		i.Release()
	}
}

// shooting is one run, with the history of the calls on every token.
type shooting struct {
	handles    []adapter.Adapter
	start      time.Time
	nonce      string
	histories  [][]porcupine.Operation // by token; a team writes only the histories of its own tokens
	operations atomic.Int64
	failed     atomic.Int64
	spent      atomic.Int64
}

// outcome is the result of a call on a token.
type outcome struct {
	made   bool // the call created the token
	got    bool // a use returned the token
	failed bool // it is not known whether the call took effect
}

func (s *shooting) key(token int) adapter.VerificationTokenKey {
	return adapter.VerificationTokenKey{Identifier: fmt.Sprintf("fire-%d@example.com", token), Token: fmt.Sprintf("%s-%d", s.nonce, token)}
}

// team takes every sixteenth token.
func (s *shooting) team(ctx context.Context, team int) {
	for token := team; token < len(s.histories); token += teams {
		history := make([]porcupine.Operation, 1+teamSize)
		history[0] = s.create(ctx, team*teamSize, token)
		var ready, done sync.WaitGroup
		ready.Add(teamSize)
		for i := range teamSize {
			done.Go(func() {
				ready.Done()
				ready.Wait()
				history[1+i] = s.use(ctx, team*teamSize+i, token)
			})
		}
		done.Wait()
		s.histories[token] = history
	}
}

func (s *shooting) create(ctx context.Context, client, token int) porcupine.Operation {
	key := s.key(token)
	return s.timed(ctx, client, func(ctx context.Context) outcome {
		_, err := s.handles[client%2].CreateVerificationToken(ctx, adapter.VerificationToken{
			Identifier: key.Identifier, Token: key.Token, Expires: time.Now().Add(time.Hour),
		})
		return outcome{made: true, failed: err != nil}
	})
}

func (s *shooting) use(ctx context.Context, client, token int) porcupine.Operation {
	return s.timed(ctx, client, func(ctx context.Context) outcome {
		got, err := s.handles[client%2].UseVerificationToken(ctx, s.key(token))
		if err == nil && got != nil {
			s.spent.Add(1)
		}
		return outcome{got: err == nil && got != nil, failed: err != nil}
	})
}

func (s *shooting) timed(ctx context.Context, client int, call func(context.Context) outcome) porcupine.Operation {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	from := time.Since(s.start)
	o := call(ctx)
	to := time.Since(s.start)
	s.operations.Add(1)
	if o.failed {
		s.failed.Add(1)
		to = 1 << 60 // a failed call may still take effect
	}
	return porcupine.Operation{ClientId: client, Call: int64(from), Return: int64(to), Output: o}
}

// settle uses every token once more after the faults have ended, so that a lost token is noticed.
func (s *shooting) settle(t *testing.T) {
	t.Helper()
	var wg sync.WaitGroup
	for team := range teams {
		wg.Go(func() {
			for token := team; token < len(s.histories); token += teams {
				for { // the first calls may get connections that a fault has broken
					op := s.use(t.Context(), teams*teamSize+team, token)
					s.histories[token] = append(s.histories[token], op)
					if !op.Output.(outcome).failed {
						break
					}
					if !assert.True(t, time.Since(s.start) <= 5*time.Minute, "the store does not recover") {
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// A token is absent, there (stored and not used), or spent.
type state int

const (
	absent state = iota
	there
	spent
)

// register is the sequential specification of a token, which is created once and returned once.
var register = porcupine.NondeterministicModel{
	Init: func() []any { return []any{absent} },
	Step: func(before, _, output any) []any {
		s, o := before.(state), output.(outcome)
		switch {
		case o.made && o.failed:
			if s == absent {
				return []any{absent, there}
			}
			return []any{s}
		case o.made:
			return []any{there}
		case o.failed && s == there:
			return []any{there, spent}
		case o.failed:
			return []any{s}
		case o.got && s == there:
			return []any{spent}
		case o.got || s == there: // a token was returned that did not exist, or a stored token was not returned
			return nil
		default:
			return []any{s}
		}
	},
}

// judge checks every history against the register.
func (s *shooting) judge(t *testing.T) (double, lost, unknown int) {
	t.Helper()
	model := register.ToModel()
	for token, history := range s.histories {
		got := 0
		for _, op := range history {
			if op.Output.(outcome).got {
				got++
			}
		}
		switch porcupine.CheckOperationsTimeout(model, history, time.Minute) {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			unknown++
		case porcupine.Illegal:
			if got > 1 {
				double++
			} else {
				lost++
			}
		}
		t.Errorf("the history of token %d is impossible for a token that is used once: %s", token, describe(history))
	}
	return double, lost, unknown
}

func describe(history []porcupine.Operation) (text string) {
	for _, op := range history {
		text += fmt.Sprintf("\n\tclient %d, %v to %v: %+v", op.ClientId, time.Duration(op.Call), time.Duration(op.Return), op.Output)
	}
	return text
}

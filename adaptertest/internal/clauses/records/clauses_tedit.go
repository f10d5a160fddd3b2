package records

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var tokenEditMethods = []string{"CreateVerificationToken", "UseVerificationToken", "DeleteVerificationTokens"}

var teditClauses = []kit.Check{
	{ID: "TEDIT-01", Words: "all-tokens-of-the-identifier-end", Requires: tokenEditMethods, Test: func(c *kit.Context) {
		identifier := c.NewToken().Identifier
		for _, n := range []int{1, 2, 5, kit.Many(c)} {
			tokens := make([]adapter.VerificationToken, n)
			kit.Populate(c, n, func(i int) {
				tokens[i] = kit.TokenOf(c, identifier, c.Instant(time.Duration(1+(i*7)%5)*time.Hour))
			})
			what := fmt.Sprintf("DeleteVerificationTokens of %d", n)
			counted(c, what, kit.DeleteVerificationTokens(identifier), n)
			for i, t := range tokens {
				if i%37 == 0 || i < 5 || i == n-1 {
					c.Absent("a token after "+what, c.UseToken(t.Key()), nil)
					kit.ReallyGone(c, what, kit.Record{Kind: kit.VerificationTokenRecord, Token: t.Key()})
				}
			}
			counted(c, what+" once more", kit.DeleteVerificationTokens(identifier), 0)
		}
		joined := 0
		for _, key := range joinedKeys(c.Secret("token"), c.Secret("token")) {
			t := c.NewToken()
			t.Identifier, t.Token = identifier, key.Value
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); stored(c, "CreateVerificationToken", key, err) {
				joined++
			}
		}
		counted(c, "DeleteVerificationTokens of tokens with separators", kit.DeleteVerificationTokens(identifier), joined)
		ended := make([]adapter.VerificationToken, 4) // a store may report those that have expired as absent, or not count them
		for i, life := range []time.Duration{-time.Second, -time.Hour, -31 * kit.Day, time.Hour} {
			ended[i] = kit.TokenOf(c, identifier, c.Instant(life))
		}
		if got := kit.Of[int64](c, kit.DeleteVerificationTokens(identifier)); got < 1 || got > 4 {
			c.Errorf("DeleteVerificationTokens of one token and three expired ones: reports %d deleted", got)
		}
		for _, t := range ended {
			c.Absent("a token that expires "+diff.Show(t.Expires)+", after all tokens of its identifier were deleted", c.UseToken(t.Key()), nil)
		}
		outlivingTokens(c)
		again := kit.TokenOf(c, identifier, c.Instant(time.Hour))
		c.Same("a token that was created afterwards", c.UseToken(again.Key()), &again)
		used := kit.TokenOf(c, identifier, c.Instant(time.Hour))
		c.UseToken(used.Key())
		counted(c, "DeleteVerificationTokens after the only token was used", kit.DeleteVerificationTokens(identifier), 0)
	}},
	{ID: "TEDIT-02", Words: "other-tokens-stay", Requires: tokenEditMethods, Test: func(c *kit.Context) {
		t := c.Token()
		folds := c.Harness().Declarations.EmailFoldsCase
		var others []adapter.VerificationToken
		for _, identifier := range []string{
			t.Identifier + "x", "x" + t.Identifier, t.Identifier[:len(t.Identifier)-1], t.Identifier[1:], t.Identifier + " ", t.Identifier + ":" + t.Token,
			swapCase(t.Identifier), "%" + t.Identifier[1:], t.Token, c.NewToken().Identifier,
		} {
			if folds && kit.LowerASCII(identifier) == kit.LowerASCII(t.Identifier) {
				continue
			}
			x := t
			x.Identifier = identifier // the same token text for several identifiers
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, x); err == nil {
				others = append(others, x)
			}
		}
		for _, identifier := range []string{c.NewToken().Identifier, "", "%", "*", "_", t.Token, t.Identifier + "y", t.Identifier[:4], "' OR ''='", t.Identifier[:8] + "%", t.Identifier[:8] + "*", "."} {
			got, err := kit.DeleteVerificationTokens(identifier).Do(c.Ctx, c.Adapter)
			if n, _ := got.(int64); n != 0 || err != nil && identifier != "" {
				if slices.ContainsFunc(others, func(o adapter.VerificationToken) bool { return o.Identifier == identifier }) {
					continue
				}
				c.Errorf("DeleteVerificationTokens(%q): got %d, error %v, want 0", identifier, n, err)
			}
		}
		var joined []adapter.VerificationToken
		for _, key := range joinedKeys(kit.Address(c, "ada"), kit.Address(c, "bob")) {
			x := c.NewToken()
			x.Identifier = key.Value
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, x); stored(c, "CreateVerificationToken", key, err) {
				joined = append(joined, x)
			}
		}
		for _, x := range slices.Backward(joined) { // those that are joined first
			counted(c, fmt.Sprintf("DeleteVerificationTokens(%q)", x.Identifier), kit.DeleteVerificationTokens(x.Identifier), 1)
		}
		if c.Works("CreateUser") {
			b := userWith(c, 1, 2, 1)
			kit.Of[int64](c, kit.DeleteVerificationTokens(b.User.Email))
			unchanged(c, "of the user whose address' tokens were deleted", c.Adapter, b)
		}
		counted(c, "DeleteVerificationTokens", kit.DeleteVerificationTokens(t.Identifier), 1)
		c.Absent("the token of the identifier", c.UseToken(t.Key()), nil)
		for _, x := range others {
			if x.Identifier == t.Token {
				continue
			}
			kit.UsedAsSpelled(c, fmt.Sprintf("the token of %q after those of %q were deleted", x.Identifier, t.Identifier), x)
		}
	}},
	{ID: "TEDIT-03", Words: "deleted-tokens-are-used-by-nobody", Races: true, Requires: tokenEditMethods, Test: func(c *kit.Context) {
		identifier := c.NewToken().Identifier
		race.Run(c, 4, func(n, _ int) race.Case {
			tokens := kit.Times(max(2, n-1), func() adapter.VerificationToken {
				t := c.NewToken()
				t.Identifier = identifier
				return kit.StoreRaw(c, kit.CreateVerificationToken, t)
			})
			k := race.Case{Exact: true, Calls: []kit.Call{kit.DeleteVerificationTokens(identifier)}}
			for i := 1; i < n; i++ {
				k.Calls = append(k.Calls, kit.UseVerificationToken(tokens[i-1].Key()))
			}
			k.Verify = func(h []race.Operation) error {
				if h[0].Err != nil {
					return nil
				}
				handedOut := h[0].Result.(int64)
				for _, m := range h[1:] {
					if m.Won() {
						handedOut++
					}
					if m.Err != nil {
						return nil // it may have been used
					}
				}
				for _, t := range tokens {
					if rest, err := c.Raw.UseVerificationToken(c.Ctx, t.Key()); err != nil || rest != nil {
						return fmt.Errorf("a token after all were deleted: got %v, error %w", rest, err)
					}
				}
				return race.Unless(handedOut == int64(len(tokens)), "%d tokens were there; %d were used or counted as deleted", len(tokens), handedOut)
			}
			return k
		})
		if kit.Faults(c) != nil {
			deletedTokensUnderFaults(c)
		}
	}},
}

// outlivingTokens deletes the tokens of identifiers some of whose tokens have expired since, or had expired
// before, in whichever order they were created. Tokens that are still valid are deleted.
func outlivingTokens(c *kit.Context) {
	const soon = 1200 * time.Millisecond
	var valid []adapter.VerificationToken
	for _, lives := range [][]time.Duration{{soon, time.Hour}, {time.Hour, soon}, {time.Hour, soon, 2 * time.Hour}, {-time.Hour, time.Hour}, {time.Hour, -time.Hour}} {
		identifier := c.NewToken().Identifier
		for _, life := range lives {
			t := c.NewToken()
			t.Identifier, t.Expires = identifier, c.Now().Add(life).UTC().Truncate(time.Millisecond)
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); err != nil && life > 0 { // an instant that has passed may be refused
				c.Fatalf("CreateVerificationToken: %v", err)
			}
			if life > soon {
				valid = append(valid, t)
			}
		}
	}
	kit.Wait(c, soon+50*time.Millisecond+c.Harness().Precision())
	for _, t := range valid {
		kit.Of[int64](c, kit.DeleteVerificationTokens(t.Identifier))
		c.Absent("a token that is still valid, after those of its identifier were deleted, of which one had expired", c.UseToken(t.Key()), nil)
	}
}

// deletedTokensUnderFaults injects faults into the deletion of tokens: a token
// that is reported as deleted can't be used.
func deletedTokensUnderFaults(c *kit.Context) {
	control := faulted.Control(c)
	defer control.Heal()
	for _, kind := range faulted.BreakingFaults {
		if !faulted.Has(c, control, kind) {
			continue
		}
		for step := 1; step <= kit.FaultSteps; step++ {
			identifier := c.NewToken().Identifier
			tokens := kit.Times(4, func() adapter.VerificationToken { return kit.TokenOf(c, identifier, c.Instant(time.Hour)) })
			n, hit, err := faulted.Strike(c, control, kind, step, kit.DeleteVerificationTokens(identifier))
			what := fmt.Sprintf("DeleteVerificationTokens with %s at step %d", faulted.KindName(kind), step)
			if err == nil && n.(int64) > int64(len(tokens)) {
				c.Errorf("%s: reports %d deleted, but only %d tokens existed", what, n, len(tokens))
			}
			for _, t := range tokens {
				if got := c.UseToken(t.Key()); got != nil && err == nil {
					c.Errorf("%s: it succeeded, and a token could be used", what)
				}
			}
			if !hit || c.Failed() {
				break
			}
		}
	}
}

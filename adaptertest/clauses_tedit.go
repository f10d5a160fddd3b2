package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var tokenEditMethods = []string{"CreateVerificationToken", "UseVerificationToken", "DeleteVerificationTokens"}

var teditClauses = []check{
	{id: "TEDIT-01", words: "all-tokens-of-the-identifier-end", requires: tokenEditMethods, run: func(c *clauseContext) {
		identifier := c.newToken().Identifier
		for _, n := range []int{1, 2, 5, c.many()} {
			tokens := make([]adapter.VerificationToken, n)
			c.populate(n, func(i int) {
				tokens[i] = c.newToken()
				tokens[i].Identifier = identifier
				tokens[i].Expires = c.instant(time.Duration(1+(i*7)%5) * time.Hour)
				c.createToken(tokens[i])
			})
			what := fmt.Sprintf("DeleteVerificationTokens of %d", n)
			if got := of[int64](c, deleteTokens(identifier)); got != int64(n) {
				c.Errorf("%s: reports %d deleted", what, got)
			}
			for i, t := range tokens {
				if i%37 == 0 || i < 5 || i == n-1 {
					c.absent("a token after "+what, c.useToken(t.Key()), nil)
					c.reallyGone(what, Record{Kind: VerificationTokenRecord, Token: t.Key()})
				}
			}
			if got := of[int64](c, deleteTokens(identifier)); got != 0 {
				c.Errorf("%s once more: reports %d deleted, want 0", what, got)
			}
		}
		joined := int64(0)
		for _, key := range joinedKeys(c.secret("token"), c.secret("token")) {
			t := c.newToken()
			t.Identifier, t.Token = identifier, key.value
			if _, err := c.a.CreateVerificationToken(c.ctx, t); c.stored("CreateVerificationToken", key, err) {
				joined++
			}
		}
		if got := of[int64](c, deleteTokens(identifier)); got != joined {
			c.Errorf("DeleteVerificationTokens of %d tokens with separators: reports %d deleted", joined, got)
		}
		ended := make([]adapter.VerificationToken, 4) // a store may report those that have expired as absent, or not count them
		for i, life := range []time.Duration{-time.Second, -time.Hour, -31 * day, time.Hour} {
			ended[i] = c.newToken()
			ended[i].Identifier, ended[i].Expires = identifier, c.instant(life)
			c.createToken(ended[i])
		}
		if got := of[int64](c, deleteTokens(identifier)); got < 1 || got > 4 {
			c.Errorf("DeleteVerificationTokens of one token and three expired ones: reports %d deleted", got)
		}
		for _, t := range ended {
			c.absent("a token that expires "+diff.Show(t.Expires)+", after all tokens of its identifier were deleted", c.useToken(t.Key()), nil)
		}
		c.outlivingTokens()
		again := c.newToken()
		again.Identifier = identifier
		c.createToken(again)
		c.same("a token that was created afterwards", c.useToken(again.Key()), &again)
		used := c.newToken()
		used.Identifier = identifier
		c.createToken(used)
		c.useToken(used.Key())
		if got := of[int64](c, deleteTokens(identifier)); got != 0 {
			c.Errorf("DeleteVerificationTokens after the only token was used: reports %d deleted, want 0", got)
		}
	}},
	{id: "TEDIT-02", words: "other-tokens-stay", requires: tokenEditMethods, run: func(c *clauseContext) {
		t := c.token()
		folds := c.harness().Declarations.EmailFoldsCase
		var others []adapter.VerificationToken
		for _, identifier := range []string{
			t.Identifier + "x", "x" + t.Identifier, t.Identifier[:len(t.Identifier)-1], t.Identifier[1:], t.Identifier + " ", t.Identifier + ":" + t.Token,
			swapCase(t.Identifier), "%" + t.Identifier[1:], t.Token, c.newToken().Identifier,
		} {
			if folds && lowerASCII(identifier) == lowerASCII(t.Identifier) {
				continue
			}
			x := t
			x.Identifier = identifier // the same token text for several identifiers
			if _, err := c.a.CreateVerificationToken(c.ctx, x); err == nil {
				others = append(others, x)
			}
		}
		for _, identifier := range []string{c.newToken().Identifier, "", "%", "*", "_", t.Token, t.Identifier + "y", t.Identifier[:4], "' OR ''='", t.Identifier[:8] + "%", t.Identifier[:8] + "*", "."} {
			got, err := deleteTokens(identifier).do(c.ctx, c.a)
			if n, _ := got.(int64); n != 0 || err != nil && identifier != "" {
				if slices.ContainsFunc(others, func(o adapter.VerificationToken) bool { return o.Identifier == identifier }) {
					continue
				}
				c.Errorf("DeleteVerificationTokens(%q): got %d, error %v, want 0", identifier, n, err)
			}
		}
		var joined []adapter.VerificationToken
		for _, key := range joinedKeys(c.address("ada"), c.address("bob")) {
			x := c.newToken()
			x.Identifier = key.value
			if _, err := c.a.CreateVerificationToken(c.ctx, x); c.stored("CreateVerificationToken", key, err) {
				joined = append(joined, x)
			}
		}
		for _, x := range slices.Backward(joined) { // those that are joined first
			if n := of[int64](c, deleteTokens(x.Identifier)); n != 1 {
				c.Errorf("DeleteVerificationTokens(%q): reports %d deleted, want 1", x.Identifier, n)
			}
		}
		if c.works("CreateUser") {
			b := c.userWith(1, 2, 1)
			of[int64](c, deleteTokens(b.user.Email))
			c.unchanged("of the user whose address' tokens were deleted", c.a, b)
		}
		if n := of[int64](c, deleteTokens(t.Identifier)); n != 1 {
			c.Errorf("DeleteVerificationTokens: reports %d deleted, want 1", n)
		}
		c.absent("the token of the identifier", c.useToken(t.Key()), nil)
		for _, x := range others {
			if x.Identifier == t.Token {
				continue
			}
			got := c.useToken(x.Key())
			if got != nil {
				got.Identifier = c.addressAs(got.Identifier, x.Identifier)
			}
			c.same(fmt.Sprintf("the token of %q after those of %q were deleted", x.Identifier, t.Identifier), got, &x)
		}
	}},
	{id: "TEDIT-03", words: "deleted-tokens-are-used-by-nobody", races: true, requires: tokenEditMethods, run: func(c *clauseContext) {
		identifier := c.newToken().Identifier
		c.race(4, func(n, _ int) raceCase {
			var tokens []adapter.VerificationToken
			for range max(2, n-1) {
				t := c.newToken()
				t.Identifier = identifier
				_, err := c.raw.CreateVerificationToken(c.ctx, t)
				must(c, "CreateVerificationToken", &t, err)
				tokens = append(tokens, t)
			}
			k := raceCase{exact: true, calls: []call{deleteTokens(identifier)}}
			for i := 1; i < n; i++ {
				k.calls = append(k.calls, useToken(tokens[i-1].Key()))
			}
			k.verify = func(h []operation) error {
				if h[0].err != nil {
					return nil
				}
				handedOut := h[0].result.(int64)
				for _, m := range h[1:] {
					if m.won() {
						handedOut++
					}
					if m.err != nil {
						return nil // it may have been used
					}
				}
				for _, t := range tokens {
					if rest, err := c.raw.UseVerificationToken(c.ctx, t.Key()); err != nil || rest != nil {
						return fmt.Errorf("a token after all were deleted: got %v, error %w", rest, err)
					}
				}
				return unless(handedOut == int64(len(tokens)), "%d tokens were there; %d were used or counted as deleted", len(tokens), handedOut)
			}
			return k
		})
		if c.faults() != nil {
			c.deletedTokensUnderFaults()
		}
	}},
}

// outlivingTokens deletes the tokens of identifiers some of whose tokens have expired since,
// or had expired before, in whichever order they were created. Tokens that are still valid are
// deleted.
func (c *clauseContext) outlivingTokens() {
	const soon = 1200 * time.Millisecond
	var valid []adapter.VerificationToken
	for _, lives := range [][]time.Duration{{soon, time.Hour}, {time.Hour, soon}, {time.Hour, soon, 2 * time.Hour}, {-time.Hour, time.Hour}, {time.Hour, -time.Hour}} {
		identifier := c.newToken().Identifier
		for _, life := range lives {
			t := c.newToken()
			t.Identifier, t.Expires = identifier, c.now().Add(life).UTC().Truncate(time.Millisecond)
			if _, err := c.a.CreateVerificationToken(c.ctx, t); err != nil && life > 0 { // an instant that has passed may be refused
				c.Fatalf("CreateVerificationToken: %v", err)
			}
			if life > soon {
				valid = append(valid, t)
			}
		}
	}
	c.wait(soon + 50*time.Millisecond + c.harness().precision())
	for _, t := range valid {
		of[int64](c, deleteTokens(t.Identifier))
		c.absent("a token that is still valid, after those of its identifier were deleted, of which one had expired", c.useToken(t.Key()), nil)
	}
}

// deletedTokensUnderFaults injects faults into the deletion of tokens: a token
// that is reported as deleted can't be used.
func (c *clauseContext) deletedTokensUnderFaults() {
	control := c.control()
	defer control.Heal()
	for _, kind := range breakingFaults {
		for step := 1; step <= faultSteps; step++ {
			var tokens []adapter.VerificationToken
			identifier := c.newToken().Identifier
			for range 4 {
				t := c.newToken()
				t.Identifier = identifier
				c.createToken(t)
				tokens = append(tokens, t)
			}
			i, err := control.Inject(kind, step)
			if errors.Is(err, errors.ErrUnsupported) {
				break
			}
			if err != nil {
				c.Fatalf("Inject: %v", err)
			}
			n, err := c.bounded(limitWith(kind), func(c *clauseContext) (any, error) { return deleteTokens(identifier).do(c.ctx, c.a) })
			hit := isHit(i) || err != nil && willBeHit(i)
			i.Release()
			c.mend(control)
			what := fmt.Sprintf("DeleteVerificationTokens with %s at step %d", kindName(kind), step)
			if err == nil && n.(int64) > int64(len(tokens)) {
				c.Errorf("%s: reports %d deleted, but only %d tokens existed", what, n, len(tokens))
			}
			for _, t := range tokens {
				if got := c.useToken(t.Key()); got != nil && err == nil {
					c.Errorf("%s: it succeeded, and a token could be used", what)
				}
			}
			if !hit || c.failed() {
				break
			}
		}
	}
}

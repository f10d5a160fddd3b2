package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	tokenMethods = []string{"CreateVerificationToken", "UseVerificationToken"}
)

var vtokClauses = []check{
	{id: "VTOK-01", words: "use-yields-the-token-as-stored", requires: tokenMethods, run: func(c *clauseContext) {
		first, second := c.token(), c.token()
		c.same("UseVerificationToken", c.useToken(first.Key()), &first)
		c.same("UseVerificationToken of another", c.useToken(second.Key()), &second)
	}},
	{id: "VTOK-02", words: "second-use-is-absent", requires: tokenMethods, run: func(c *clauseContext) {
		t := c.token()
		c.used("the first use", t)
		c.notUsed("the second use", t.Key())
		c.wait(100 * time.Millisecond)
		c.notUsed("the third use", t.Key())
	}},
	{id: "VTOK-03", words: "unknown-pair-is-absent", requires: tokenMethods, run: func(c *clauseContext) {
		t := c.token()
		c.notUsed("a pair that was never created", c.newToken().Key())
		c.used("a pending token beside it", t)
	}},
	{id: "VTOK-04", words: "wrong-token-keeps-pending", requires: tokenMethods, run: func(c *clauseContext) {
		t, other := c.token(), c.token()
		for what, wrong := range map[string]string{
			"an unknown token": c.secret("token-å"), "another identifier's token": other.Token,
			"the identifier as the token": t.Identifier, "the beginning of the token": t.Token[:8],
		} {
			c.notUsed(what, adapter.VerificationTokenKey{Identifier: t.Identifier, Token: wrong})
		}
		for range 20 { // wrong guesses do not delete the token, even if there are many
			c.notUsed("one of many unknown tokens", adapter.VerificationTokenKey{Identifier: t.Identifier, Token: c.secret("guess")})
		}
		c.used("the right token after wrong ones", t)
		c.used("the other identifier's token", other)
	}},
	{id: "VTOK-05", words: "wrong-identifier-keeps-pending", requires: tokenMethods, run: func(c *clauseContext) {
		t, other := c.token(), c.token()
		for what, wrong := range map[string]string{
			"an unknown identifier": c.newToken().Identifier, "an identifier with another token": other.Identifier,
			"the token as the identifier": t.Token, "the beginning of the identifier": t.Identifier[:8],
		} {
			c.notUsed(what, adapter.VerificationTokenKey{Identifier: wrong, Token: t.Token})
		}
		c.used("the right identifier after wrong ones", t)
		c.used("the other identifier's token", other)
	}},
	{id: "VTOK-06", words: "one-value-for-two-identifiers-is-two-tokens", requires: tokenMethods, run: func(c *clauseContext) {
		value := c.secret("token-å")
		var tokens []adapter.VerificationToken
		for i := range 6 {
			t := c.newToken()
			t.Token, t.Expires = value, c.instant(time.Duration(i+1)*time.Hour)
			c.createToken(t)
			tokens = append(tokens, t)
		}
		for _, i := range []int{3, 1, 5, 0, 2, 4} {
			c.used("one of six tokens of the same value", tokens[i])
			c.notUsed("one of six tokens of the same value, again", tokens[i].Key())
		}
	}},
	{id: "VTOK-07", words: "an-identifier-may-have-several", requires: tokenMethods, run: func(c *clauseContext) {
		tokens := c.tokensOf(c.newToken().Identifier, 3)
		c.used("the last of three tokens", tokens[2])
	}},
	{id: "VTOK-08", words: "use-leaves-the-others-usable", requires: tokenMethods, run: func(c *clauseContext) {
		tokens := c.tokensOf(c.newToken().Identifier, 3)
		for _, i := range []int{1, 0, 2} {
			c.used(fmt.Sprintf("token %d of three, used in the order 2, 1, 3", i+1), tokens[i])
		}
		for _, t := range tokens {
			c.notUsed("a token that was used", t.Key())
		}
	}},
	{id: "VTOK-09", words: "creating-leaves-earlier-ones-usable", requires: tokenMethods, run: func(c *clauseContext) {
		for _, n := range []int{2, 25} {
			tokens := c.tokensOf(c.newToken().Identifier, n)
			for i, t := range tokens {
				c.used(fmt.Sprintf("token %d of %d pending ones", i+1, n), t)
			}
		}
	}},
	{id: "VTOK-10", words: "one-use-exhausts-a-pair-created-twice", requires: tokenMethods, run: func(c *clauseContext) {
		for _, d := range []time.Duration{30 * time.Minute, 2 * time.Hour} {
			want := c.token()
			again := want
			again.Expires = c.instant(d)
			if _, err := c.a.CreateVerificationToken(c.ctx, again); err == nil {
				want = again
				c.Notef("a pair that is created again is replaced")
			} else {
				c.Notef("a pair that is created again is refused: %v", err)
			}
			c.used("the pair that was created twice", want)
			c.notUsed("the pair that was created twice, again", want.Key())
		}
	}},
	{id: "VTOK-11", words: "expires-is-the-stored-one", requires: tokenMethods, run: func(c *clauseContext) {
		for _, d := range []time.Duration{time.Hour, -time.Hour, 365 * 24 * time.Hour} {
			t := c.newToken()
			t.Expires = c.instant(d)
			if _, err := c.a.CreateVerificationToken(c.ctx, t); err != nil && d < 0 {
				c.Notef("a token that has expired is refused: %v", err) // EXP-03 judges that
				continue
			} else if err != nil {
				c.Fatalf("CreateVerificationToken: %v", err)
			}
			got := c.useToken(t.Key())
			if got == nil && d < 0 {
				continue // VTOK-12
			}
			c.same(fmt.Sprintf("UseVerificationToken of a token that expires %v from now", d), got, &t)
			if got != nil && got.Expires.After(t.Expires.Add(c.harness().precision())) {
				c.Errorf("expires is %v, later than %v, which was given", got.Expires, t.Expires)
			}
		}
	}},
	{id: "VTOK-12", words: "expired-token-is-absent-or-truthful", requires: tokenMethods, run: func(c *clauseContext) {
		truthful := func(what string, t adapter.VerificationToken) {
			if got := c.useToken(t.Key()); got != nil {
				c.same(what, got, &t)
				if got.Expires.After(c.now()) {
					c.Errorf("%s: expires is %v, which is not past", what, got.Expires)
				}
			}
			c.notUsed(what+", again", t.Key())
		}
		for _, d := range []time.Duration{-time.Hour, -time.Second} {
			t := c.newToken()
			t.Expires = c.instant(d).Add(-time.Second)
			if _, err := c.a.CreateVerificationToken(c.ctx, t); err != nil {
				c.Notef("a token that has expired is refused: %v", err) // EXP-03 judges that
				continue
			}
			truthful("a token created expired", t)
		}
		if c.has(abilityClock) {
			t := c.newToken()
			t.Expires = c.instant(time.Minute)
			c.createToken(t)
			c.wait(2 * time.Minute)
			truthful("a token that has expired", t)
		}
	}},
	{id: "VTOK-13", words: "tokens-are-compared-byte-for-byte", requires: tokenMethods, run: func(c *clauseContext) {
		tokens := missedKeys(func() string { return c.nearMissKey("token") })
		for i, identifier := range missedKeys(func() string { return c.nearMissKey("ada") + "@bücher.example" }) {
			t := c.newToken()
			t.Identifier, t.Token = identifier.value, tokens[i].value
			if c.harness().Declarations.EmailFoldsCase { // it may come back in lower case
				t.Identifier = lowerASCII(t.Identifier)
			}
			c.createToken(t)
			var others []adapter.VerificationToken
			try := func(m nearMiss, key adapter.VerificationTokenKey) {
				got, err := c.a.UseVerificationToken(c.ctx, key)
				c.missed("UseVerificationToken", m, got, err)
				x := c.newToken()
				x.Identifier, x.Token = key.Identifier, key.Token
				if _, err := c.a.CreateVerificationToken(c.ctx, x); c.stored("CreateVerificationToken", m, err) {
					others = append(others, x)
				}
			}
			for _, m := range tokens[i].near(t.Token) {
				try(m, adapter.VerificationTokenKey{Identifier: t.Identifier, Token: m.value})
			}
			for _, m := range identifier.near(t.Identifier) {
				if c.harness().Declarations.EmailFoldsCase && lowerASCII(m.value) == lowerASCII(t.Identifier) {
					continue
				}
				try(nearMiss{"an identifier with " + m.name, m.value}, adapter.VerificationTokenKey{Identifier: m.value, Token: t.Token})
			}
			c.used("the token beside near misses", t)
			seen := map[adapter.VerificationTokenKey]bool{}
			for _, x := range others {
				key := x.Key()
				if c.harness().Declarations.EmailFoldsCase {
					key.Identifier = lowerASCII(key.Identifier)
				}
				if seen[key] {
					continue
				}
				seen[key] = true
				if got := c.useToken(x.Key()); got == nil || got.Token != x.Token {
					c.Errorf("a token that is a near miss of another: got %s, want %s", diff.Show(got), diff.Show(x))
				}
			}
		}
	}},
	{id: "VTOK-14", words: "use-removes-the-matching-token-only", requires: tokenMethods, run: func(c *clauseContext) {
		var tokens []adapter.VerificationToken
		for range 5 {
			tokens = append(tokens, c.token())
		}
		for _, i := range []int{2, 4, 0, 3, 1} {
			c.used("a token of an identifier of its own", tokens[i])
		}
		if c.works("CreateUser") {
			b := c.userWith(1, 2, 1)
			t := c.newToken()
			t.Identifier = b.user.Email
			c.createToken(t)
			c.used("a token of a user's address", t)
			c.unchanged("of the user whose address the token was for", c.a, b)
			c.pendingBesideWrites()
		}
	}},
	{id: "VTOK-15", words: "create-returns-the-token-created", requires: []string{"CreateVerificationToken"}, run: func(c *clauseContext) {
		identifier := c.newToken().Identifier
		for i := range 3 {
			t := c.newToken()
			t.Identifier = identifier
			t.Expires = c.instant(time.Duration(3-i) * time.Hour)
			if got := c.createToken(t); got != nil {
				c.same("CreateVerificationToken", got, &t)
			} else {
				c.Notef("CreateVerificationToken returns nothing")
			}
		}
	}},
	{id: "VTOK-16", words: "identifier-needs-no-user", requires: tokenMethods, run: func(c *clauseContext) {
		t := c.newToken()
		if c.works("GetUserByEmail") {
			c.absent("GetUserByEmail of a fresh address", c.getUserByEmail(t.Identifier), nil)
		}
		c.createToken(t)
		c.used("a token whose identifier belongs to nobody", t)
		if c.works("GetUserByEmail") {
			c.absent("GetUserByEmail after the use of a token", c.getUserByEmail(t.Identifier), nil)
		}
	}},
	{id: "VTOK-17", words: "expired-tokens-may-be-purged", requires: tokenMethods, run: func(c *clauseContext) {
		t := c.newToken()
		t.Expires = c.instant(-24 * time.Hour)
		if _, err := c.a.CreateVerificationToken(c.ctx, t); err != nil {
			c.Notef("a token that has expired is refused: %v", err)
			return
		}
		if c.useToken(t.Key()) == nil {
			c.Notef("a token that has expired is absent")
		} else {
			c.Notef("a token that has expired stays until it is used")
		}
	}},
}

// tokensOf creates n tokens of one identifier.
func (c *clauseContext) tokensOf(identifier string, n int) []adapter.VerificationToken {
	var tokens []adapter.VerificationToken
	for i := range n {
		t := c.newToken()
		t.Identifier = identifier
		t.Expires = c.instant(time.Duration(i+1) * time.Hour)
		c.createToken(t)
		tokens = append(tokens, t)
	}
	return tokens
}

// notUsed reports a breach unless a use finds nothing.
func (c *clauseContext) notUsed(what string, key adapter.VerificationTokenKey) {
	got, err := c.a.UseVerificationToken(c.ctx, key)
	c.absent("UseVerificationToken, "+what, got, err)
}

// pendingBesideWrites makes each write on the records of a user, except a deletion of the
// user or of tokens and a change of the address. The pending tokens of the address stay.
func (c *clauseContext) pendingBesideWrites() {
	k := c.newFixture(c.a)
	var alone []call
	for _, field := range userFields {
		if field != "email" {
			alone = append(alone, updateUser(c.userUpdate(k.user.ID, []string{field})))
		}
	}
	pending := []adapter.VerificationToken{c.newToken(), c.newToken()}
	for i := range pending {
		pending[i].Identifier = k.user.Email
		c.createToken(pending[i])
	}
	for _, w := range c.working(append(alone, k.writes()...)) {
		email := false
		if w.method == "UpdateUser" {
			email = w.args[0].(adapter.UserUpdate).Email.IsSet()
		}
		if email || slices.Contains([]string{"DeleteUser", "UseVerificationToken", "DeleteVerificationTokens", "CreateVerificationToken"}, w.method) {
			continue
		}
		if _, err := w.do(c.ctx, c.a); err != nil && !errors.Is(err, adapter.ErrUnsupported) {
			c.Errorf("%s: %v", w.method, err)
		}
	}
	for _, t := range pending {
		c.used("a token of a user's address after writes on the user's records", t)
	}
}

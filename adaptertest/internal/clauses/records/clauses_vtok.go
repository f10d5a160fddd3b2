package records

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var tokenMethods = []string{"CreateVerificationToken", "UseVerificationToken"}

var vtokClauses = []kit.Check{
	{ID: "VTOK-01", Words: "use-yields-the-token-as-stored", Requires: tokenMethods, Test: func(c *kit.Context) {
		first, second := c.Token(), c.Token()
		c.Same("UseVerificationToken", c.UseToken(first.Key()), &first)
		c.Same("UseVerificationToken of another", c.UseToken(second.Key()), &second)
	}},
	{ID: "VTOK-02", Words: "second-use-is-absent", Requires: tokenMethods, Test: func(c *kit.Context) {
		t := c.Token()
		kit.Used(c, "the first use", t)
		notUsed(c, "the second use", t.Key())
		kit.Wait(c, 100*time.Millisecond)
		notUsed(c, "the third use", t.Key())
	}},
	{ID: "VTOK-03", Words: "unknown-pair-is-absent", Requires: tokenMethods, Test: func(c *kit.Context) {
		t := c.Token()
		notUsed(c, "a pair that was never created", c.NewToken().Key())
		kit.Used(c, "a pending token beside it", t)
	}},
	{ID: "VTOK-04", Words: "wrong-token-keeps-pending", Requires: tokenMethods, Test: func(c *kit.Context) {
		t, other := c.Token(), c.Token()
		for what, wrong := range map[string]string{
			"an unknown token": c.Secret("token-å"), "another identifier's token": other.Token,
			"the identifier as the token": t.Identifier, "the beginning of the token": t.Token[:8],
		} {
			notUsed(c, what, adapter.VerificationTokenKey{Identifier: t.Identifier, Token: wrong})
		}
		for range 20 { // wrong guesses do not delete the token, even if there are many
			notUsed(c, "one of many unknown tokens", adapter.VerificationTokenKey{Identifier: t.Identifier, Token: c.Secret("guess")})
		}
		kit.Used(c, "the right token after wrong ones", t)
		kit.Used(c, "the other identifier's token", other)
	}},
	{ID: "VTOK-05", Words: "wrong-identifier-keeps-pending", Requires: tokenMethods, Test: func(c *kit.Context) {
		t, other := c.Token(), c.Token()
		for what, wrong := range map[string]string{
			"an unknown identifier": c.NewToken().Identifier, "an identifier with another token": other.Identifier,
			"the token as the identifier": t.Token, "the beginning of the identifier": t.Identifier[:8],
		} {
			notUsed(c, what, adapter.VerificationTokenKey{Identifier: wrong, Token: t.Token})
		}
		kit.Used(c, "the right identifier after wrong ones", t)
		kit.Used(c, "the other identifier's token", other)
	}},
	{ID: "VTOK-06", Words: "one-value-for-two-identifiers-is-two-tokens", Requires: tokenMethods, Test: func(c *kit.Context) {
		value, tokens := c.Secret("token-å"), make([]adapter.VerificationToken, 6)
		for i := range tokens {
			tokens[i] = c.NewToken()
			tokens[i].Token, tokens[i].Expires = value, c.Instant(time.Duration(i+1)*time.Hour)
			c.CreateToken(tokens[i])
		}
		for _, i := range []int{3, 1, 5, 0, 2, 4} {
			kit.Used(c, "one of six tokens of the same value", tokens[i])
			notUsed(c, "one of six tokens of the same value, again", tokens[i].Key())
		}
	}},
	{ID: "VTOK-07", Words: "an-identifier-may-have-several", Requires: tokenMethods, Test: func(c *kit.Context) {
		tokens := tokensOf(c, c.NewToken().Identifier, 3)
		kit.Used(c, "the last of three tokens", tokens[2])
	}},
	{ID: "VTOK-08", Words: "use-leaves-the-others-usable", Requires: tokenMethods, Test: func(c *kit.Context) {
		tokens := tokensOf(c, c.NewToken().Identifier, 3)
		for _, i := range []int{1, 0, 2} {
			kit.Used(c, fmt.Sprintf("token %d of three, used in the order 2, 1, 3", i+1), tokens[i])
		}
		for _, t := range tokens {
			notUsed(c, "a token that was used", t.Key())
		}
	}},
	{ID: "VTOK-09", Words: "creating-leaves-earlier-ones-usable", Requires: tokenMethods, Test: func(c *kit.Context) {
		for _, n := range []int{2, 25} {
			tokens := tokensOf(c, c.NewToken().Identifier, n)
			for i, t := range tokens {
				kit.Used(c, fmt.Sprintf("token %d of %d pending ones", i+1, n), t)
			}
		}
	}},
	{ID: "VTOK-10", Words: "one-use-exhausts-a-pair-created-twice", Requires: tokenMethods, Test: func(c *kit.Context) {
		for _, d := range []time.Duration{30 * time.Minute, 2 * time.Hour} {
			want := c.Token()
			again := want
			again.Expires = c.Instant(d)
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, again); err == nil {
				want = again
				c.Notef("a pair that is created again is replaced")
			} else {
				c.Notef("a pair that is created again is refused: %v", err)
			}
			kit.Used(c, "the pair that was created twice", want)
			notUsed(c, "the pair that was created twice, again", want.Key())
		}
	}},
	{ID: "VTOK-11", Words: "expires-is-the-stored-one", Requires: tokenMethods, Test: func(c *kit.Context) {
		for _, d := range []time.Duration{time.Hour, -time.Hour, 365 * 24 * time.Hour} {
			t := c.NewToken()
			t.Expires = c.Instant(d)
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); err != nil && d < 0 {
				c.Notef("a token that has expired is refused: %v", err) // EXP-03 judges that
				continue
			} else if err != nil {
				c.Fatalf("CreateVerificationToken: %v", err)
			}
			got := c.UseToken(t.Key())
			if got == nil && d < 0 {
				continue // VTOK-12
			}
			c.Same(fmt.Sprintf("UseVerificationToken of a token that expires %v from now", d), got, &t)
			if got != nil && got.Expires.After(t.Expires.Add(c.Harness().Precision())) {
				c.Errorf("expires is %v, later than %v, which was given", got.Expires, t.Expires)
			}
		}
	}},
	{ID: "VTOK-12", Words: "expired-token-is-absent-or-truthful", Requires: tokenMethods, Test: func(c *kit.Context) {
		truthful := func(what string, t adapter.VerificationToken) {
			if got := c.UseToken(t.Key()); got != nil {
				c.Same(what, got, &t)
				if got.Expires.After(c.Now()) {
					c.Errorf("%s: expires is %v, which is not past", what, got.Expires)
				}
			}
			notUsed(c, what+", again", t.Key())
		}
		for _, d := range []time.Duration{-time.Hour, -time.Second} {
			t := c.NewToken()
			t.Expires = c.Instant(d).Add(-time.Second)
			if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); err != nil {
				c.Notef("a token that has expired is refused: %v", err) // EXP-03 judges that
				continue
			}
			truthful("a token created expired", t)
		}
		if c.Has(kit.AbilityClock) {
			t := kit.TokenOf(c, c.NewToken().Identifier, c.Instant(time.Minute))
			kit.Wait(c, 2*time.Minute)
			truthful("a token that has expired", t)
		}
	}},
	{ID: "VTOK-13", Words: "tokens-are-compared-byte-for-byte", Requires: tokenMethods, Test: func(c *kit.Context) {
		tokens := missedKeys(func() string { return nearMissKey(c, "token") })
		for i, identifier := range missedKeys(func() string { return nearMissKey(c, "ada") + "@bücher.example" }) {
			t := c.NewToken()
			t.Identifier, t.Token = identifier.Value, tokens[i].Value
			if c.Harness().Declarations.EmailFoldsCase { // it may come back in lower case
				t.Identifier = kit.LowerASCII(t.Identifier)
			}
			c.CreateToken(t)
			var others []adapter.VerificationToken
			try := func(m kit.NearMiss, key adapter.VerificationTokenKey) {
				missedBy(c, kit.UseVerificationToken(key), m)
				x := c.NewToken()
				x.Identifier, x.Token = key.Identifier, key.Token
				if _, err := c.Adapter.CreateVerificationToken(c.Ctx, x); stored(c, "CreateVerificationToken", m, err) {
					others = append(others, x)
				}
			}
			for _, m := range tokens[i].Near(t.Token) {
				try(m, adapter.VerificationTokenKey{Identifier: t.Identifier, Token: m.Value})
			}
			for _, m := range identifier.Near(t.Identifier) {
				if c.Harness().Declarations.EmailFoldsCase && kit.LowerASCII(m.Value) == kit.LowerASCII(t.Identifier) {
					continue
				}
				try(kit.NearMiss{Name: "an identifier with " + m.Name, Value: m.Value}, adapter.VerificationTokenKey{Identifier: m.Value, Token: t.Token})
			}
			kit.Used(c, "the token beside near misses", t)
			seen := map[adapter.VerificationTokenKey]bool{}
			for _, x := range others {
				key := x.Key()
				if c.Harness().Declarations.EmailFoldsCase {
					key.Identifier = kit.LowerASCII(key.Identifier)
				}
				if seen[key] {
					continue
				}
				seen[key] = true
				if got := c.UseToken(x.Key()); got == nil || got.Token != x.Token {
					c.Errorf("a token that is a near miss of another: got %s, want %s", diff.Show(got), diff.Show(x))
				}
			}
		}
	}},
	{ID: "VTOK-14", Words: "use-removes-the-matching-token-only", Requires: tokenMethods, Test: func(c *kit.Context) {
		tokens := kit.Times(5, c.Token)
		for _, i := range []int{2, 4, 0, 3, 1} {
			kit.Used(c, "a token of an identifier of its own", tokens[i])
		}
		if c.Works("CreateUser") {
			b := userWith(c, 1, 2, 1)
			t := kit.TokenOf(c, b.User.Email, c.Instant(time.Hour))
			kit.Used(c, "a token of a user's address", t)
			unchanged(c, "of the user whose address the token was for", c.Adapter, b)
			pendingBesideWrites(c)
		}
	}},
	{ID: "VTOK-15", Words: "create-returns-the-token-created", Requires: []string{"CreateVerificationToken"}, Test: func(c *kit.Context) {
		identifier := c.NewToken().Identifier
		for i := range 3 {
			t := c.NewToken()
			t.Identifier, t.Expires = identifier, c.Instant(time.Duration(3-i)*time.Hour)
			if got := c.CreateToken(t); got != nil {
				c.Same("CreateVerificationToken", got, &t)
			} else {
				c.Notef("CreateVerificationToken returns nothing")
			}
		}
	}},
	{ID: "VTOK-16", Words: "identifier-needs-no-user", Requires: tokenMethods, Test: func(c *kit.Context) {
		t := c.NewToken()
		kit.Sees(c, "GetUserByEmail of a fresh address", kit.GetUserByEmail(t.Identifier), nil)
		c.CreateToken(t)
		kit.Used(c, "a token whose identifier belongs to nobody", t)
		kit.Sees(c, "GetUserByEmail after the use of a token", kit.GetUserByEmail(t.Identifier), nil)
	}},
	{ID: "VTOK-17", Words: "expired-tokens-may-be-purged", Requires: tokenMethods, Test: func(c *kit.Context) {
		t := c.NewToken()
		t.Expires = c.Instant(-24 * time.Hour)
		if _, err := c.Adapter.CreateVerificationToken(c.Ctx, t); err != nil {
			c.Notef("a token that has expired is refused: %v", err)
			return
		}
		if c.UseToken(t.Key()) == nil {
			c.Notef("a token that has expired is absent")
		} else {
			c.Notef("a token that has expired stays until it is used")
		}
	}},
}

// tokensOf creates n tokens of one identifier.
func tokensOf(c *kit.Context, identifier string, n int) []adapter.VerificationToken {
	return kit.Numbered(n, func(i int) adapter.VerificationToken {
		return kit.TokenOf(c, identifier, c.Instant(time.Duration(i+1)*time.Hour))
	})
}

// notUsed reports a breach unless a use finds nothing.
func notUsed(c *kit.Context, what string, key adapter.VerificationTokenKey) {
	kit.FindsNothing(c, "UseVerificationToken, "+what, kit.UseVerificationToken(key))
}

// pendingBesideWrites makes each write on the records of a user, except a deletion of the
// user or of tokens and a change of the address. The pending tokens of the address stay.
func pendingBesideWrites(c *kit.Context) {
	k := kit.NewFixture(c, c.Adapter)
	var alone []kit.Call
	for _, field := range kit.UserFields {
		if field != "email" {
			alone = append(alone, kit.UpdateUser(kit.UserUpdate(c, k.User.ID, []string{field})))
		}
	}
	pending := tokensOf(c, k.User.Email, 2)
	for _, w := range c.Working(append(alone, k.Writes()...)) {
		email := false
		if w.Method == "UpdateUser" {
			email = w.Args[0].(adapter.UserUpdate).Email.IsSet()
		}
		if email || slices.Contains([]string{"DeleteUser", "UseVerificationToken", "DeleteVerificationTokens", "CreateVerificationToken"}, w.Method) {
			continue
		}
		if _, err := w.Do(c.Ctx, c.Adapter); err != nil && !errors.Is(err, adapter.ErrUnsupported) {
			c.Errorf("%s: %v", w.Method, err)
		}
	}
	for _, t := range pending {
		kit.Used(c, "a token of a user's address after writes on the user's records", t)
	}
}

package records

import (
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// nearMissKey returns a unique key with a part that each near miss changes: letters in both cases, with accents
// and look-alikes, digits that a number would lose, separators of all kinds, a percent encoding and padding. Both
// of its halves are unique: near misses of it are too, also in other runs over the same store.
func nearMissKey(c *kit.Context, word string) string {
	key := "0" + c.Unique(word) + "Aa-Bb_Kk.Ss+Cc/Dd:éÉ%41" + c.Run.Nonce + "Zz="
	c.Run.AddSecret(key)
	return key
}

// missedKeys returns a key that each near miss changes, one without capitals and one without small letters: a
// store that folds only the key that it is asked for finds one of them. fresh returns a new key.
func missedKeys(fresh func() string) []kit.MissedKey {
	return []kit.MissedKey{{Value: fresh(), Near: kit.NearMisses}, {Value: strings.ToLower(fresh()), Near: kit.OtherCases}, {Value: strings.ToUpper(fresh()), Near: kit.OtherCases}}
}

// missed reports a breach unless a call with a near miss found nothing. A NUL may be an error [INPUT-10].
func missed(c *kit.Context, what string, m kit.NearMiss, record any, err error) {
	if err != nil && strings.Contains(m.Value, "\x00") {
		return
	}
	c.Absent(fmt.Sprintf("%s of the key with %s", what, m.Name), record, err)
}

// missedBy makes the call with a near miss, and reports a breach unless it finds nothing.
func missedBy(c *kit.Context, call kit.Call, m kit.NearMiss) {
	got, err := call.Do(c.Ctx, c.Adapter)
	missed(c, call.Method, m, got, err)
}

// stored reports whether a write with a near miss as its key succeeded. If
// the store may not refuse the key, a failure is a breach.
func stored(c *kit.Context, what string, m kit.NearMiss, err error) bool {
	if err != nil && !m.Refusable() {
		c.Errorf("%s with %s: got error %v, want another key to be free", what, m.Name, err)
	}
	return err == nil
}

// userNamed creates a user with the ID. It returns nil if the adapter refuses the ID or assigns another one.
func userNamed(c *kit.Context, id string) *adapter.User {
	created, err := c.Adapter.CreateUser(c.Ctx, kit.UserNamed(c, id))
	if err != nil || created == nil || created.ID != id {
		return nil
	}
	return created
}

// swapCase swaps the case of ASCII letters.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r ^ ('a' - 'A')
		}
		return r
	}, s)
}

// separators are what careless stores put between the texts of a list, or around
// them. There is no NUL, which a lookup may refuse [INPUT-10].
var separators = []string{
	",", ", ", ":", ";", "/", "|", "#", "&", "=", "+", " ", ".", "-", "_", "\\", `","`, "\t", "\n", "\x1e", "\x1f",
}

// joinedKeys returns two keys, and both together with each separator between: a
// list of them is the same text as the joined key.
func joinedKeys(a, b string) []kit.NearMiss {
	keys := []kit.NearMiss{{Name: "nothing joined to it", Value: a}, {Name: "nothing joined to it", Value: b}}
	for _, sep := range separators {
		keys = append(keys, kit.NearMiss{Name: fmt.Sprintf("%q between two others", sep), Value: a + sep + b})
	}
	return keys
}

// joined creates records of the user whose keys are joined keys: both halves of the key of an account.
func joined(c *kit.Context, kind kit.Kind, u *adapter.User) *kit.Records {
	unique := c.Unique
	if kind == kit.SessionRecord {
		unique = c.Secret
	}
	return withKeys(c, kind, u, joinedKeys(unique(string(kind)), unique(string(kind))))
}

// withKeys creates records of the user with these keys, which the adapter may refuse if text like it is refusable.
func withKeys(c *kit.Context, kind kit.Kind, u *adapter.User, keys []kit.NearMiss) *kit.Records {
	all := kit.RecordsOf(u)
	for _, key := range keys {
		x := kit.NewDraft(c, kind, u.ID)
		x.Session.SessionToken, x.Authenticator.CredentialID = key.Value, key.Value
		x.Account.Provider, x.Account.ProviderAccountID = key.Value, key.Value
		create := x.Create()
		if _, err := create.Do(c.Ctx, c.Adapter); stored(c, create.Method, key, err) {
			all.Add(x)
		}
	}
	return all
}

package records

import (
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// nearMissKey returns a unique key with a part that each near miss changes:
// letters in both cases, with accents and look-alikes, digits that a number
// would lose, separators of all kinds, a percent encoding and padding. Both of its halves are
// unique: near misses of it are too, also in other runs over the same store.
func nearMissKey(c *kit.Context, word string) string {
	key := "0" + c.Unique(word) + "Aa-Bb_Kk.Ss+Cc/Dd:éÉ%41" + c.Run.Nonce + "Zz="
	c.Run.AddSecret(key)
	return key
}

// missedKeys returns a key that each near miss changes, one without capitals and
// one without small letters: a store that folds only the key that it is asked for
// finds one of them. fresh returns a new key.
func missedKeys(fresh func() string) []kit.MissedKey {
	return []kit.MissedKey{{Value: fresh(), Near: kit.NearMisses}, {Value: strings.ToLower(fresh()), Near: kit.OtherCases}, {Value: strings.ToUpper(fresh()), Near: kit.OtherCases}}
}

// missed reports a breach unless a call with a near miss found nothing. A NUL
// may be an error [INPUT-10].
func missed(c *kit.Context, what string, m kit.NearMiss, record any, err error) {
	if err != nil && strings.Contains(m.Value, "\x00") {
		return
	}
	c.Absent(fmt.Sprintf("%s of the key with %s", what, m.Name), record, err)
}

// stored reports whether a write with a near miss as its key succeeded. If
// the store may not refuse the key, a failure is a breach.
func stored(c *kit.Context, what string, m kit.NearMiss, err error) bool {
	if err != nil && !m.Refusable() {
		c.Errorf("%s with %s: got error %v, want another key to be free", what, m.Name, err)
	}
	return err == nil
}

// userNamed creates a user with the ID. It returns nil if the adapter refuses the ID or
// assigns another one.
func userNamed(c *kit.Context, id string) *adapter.User {
	u := c.NewUser()
	u.ID = id
	created, err := c.Adapter.CreateUser(c.Ctx, u)
	if err != nil || created == nil || created.ID != id {
		return nil
	}
	return created
}

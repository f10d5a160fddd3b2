package adaptertest

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// nearMiss is a key that a careless comparison treats as equal to another
// key.
type nearMiss struct {
	name, value string
}

// nearMissKey returns a unique key with a part that each near miss changes:
// letters in both cases, with accents and look-alikes, digits that a number
// would lose, separators of all kinds, a percent encoding and padding. Both of its halves are
// unique: near misses of it are too, also in other runs over the same store.
func (c *clauseContext) nearMissKey(word string) string {
	key := "0" + c.unique(word) + "Aa-Bb_Kk.Ss+Cc/Dd:éÉ%41" + c.run.nonce + "Zz="
	c.run.addSecret(key)
	return key
}

// missedKey is a key to store, with the near misses that are tried of it.
type missedKey struct {
	value string
	near  func(key string) []nearMiss
}

// missedKeys returns a key that each near miss changes, one without capitals and
// one without small letters: a store that folds only the key that it is asked for
// finds one of them. fresh returns a new key.
func missedKeys(fresh func() string) []missedKey {
	return []missedKey{{fresh(), nearMisses}, {strings.ToLower(fresh()), otherCases}, {strings.ToUpper(fresh()), otherCases}}
}

// otherCases returns the key in other cases.
func otherCases(key string) []nearMiss {
	return without(key, []nearMiss{
		{"lower case", strings.ToLower(key)},
		{"upper case", strings.ToUpper(key)},
		{"lower case in ASCII", lowerASCII(key)},
		{"upper case in ASCII", upperASCII(key)},
		{"one letter in upper case", strings.Replace(key, "a", "A", 1)},
		{"one letter in lower case", strings.Replace(key, "A", "a", 1)},
	})
}

// nearMisses returns keys that are similar to the key and not equal [SESS-04]
// [VTOK-13] [ACCT-08] [AUTHN-15].
func nearMisses(key string) []nearMiss {
	first, firstSize := utf8.DecodeRuneInString(key)
	last, lastSize := utf8.DecodeLastRuneInString(key)
	half := len(key) / 2
	for !utf8.RuneStart(key[half]) {
		half++
	}
	swap := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(key) }
	once := func(old, replacement string) string { return strings.Replace(key, old, replacement, 1) }
	return without(key, append(otherCases(key), []nearMiss{
		{"a leading blank", " " + key},
		{"a trailing blank", key + " "},
		{"a trailing tab", key + "\t"},
		{"a trailing newline", key + "\n"},
		{"a trailing no-break space", key + "\u00a0"},
		{"the first half", key[:half]},
		{"the second half", key[half:]},
		{"without its last letter", key[:len(key)-lastSize]},
		{"without its first letter", key[firstSize:]},
		{"a letter after it", key + "x"},
		{"a letter before it", "x" + key},
		{"another last letter", key[:len(key)-lastSize] + string(last+1)},
		{"another first letter", string(first+1) + key[firstSize:]},
		{"300 letters after it", key + strings.Repeat("y", 300)},
		{"itself twice", key + key},
		{"decomposed accents", swap("é", "e\u0301", "É", "E\u0301", "ü", "u\u0308")},
		{"no accents", swap("é", "e", "É", "E", "ü", "u")},
		{"a full-width letter", once("a", "ａ")},
		{"a Kelvin sign", swap("K", "\u212a")},
		{"a long s", swap("s", "ſ")},
		{"a zero-width space", once("a", "a\u200b")},
		{"a byte order mark", "\ufeff" + key},
		{"a letter percent-encoded", once("a", "%61")},
		{"a percent encoding decoded", once("%41", "A")},
		{"percent-encoded", url.QueryEscape(key)},
		{"a blank for the plus sign", swap("+", " ")},
		{"the other base64 alphabet", swap("+", "-", "/", "_", "-", "+", "_", "/")},
		{"no padding", strings.TrimRight(key, "=")},
		{"more padding", key + "="},
		{"hyphens for underscores", swap("_", "-")},
		{"underscores for hyphens", swap("-", "_")},
		{"no hyphens", swap("-", "")},
		{"a colon for the slash", swap("/", ":")},
		{"a slash for the colon", swap(":", "/")},
		{"no leading zero", strings.TrimLeft(key, "0")},
		{"one more leading zero", "0" + key},
		{"a leading plus sign", "+" + key},
		{"quoted", `"` + key + `"`},
		{"a NUL after it", key + "\x00"},
		{"a NUL and more after it", key + "\x00x"},
		{"a NUL before it", "\x00" + key},
		{"a NUL within", key[:half] + "\x00" + key[half:]},
	}...))
}

// freshNearMisses returns the near misses of a unique text that no other unique text can be
// equal to.
func freshNearMisses(key string) []nearMiss {
	return slices.DeleteFunc(nearMisses(key), func(m nearMiss) bool { return len(m.value) < len(key) || m.name == "another last letter" })
}

// without returns the near misses that are not the key, each once.
func without(key string, all []nearMiss) (misses []nearMiss) {
	seen := map[string]bool{key: true}
	for _, m := range all {
		if !seen[m.value] {
			seen[m.value] = true
			misses = append(misses, m)
		}
	}
	return misses
}

// refusable reports whether a store may refuse to store the value: blanks at its
// ends [DATA-10], control characters [DATA-11], more than the guaranteed length
// [DATA-08].
func (m nearMiss) refusable() bool {
	return strings.TrimSpace(m.value) != m.value || strings.ContainsFunc(m.value, unicode.IsControl) || utf8.RuneCountInString(m.value) > 255
}

// missed reports a breach unless a call with a near miss found nothing. A NUL
// may be an error [INPUT-10].
func (c *clauseContext) missed(what string, m nearMiss, record any, err error) {
	if err != nil && strings.Contains(m.value, "\x00") {
		return
	}
	c.absent(fmt.Sprintf("%s of the key with %s", what, m.name), record, err)
}

// stored reports whether a write with a near miss as its key succeeded. If
// the store may not refuse the key, a failure is a breach.
func (c *clauseContext) stored(what string, m nearMiss, err error) bool {
	if err != nil && !m.refusable() {
		c.Errorf("%s with %s: got error %v, want another key to be free", what, m.name, err)
	}
	return err == nil
}

// userNamed creates a user with the ID. It returns nil if the adapter refuses the ID or
// assigns another one.
func (c *clauseContext) userNamed(id string) *adapter.User {
	u := c.newUser()
	u.ID = id
	created, err := c.a.CreateUser(c.ctx, u)
	if err != nil || created == nil || created.ID != id {
		return nil
	}
	return created
}

// resemblingUsers creates users whose IDs are near misses of the ID, each with one record of
// each kind.
func (c *clauseContext) resemblingUsers(id string) (all []belongings) {
	for m := range some(&c.budget, nearMisses(id)) {
		u := c.userNamed(m.value)
		if u == nil {
			continue
		}
		b := belongings{user: u}
		if x := c.newAccount(u.ID); c.works("LinkAccount") {
			if _, err := c.a.LinkAccount(c.ctx, x); c.stored("LinkAccount of a user whose ID is another one's", m, err) {
				b.accounts = append(b.accounts, x)
			}
		}
		if s := c.newSession(u.ID); c.works("CreateSession") {
			if _, err := c.a.CreateSession(c.ctx, s); c.stored("CreateSession of a user whose ID is another one's", m, err) {
				b.sessions = append(b.sessions, s)
			}
		}
		if w := c.newAuthenticator(u.ID); c.works("CreateAuthenticator") {
			if _, err := c.a.CreateAuthenticator(c.ctx, w); c.stored("CreateAuthenticator of a user whose ID is another one's", m, err) {
				b.authenticators = append(b.authenticators, w)
			}
		}
		all = append(all, b)
	}
	return all
}

// resemblingKeys calls each method with near misses of each part of a key that exists. It
// leaves out addresses, which may be compared regardless of case.
func (c *clauseContext) resemblingKeys(of *uninvolvedUser) {
	for _, k := range c.keyed() {
		key, ok := of.key(k)
		if !ok {
			continue
		}
		for i, part := range k.parts {
			var near []string
			switch part {
			case "e-mail", "identifier":
				continue
			case "user id":
				near = malformedIDs(key[i])
			default:
				for _, m := range freshNearMisses(key[i]) {
					near = append(near, m.value)
				}
			}
			for value := range some(&c.budget, near) {
				if strings.Contains(value, "\x00") {
					c.missesOrFails(k, with(key, i, value)) // a NUL may be an error [INPUT-10]
				} else {
					c.misses(k, with(key, i, value))
				}
			}
		}
	}
}

// nearMissPairs returns account keys with a near miss in one half.
func nearMissPairs(key adapter.AccountKey, near func(string) []nearMiss) (pairs []adapter.AccountKey, misses []nearMiss) {
	for _, m := range near(key.ProviderAccountID) {
		pairs = append(pairs, adapter.AccountKey{Provider: key.Provider, ProviderAccountID: m.value})
		misses = append(misses, nearMiss{"an id with " + m.name, m.value})
	}
	for _, m := range near(key.Provider) {
		pairs = append(pairs, adapter.AccountKey{Provider: m.value, ProviderAccountID: key.ProviderAccountID})
		misses = append(misses, nearMiss{"a provider with " + m.name, m.value})
	}
	return pairs, misses
}

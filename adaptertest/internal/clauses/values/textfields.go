package values

import (
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// textFields returns the text fields that keep accepts and whose methods the adapter
// has; the clause does not apply if there is none.
func textFields(c *kit.Context, keep func(kit.TextField) bool) []kit.TextField {
	return kit.Applicable(c, kit.TextFields, func(p kit.TextField) bool {
		return keep(p) && c.Harness().Declarations.Keeps(p.Name) && !slices.ContainsFunc(p.Methods, c.Lacks)
	}, "the adapter keeps no such text")
}

// inFields is a clause that tries each of these text fields.
func inFields(keep func(kit.TextField) bool, try func(c *kit.Context, p kit.TextField, owner string)) func(c *kit.Context) {
	return func(c *kit.Context) {
		owner := kit.Owner(c)
		for _, p := range textFields(c, keep) {
			try(c, p, owner)
		}
	}
}

func everyTextField(kit.TextField) bool { return true }

func keyTextField(p kit.TextField) bool { return p.Key }

// invalidUTF8 holds bytes that are never UTF-8, a surrogate, an overlong slash and a character cut short.
var invalidUTF8 = []string{"\xff\xfe", "\xed\xa0\x80", "\xc0\xaf", "\xe2\x82"}

// What a store may do with a text instead of keeping it.
const (
	mustKeep  = false
	mayRefuse = true
)

// keeps puts text into a text field and compares the text that comes back. It
// returns the stored record, or nil if the write was refused.
func keeps(c *kit.Context, p kit.TextField, owner, text string, refusable bool) *kit.Stored {
	if p.Private && strings.Contains(text, c.Run.Nonce) {
		c.Run.AddSecret(text)
	}
	x, err := p.Put(c, owner, text)
	switch {
	case p.Chosen || err != nil && refusable:
	case err != nil:
		c.Errorf("%s = %s: %v", p.Name, diff.Show(text), err)
	case x == nil:
		c.Errorf("%s = %s: the write returned nothing", p.Name, diff.Show(text))
	}
	if err != nil || x == nil {
		return nil
	}
	got, err := x.Find(text)
	switch {
	case err != nil:
		c.Errorf("%s = %s, read back: %v", p.Name, diff.Show(text), err)
	case got == nil:
		c.Errorf("%s = %s was accepted and is absent", p.Name, diff.Show(text))
	default:
		c.Same(p.Name+" = "+diff.Show(text)+", read back", got, x.Want)
	}
	return x
}

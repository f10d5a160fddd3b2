package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
)

// TestPasswordsByKeyboard does everything about a password with the keys Tab and
// Enter, with scripts and without them: sign-up, a wrong password and the right one, a
// change, a forgotten password, and the removal. On each page all controls are reached
// in the order in which they are seen, and what is wrong is told and has the focus.
func TestPasswordsByKeyboard(t *testing.T) {
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site, mails := serveSteps(t, memory.New())
			b := newBrowser(t, scripts)
			const first, second, third = "correct horse battery staple", "seven quiet mountains at dawn", "nine loud valleys in the evening"
			open := func(page string) {
				t.Helper()
				b.goTo(page)
				b.walk()
			}
			signOut := func() {
				t.Helper()
				open(site + "/auth/signout")
				b.enter("Sign out")
			}
			signIn := func(typed string) {
				t.Helper()
				b.typeInto("Email", "ada@example.com")
				b.typeInto("Password", typed)
				b.enter("Sign in")
			}

			open(site + "/auth/signin")
			b.hears("textbox", "Email", "")
			b.hears("textbox", "Password", "")
			b.hears("checkbox", "Stay signed in", "")
			b.enter("Create an account")
			b.walk()
			b.typeInto("Email", "ada@example.com")
			b.enter("Continue")
			b.reads("Check your email")
			open(mails.open())
			b.hears("textbox", "New password", "At least 15 characters.")
			b.typeInto("New password", "passwordpassword")
			b.enter("Save the password")
			b.isTold("New password", "Many people use this password")
			b.walk()
			b.typeInto("New password", first)
			b.enter("Save the password")

			signOut()
			open(site + "/auth/signin")
			signIn(second)
			b.isTold("Email", "The address or the password is not right.")
			b.walk()
			signIn(first)

			open(site + "/auth/password/change")
			b.typeInto("New password", second)
			b.enter("Change the password")

			signOut()
			open(site + "/auth/password/forgot")
			b.typeInto("Email", "ada@example.com")
			b.enter("Email me a link")
			open(mails.open())
			if scripts { // the box shows what is typed, and hides it again before it is sent
				b.typeInto("New password", third)
				b.press("Show the password", " ")
				assert.Equal(t, "text", get(b, chromedp.Evaluate[string](`document.querySelector("#input-password").type`)),
					"the box leaves the field as it is,")
			} else {
				b.typeInto("New password", third)
			}
			b.enter("Save the password")
			b.goTo(site + "/auth/session")
			b.reads("ada@example.com")

			open(site + "/auth/password/remove")
			b.enter("Remove the password")
			b.goTo(site + "/auth/password/remove")
			b.reads("You have no password.")
		})
	}
}

// control is what has the focus.
type control struct {
	Name      string
	Top, Left float64
	// Marked says that the focus can be seen.
	Marked bool
}

// focused returns what has the focus; the name is empty if nothing has.
func (b *browser) focused() control {
	b.t.Helper()
	return get(b, chromedp.Evaluate[control](`(() => {
		const e = document.activeElement
		if (!e || e === document.body || e === document.documentElement) return {}
		const box = e.getBoundingClientRect(), style = getComputedStyle(e)
		return {
			Name: (e.labels?.[0]?.innerText || e.innerText || e.name || e.localName).trim(), Top: box.top + scrollY, Left: box.left,
			Marked: e.matches(":focus-visible") && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1,
		}
	})()`))
}

// walk presses Tab until all controls of the page had the focus. They are reached from
// the top to the bottom, and each shows that it has the focus.
func (b *browser) walk() {
	b.t.Helper()
	controls := get(b, chromedp.Evaluate[[]string](`[...document.querySelectorAll("a[href], button, input:not([type=hidden])")]
		.filter((e) => e.checkVisibility()).map((e) => (e.labels?.[0]?.innerText || e.innerText || e.name).trim())`))
	var met []control
	for range 2*len(controls) + 4 { // the browser has stops of its own
		b.do(chromedp.KeyEvent(kb.Tab))
		at := b.focused()
		if at.Name == "" || at.Name == "body" || at.Name == "html" {
			continue
		}
		assert.Truef(b.t, at.Marked, "%s has the focus, and nobody sees it", at.Name)
		if len(met) > 0 && met[0] == at {
			break
		}
		met = append(met, at)
	}
	turns := 0 // from the last control to the first
	for i := range met {
		if next := met[(i+1)%len(met)]; next.Top < met[i].Top {
			turns++
		}
	}
	for _, name := range controls {
		assert.Truef(b.t, slices.ContainsFunc(met, func(c control) bool { return c.Name == name }),
			"Tab does not reach %q, it reaches %v", name, met)
	}
	assert.Truef(b.t, turns <= 1 && len(met) == len(controls), "Tab reaches %v, the page shows %q", met, controls)
}

// press presses Tab until the control with the name has the focus, and then keys.
func (b *browser) press(name, keys string) {
	b.t.Helper()
	for range 40 {
		if b.focused().Name == name {
			b.do(chromedp.KeyEvent(keys))
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("no Tab leads to %q", name)
}

// typeInto replaces what is in a field.
func (b *browser) typeInto(field, text string) {
	b.t.Helper()
	b.press(field, "")
	get(b, chromedp.Evaluate[bool](`document.activeElement.select(), true`))
	b.do(chromedp.KeyEvent(text))
}

// enter presses Enter on a control, and waits for the next page.
func (b *browser) enter(name string) {
	b.t.Helper()
	b.press(name, "")
	_, err := chromedp.RunResponse(b.ctx, chromedp.KeyEvent(kb.Enter))
	require.NoError(b.t, err, name)
}

// heard is a part of a page as a screen reader has it.
type heard struct{ role, name, description, focused, invalid string }

// tree returns the parts of the page.
func (b *browser) tree() []heard {
	b.t.Helper()
	result, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	require.NoError(b.t, err)
	text := func(v *accessibility.Value) string {
		if v == nil {
			return ""
		}
		return strings.Trim(string(v.Value), `"`)
	}
	var all []heard
	for _, n := range result.Nodes {
		if n.Ignored {
			continue
		}
		h := heard{role: text(n.Role), name: text(n.Name), description: text(n.Description)}
		for _, p := range n.Properties {
			switch p.Name {
			case "focused":
				h.focused = text(p.Value)
			case "invalid":
				h.invalid = text(p.Value)
			}
		}
		all = append(all, h)
	}
	return all
}

// hears fails unless the page has a part with role and name whose description begins
// with a text.
func (b *browser) hears(role, name, description string) heard {
	b.t.Helper()
	all := b.tree()
	for _, h := range all {
		if h.role == role && h.name == name && strings.HasPrefix(h.description, description) {
			return h
		}
	}
	b.t.Fatalf("no %s is called %q and described as %q among %+v", role, name, description, all)
	return heard{}
}

// isTold fails unless an alert has the text, and the field has the focus, is invalid
// and is described by it.
func (b *browser) isTold(field, text string) {
	b.t.Helper()
	h := b.hears("textbox", field, text)
	for end := time.Now().Add(10 * time.Second); h.focused != "true" && time.Now().Before(end); { // the browser focuses after it has loaded
		h = b.hears("textbox", field, text)
	}
	assert.Truef(b.t, h.focused == "true" && h.invalid == "true", "the field %q is %+v", field, h)
	assert.True(b.t, slices.ContainsFunc(b.tree(), func(h heard) bool { return h.role == "alert" }), "no alert")
}

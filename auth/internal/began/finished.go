package began

import (
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// A browser may deliver one answer twice: after a reload, with the back button,
// or because a page sends it by a script and by a link. A sign-in can be
// finished only once, so the second answer signs nobody in. But the browser in
// which the person finished the sign-in, and is still signed in, should go where
// the first answer sent it. A sealed cookie of the browser says which sign-ins
// it finished last, as whom, and where they led.

const (
	// finishedAge is how long a browser remembers what it finished.
	finishedAge = 24 * time.Hour
	// maxFinished is how many sign-ins it remembers, and maxFinishedCookie the
	// length of the cookie.
	maxFinished       = 4
	maxFinishedCookie = 2000
	// claimFinished is the claim that lists them, the oldest first.
	claimFinished = "finished"
)

func (b *Browser) finishedCookie() wire.CookieSpec {
	return wire.HostCookie("authjs.finished", b.Secure)
}

// finished returns the sign-ins that the browser finished: for each a mark, a
// hash of the user, and where it led.
func (b *Browser) finished() []any { return listIn[any](b, b.finishedCookie(), claimFinished) }

// Finish returns the cookie which says that this browser finished a sign-in as
// the user, and where it led. Answer is what only the answer of this sign-in
// contains, such as its state. If the cookie is too long, the oldest sign-ins
// are forgotten, and then where the last one led.
func (b *Browser) Finish(answer, user, callbackURL string) (*http.Cookie, error) {
	list := append(b.finished(), []any{markOf(answer), markOf(user), callbackURL})
	list = list[max(0, len(list)-maxFinished):]
	for {
		c, err := b.keepFinished(list)
		switch {
		case err != nil:
			return nil, err
		case len(c.Value) <= maxFinishedCookie:
			return c, nil
		case len(list) > 1:
			list = list[1:]
		default:
			list = []any{[]any{markOf(answer), markOf(user), ""}}
		}
	}
}

func (b *Browser) keepFinished(list []any) (*http.Cookie, error) {
	return b.keep(b.finishedCookie(), jwt.Claims{claimFinished: list}, finishedAge)
}

// withoutFinishedURLs returns the cookie of what the browser finished without the
// URLs, or nil if the browser has none or a short one.
func (b *Browser) withoutFinishedURLs() *http.Cookie {
	list := b.finished()
	for _, of := range list {
		if f, _ := of.([]any); len(f) == 3 {
			f[2] = ""
		}
	}
	if len(list) == 0 {
		return nil
	}
	c, err := b.keepFinished(list)
	if err != nil || len(c.Value) >= len(b.Jar.Get(b.finishedCookie().Name)) {
		return nil
	}
	return c
}

// Finished is a sign-in that this browser finished.
type Finished struct {
	user string
	// CallbackURL is where the sign-in led, or empty if that was forgotten.
	CallbackURL string
}

// By reports whether the user signed in by it.
func (f *Finished) By(user string) bool { return f.user == markOf(user) }

// Finished returns the sign-in that this browser finished with an answer, or nil.
func (b *Browser) Finished(answer string) *Finished {
	for _, of := range slices.Backward(b.finished()) {
		if f, _ := of.([]any); len(f) == 3 && f[0] == markOf(answer) {
			done := &Finished{}
			done.user, _ = f[1].(string)
			done.CallbackURL, _ = f[2].(string)
			return done
		}
	}
	return nil
}

// ForgetFinished returns the cookies that make the browser forget what it
// finished.
func (b *Browser) ForgetFinished() []*http.Cookie {
	spec := b.finishedCookie()
	if b.Jar.Get(spec.Name) == "" {
		return nil
	}
	return []*http.Cookie{spec.Clear(spec.Name)}
}

package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// finished returns the cookies by which the browser knows that it finished a
// sign-in, which led to a URL, and by which limits know the browser.
func (e *engine) finished(ctx context.Context, r *request, done *signedIn, location string) (cookies []*http.Cookie, err error) {
	user := done.subject
	if done.session != nil {
		user = done.user.ID
	}
	if user == "" {
		return nil, nil
	}
	b := e.begun(r)
	if e.config.Limit != nil || e.password != nil {
		if cookies, err = r.remember(ctx, b, e.stored, user, done); err != nil {
			return nil, err
		}
	}
	if r.attempt == "" {
		return cookies, nil
	}
	c, err := b.Finish(r.attempt, user, location)
	return append(cookies, c), err
}

// finishedBefore answers a request that brings the answer of a sign-in once
// more, after a reload or with the back button: if this browser finished that
// sign-in, and the same person is still signed in, it goes where the sign-in
// led. For others the result is nil. Nothing is changed: the answer was used up.
func (e *engine) finishedBefore(ctx context.Context, r *request) *Result {
	if r.attempt == "" || r.head {
		return nil
	}
	done := e.begun(r).Finished(r.attempt)
	if done == nil {
		return nil
	}
	if user, _ := e.person(ctx, r); user == nil || user.ID == "" || !done.By(user.ID) {
		return nil
	}
	return redirectTo(cmp.Or(done.CallbackURL, e.config.home(r.origin)))
}

// person returns the user who is signed in, with ID, and how the client sees
// the user; both are nil if nobody is signed in, or if that is not known.
// Nothing is renewed.
func (e *engine) person(ctx context.Context, r *request) (user, shown *User) {
	read := e.session(ctx, r, access{noCookies: true, peek: true, quiet: true})
	if read.err != nil || read.session == nil || read.session.User == nil {
		return nil, nil
	}
	return read.user, read.session.User
}

// title is how a page names a user: by the address, the name or the ID. It is
// empty if nobody is signed in.
func (u *User) title() string {
	if u == nil {
		return ""
	}
	return cmp.Or(u.Email, u.Name, u.ID, "a user without a name")
}

// deliveries are the answers of sign-ins that are being worked on. A browser may
// deliver one answer twice at one instant: both deliveries then get what the one
// of them leads to, because the answer works only once. The zero value is ready
// for use.
type deliveries struct {
	mu    sync.Mutex
	going map[[sha256.Size]byte]*delivery
}

// delivery is an answer that is being worked on. Its other fields may be read
// once done is closed.
type delivery struct {
	done   chan struct{}
	by     *request
	result *Result
	err    error
}

// deliveryWait is how long a delivery waits for another one of the same answer.
const deliveryWait = 10 * time.Second

// join performs a delivery, or waits for the one that is going on with the same
// key, and takes over what it led to.
func (d *deliveries) join(ctx context.Context, r *request, key [sha256.Size]byte, perform func() (*Result, error)) (*Result, error) {
	d.mu.Lock()
	first := d.going[key]
	if first == nil {
		if d.going == nil {
			d.going = map[[sha256.Size]byte]*delivery{}
		}
		mine := &delivery{done: make(chan struct{}), by: r}
		d.going[key] = mine
		d.mu.Unlock()
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			delete(d.going, key)
			close(mine.done)
		}()
		mine.result, mine.err = perform()
		return mine.copy()
	}
	d.mu.Unlock()
	select {
	case <-first.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(deliveryWait):
		return perform()
	}
	r.pending, r.callbackURL, r.attempt = slices.Clone(first.by.pending), first.by.callbackURL, first.by.attempt
	return first.copy()
}

// copy returns a result for one of the deliveries, to which its request adds what is its own.
func (d *delivery) copy() (*Result, error) {
	if d.result == nil {
		return nil, cmp.Or(d.err, error(&Error{Type: ErrAuth, Message: "the delivery of the same answer panicked"}))
	}
	same := *d.result
	return &same, d.err
}

// deliveryKey is the same for two requests only if they bring the same answer
// from one browser: marked says that a secret which no other browser has is among
// their cookies. It is false for other requests, and for what is not a link that
// the browser follows: a password is no answer, and a passkey's answer makes one
// sign-in or one registration.
func (r *request) deliveryKey(p Provider, marked bool) (key [sha256.Size]byte, ok bool) {
	if r.action != ActionCallback || r.head || r.trusted || !marked || p == nil {
		return key, false
	}
	if k := p.kind(); k == TypeCredentials || k == TypeWebAuthn {
		return key, false
	}
	cookies := slices.Clone(r.cookies)
	slices.SortStableFunc(cookies, func(a, b jwt.Cookie) int { return strings.Compare(a.Name, b.Name) })
	h := sha256.New()
	for _, text := range []string{r.method, r.target, string(r.body.Raw), strconv.FormatBool(r.wantsJSON())} {
		_, _ = fmt.Fprintf(h, "%q ", text)
	}
	for _, c := range cookies {
		_, _ = fmt.Fprintf(h, "%q=%q ", c.Name, c.Value)
	}
	return [sha256.Size]byte(h.Sum(nil)), true
}

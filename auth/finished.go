package auth

import (
	"cmp"
	"context"
	"net/http"
)

// finished returns the cookie by which the browser knows that it finished a
// sign-in, which led to a URL.
func (e *engine) finished(r *request, done *signedIn, location string) ([]*http.Cookie, error) {
	user := done.subject
	if done.session != nil {
		user = done.user.ID
	}
	if r.attempt == "" || user == "" {
		return nil, nil
	}
	c, err := e.begun(r).Finish(r.attempt, user, location)
	return []*http.Cookie{c}, err
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

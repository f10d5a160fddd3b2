package auth

// A session token has a subject, and a reader must know whose ID it is: that of
// a user of the adapter, or an ID of the application's own, which
// Credentials.Authorize returned and which may be that of another user in the
// adapter.

// claimAdapterID says whether the subject of a session token is the ID of a user
// of the adapter.
const claimAdapterID = "adapterId"

// markSubject says in the claims of a session token whose ID the subject is. A
// callback that replaced the subject by an ID of its own is taken at its word:
// such a subject is not one of the adapter.
func (e *engine) markSubject(claims Claims, done *signedIn) {
	if e.store == nil {
		return
	}
	claims[claimAdapterID] = done.stored && claims.String("sub") == done.user.ID
}

// keepSubject restores what a token said about its subject in claims that a
// callback made of it. A new subject is not one of the adapter.
func keepSubject(claims Claims, subject string, says any) {
	switch {
	case claims.String("sub") != subject:
		claims[claimAdapterID] = false
	case says != nil:
		claims[claimAdapterID] = says
	default:
		delete(claims, claimAdapterID)
	}
}

// namesAdapterUser reports whether the subject of a session token is the ID of a
// user of the adapter. A token that does not say so is one of Auth.js; then it
// is, unless there is a credentials provider whose IDs are others.
func (e *engine) namesAdapterUser(claims Claims) bool {
	if says, ok := claims[claimAdapterID].(bool); ok {
		return says
	}
	for _, p := range e.config.Providers {
		if p, ok := p.(*Credentials); ok && !p.UsesAdapterIDs {
			return false
		}
	}
	return true
}

package auth

// The subject of a session token is an ID. Code that reads it must know whether
// it is the ID of a user of the adapter, or an ID that Credentials.Authorize
// returned and that another user may have in the adapter.

// claimAdapterID says whether the subject of a session token is the ID of a user
// of the adapter.
const claimAdapterID = "adapterId"

// markSubject records in the claims of a session token whether the subject is
// the ID of a user of the adapter. If a callback replaced the subject, it is
// not.
func (e *engine) markSubject(claims Claims, done *signedIn) {
	if e.store == nil {
		return
	}
	claims[claimAdapterID] = done.stored && claims.String("sub") == done.user.ID
}

// keepSubject restores claimAdapterID in claims that a callback returned. A
// subject that the callback changed is not the ID of a user of the adapter.
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

// namesAdapterUser reports whether the subject of a session token is the ID of
// a user of the adapter. A token without claimAdapterID was made by Auth.js.
// Its subject is such an ID, unless there is a credentials provider that does
// not use the IDs of the adapter.
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

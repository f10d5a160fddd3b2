package auth

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// webauthnOptions serves GET webauthn-options: it begins a ceremony.
func (e *engine) webauthnOptions(ctx context.Context, r *request) (*Result, error) {
	p, ok := r.provider.(*WebAuthn)
	if !ok {
		return nil, &Error{Type: ErrInvalidProvider, Message: "provider " + r.providerID + " is not a WebAuthn provider", client: true}
	}
	action := began.CeremonyAction(r.parameter("action"))
	if len(r.query["action"]) > 0 && action != began.Register && action != began.Authenticate {
		return badOptions("Invalid action"), nil
	}
	form := r.queryForm()
	if err := e.limit(ctx, r, Attempt{Provider: p.id(), Type: TypeWebAuthn, Form: form}); err != nil {
		return nil, err
	}
	rp, err := e.relyingParty(ctx, r, p)
	if err != nil {
		return nil, err
	}
	warnOfRelyingParty(ctx, e.log, p, rp)
	current, err := e.currentUser(ctx, e.browser(ctx, r))
	if err != nil {
		return nil, err
	}
	decided, err := decideCeremony(ctx, e.store, p, action, current.user(), findUser(e.store, r, p, form))
	if err != nil {
		return nil, err
	}
	if decided == nil {
		return badOptions("Invalid request"), nil
	}
	challenge, err := wire.RandomBase64(e.config.Random)
	if err != nil {
		return nil, err
	}
	started := began.Ceremony{Provider: p.id(), Action: decided.action, Challenge: challenge, RPID: rp.ID, By: began.By{User: current.id()}}
	var options any
	if decided.action == began.Register {
		handle, err := wire.RandomHex(e.config.Random)
		if err != nil {
			return nil, err
		}
		u := decided.user
		started.Data = &began.Person{ID: u.ID, Name: u.Name, Email: u.Email, Image: u.Image}
		options = p.registrationOptions(rp, challenge, handle, decided.shown, decided.known)
	} else {
		options = p.authenticationOptions(rp, challenge, decided.known)
		if len(decided.known) > 0 { // all of one user
			started.Listed = decided.known[0].UserID
		}
	}
	body, err := optionsAnswer(decided.action, options)
	if err != nil {
		return nil, err
	}
	cookies, err := e.begun(r).BeginCeremony(started)
	if err != nil {
		return nil, ours(err)
	}
	return &Result{Status: http.StatusOK, Header: uncachedJSONHeader(), Body: body, Cookies: cookies}, nil
}

// badOptions is the answer to a request for which there are no options.
func badOptions(message string) *Result {
	return &Result{Status: http.StatusBadRequest, Header: uncachedJSONHeader(), Body: []byte(`{"error":"` + message + `"}`)}
}

// userInfo finds the user whom the submitted fields describe. A new user has no
// ID yet.
type userInfo func(ctx context.Context) (user *User, exists bool, err error)

// queryForm returns the fields that were submitted in the query.
func (r *request) queryForm() Form {
	form := make(Form, len(r.query))
	for name := range r.query {
		form[name] = r.parameter(name)
	}
	return form
}

// findUser asks the provider, or looks up the address.
func findUser(s *store, r *request, p *WebAuthn, form Form) userInfo {
	if p.GetUserInfo == nil {
		return func(ctx context.Context) (*User, bool, error) {
			return userOfField(ctx, s, form, p.DangerouslyListCredentials)
		}
	}
	return func(ctx context.Context) (*User, bool, error) {
		exists := false
		user, err := guard(ctx, func(ctx context.Context, form Form) (user *User, err error) {
			user, exists, err = p.GetUserInfo(ctx, form, r.withBody(ctx))
			return user, err
		}, form)
		if err != nil || user == nil {
			return nil, false, err
		}
		if user.Email != "" {
			c := *user
			if c.Email, err = NormalizeEmail(c.Email); err != nil {
				return nil, false, nil //nolint:nilerr // a text that is not an address belongs to nobody
			}
			user = &c
		}
		return user, exists, nil
	}
}

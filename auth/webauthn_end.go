package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
)

// The codes of ErrWebAuthnVerification, which the error page turns into advice.
const (
	// codeUnreadable: the answer could not be read.
	codeUnreadable = "unreadable"
	// codeExpired: the challenge is not one of this browser, is too old, or was
	// used.
	codeExpired = "expired"
	// codeUnknown: no user has the passkey.
	codeUnknown = "unknown"
	// codeUserChanged: the signed-in user changed after the ceremony began.
	codeUserChanged = "user-changed"
	// codeCloned: the counter of the passkey did not rise.
	codeCloned = "cloned"
	// codeRefused: a rule of verification was broken.
	codeRefused = "refused"
)

func passkeyError(code, message string, cause error) error {
	return &Error{Type: ErrWebAuthnVerification, Code: code, Message: message, Cause: cause}
}

// callbackWebAuthn serves POST callback for a WebAuthn provider: it ends a
// ceremony.
func (e *engine) callbackWebAuthn(ctx context.Context, r *request, p *WebAuthn) (*Result, error) {
	if !r.csrf.Verified { // clients of Auth.js send no token
		if err := e.site.sameOrigin(r.http); err != nil {
			return nil, err
		}
	}
	if err := e.limit(ctx, r, Attempt{Provider: p.id(), Type: TypeWebAuthn}); err != nil {
		return nil, err
	}
	action := began.CeremonyAction(r.form.Get("action"))
	parse := p.Ceremonies.ParseAuthentication
	switch action {
	case began.Register:
		parse = p.Ceremonies.ParseRegistration
	case began.Authenticate:
	default:
		return nil, passkeyError(codeUnreadable, "action is neither register nor authenticate", nil)
	}
	answer, err := parse([]byte(r.form.Get("data")))
	if err != nil {
		return nil, passkeyError(codeUnreadable, "the field data is not the answer of an authenticator", err)
	}
	r.attempt = "ceremony " + p.id() + " " + answer.Challenge
	// The challenge is spent now: the sign-in must be finished even if the client
	// goes away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	ceremony, want, err := e.resumeCeremony(ctx, r, p, action, answer)
	if err != nil {
		return nil, err
	}
	if action == began.Register {
		return e.registerPasskey(ctx, r, p, ceremony, answer, want)
	}
	return e.usePasskey(ctx, r, p, ceremony, answer, want)
}

var errUserChanged = passkeyError(codeUserChanged, "somebody else is signed in than when the ceremony began", nil)

// resumed is a ceremony whose answer has come.
type resumed struct {
	*began.Ceremony
	// user is the user who registers, nil unless Action is began.Register.
	user *User
	// only, if set, is the only user whom the ceremony may sign in: the user who
	// is signed in now, although nobody was when the ceremony began.
	only string
}

// resumeCeremony finds the ceremony that an answer belongs to, checks that the
// same user is signed in as when it began, and spends its challenge.
func (e *engine) resumeCeremony(ctx context.Context, r *request, p *WebAuthn, action began.CeremonyAction, answer *WebAuthnAnswer) (*resumed, WebAuthnExpectation, error) {
	var want WebAuthnExpectation
	ceremony, deleted, err := e.begun(r).EndCeremony(p.id(), answer.Challenge)
	r.pending = append(r.pending, deleted...)
	if err != nil {
		return nil, want, ours(err)
	}
	if ceremony.Action != action || action == began.Register && ceremony.Data == nil {
		return nil, want, passkeyError(codeExpired, "the challenge was not given to "+string(action), nil)
	}
	rp, err := e.relyingParty(ctx, r, p)
	if err != nil {
		return nil, want, err
	}
	if ceremony.RPID != "" && ceremony.RPID != rp.ID {
		return nil, want, passkeyError(codeExpired, "the ceremony was begun for another relying party ID", nil)
	}
	current, err := e.currentUser(ctx, e.browser(ctx, r))
	if err != nil {
		return nil, want, err
	}
	c := &resumed{Ceremony: ceremony}
	if data := ceremony.Data; data != nil {
		c.user = &User{ID: data.ID, Name: data.Name, Email: data.Email, Image: data.Image}
	}
	if !fits(ceremony, current) {
		// Another tab may have signed in the same person in the meantime. Signing in
		// that person again changes nothing.
		if action == began.Register || current.record == nil {
			return nil, want, errUserChanged
		}
		c.only = current.id()
	}
	if current.user() != nil && action == began.Register {
		c.user = current.user()
	}
	if !e.once.Spend("ceremony", answer.Challenge, ceremony.Began, e.config.Clock()) {
		return nil, want, passkeyError(codeExpired, "the challenge was used before", nil)
	}
	return c, WebAuthnExpectation{
		Challenge: c.Challenge, RelyingParty: rp, UserVerified: p.needsUserVerified(), Algorithms: p.algorithms(), Attestation: p.Attestation, DeviceBound: p.DeviceBound,
	}, nil
}

// fits reports whether the user who is signed in now began the ceremony. An
// authentication that Auth.js began fits every user, because Auth.js seals no
// user for it.
func fits(c *began.Ceremony, current loggedIn) bool {
	return c.Foreign && c.Action == began.Authenticate || c.By.User == current.id()
}

// usePasskey signs in the owner of a passkey.
func (e *engine) usePasskey(ctx context.Context, r *request, p *WebAuthn, ceremony *resumed, answer *WebAuthnAnswer, want WebAuthnExpectation) (*Result, error) {
	tell := func(event any) {
		switch event := event.(type) {
		case PasskeyClonedEvent:
			notify(ctx, e, "PasskeyCloned", e.config.Events.PasskeyCloned, event)
		case PasskeyBackupEvent:
			notify(ctx, e, "PasskeyBackup", e.config.Events.PasskeyBackup, event)
		}
	}
	owner, err := e.provePasskey(ctx, p, ceremony, answer, want, tell)
	if err != nil {
		return nil, err
	}
	account := passkeyAccount(p, answer.CredentialID, owner.ID)
	params := SignInParams{User: owner, Account: account}
	stop, err := e.authorizeSignIn(ctx, r, params)
	if stop != nil || err != nil {
		return stop, err
	}
	id := &identity{user: owner, account: account, earlier: e.earlierProof(r)}
	e.ask(r, id, owner.ID, params)
	done, err := e.login(ctx, e.browser(ctx, r), id)
	if stop, ok := errors.AsType[*stopped](err); ok {
		return stop.result, nil
	}
	if err != nil {
		return nil, err
	}
	result, err := e.finishSignIn(ctx, r, done)
	if err == nil && r.wantsJSON() && r.form.Get("signal") != "" {
		result.signal = e.signalOf(ctx, want.RelyingParty, answer.UserHandle, owner.ID)
	}
	return result, err
}

// registerPasskey creates a user with a passkey, or adds a passkey to the user
// who is signed in.
func (e *engine) registerPasskey(ctx context.Context, r *request, p *WebAuthn, ceremony *resumed, answer *WebAuthnAnswer, want WebAuthnExpectation) (*Result, error) {
	made, err := p.Ceremonies.VerifyRegistration(ctx, answer, want)
	if err != nil {
		return nil, passkeyError(codeRefused, "", err)
	}
	made.Created = new(e.config.Clock())
	account := passkeyAccount(p, made.ProviderAccountID, "")
	id := identity{user: ceremony.user, account: account, authenticator: made, begun: ceremony.By}
	return e.complete(ctx, r, id, ceremony.By.User, SignInParams{User: ceremony.user, Account: account})
}

package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

const defaultEmailMaxAge = 24 * time.Hour

// signInEmail mails a link. Its token is stored before the mail is sent, so a
// link that arrives is valid.
func (e *engine) signInEmail(ctx context.Context, r *request, p *Email) (*Result, error) {
	identifier, err := normalize(p, r.form.Get("email"))
	if err != nil {
		return nil, &Error{Type: ErrEmailSignIn, Message: "the submitted address is not accepted", Cause: err, client: true}
	}
	if err := e.limit(ctx, r, Attempt{Provider: p.id(), Type: TypeEmail, Identifier: identifier}); err != nil {
		return nil, err
	}
	user, owner, err := e.userOfEmail(ctx, identifier, strings.TrimSpace(r.form.Get("email")))
	if err != nil {
		return nil, err
	}
	if owner != "" && user.Email != "" { // the mail goes to the address as the user has it
		identifier = user.Email
	}
	account := &Account{Provider: p.id(), Type: TypeEmail, ProviderAccountID: identifier, UserID: owner}
	stop, err := e.authorizeSignIn(ctx, r, SignInParams{User: user, Account: account, VerificationRequest: true})
	if stop != nil || err != nil {
		return stop, err
	}
	asked, err := e.requestVerification(ctx, r, p, identifier)
	if err != nil {
		return nil, err
	}
	result := redirectTo(p.verifyURL(e.url(r, ActionVerifyRequest)))
	result.Cookies = []*http.Cookie{asked}
	return result, nil
}

// verifyURL is the URL of the page that says that a mail of the provider was sent.
func (p *Email) verifyURL(page string) string {
	return page + "?provider=" + wire.QueryEscape(p.id()) + "&type=email"
}

// requestVerification makes a token, stores its hash and mails it. The cookie
// marks the browser that asked for the link.
func (e *engine) requestVerification(ctx context.Context, r *request, p *Email, identifier string) (*http.Cookie, error) {
	link, err := e.newLinkText(ctx, p)
	if err != nil {
		return nil, err
	}
	provider := *p
	provider.ID, provider.Name, provider.MaxAge = p.id(), p.displayName(), p.maxAge()
	expires := e.config.Clock().Add(provider.MaxAge)
	stored := adapter.VerificationToken{Identifier: identifier, Token: p.verificationKeys(e.csrfKeys).Hash(link.text), Expires: expires}
	if err := storeLink(ctx, e.store, stored, link.code != ""); err != nil {
		return nil, err
	}
	href := e.providerURL(r, ActionCallback, p.id()) + "?callbackUrl=" + wire.QueryEscape(r.callbackURL) + "&token=" + wire.QueryEscape(link.text) +
		"&email=" + wire.QueryEscape(identifier)
	_, err = guard(ctx, func(ctx context.Context, v VerificationRequest) (struct{}, error) {
		if p.SendVerificationRequest != nil {
			return struct{}{}, p.SendVerificationRequest(ctx, v)
		}
		return struct{}{}, sendBySMTP(ctx, v)
	}, VerificationRequest{
		Identifier: identifier, URL: href, Token: cmp.Or(link.code, link.text), Code: link.code, Expires: expires, Provider: provider, Theme: e.config.Theme,
		Texts: e.look.of(r.http).T, Request: r.withBody(ctx),
	})
	if _, ours := typeOf(err); err != nil && !ours {
		err = &Error{Type: ErrEmailSignIn, Message: "provider " + p.id() + ": the mail was not sent", Cause: err}
	}
	if errors.Is(err, ErrRecipientRefused) { // the answer says nothing about the address
		e.logError(ctx, err)
		e.signInFailed(ctx, r, err)
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if link.code != "" {
		return e.begun(r).KeepCode(began.Code{Provider: p.id(), Address: identifier, Handle: link.handle, Expires: expires.Unix()})
	}
	return r.rememberLink(link.text, provider.MaxAge), nil
}

// storeLink stores the token of a link. For a code, the store must count tries.
func storeLink(ctx context.Context, s *store, t adapter.VerificationToken, hasCode bool) error {
	if hasCode {
		return s.createCode(ctx, t)
	}
	return s.createVerificationToken(ctx, t)
}

// verificationKeys are the keys that the tokens of a provider are hashed with:
// its own, or those of the site.
func (p *Email) verificationKeys(site wire.HashKeys) wire.HashKeys {
	if len(p.Secret) > 0 {
		return wire.NewHashKeys(p.Secret)
	}
	return site
}

// userOfEmail returns the user with the address, and the user's ID; or a new
// user who is not stored yet, and no ID: the store may choose another one.
func (e *engine) userOfEmail(ctx context.Context, email string, given ...string) (user *User, id string, err error) {
	record, err := e.store.userByEmail(ctx, email, given...)
	if err != nil {
		return nil, "", err
	}
	if record != nil {
		return userFromRecord(record), record.ID, nil
	}
	random, err := wire.RandomUUID(e.config.Random)
	return &User{ID: random, Email: email}, "", err
}

var errNoEmail = errors.New("no e-mail address was submitted")

func normalize(p *Email, submitted string) (string, error) {
	if p.NormalizeIdentifier == nil {
		return NormalizeEmail(submitted)
	}
	if submitted == "" {
		return "", errNoEmail
	}
	identifier, err := guard(context.Background(), func(context.Context, string) (string, error) { return p.NormalizeIdentifier(submitted) }, submitted)
	switch {
	case err != nil:
	case identifier == "":
		err = errNoEmail
	case !identifies(identifier):
		err = errBadEmail
	}
	return identifier, err
}

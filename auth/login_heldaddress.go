package auth

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// complete ends a sign-in after the provider has identified the person: it asks
// Callbacks.SignIn, signs in, and redirects the browser. approvedAs is the ID of
// p.User if the adapter stores that user.
func (e *engine) complete(ctx context.Context, r *request, id identity, approvedAs string, p SignInParams) (*Result, error) {
	stop, err := e.authorizeSignIn(ctx, r, p)
	if stop != nil || err != nil {
		return stop, err
	}
	if e.config.Callbacks.SignIn != nil { // the callback took time: the account may have another owner by now
		id.asked = false
	}
	e.ask(r, &id, approvedAs, p)
	return e.completeAuthorized(ctx, r, &id)
}

func (e *engine) completeAuthorized(ctx context.Context, r *request, id *identity) (*Result, error) {
	id.earlier = e.earlierProof(r)
	done, err := e.login(ctx, e.browser(ctx, r), id)
	if stop, ok := errors.AsType[*stopped](err); ok {
		return stop.result, nil
	}
	if held, ok := errors.AsType[*heldAddress](err); ok {
		return e.heldAddressPage(r, held)
	}
	if id.authenticator != nil && errors.Is(err, adapter.ErrConflict) {
		err = &Error{Type: ErrAccountNotLinked, Message: "the passkey or the address belongs to another user already", Cause: err}
	}
	if err != nil {
		return nil, err
	}
	return e.finishSignIn(ctx, r, done)
}

// heldAddressPage is shown to a person who has proven an address that another
// user holds. It asks what to do. The proof waits in a cookie until that user
// signs in or the person starts afresh.
func (e *engine) heldAddressPage(r *request, held *heldAddress) (*Result, error) {
	id := &held.id
	if r.wantsJSON() {
		return nil, &Error{Type: id.notLinked(), Message: "a user who has not proven the address has it"}
	}
	kept, err := e.sealProof(r, held)
	if err != nil {
		return nil, err
	}
	page := pages.HeldAddress{
		Look: e.look.of(r.http), Email: id.user.Email, Passkey: held.ways.passkeys > 0, SignInURL: e.signInURL(r), Unknown: held.ways.unknown,
		OtherWays: held.ways.unknown || held.ways.sessions || held.ways.unlisted && !e.passwords,
		AfreshURL: e.providerURL(r, ActionCallback, id.account.Provider), CSRFToken: r.csrf.Token, CallbackURL: r.callbackURL,
	}
	for _, p := range e.config.Providers {
		switch p := p.(type) {
		case *OAuth:
			if p.ID != id.account.Provider && held.ways.may(p.ID) {
				shown, _ := e.pageProvider(r, p)
				page.Providers = append(page.Providers, shown)
			}
		case *Credentials:
			if held.ways.unlisted {
				page.Credentials = append(page.Credentials, p.wayIn())
			}
		case *Password:
			if held.ways.password {
				page.Credentials = append(page.Credentials, p.wayIn())
			}
		}
	}
	for _, a := range held.ways.accounts {
		if e.byID[a.Provider] == nil && !slices.Contains(page.Others, a.Provider) {
			page.Others = append(page.Others, a.Provider)
		}
	}
	result := privatePage(page.Render(), http.StatusOK)
	result.Cookies = kept
	return result, nil
}

// may reports whether the user may have an account of the provider.
func (w waysIn) may(provider string) bool {
	return w.unknown || slices.ContainsFunc(w.accounts, func(a adapter.Account) bool { return a.Provider == provider })
}

// privatePage is a page that no cache may store and that sends no Referer
// header.
func privatePage(p pages.Rendered, status int) *Result {
	result := html(p, status)
	result.Header["Cache-Control"] = noStore
	result.Header["Referrer-Policy"] = []string{"no-referrer"}
	return result
}

func (r *request) proofCookie() wire.CookieSpec { return wire.HostCookie("authjs.proof", r.isSecure()) }

// sealProof returns the cookies that keep a proof: the user who holds the
// address, and the account that proved it. Tokens that don't fit in the cookies
// are left out; the next sign-in stores them.
func (e *engine) sealProof(r *request, held *heldAddress) ([]*http.Cookie, error) {
	claims, cookies, err := e.begun(r).Bind("", held.holder.ID)
	if err != nil {
		return nil, err
	}
	id, spec := &held.id, r.proofCookie()
	setTexts(claims, map[string]string{
		"email": id.user.Email, "name": id.user.Name, "image": id.user.Image,
		"provider": id.account.Provider, "type": string(id.account.Type), "account": id.account.ProviderAccountID,
	})
	tokens := Claims{}
	if id.kept != nil {
		tokens = tokenClaims(id.kept)
	}
	for _, drop := range [][]string{nil, {"id_token"}, {"access_token", "refresh_token", "authorization_details"}, {"name", "image"}} {
		for _, name := range drop {
			delete(tokens, name)
			delete(claims, name)
		}
		claims["tokens"] = tokens
		sealed, err := e.sealer.Seal(spec.Name, claims)
		if err != nil {
			return nil, err
		}
		if len(spec.Name)+len(sealed) <= began.MaxCookie {
			c := spec.Set(sealed)
			c.MaxAge = int(began.MaxAge.Seconds())
			return append(cookies, c), nil
		}
	}
	return nil, &Error{Type: ErrCallbackRoute, Message: "the profile of the provider does not fit in a cookie"}
}

// earlierProof returns the proof that was given in this browser before, or nil.
func (e *engine) earlierProof(r *request) *provenAddress {
	spec := r.proofCookie()
	sealed := r.cookies.Get(spec.Name)
	if sealed == "" || e.store == nil {
		return nil
	}
	claims, err := e.sealer.Open(spec.Name, sealed)
	if err != nil {
		return nil
	}
	binding, ok := e.begun(r).Bound(claims, "")
	if !ok || !binding.Bound {
		return nil
	}
	p := &provenAddress{userID: binding.User, email: claims.String("email")}
	p.at, _ = claims.Time("iat")
	p.id = identity{
		user:    &User{Name: claims.String("name"), Email: p.email, Image: claims.String("image")},
		account: &Account{Provider: claims.String("provider"), Type: ProviderType(claims.String("type")), ProviderAccountID: claims.String("account")},
		proof:   EmailProven, begun: began.By{Bound: true}, kept: new(TokenSet),
	}
	if tokens, ok := claims["tokens"].(map[string]any); ok {
		*p.id.kept = tokensFromClaims(tokens)
		p.id.account.TokenSet = *p.id.kept
	}
	return p
}

// startAfresh serves the POST of the page about a held address: the person
// continues as a new user, with the address that they have proven.
func (e *engine) startAfresh(ctx context.Context, r *request) (*Result, error) {
	if err := r.needCSRF(); err != nil {
		return nil, err
	}
	r.attempt = "proof " + r.cookies.Get(r.proofCookie().Name)
	proven := e.earlierProof(r)
	if proven == nil || proven.id.account.Provider != r.providerID {
		return nil, invalidCheck("proof", "nothing was proven in this browser in the last minutes")
	}
	if !e.once.Spend("proof", r.cookies.Get(r.proofCookie().Name), proven.at, e.config.Clock()) {
		return nil, invalidCheck("proof", "it was used before")
	}
	id := proven.id
	id.afresh = true
	var err error
	if id.user.ID, err = wire.RandomUUID(e.config.Random); err != nil {
		return nil, err
	}
	approvedAs := ""
	if id.account.Type == TypeEmail { // Callbacks.SignIn was asked about the user who holds the address
		approvedAs = proven.userID
	}
	e.ask(r, &id, approvedAs, SignInParams{User: id.user, Account: id.account})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	return e.completeAuthorized(ctx, r, &id)
}

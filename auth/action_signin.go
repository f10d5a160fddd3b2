package auth

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// signInPage serves GET signin. It never starts a sign-in. If a form was refused
// because the browser did not show that it is of this site, the page says who is
// signed in. If the browser has sessions of two people, the page ends them and says
// so.
func (e *engine) signInPage(ctx context.Context, r *request) (*Result, error) {
	if r.provider != nil {
		return nil, &Error{Type: ErrUnknownAction, Message: "a sign-in must be started by POST", client: true}
	}
	clash := !r.head && e.sessionCookies(ctx, r).clash
	var ended []*http.Cookie
	if clash {
		ended = e.endCookies(ctx, r)
	}
	if custom := e.config.Pages.SignIn; custom != "" {
		query := "callbackUrl=" + wire.QueryEscape(r.callbackURL)
		if first := r.query.Get("error"); first != "" {
			query += "&error=" + wire.QueryEscape(first)
		}
		result := redirectTo(wire.WithQuery(custom, query))
		result.Cookies = ended
		return result, nil
	}
	page := pages.SignIn{
		Look: e.look.of(r.http), Clash: clash, CSRFToken: r.csrf.Token, CallbackURL: r.callbackURL, Error: r.parameter("error"), Email: r.parameter("email"),
	}
	if page.Error == string(ErrMissingCSRF) {
		_, shown := e.person(ctx, r)
		page.Person = shown.title()
	}
	for _, p := range e.config.Providers {
		if shown, ok := e.pageProvider(r, p); ok {
			page.Providers = append(page.Providers, shown)
			if w, ok := p.(*WebAuthn); ok && !w.DisableScript {
				page.PasskeyScript = true
			}
		}
	}
	typed, taken := e.begun(r).TakeTyped()
	if taken != nil {
		page.Typed, page.TypedInto, ended = typed.Name, typed.Provider, append(ended, taken)
	}
	if page.Person != "" || clash || taken != nil {
		result := privatePage(page.Render(), http.StatusOK)
		result.Cookies = ended
		return result, nil
	}
	return r.htmlWithToken(page.Render()), nil
}

// pageProvider returns a provider as the sign-in page shows it, and whether the
// page shows it.
func (e *engine) pageProvider(r *request, p Provider) (pages.Provider, bool) {
	shown := pages.Provider{ID: p.id(), Name: p.displayName(), Type: string(p.kind()), Action: e.providerURL(r, ActionSignIn, p.id())}
	var fields []Field
	switch p := p.(type) {
	case *Email:
		return shown, true
	case *OAuth:
		shown.Logo = p.Style.Logo
		return shown, true
	case *Credentials:
		fields = p.Fields
	case *Password:
		fields, shown.Links, shown.Password = p.fields(), passwordFlow{e, r, p}.links(), true
	case *WebAuthn:
		fields, shown.Conditional = p.formFields(), p.EnableConditionalUI
		shown.Shared = p.FormFields == nil && !p.DisableScript
	}
	shown.Action = e.providerURL(r, ActionCallback, p.id())
	for _, f := range fields {
		field := pages.Field{Name: f.Name, Label: f.Label, Type: f.Type, Placeholder: f.Placeholder, Attributes: f.Attributes, Identifier: f.Identifier}
		if field.Label == "" {
			field.Label = f.Name
		}
		if field.Type == "" {
			field.Type = "text"
		}
		shown.Fields = append(shown.Fields, field)
	}
	return shown, len(fields) > 0 || p.kind() == TypeCredentials
}

// signIn serves POST signin: it starts a sign-in with an OAuth, OpenID Connect
// or e-mail provider. For other providers it redirects to the sign-in page.
func (e *engine) signIn(ctx context.Context, r *request) (*Result, error) {
	if err := r.needCSRF(); err != nil {
		return nil, err
	}
	switch p := r.provider.(type) {
	case *OAuth:
		return e.signInOAuth(ctx, r, p)
	case *Email:
		return e.signInEmail(ctx, r, p)
	}
	return redirectTo(e.url(r, ActionSignIn)), nil
}

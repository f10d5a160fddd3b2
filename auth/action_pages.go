package auth

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// errorPage serves GET error. If a sign-in was not finished, the page says who is
// signed in.
func (e *engine) errorPage(ctx context.Context, r *request) (*Result, error) {
	failure := r.query.Get("error")
	if custom := e.config.Pages.Error; custom != "" {
		if failure == "" {
			return redirectTo(custom), nil
		}
		query := "error=" + wire.QueryEscape(failure)
		if code := r.query.Get("code"); code != "" && failure == string(ErrWebAuthnVerification) {
			query += "&code=" + wire.QueryEscape(code)
		}
		return redirectTo(wire.WithQuery(custom, query)), nil
	}
	page := pages.Error{Look: e.look.of(r.http), Type: failure, Code: r.query.Get("code"), SiteURL: e.config.home(r.origin), SignInURL: e.url(r, ActionSignIn)}
	if !page.Unfinished() {
		return html(page.Render(), page.Status()), nil
	}
	_, shown := e.person(ctx, r)
	page.Person = shown.title()
	return privatePage(page.Render(), page.Status()), nil
}

// verifyRequestPage serves GET verify-request: a mail was sent.
func (e *engine) verifyRequestPage(r *request) (*Result, error) {
	if custom := e.config.Pages.VerifyRequest; custom != "" {
		if r.http.URL.RawQuery == "" {
			return redirectTo(custom), nil
		}
		return redirectTo(wire.WithQuery(custom, r.http.URL.RawQuery)), nil
	}
	page := pages.VerifyRequest{Look: e.look.of(r.http), SiteURL: e.config.home(r.origin)}
	p, ok := e.byID[r.query.Get("provider")].(*Email)
	if !ok || !p.Code {
		return html(page.Render(), http.StatusOK), nil
	}
	asked := p.askedFor(e.begun(r).Codes(), "")
	if len(asked) == 0 {
		return html(page.Render(), http.StatusOK), nil
	}
	page.Action, page.CSRFToken, page.SignInURL = e.providerURL(r, ActionCallback, p.id()), r.csrf.Token, e.url(r, ActionSignIn)
	page.Fields = []pages.Posted{{Name: "email", Value: asked[0].Address}, {Name: "callbackUrl", Value: r.callbackURL}}
	page.Wrong = r.query.Get("error") != ""
	return privatePage(page.Render(), http.StatusOK), nil
}

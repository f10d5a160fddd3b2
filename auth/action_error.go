package auth

import (
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// errorPage serves GET error.
func (e *engine) errorPage(r *request) (*Result, error) {
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
	page := pages.Error{Look: e.look(), Type: failure, Code: r.query.Get("code"), SiteURL: e.config.home(r.origin), SignInURL: e.url(r, ActionSignIn)}
	return html(page.Render(), page.Status()), nil
}

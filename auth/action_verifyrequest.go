package auth

import (
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// verifyRequestPage serves GET verify-request: a mail was sent.
func (e *engine) verifyRequestPage(r *request) (*Result, error) {
	if custom := e.config.Pages.VerifyRequest; custom != "" {
		if r.http.URL.RawQuery == "" {
			return redirectTo(custom), nil
		}
		return redirectTo(wire.WithQuery(custom, r.http.URL.RawQuery)), nil
	}
	return html(pages.VerifyRequest{Look: e.look(), SiteURL: e.config.home(r.origin)}.Render(), http.StatusOK), nil
}

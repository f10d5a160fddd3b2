package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
)

// hopField marks an answer that the hop page has posted.
const hopField = "authjsHop"

// hop is the result for an answer that a page of the provider's site posts: the
// browser does not send cookies that are SameSite=Lax with it, so a page of
// this site posts the answer once more. The result is nil if the cookies are
// there.
func (e *engine) hop(r *request, o *oauthClient, params url.Values) *Result {
	if !o.formPost || r.method != http.MethodPost || params.Has(hopField) {
		return nil
	}
	if e.begun(r).Knows(&o.checks, params.Get("state")) {
		return nil
	}
	r.pending = nil // the browser keeps the cookies that it did not send
	page := pages.Hop{Look: e.look.of(r.http), Action: r.target, Fields: []pages.Posted{{Name: hopField, Value: "true"}}}
	for name, values := range params {
		for _, v := range values {
			page.Fields = append(page.Fields, pages.Posted{Name: name, Value: v})
		}
	}
	slices.SortStableFunc(page.Fields, func(a, b pages.Posted) int { return strings.Compare(a.Name, b.Name) })
	return privatePage(page.Render(), http.StatusOK)
}

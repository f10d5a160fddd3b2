package golden_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// badCallbackURL is the name of this departure: a callback URL that is not an
// http(s) URL is ignored in the query, in the cookie and in the body. Auth.js
// answers with an error, until the user deletes the cookie by hand.
const badCallbackURL = "A bad callback URL is ignored"

// noWebURL matches URLs with a scheme other than http and https.
var noWebURL = regexp.MustCompile(`^(javascript|data|ftp|file|mailto|about|vbscript):`)

// withoutBadCallbackURL returns the request of a step without the callback URL
// that makes Auth.js fail, and whether there was one.
func (r *replay) withoutBadCallbackURL(s *step) (*step, bool) {
	failed := func(types ...string) bool {
		return slices.ContainsFunc(s.Logs, func(l recordedLog) bool { return slices.Contains(types, l.Type) })
	}
	u, err := url.Parse(r.values.expand(s.Request.URL))
	if err != nil {
		return nil, false
	}
	without := *s
	without.Response.Status = 0
	switch {
	case failed(string(auth.ErrInvalidCallbackURL)):
		q := u.Query()
		q.Del("callbackUrl")
		u.RawQuery = q.Encode()
		without.Request.URL = u.String()
		without.Request.Cookies = slices.DeleteFunc(slices.Clone(s.Request.Cookies), func(m member) bool {
			return strings.HasSuffix(m.name, "callback-url")
		})
		without.Request.CookieSource = "explicit"
		return &without, true
	case s.Request.Body != nil && !strings.Contains(string(r.config["callbacks"]), "redirect"):
		fields := slices.DeleteFunc(slices.Clone(s.Request.Body.Fields), func(f [2]string) bool {
			return f[0] == "callbackUrl" && (failed("TypeError") || noWebURL.MatchString(f[1]))
		})
		if len(fields) == len(s.Request.Body.Fields) {
			return nil, false
		}
		body := *s.Request.Body
		body.Fields = fields
		without.Request.Body = &body
		return &without, true
	}
	return nil, false
}

// sameAs checks that two steps get the same response.
func (r *replay) sameAs(s, other *step) error {
	r.applied[badCallbackURL] = true
	r.peeking = true
	want, err := r.send(other)
	r.peeking = false
	if err != nil {
		return err
	}
	got, err := r.send(s)
	if err != nil {
		return err
	}
	r.check("status", float64(want.StatusCode), float64(got.StatusCode))
	r.check("header location", headerOf(want.Header, "location"), headerOf(got.Header, "location"))
	wantBody, err := summary(want, r.values.expand(other.Request.URL))
	if err != nil {
		return err
	}
	gotBody, err := summary(got, r.values.expand(s.Request.URL))
	if err != nil {
		return err
	}
	r.check("body", wantBody, gotBody)
	return nil
}

// summary returns the visible parts of a response, without random values and
// without the URL of the request, which the sign-out page repeats.
func summary(resp *response, requestURL string) (any, error) {
	body := randomHex.ReplaceAllString(string(resp.body), "(hex)")
	body = strings.ReplaceAll(body, html.EscapeString(requestURL), "(url)")
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return page(body)
	}
	if resp.Header.Get("Content-Type") != "application/json" || resp.StatusCode == http.StatusFound {
		return body, nil
	}
	var v any
	err := json.Unmarshal([]byte(body), &v)
	return v, err
}

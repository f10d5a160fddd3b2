package auth

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// checkCookies lists settings of cookies that can't work in a browser (RFC 6265bis
// sections 4.1.3 and 5.7).
func (e *engine) checkCookies() []error {
	var problems []error
	problem := func(spec *wire.CookieSpec, message string) {
		problems = append(problems, &Error{Type: ErrAuth, Message: fmt.Sprintf("Config.Cookies: %q: %s", spec.Name, message)})
	}
	for _, specs := range e.cookieSets() {
		seen := map[string]bool{}
		for _, spec := range specs.All() {
			t := &spec.Template
			name := strings.ToLower(spec.Name)
			secure := t.Secure || specs == &e.cookies.plain && e.config.UseSecureCookies == nil
			switch {
			case seen[spec.Name]:
				problem(spec, "two cookies have this name")
			case strings.HasPrefix(name, "__host-") && (t.Domain != "" || t.Path != "/" || !secure):
				problem(spec, "a name with __Host- must be Secure, with the Path / and without a Domain")
			case strings.HasPrefix(name, "__secure-") && !secure:
				problem(spec, "a name with __Secure- must be Secure")
			case t.SameSite == http.SameSiteNoneMode && !secure:
				problem(spec, "SameSite=None must be Secure")
			}
			seen[spec.Name] = true
		}
	}
	c := &e.config.Cookies
	for _, given := range []CookieConfig{c.SessionToken, c.CallbackURL, c.CSRFToken, c.PKCECodeVerifier, c.State, c.Nonce, c.WebAuthnChallenge} {
		switch given.Priority {
		case "", "Low", "Medium", "High":
		default:
			problems = append(problems, &Error{Type: ErrAuth, Message: fmt.Sprintf("Config.Cookies: Priority is %q, want Low, Medium or High", given.Priority)})
		}
	}
	return problems
}

// cookieSets are the sets of cookies that requests may use.
func (e *engine) cookieSets() []*wire.CookieSpecs {
	secure, both := strings.HasPrefix(e.origin, "https:"), e.origin == ""
	if e.config.UseSecureCookies != nil {
		secure, both = *e.config.UseSecureCookies, false
	}
	switch {
	case both:
		return []*wire.CookieSpecs{&e.cookies.plain, &e.cookies.secure}
	case secure:
		return []*wire.CookieSpecs{&e.cookies.secure}
	}
	return []*wire.CookieSpecs{&e.cookies.plain}
}

// checkPages lists pages that the browser would not find, or that lead back to
// the route that sends the browser there.
func (e *engine) checkPages() []error {
	var problems []error
	p := &e.config.Pages
	for _, page := range []struct {
		name, url string
		action    Action
	}{
		{"SignIn", p.SignIn, ActionSignIn}, {"SignOut", p.SignOut, ActionSignOut}, {"Error", p.Error, ActionError},
		{"VerifyRequest", p.VerifyRequest, ActionVerifyRequest}, {"NewUser", p.NewUser, ""},
	} {
		if page.url == "" {
			continue
		}
		u, err := url.Parse(page.url)
		switch {
		case err != nil || !isPage(page.url):
			problems = append(problems, &Error{Type: ErrAuth, Message: fmt.Sprintf("Config.Pages.%s is %q, want a path such as /login, or an http(s) URL", page.name, page.url)})
		case page.action != "" && u.Path == e.basePath+"/"+string(page.action) && (u.Host == "" || wire.OriginOf(u) == e.origin):
			problems = append(problems, &Error{Type: ErrErrorPageLoop, Message: fmt.Sprintf("Config.Pages.%s is the route that it replaces, so it leads back to itself", page.name)})
		}
	}
	return problems
}

// isPage reports whether s is a path of the site or an http(s) URL.
func isPage(s string) bool {
	if strings.HasPrefix(s, "/") {
		_, err := url.Parse(s)
		return err == nil && s == onSite(s)
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

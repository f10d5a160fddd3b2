package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestForgottenPassword: a link of a mail leads to a new password, once. To open it
// changes nothing, and a password that is refused uses up nothing. Then the old
// password and every other session are over, and a mail says so.
func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		s.member("ada@example.com", goodPassword)
		thief, b := s.browser(), s.browser()
		s.signIn(thief, "ada@example.com", goodPassword).wantLocation(t, origin)
		s.clock.advance(time.Minute)
		s.kinds()
		page := b.post("/auth/password/forgot", "email", "ada@example.com", "callbackUrl", "/notes")
		require.Truef(t, page.StatusCode == http.StatusOK && strings.Contains(page.Header.Get("Cache-Control"), "no-store"),
			"status %d", page.StatusCode)
		link := s.link()
		for range 3 {
			page = b.get(link)
			require.Equal(t, http.StatusOK, page.StatusCode)
			require.Contains(t, page.body, `autocomplete="new-password"`)
		}
		for _, refused := range []string{"short", "passwordpassword", "ada@example.com ada", strings.Repeat("x", 4097), "a\x00" + goodPassword, strings.Repeat("ä1", 70)} {
			r := b.fill(page, "password", refused)
			assert.Truef(t, r.StatusCode == http.StatusBadRequest && strings.Contains(r.body, `role="alert"`) && strings.Contains(r.body, "aria-invalid"),
				"%.20q: status %d", refused, r.StatusCode)
		}
		b.fill(page, "password", otherPassword).wantLocation(t, origin+"/notes")
		b.wantSession("ada@example.com")
		thief.wantNoSession()
		assert.Equal(t, []pw.MailKind{pw.MailReset, pw.MailChanged}, s.kinds(), "mails")
		assert.Equal(t, http.StatusForbidden, s.choose(s.browser(), link, goodPassword).StatusCode,
			"the link counts twice: status")
		s.signIn(s.browser(), "ada@example.com", goodPassword).wantLocation(t, wrongPassword)
		s.signIn(s.browser(), "ada@example.com", otherPassword).wantLocation(t, origin)
		b.wantSession("ada@example.com")
	})
}

// TestPasswordLinks: five are valid at once, a new one ends none, a used one ends
// all, and each expires. Nobody else's route accepts them.
func TestPasswordLinks(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, _ *pw.Settings) {
		c.Providers = append(c.Providers, (&outbox{}).provider())
	})
	s.member("ada@example.com", goodPassword)
	s.kinds()
	b := s.browser()
	var links []string
	for n := range 8 {
		b.post("/auth/password/forgot", "email", "ada@example.com")
		require.Lenf(t, s.mails, min(n+1, 5), "mails after %d forms", n+1)
		if n < 5 {
			links = append(links, s.link())
		}
	}
	for _, link := range links[:2] {
		q := queryOf(t, link)
		b.get("/auth/callback/email?token=" + q.Get("token") + "&email=ada%40example.com")
		b.post("/auth/callback/email", "token", q.Get("token"), "email", "ada@example.com")
		b.post("/auth/password/choose", "for", "sign-up", "token", q.Get("token"), "email", "ada@example.com", "password", otherPassword)
		b.post("/auth/password/choose", "for", "reset", "token", q.Get("token"), "email", "eve@example.com", "password", otherPassword)
		b.wantNoSession()
	}
	for key := range s.store.tokens {
		for _, link := range links {
			assert.NotContains(t, key.Token, queryOf(t, link).Get("token"), "the store has the token")
			assert.NotContains(t, key.Identifier, "@", "the store has the address")
		}
	}
	s.choose(s.browser(), links[2], otherPassword).wantLocation(t, origin)
	for _, link := range links {
		assert.Equal(t, http.StatusForbidden, s.choose(s.browser(), link, goodPassword).StatusCode,
			"a link after another was used: status")
	}
	s.kinds()
	b.post("/auth/password/forgot", "email", "ada@example.com") // there is room again
	late := s.link()
	s.clock.advance(61 * time.Minute)
	assert.Equal(t, http.StatusForbidden, s.choose(s.browser(), late, goodPassword).StatusCode,
		"a link after its end: status")
	for range 60 { // at no time are more than five valid, whenever they were asked for
		s.clock.advance(7 * time.Minute)
		b.post("/auth/password/forgot", "email", "ada@example.com")
		valid := 0
		for key, v := range s.store.tokens {
			if strings.HasPrefix(key.Identifier, "password-link:") && s.clock.Now().Before(v.Expires) {
				valid++
			}
		}
		require.Truef(t, valid <= 5 && valid != 0, "%d links are valid", valid)
	}
}

// TestPasswordLinkOfAGateway: a link that a mail program or a gateway has decoded, or
// whose ampersands it has escaped, works.
func TestPasswordLinkOfAGateway(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(link string) string{
		"none":  func(link string) string { return link },
		"&amp;": func(link string) string { return strings.ReplaceAll(link, "&", "&amp;") },
		"decoded": func(link string) string {
			return must(url.PathUnescape(link))(t)
		},
	} {
		s := newPasswordSite(t, nil)
		s.browser().post("/auth/password/sign-up", "email", "ada+news@example.com")
		b := s.browser()
		if !assert.Equalf(t, http.StatusFound, s.choose(b, change(s.link()), goodPassword).StatusCode, "%s: status", name) {
			continue
		}
		b.wantSession("ada+news@example.com")
	}
}

// TestPasswordLinkOnce: of many browsers with one link one chooses the password.
func TestPasswordLinkOnce(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	s.browser().post("/auth/password/sign-up", "email", "ada@example.com")
	link := s.link()
	var all sync.WaitGroup
	var done atomic.Int32
	for range 16 {
		all.Go(func() {
			if r := s.choose(s.browser(), link, goodPassword); r.StatusCode == http.StatusFound {
				done.Add(1)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, done.Load(), "how often a password was chosen")
	assert.Len(t, s.store.users, 1)
}

// TestNobodyLearnsWhoHasAnAddress: page, status, cookies and the number of mails are
// the same for an address of somebody and of nobody, and the calls of the store are
// as many.
func TestNobodyLearnsWhoHasAnAddress(t *testing.T) {
	t.Parallel()
	var calls []string
	var mu sync.Mutex
	s := newPasswordSite(t, nil)
	s.member("known@example.com", goodPassword)
	s.store.users["plain"] = adapter.User{ID: "plain", Email: "plain@example.com"}
	s.store.before = func(method string, _ ...any) error {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, method)
		return nil
	}
	for _, path := range []string{"/auth/callback/password", "/auth/password/forgot", "/auth/password/sign-up"} {
		seen := map[string][]string{}
		for _, typed := range []string{"known@example.com", "KNOWN@example.com", "other@example.com", "OTHER@example.com", "plain@example.com", "PLAIN@example.com"} {
			b := s.browser()
			b.csrf()
			calls = nil
			s.kinds()
			r := b.post(path, "email", typed, "password", otherPassword)
			name := strings.ToLower(strings.TrimSuffix(typed, "@example.com"))
			body := strings.ReplaceAll(r.body, name+"@example.com", "ADDRESS")
			if token := b.csrf(); token != "" {
				body = strings.ReplaceAll(body, token, "TOKEN")
			}
			var cookies []string
			for _, c := range r.Cookies() {
				cookies = append(cookies, c.Name)
			}
			key := "lower"
			if typed != strings.ToLower(typed) {
				key = "upper"
			}
			seen[key] = append(seen[key], strings.Join([]string{
				http.StatusText(r.StatusCode), r.location(), body, strings.Join(cookies, " "), strings.Repeat("mail ", len(s.kinds())), strings.Join(calls, " "),
			}, "\n"))
		}
		for key, all := range seen {
			assert.Lenf(t, slices.Compact(all), 1, "%s (%s):\n%s", path, key, strings.Join(all, "\n---\n"))
		}
	}
}

// TestSignUpOfSomebodyWhoIsThere: the owner of the address gets a mail that helps,
// and nothing changes.
func TestSignUpOfSomebodyWhoIsThere(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	id := s.member("ada@example.com", goodPassword)
	before := s.stored(id)
	s.kinds()
	s.browser().post("/auth/password/sign-up", "email", "ada@example.com")
	s.browser().post("/auth/password/forgot", "email", "new@example.com")
	for _, m := range s.mails {
		assert.Truef(t, !strings.Contains(m.Text+m.HTML+m.Subject, "ada@") && strings.Contains(m.Text, m.URL) &&
			strings.Contains(m.Text, "app.example.com"),
			"the mail %q", m.Text)
	}
	assert.Equal(t, []pw.MailKind{pw.MailSignUpKnown, pw.MailSignUp}, s.kinds(), "mails")
	assert.True(t, s.stored(id) == before && len(s.store.users) == 1, "something changed")
}

// TestChangePassword: the old password, or a sign-in of the last minutes, changes the
// password; the other sessions end, this one gets another key, and a mail says so.
func TestChangePassword(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		s.member("ada@example.com", goodPassword)
		location := s.browser().get("/auth/password/change").location()
		assert.Truef(t, strings.HasPrefix(location, origin+"/auth/signin?callbackUrl="), "nobody is signed in: sent to %s", location)
		b, other := s.browser(), s.browser()
		s.signIn(b, "ada@example.com", goodPassword)
		s.signIn(other, "ada@example.com", goodPassword)
		page := b.get("/auth/password/change")
		assert.NotContains(t, page.body, `name="current"`, "a fresh sign-in is asked for the old password")
		b.fill(page, "password", otherPassword).wantLocation(t, origin)
		other.wantNoSession()
		s.clock.advance(time.Hour)
		b.wantSession("ada@example.com")
		key := b.cookies["__Secure-authjs.session-token"].Value
		s.signIn(other, "ada@example.com", otherPassword)
		s.clock.advance(time.Minute)
		s.kinds()
		page = b.get("/auth/password/change")
		require.Contains(t, page.body, `autocomplete="current-password"`, "no field for the old password")
		for _, fields := range [][]string{{"current", goodPassword}, {"current", ""}, {}, {"current", strings.Repeat("x", 5000)}} {
			r := b.fill(page, append(fields, "password", "eleven green bottles on a wall")...)
			assert.Equalf(t, http.StatusForbidden, r.StatusCode, "%.40v: status", fields)
		}
		same := b.fill(page, "current", otherPassword, "password", otherPassword)
		assert.Truef(t, same.StatusCode == http.StatusBadRequest && strings.Contains(same.body, "This is your password already"),
			"the same password: status %d", same.StatusCode)
		other.wantSession("ada@example.com")
		b.fill(page, "current", otherPassword, "password", goodPassword).wantLocation(t, origin)
		b.wantSession("ada@example.com")
		other.wantNoSession()
		assert.NotEqual(t, key, b.cookies["__Secure-authjs.session-token"].Value, "the session has its old key")
		assert.Equal(t, []pw.MailKind{pw.MailChanged}, s.kinds(), "mails")
		s.signIn(s.browser(), "ada@example.com", otherPassword).wantLocation(t, wrongPassword)
		s.signIn(s.browser(), "ada@example.com", goodPassword).wantLocation(t, origin)
	})
}

// TestRemovePassword: the only way to sign in stays; with another one the password is
// removed after a page that asks.
func TestRemovePassword(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		id := s.member("ada@example.com", goodPassword)
		b := s.browser()
		s.signIn(b, "ada@example.com", goodPassword)
		page := b.get("/auth/password/remove")
		require.Equal(t, http.StatusConflict, b.fill(page).StatusCode, "the only way: status")
		require.NotEmpty(t, s.stored(id).Hash, "the only way is gone")
		key := adapter.AccountKey{Provider: "github", ProviderAccountID: "1"}
		s.store.accounts[key] = adapter.Account{Provider: "github", ProviderAccountID: "1", UserID: id, Type: "oauth"}
		s.clock.advance(time.Hour)
		page = b.get("/auth/password/remove")
		assert.Equal(t, http.StatusForbidden, b.fill(page, "current", otherPassword).StatusCode, "a wrong password: status")
		b.fill(page, "current", goodPassword).wantLocation(t, origin)
		assert.Empty(t, s.stored(id).Hash, "it is still there")
		b.wantSession("ada@example.com")
		kinds := s.kinds()
		assert.Equalf(t, pw.MailRemoved, kinds[len(kinds)-1], "mails: %v", kinds)
		s.signIn(s.browser(), "ada@example.com", goodPassword).wantLocation(t, wrongPassword)
		assert.Contains(t, b.get("/auth/password/remove").body, "You have no password.",
			"the page of a user without a password")
	})
}

// TestWellKnownChangePassword: password managers find the page.
func TestWellKnownChangePassword(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	s.browser().get("/.well-known/change-password").wantLocation(t, origin+"/auth/password/change")
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	for _, path := range []string{"/.well-known/change-password", "/auth/password/change", "/auth/password/forgot"} {
		assert.Equalf(t, http.StatusBadRequest, newBrowser(t, h).get(path).StatusCode,
			"without the provider, %s: status", path)
	}
	for _, path := range []string{"/auth/password/other", "/auth/password"} {
		r := s.browser().get(path)
		assert.Containsf(t, r.location(), "error=UnknownAction", "%s: status %d to", path, r.StatusCode)
	}
}

// TestPasswordMailFails: a mail that can't be sent is an error for everybody; a
// recipient whom the mail server refuses is none.
func TestPasswordMailFails(t *testing.T) {
	t.Parallel()
	var failure error
	s := newPasswordSite(t, func(_ *passwordSite, _ *auth.Config, p *pw.Settings) {
		p.Send = func(context.Context, pw.Mail) error { return failure }
	})
	b := s.browser()
	failure = auth.ErrRecipientRefused
	assert.Equal(t, http.StatusOK, b.post("/auth/password/forgot", "email", "ada@example.com").StatusCode,
		"a refused recipient: status")
	failure = errors.New("the mail server is gone")
	b.post("/auth/password/forgot", "email", "ada@example.com").wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
}

// TestPasswordPages: each page has one heading, the inputs that password managers look
// for, needs no script, sends no Referer header, and is stored by no cache. After an
// error the wrong input has the focus.
func TestPasswordPages(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	s.member("ada@example.com", goodPassword)
	b := s.browser()
	s.signIn(b, "ada@example.com", goodPassword)
	s.clock.advance(time.Hour)
	asked := s.browser().post("/auth/password/forgot", "email", "ada@example.com")
	change := b.get("/auth/password/change")
	pages := map[string]struct {
		page *reply
		has  []string
	}{
		"sign-up": {s.browser().get("/auth/password/sign-up"), []string{`name="email"`, `autocomplete="username"`}},
		"forgot":  {s.browser().get("/auth/password/forgot"), []string{`name="email"`, `autocomplete="username"`}},
		"sent":    {asked, []string{"Check your email"}},
		"choose":  {s.browser().get(s.link()), []string{`autocomplete="new-password"`, `autocomplete="username"`, "passwordrules"}},
		"lost":    {s.browser().get("/auth/password/choose"), []string{`role="alert"`}},
		"change":  {change, []string{`autocomplete="current-password"`, `autocomplete="new-password"`, `autocomplete="username"`}},
		"remove":  {b.get("/auth/password/remove"), []string{`autocomplete="current-password"`, "Remove your password?"}},
		"wrong":   {b.fill(change, "current", "x", "password", otherPassword), []string{`name="current" autocomplete="current-password" required autofocus aria-invalid="true"`}},
		"short":   {b.fill(change, "current", goodPassword, "password", "x"), []string{`required autofocus aria-invalid="true" aria-describedby="password-error password-rule"`}},
		"address": {s.browser().post("/auth/password/forgot", "email", "a@b@c"), []string{`aria-invalid="true"`, `value="a@b@c"`}},
	}
	for name, p := range pages {
		h := p.page.Header
		assert.Truef(t, h.Get("Referrer-Policy") == "no-referrer" && strings.Contains(h.Get("Cache-Control"), "no-store") &&
			h.Get("Content-Security-Policy") != "",
			"%s: headers %v", name, h)
		assert.Truef(t, strings.Count(p.page.body, "<h1>") == 1 &&
			strings.Contains(p.page.body, "<script") == strings.Contains(p.page.body, "data-show hidden") && strings.Count(p.page.body, " autofocus") <= 1,
			"%s: %s", name, p.page.body)
		for _, text := range p.has {
			assert.Containsf(t, p.page.body, text, "%s: no %s in", name, text)
		}
	}
	for _, p := range []string{"/auth/password/sign-up", "/auth/password/choose", "/auth/password/change"} { // HEAD changes nothing
		r := s.browser().do(http.MethodHead, p, nil, nil)
		assert.Truef(t, r.body == "" && len(r.Cookies()) == 0, "HEAD %s: %q, %v", p, r.body, r.Cookies())
	}
	german := s.browser().do(http.MethodGet, "/auth/password/forgot", nil, http.Header{"Accept-Language": {"de"}})
	assert.Contains(t, german.body, `lang="de"`, "the page in German")
}

// TestPasswordOfAScript: a script signs in with JSON. What it says about remembering
// counts as a truth value, too.
func TestPasswordOfAScript(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		s.member("ada@example.com", goodPassword)
		for remember, kept := range map[string]bool{`false`: false, `"false"`: false, `true`: true, `"true"`: true, `null`: true} {
			b := s.browser()
			body := `{"csrfToken":"` + b.csrf() + `","email":"ada@example.com","password":"` + goodPassword + `","remember":` + remember + `}`
			r := b.do(http.MethodPost, "/auth/callback/password", strings.NewReader(body), http.Header{
				"Content-Type": {"application/json"}, "X-Auth-Return-Redirect": {"1"},
			})
			require.Truef(t, r.StatusCode == http.StatusOK && strings.Contains(r.body, `"url":"`+origin),
				"remember %s: status %d, %s", remember, r.StatusCode, r.body)
			b.wantSession("ada@example.com")
			c := b.cookies["__Secure-authjs.session-token"]
			assert.NotEqualf(t, kept, c.Expires.IsZero(), "remember %s: the cookie ends at %v", remember, c.Expires)
		}
	})
}

// TestPasswordSignInOverAnothersSession: a session that somebody planted in the browser
// stays theirs, and the person who signs in there gets another one.
func TestPasswordSignInOverAnothersSession(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		s.member("ada@example.com", goodPassword)
		s.member("eve@example.com", otherPassword)
		const name = "__Secure-authjs.session-token"
		eve, b := s.browser(), s.browser()
		s.signIn(eve, "eve@example.com", otherPassword)
		b.cookies[name] = eve.cookies[name]
		s.signIn(b, "ada@example.com", goodPassword).wantLocation(t, origin)
		b.wantSession("ada@example.com")
		assert.NotEqual(t, eve.cookies[name].Value, b.cookies[name].Value, "the session has the key that was planted")
		assert.NotContains(t, eve.get("/auth/session").body, "ada@", "the other browser is signed in as")
	})
}

// TestPasswordSpellings: composed and decomposed letters are one password; what is no
// text is refused and matches nothing; an address that only looks the same is another.
func TestPasswordSpellings(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	const decomposed, composed = "pa\u0301ssword of a\u030angstro\u0308m", "p\u00e1ssword of \u00e5ngstr\u00f6m"
	b := s.browser()
	b.post("/auth/password/sign-up", "email", "Ada@Example.com")
	page := b.get(s.link())
	for _, bad := range []string{decomposed + "\xff", decomposed + "\x00", "\xc3\x28" + decomposed, decomposed + "\n"} {
		assert.Equalf(t, http.StatusBadRequest, b.fill(page, "password", bad).StatusCode, "%q is taken: status", bad)
	}
	b.fill(page, "password", decomposed).wantLocation(t, origin)
	s.signIn(s.browser(), "ada@example.com", composed).wantLocation(t, origin)
	for _, bad := range []string{composed + "\xff", composed + "\x00", composed + " ", strings.ToUpper(composed)} {
		s.signIn(s.browser(), "ada@example.com", bad).wantLocation(t, wrongPassword)
	}
	for _, address := range []string{"ada@example.com\x00", "\u0430da@example.com", "ada\u200b@example.com"} {
		assert.Equalf(t, wrongPassword, s.signIn(s.browser(), address, composed).location(), "%q: sent to", address)
		if before := len(s.mails); s.browser().post("/auth/password/forgot", "email", address).StatusCode == http.StatusOK {
			for _, m := range s.mails[before:] {
				assert.NotEqualf(t, "ada@example.com", m.To, "%q gets the mail of another address", address)
			}
		}
	}
}

// TestResetInABriefSession: a session that the browser was not to remember stays such
// a one when the password is chosen anew.
func TestResetInABriefSession(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		s.member("ada@example.com", goodPassword)
		b := s.browser()
		s.signIn(b, "ada@example.com", goodPassword, "remember", "false")
		for range 2 {
			b.post("/auth/password/forgot", "email", "ada@example.com")
			s.choose(b, s.link(), otherPassword).wantLocation(t, origin)
			b.wantSession("ada@example.com")
			c := b.cookies["__Secure-authjs.session-token"]
			require.Truef(t, c.Expires.IsZero() && c.MaxAge == 0, "the cookie is kept until %v", c.Expires)
		}
	})
}

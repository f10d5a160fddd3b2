package auth_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
)

// TestPasswordSignIn: a person signs up, signs out, and signs in with the password,
// in any spelling of the address; a wrong password, a user without one and an
// address of nobody are answered alike.
func TestPasswordSignIn(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		id := s.member("ada@example.com", goodPassword)
		s.store.users["plain"] = adapter.User{ID: "plain", Email: "plain@example.com"}
		b := s.browser()
		for name, tried := range map[string][2]string{
			"wrong": {"ada@example.com", otherPassword}, "nobody": {"nobody@example.com", goodPassword}, "no password": {"plain@example.com", goodPassword},
			"empty": {"ada@example.com", ""}, "no address": {"", goodPassword}, "no address at all": {"@", goodPassword},
			"too long": {"ada@example.com", strings.Repeat("a", 5000)},
		} {
			r := s.signIn(b, tried[0], tried[1])
			assert.Truef(t, r.location() == wrongPassword && r.StatusCode == http.StatusFound,
				"%s: status %d, sent to %s", name, r.StatusCode, r.location())
		}
		b.wantNoSession()
		s.signIn(b, " Ada@Example.COM", goodPassword, "callbackUrl", "/notes").wantLocation(t, origin+"/notes")
		b.wantSession("ada@example.com")
		assert.NotContains(t, s.stored(id).State, "failures")
		assert.Regexp(t, `^\$argon2id\$`, s.stored(id).Hash)
		assert.NotContains(t, s.log.String(), goodPassword, "the log has the password")
	})
}

// TestPasswordNeedsCSRF: another site can't sign a browser in.
func TestPasswordNeedsCSRF(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	s.member("ada@example.com", goodPassword)
	b := s.browser()
	for _, path := range []string{"/auth/callback/password", "/auth/password/forgot", "/auth/password/sign-up", "/auth/password/choose", "/auth/password/change", "/auth/password/remove"} {
		r := b.submit(path, "email", "ada@example.com", "password", goodPassword)
		assert.Containsf(t, r.location(), "MissingCSRF", "%s: status %d, sent to", path, r.StatusCode)
	}
	b.wantNoSession()
	assert.Len(t, s.kinds(), 1, "mails")
}

// TestPasswordImported: a hash that somebody brought along counts, and is replaced by
// one of ours; of sign-ins at once each succeeds.
func TestPasswordImported(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, func(_ *passwordSite, _ *auth.Config, p *pw.Settings) {
		p.Hashing.Imported = []pw.Format{pw.Bcrypt{Cost: bcrypt.MinCost}}
	})
	hash := must(bcrypt.GenerateFromPassword([]byte(goodPassword), bcrypt.MinCost))(t)
	s.store.users["old"] = adapter.User{ID: "old", Email: "old@example.com", EmailVerified: new(time.Now())}
	s.store.passwords["old"] = adapter.Password{UserID: "old", Hash: string(hash)}
	s.signIn(s.browser(), "old@example.com", "wrong").wantLocation(t, wrongPassword)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			b := s.browser()
			assert.Equal(t, origin, s.signIn(b, "old@example.com", goodPassword).location(), "sent to")
		})
	}
	all.Wait()
	assert.NotContains(t, s.stored("old").State, "failures")
	assert.Regexp(t, `^\$argon2id\$`, s.stored("old").Hash)
	s.signIn(s.browser(), "old@example.com", goodPassword).wantLocation(t, origin)
}

// TestPasswordFailures: after a hundred wrong passwords in a row the right one does
// not count in strange browsers, until the person has proven the address. Of wrong
// ones at once no more are compared.
func TestPasswordFailures(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	id := s.member("ada@example.com", goodPassword)
	b := s.browser()
	for range 99 {
		s.signIn(b, "ada@example.com", otherPassword).wantLocation(t, wrongPassword)
	}
	s.signIn(b, "ada@example.com", goodPassword).wantLocation(t, origin) // it starts at zero
	b = s.browser()
	csrf := b.csrf()
	var all sync.WaitGroup
	for range 150 {
		all.Go(func() {
			own, busy := b.clone(s), true
			for busy { // too many waited to be hashed, and this one was not compared
				r := own.submit("/auth/callback/password", "csrfToken", csrf, "email", "ada@example.com", "password", otherPassword)
				busy = r.StatusCode == http.StatusServiceUnavailable
			}
		})
	}
	all.Wait()
	assert.Contains(t, s.stored(id).State, `"failures":{"":100}`, "after 150 wrong ones")
	s.signIn(b, "ada@example.com", goodPassword).wantLocation(t, wrongPassword)
	b.post("/auth/password/forgot", "email", "ada@example.com")
	s.choose(b, s.link(), otherPassword).wantLocation(t, origin)
	s.signIn(s.browser(), "ada@example.com", otherPassword).wantLocation(t, origin)
}

// TestPasswordLimit: Config.Limit is asked before anything is looked up or hashed.
func TestPasswordLimit(t *testing.T) {
	t.Parallel()
	var seen []auth.Attempt
	s := newPasswordSite(t, func(s *passwordSite, c *auth.Config, _ *pw.Settings) {
		c.Limit = func(_ context.Context, a auth.Attempt) error {
			seen = append(seen, a)
			return &auth.TooManyAttempts{RetryAfter: 7 * time.Second}
		}
		s.store.before = func(method string, _ ...any) error {
			t.Errorf("the store was asked: %s", method)
			return nil
		}
	})
	b := s.browser()
	for _, path := range []string{"/auth/callback/password", "/auth/password/forgot", "/auth/password/sign-up"} {
		if r := b.post(path, "email", " ADA@example.com", "password", goodPassword); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "7" {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
	}
	assert.Truef(t, len(seen) == 3 && seen[0].Type == auth.TypeCredentials && seen[1].Type == auth.TypeEmail && seen[0].Identifier == "ada@example.com",
		"seen: %v", seen)
}

// TestPasswordRemember: with remember=false the cookie ends with the browser, and the
// session on the server after 12 hours, however much it is used.
func TestPasswordRemember(t *testing.T) {
	t.Parallel()
	eachStrategy(t, func(t *testing.T, s *passwordSite) {
		s.member("ada@example.com", goodPassword)
		name := "__Secure-authjs.session-token"
		kept, b := s.browser(), s.browser()
		s.signIn(kept, "ada@example.com", goodPassword)
		s.signIn(b, "ada@example.com", goodPassword, "remember", "false")
		for range 11 {
			c := b.cookies[name]
			require.Truef(t, c != nil && c.Expires.IsZero() && c.MaxAge == 0, "the cookie is kept: %v", c)
			s.clock.advance(time.Hour)
			b.wantSession("ada@example.com")
			b.submit("/auth/session") // a script that updates the session
		}
		c := kept.cookies[name]
		assert.Truef(t, c.MaxAge >= 86400, "the other cookie is not kept: %v", c)
		s.clock.advance(2 * time.Hour)
		b.wantNoSession()
		kept.wantSession("ada@example.com")
	})
}

// TestPasswordHostileHash: a hash that can't be read, or that would cost too much,
// matches nothing and is logged without its text.
func TestPasswordHostileHash(t *testing.T) {
	t.Parallel()
	s := newPasswordSite(t, nil)
	s.store.users["ada"] = adapter.User{ID: "ada", Email: "ada@example.com"}
	for _, hash := range []string{
		"$argon2id$v=19$m=4194304,t=1,p=1$c2FsdHNhbHRzYWx0c2FsdA$aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g",
		"$2b$31$5sTXHuTnhKk8AvYBa2xyCOBK0qExqzZ1a4AsPDhF8p7Gf5mxpj1cC", "plain", "$",
	} {
		s.store.passwords["ada"] = adapter.Password{UserID: "ada", Hash: hash, State: "{damaged"}
		began := time.Now()
		s.signIn(s.browser(), "ada@example.com", goodPassword).wantLocation(t, wrongPassword)
		assert.LessOrEqual(t, time.Since(began), 10*time.Second, hash)
		assert.Falsef(t, len(hash) > 10 && strings.Contains(s.log.String(), hash), "the log has the hash %s", hash)
	}
	assert.Contains(t, s.log.String(), "the password of user ada", "nothing is logged")
	r := s.browser().do(http.MethodPost, "/auth/callback/password", strings.NewReader("password="+strings.Repeat("x", 1<<20)), formType)
	assert.Equal(t, http.StatusRequestEntityTooLarge, r.StatusCode, "a password of a mebibyte: status")
}

// TestPasswordFailuresOfAKnownBrowser: wrong passwords of strangers do not turn the
// password off in a browser that signed in before, and those of that browser only
// there. A sign-in with a mail link makes it count again everywhere.
func TestPasswordFailuresOfAKnownBrowser(t *testing.T) {
	t.Parallel()
	box := &outbox{}
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, _ *pw.Settings) {
		c.Providers = append(c.Providers, box.provider())
	})
	s.member("ada@example.com", goodPassword)
	known, stranger := s.browser(), s.browser()
	fail := func(b *browser) {
		for range 101 {
			s.signIn(b, "ada@example.com", otherPassword).wantLocation(t, wrongPassword)
		}
	}
	s.signIn(known, "ada@example.com", goodPassword).wantLocation(t, origin)
	fail(stranger)
	s.signIn(stranger, "ada@example.com", goodPassword).wantLocation(t, wrongPassword)
	s.signIn(known, "ada@example.com", goodPassword).wantLocation(t, origin)
	fail(known)
	s.signIn(known, "ada@example.com", goodPassword).wantLocation(t, wrongPassword)
	mailed := s.browser()
	mailed.byMail(box, "ada@example.com").wantLocation(t, origin)
	for name, b := range map[string]*browser{"known": known, "strange": s.browser()} {
		assert.Equalf(t, origin, s.signIn(b, "ada@example.com", goodPassword).location(),
			"%s browser after the mail: sent to", name)
	}
}

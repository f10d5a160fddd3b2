package auth_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const wrongCode = origin + "/auth/error?error=Verification"

// codes makes a provider mail codes. It mails the ones given, one after the
// other, and then the last one.
func codes(p auth.Provider, mailed ...string) {
	p.(*auth.Email).GenerateVerificationToken = func(context.Context) (string, error) {
		code := mailed[0]
		if len(mailed) > 1 {
			mailed = mailed[1:]
		}
		return code, nil
	}
}

// codeSite is a site that mails codes.
func codeSite(t testing.TB, configure func(c *auth.Config), mailed ...string) (*auth.Handler, capable, *outbox) {
	t.Helper()
	return mailSite(t, func(c *auth.Config) {
		codes(c.Providers[0], mailed...)
		if configure != nil {
			configure(c)
		}
	})
}

func (b *browser) ask(address string) { b.post("/auth/signin/email", "email", address) }

func (b *browser) guess(code, address string) *reply {
	return b.post("/auth/callback/email", "token", code, "email", address)
}

// TestCodeOfTheBrowserThatAsked: a code counts in the browser that asked for it,
// a wrong one before it costs nothing, and the mail says code and link.
func TestCodeOfTheBrowserThatAsked(t *testing.T) {
	h, s, box := codeSite(t, nil, "493817")
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	if m := box.mails[0]; m.Token != "493817" || m.Code != "493817" || strings.HasSuffix(m.URL, "token=493817") {
		t.Errorf("got token %s, code %s, link %s", m.Token, m.Code, m.URL)
	}
	b.guess("000000", "ada@example.com").wantLocation(t, wrongCode)
	b.wantNoSession()
	b.guess("493817", "ada@example.com").wantLocation(t, origin)
	b.wantSession("ada@example.com")
	b.open(box.last(t)).wantLocation(t, wrongCode) // the link had the same record
	newBrowser(t, h).open(box.last(t)).wantLocation(t, wrongCode)
	assert.Nil(t, b.cookies["__Host-authjs.code"], "the browser still has the handle of a used code")
	for key := range s.tokens {
		assert.NotEqualf(t, "ada@example.com", key.Identifier, "left: %v", key)
	}
}

// TestCodeThatIsTyped: people paste codes with space and hyphens, and type the
// digits of their keyboard. The address may be left out.
func TestCodeThatIsTyped(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{
		"493817", " 493 817\n", "493-817", "４９３８１７", "٤٩٣٨١٧", "۴۹۳۸۱۷", "४९३८१७", "𝟒𝟗𝟑𝟖𝟏𝟕", "4\u200b93\u00a0817", "493\u2013817",
	} {
		h, _, _ := codeSite(t, nil, "493817")
		b := newBrowser(t, h)
		b.ask("ada@example.com")
		assert.Equalf(t, origin, b.post("/auth/callback/email", "code", typed).location(), "%q: sent to", typed)
	}
	for name, fields := range map[string][]string{
		"nothing": {"code", ""}, "only space": {"code", " - "}, "a long text": {"code", strings.Repeat("4", 10000)}, "another address": {"code", "493817", "email", "eve@example.com"},
		"no address": {"code", "493817", "email", "@"}, "more digits": {"code", "4938170"}, "fewer digits": {"code", "49381"},
	} {
		h, _, box := codeSite(t, nil, "493817")
		b := newBrowser(t, h)
		b.ask("ada@example.com")
		r := b.post("/auth/callback/email", fields...)
		assert.Equalf(t, wrongCode, r.location(), "%s: sent to %q, status %d", name, r.location(), r.StatusCode)
		b.get(box.last(t)).wantLocation(t, origin) // the honest neighbour
	}
	h, _, _ := codeSite(t, nil, "---") // a code of nothing but what is left out
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	b.post("/auth/callback/email", "code", " ").wantLocation(t, wrongCode)
	b.wantNoSession()
	b.post("/auth/callback/email", "code", "---").wantLocation(t, origin)
}

// TestCodeOfAnotherBrowser: no other browser can use a code, with any number of
// tries, and it costs the person nothing.
func TestCodeOfAnotherBrowser(t *testing.T) {
	var attempts []auth.Attempt
	h, s, box := codeSite(t, func(c *auth.Config) {
		plain := box2(c)
		plain.ID = "plain"
		c.Limit = on(func(a auth.Attempt) { attempts = append(attempts, a) })
	}, "493817")
	b, eve := newBrowser(t, h), newBrowser(t, h)
	b.ask("ada@example.com")
	b.post("/auth/signin/plain", "email", "ada@example.com")
	plain := box.last(t)
	eve.ask("eve@example.com") // her own cookie is of another address
	before, attemptsBefore := len(s.tokens), len(attempts)
	for i := range 40 {
		for _, code := range []string{"493817", "1", fmt.Sprint(100000 + i)} {
			eve.guess(code, "ada@example.com").wantLocation(t, wrongCode)
		}
		if r := eve.get("/auth/callback/email?token=493817&email=ada%40example.com"); r.StatusCode != http.StatusOK || r.location() != "" {
			t.Fatalf("a page that changes nothing: got status %d to %s", r.StatusCode, r.location())
		}
	}
	eve.wantNoSession()
	assert.Equalf(t, before, len(s.tokens), "a stranger changed the store: %d records, then", before)
	assert.Len(t, attempts[attemptsBefore:], 120, "guesses that Limit saw")
	for _, a := range attempts[attemptsBefore:] {
		assert.Truef(t, a.Identifier == "" && a.Code && a.Type == auth.TypeEmail && a.Provider == "email",
			"the attempt %+v names the victim", a)
	}
	b.guess("493817", "ada@example.com").wantLocation(t, origin)
	a := attempts[len(attempts)-1]
	assert.Truef(t, a.Identifier == "ada@example.com" && a.Code, "the attempt is %+v", a)
	newBrowser(t, h).open(plain).wantLocation(t, wrongCode) // a sign-in ends the links of the address
}

// box2 adds a provider of plain links that mails to the same box.
func box2(c *auth.Config) *auth.Email {
	p := &auth.Email{SendVerificationRequest: c.Providers[0].(*auth.Email).SendVerificationRequest}
	c.Providers = append(c.Providers, p)
	return p
}

// TestWrongTextEndsNoLink: a text that can't be a link ends no link, of no
// provider, also of a site whose own tokens are long.
func TestWrongTextEndsNoLink(t *testing.T) {
	for _, own := range []string{strings.Repeat("aZ09", 8), "493817"} {
		h, s, box := codeSite(t, nil, own)
		b, eve := newBrowser(t, h), newBrowser(t, h)
		b.ask("ada@example.com")
		for _, text := range []string{"1", "000000", strings.Repeat("f", 64)} {
			for range 10 {
				eve.guess(text, "ada@example.com").wantLocation(t, wrongCode)
				b.guess(text, "ada@example.com").wantLocation(t, wrongCode)
			}
		}
		require.Contains(t, identifiers(s), "ada@example.com", "the link was deleted")
		b.get(box.last(t)).wantLocation(t, origin)
	}
}

func identifiers(s capable) (list []string) {
	for key := range s.tokens {
		list = append(list, key.Identifier)
	}
	return list
}

// TestMailHasFiveTries: somebody guesses the code of a mail that they asked for
// themselves, in one process or several, one guess after the other or all at
// once.
func TestMailHasFiveTries(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) {
			h, s, box := codeSite(t, nil, "493817")
			second, _ := twin(t, s, "email", "493817")
			b := newBrowser(t, h)
			b.ask("ada@example.com")
			asked := lookups(s, "ada@example.com")
			var wg sync.WaitGroup
			for i := range 40 {
				g := b.clone([]http.Handler{h, second}[i%2])
				try := func() { g.guess(fmt.Sprint(100000+i), "ada@example.com") }
				if atOnce {
					wg.Go(try)
				} else {
					try()
				}
			}
			wg.Wait()
			assert.Equal(t, 5, asked(), "guesses that were looked up")
			b.guess("493817", "ada@example.com").wantLocation(t, wrongCode)
			b.wantNoSession()
			for key, record := range s.tokens { // a store may drop what has expired by its own clock
				if strings.HasPrefix(key.Identifier, "tries:") && record.Expires.Before(box.mails[0].Expires.Add(time.Minute)) {
					t.Errorf("%s ends at %v, the code at %v", key.Token, record.Expires, box.mails[0].Expires)
				}
			}
			b.get(box.last(t)).wantLocation(t, origin) // the link works on
			b.wantSession("ada@example.com")
		})
	}
	h, _, _ := codeSite(t, nil, "493817")
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	for range 4 {
		b.guess("000000", "ada@example.com").wantLocation(t, wrongCode)
	}
	b.guess("493817", "ada@example.com").wantLocation(t, origin) // the honest neighbour
}

// twin is another process with the same store.
func twin(t testing.TB, s capable, id string, code string) (*auth.Handler, *outbox) {
	t.Helper()
	box := &outbox{}
	p := box.provider()
	p.ID = id
	codes(p, code)
	return newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{p}}), box
}

// lookups counts the tokens of an address that are looked up.
func lookups(s capable, address string) func() int {
	var n atomic.Int32
	s.before = func(method string, args ...any) error {
		if key, ok := args[0].(adapter.VerificationTokenKey); ok && method == "useVerificationToken" && key.Identifier == address {
			n.Add(1)
		}
		return nil
	}
	return func() int { return int(n.Load()) }
}

// clone is a browser with the same cookies that talks to another process.
func (b *browser) clone(h http.Handler) *browser {
	c := newBrowser(b.t, h)
	maps.Copy(c.cookies, b.cookies)
	return c
}

// TestAddressHasThirtyWrongCodesADay: with many mails, many browsers, several
// providers and processes, and many spellings, 30 codes of an address are
// compared on a day.
func TestAddressHasThirtyWrongCodesADay(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) {
			clock := newClock()
			h, s, box := codeSite(t, func(c *auth.Config) {
				c.Clock = clock.Now
				c.Providers[0].(*auth.Email).MaxAge = 48 * time.Hour
			}, "4938")
			other := box.provider()
			other.ID = "other"
			codes(other, "4938")
			second := newHandler(t, auth.Config{Adapter: s, Clock: clock.Now, Providers: []auth.Provider{other}})
			victim := newBrowser(t, h)
			victim.ask("ada@example.com")
			asked := lookups(s, "ada@example.com")
			var wg sync.WaitGroup
			for i := range 20 {
				eve, id := newBrowser(t, []http.Handler{h, second}[i%2]), []string{"email", "other"}[i%2]
				eve.post("/auth/signin/"+id, "email", []string{"ada@example.com", "ADA@example.com"}[i/2%2])
				for n := range 5 {
					g := eve.clone(eve.h)
					try := func() { g.post("/auth/callback/"+id, "token", fmt.Sprint(1000+5*i+n), "email", "ada@example.com") }
					if atOnce {
						wg.Go(try)
					} else {
						try()
					}
				}
			}
			wg.Wait()
			assert.Equal(t, 30, asked(), "codes that were compared")
			// Codes of the address are refused, those of others are not, and links work.
			victim.guess("4938", "ada@example.com").wantLocation(t, wrongCode)
			grace := newBrowser(t, h)
			grace.ask("grace@example.com")
			grace.guess("4938", "grace@example.com").wantLocation(t, origin)
			clock.advance(24 * time.Hour)
			later := victim.clone(h)
			later.ask("ada@example.com")
			later.guess("4938", "ada@example.com").wantLocation(t, origin) // another day
			clock.advance(-24 * time.Hour)
			again := newBrowser(t, h)
			again.ask("ada@example.com")
			again.guess("4938", "ada@example.com").wantLocation(t, wrongCode) // a sign-in gives no tries back
			again.get(box.last(t)).wantLocation(t, origin)
			again.wantSession("ada@example.com")
		})
	}
}

// TestSpellingsShareWrongCodes: an address has its wrong codes in all spellings,
// at a provider that keeps what was typed, too.
func TestSpellingsShareWrongCodes(t *testing.T) {
	h, s, box := codeSite(t, func(c *auth.Config) {
		c.Providers[0].(*auth.Email).NormalizeIdentifier = func(typed string) (string, error) { return typed, nil }
	}, "493817")
	for i := range 8 {
		address := []string{"ada@example.com", "ADA@example.com", "ada@EXAMPLE.com", "Ada@example.com"}[i%4]
		b := newBrowser(t, h)
		b.ask(address)
		for range 5 {
			b.guess("000000", address).wantLocation(t, wrongCode)
		}
	}
	counted := slices.DeleteFunc(identifiers(s), func(id string) bool { return !strings.HasPrefix(id, "wrong-codes:") })
	assert.Len(t, counted, 30, "wrong codes that are counted")
	newBrowser(t, h).open(box.last(t)).wantLocation(t, origin)
}

// TestLongAddressesFitIntoTheCookie: a browser drops a cookie that is too long, so
// the oldest mails are forgotten.
func TestLongAddressesFitIntoTheCookie(t *testing.T) {
	h, _, box := codeSite(t, func(c *auth.Config) {
		c.Providers[0].(*auth.Email).NormalizeIdentifier = func(typed string) (string, error) { return typed, nil }
	}, "493817")
	b := newBrowser(t, h)
	address := func(i int) string { return fmt.Sprint(i, strings.Repeat("a", 1000), "@example.com") }
	for i := range 4 {
		b.ask(address(i))
		c := b.cookies["__Host-authjs.code"]
		require.Truef(t, c != nil && len(c.Name)+len(c.Value) <= 4096, "after mail %d the cookie is %v", i, c)
	}
	b.guess("493817", address(0)).wantLocation(t, wrongCode)
	b.guess("493817", address(3)).wantLocation(t, origin)
	b.ask(strings.Repeat("a", 4000) + "@example.com")
	assert.Nil(t, b.cookies["__Host-authjs.code"], "there is a cookie for an address that fits into none")
	b.open(box.last(t)).wantLocation(t, origin) // the link works
}

// onceEach is a store that keeps a verification token only once, whatever the
// identifier, as the tables of some sites with Auth.js do.
type onceEach struct{ capable }

func (s onceEach) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	for key := range s.tokens {
		if key.Token == v.Token {
			return nil, adapter.ErrConflict
		}
	}
	return s.capable.CreateVerificationToken(ctx, v)
}

// TestTriesOfTwoMailsAreApart: the tries of one person use up none of another, in
// any store.
func TestTriesOfTwoMailsAreApart(t *testing.T) {
	for name, a := range map[string]adapter.Adapter{"a token of an identifier is unique": newCapable(), "a token is unique": onceEach{newCapable()}} {
		p := (&outbox{}).provider()
		codes(p, "493817")
		h := newHandler(t, auth.Config{Adapter: a, Providers: []auth.Provider{p}})
		for range 7 {
			eve := newBrowser(t, h)
			eve.ask("eve@example.com")
			for range 6 {
				eve.guess("000000", "eve@example.com").wantLocation(t, wrongCode)
			}
		}
		b := newBrowser(t, h)
		b.ask("ada@example.com")
		assert.Equalf(t, origin, b.guess("493817", "ada@example.com").location(), "%s: sent to", name)
	}
}

// TestRightCodesAreNotCounted: a person may sign in with codes as often as they
// like.
func TestRightCodesAreNotCounted(t *testing.T) {
	h, _, _ := codeSite(t, nil, "493817")
	for range 40 {
		b := newBrowser(t, h)
		b.ask("ada@example.com")
		b.guess("493817", "ada@example.com").wantLocation(t, origin)
	}
}

// TestCodesOfTwoTabs: a browser asked for several mails; the code of each works,
// whichever was typed first, and no other one.
func TestCodesOfTwoTabs(t *testing.T) {
	h, _, _ := codeSite(t, nil, "111111", "222222", "333333", "444444", "555555", "666666")
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	b.ask("ada@example.com")
	b.ask("grace@example.com")
	b.guess("333333", "ada@example.com").wantLocation(t, wrongCode)
	b.guess("111111", "ada@example.com").wantLocation(t, origin)
	b.wantSession("ada@example.com")
	b.guess("222222", "ada@example.com").wantLocation(t, wrongCode) // a sign-in ends the others
	b.guess("333333", "grace@example.com").wantLocation(t, origin)
	b.wantSession("grace@example.com")
	long := strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("d", 58)+".", 3) + "example.com"
	for range 2 {
		b.ask(long)
	}
	b.ask("ada@example.com")
	for _, c := range b.cookies {
		assert.Truef(t, len(c.Name)+len(c.Value) <= 4000, "the cookie %s has %d bytes", c.Name, len(c.Value))
	}
	b.guess("444444", long).wantLocation(t, origin)
}

// TestHandleIsNotShown: neither a cookie nor a page or URL in the browser that
// asked contains the handle, or anything that codes could be compared with.
func TestHandleIsNotShown(t *testing.T) {
	h, s, box := codeSite(t, nil, "493817")
	b := newBrowser(t, h)
	shown := []string{b.get("/auth/signin").body}
	r := b.post("/auth/signin/email", "email", "ada@example.com")
	shown = append(shown, r.location(), r.body, b.get(r.location()).body, b.get("/auth/session").body)
	wrong := b.guess("000000", "ada@example.com")
	shown = append(shown, wrong.location(), wrong.body, b.get(wrong.location()).body)
	for _, c := range b.cookies {
		shown = append(shown, c.Value)
	}
	assert.Nil(t, b.cookies["__Host-authjs.link"], "the clear cookie of links names a link with a code")
	token := must(url.Parse(box.last(t)))(t).Query().Get("token")
	handle := strings.TrimPrefix(token, "493817")
	raw, err := hex.DecodeString(handle)
	require.Truef(t, err == nil && len(raw) >= 16, "the handle is %q", handle)
	secrets := []string{handle, handle[:16], token}
	for key := range s.tokens {
		secrets = append(secrets, key.Token)
		assert.NotContains(t, key.Identifier, handle[:16], "the store has the handle")
	}
	secrets = slices.DeleteFunc(secrets, func(s string) bool { return strings.HasPrefix(s, "try ") })
	for _, text := range shown {
		for _, secret := range secrets {
			assert.NotContainsf(t, text, secret, "%q is shown in %.200q", secret, text)
		}
	}
	cookie := b.cookies["__Host-authjs.code"]
	require.Truef(t, cookie != nil && cookie.Secure && cookie.HttpOnly && cookie.Path == "/" && cookie.Domain == "" &&
		cookie.SameSite == http.SameSiteLaxMode && cookie.MaxAge == 86400,
		"the cookie is %+v", cookie)
	assert.Equalf(t, 4, strings.Count(cookie.Value, "."), "the cookie is no compact JWE: %s", cookie.Value)
}

// TestCookieOfAnotherCode: a cookie that was changed, is of another request, of
// another provider or of another secret makes no code count.
func TestCookieOfAnotherCode(t *testing.T) {
	h, s, _ := codeSite(t, func(c *auth.Config) {
		p := box2(c)
		p.ID = "staff"
		codes(p, "493817")
	}, "493817", "222222")
	b, eve := newBrowser(t, h), newBrowser(t, h)
	b.ask("ada@example.com")
	eve.ask("ada@example.com")
	const name = "__Host-authjs.code"
	mine, hers := b.cookies[name], eve.cookies[name]
	foreign := newHandler(t, auth.Config{Secret: []string{strings.Repeat("another secret ", 3)}, Adapter: newCapable(), Providers: []auth.Provider{
		func() *auth.Email { p := (&outbox{}).provider(); codes(p, "493817"); return p }(),
	}})
	f := newBrowser(t, foreign)
	f.ask("ada@example.com")
	for label, value := range map[string]string{
		"none": "", "cut": mine.Value[:len(mine.Value)-3], "of two": mine.Value[:300] + hers.Value[300:], "of another request": hers.Value, "another secret": f.cookies[name].Value, "garbage": "a.b.c.d.e",
	} {
		x := b.clone(h)
		c := *mine
		c.Value = value
		x.cookies[name] = &c
		assert.Equalf(t, wrongCode, x.guess("493817", "ada@example.com").location(), "%s: sent to", label)
	}
	b.clone(h).post("/auth/callback/staff", "token", "493817", "email", "ada@example.com").wantLocation(t, wrongCode)
	for key := range s.tokens { // what counts the tries is no code and no link
		for _, text := range []string{key.Token, "try 0 " + key.Identifier, "0"} {
			b.clone(h).post("/auth/callback/email", "token", text, "email", key.Identifier).wantLocation(t, wrongCode)
		}
	}
	b.guess("493817", "ada@example.com").wantLocation(t, origin)
}

// TestForgedGuesses: pages of other sites, prefetches and HEAD
// requests use up no try, and a POST needs the token against forgery.
func TestForgedGuesses(t *testing.T) {
	h, s, _ := codeSite(t, nil, "493817")
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	before := len(s.tokens)
	const guess = "/auth/callback/email?token=000000&email=ada%40example.com"
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Sec-Fetch-Dest": {"image"}}, {"Sec-Purpose": {"prefetch"}},
	} {
		r := b.do(http.MethodGet, guess, nil, header)
		assert.Truef(t, r.StatusCode == http.StatusOK && r.location() == "", "%v: status %d", header, r.StatusCode)
	}
	b.do(http.MethodHead, guess, nil, nil)
	b.submit("/auth/callback/email", "token", "000000", "email", "ada@example.com").wantLocation(t, origin+"/auth/signin?error=MissingCSRF")
	assert.Equalf(t, before, len(s.tokens), "%d tries were used up", len(s.tokens)-before)
	for _, browser := range []*browser{b, newBrowser(t, h)} { // without an address
		r := browser.do(http.MethodGet, "/auth/callback/email?token=000000", nil, http.Header{"Sec-Fetch-Site": {"cross-site"}})
		assert.Falsef(t, browser == b && r.StatusCode != http.StatusOK || browser != b && r.location() != wrongCode,
			"status %d to %s", r.StatusCode, r.location())
	}
	page := b.do(http.MethodGet, strings.Replace(guess, "000000", "493817", 1), nil, http.Header{"Sec-Fetch-Site": {"cross-site"}}) // a link that the site made itself
	b.press(page, "Sign in").wantLocation(t, origin)
	b.ask("grace@example.com")
	b.get("/auth/callback/email?token=493817&email=grace%40example.com").wantLocation(t, origin)
	b.wantSession("grace@example.com")
}

// TestCodesOutliveARotation: after a rotation of the secrets a code in use counts.
func TestCodesOutliveARotation(t *testing.T) {
	for name, own := range map[string]bool{"of the site": false, "of the provider": true} {
		old, fresh := strings.Repeat("old secret ", 5), strings.Repeat("new secret ", 5)
		s, box := newCapable(), &outbox{}
		handler := func(secrets ...string) *auth.Handler {
			p := box.provider()
			codes(p, "493817")
			c := auth.Config{Secret: secrets, Adapter: s, Providers: []auth.Provider{p}}
			if own {
				p.Secret = secrets
				c.Secret = []string{strings.Repeat("site secret ", 5)}
			}
			return newHandler(t, c)
		}
		b := newBrowser(t, handler(old))
		b.ask("ada@example.com")
		for range 3 {
			b.guess("000000", "ada@example.com")
		}
		b.h = handler(fresh, old)
		b.guess("000000", "ada@example.com").wantLocation(t, wrongCode)
		over := b.clone(b.h)
		assert.Equalf(t, origin, b.guess("493817", "ada@example.com").location(), "%s: the fifth try: sent to", name)
		over.guess("493817", "ada@example.com").wantLocation(t, wrongCode)
	}
}

// TestCodeThatExpires: a code ends with its link.
func TestCodeThatExpires(t *testing.T) {
	clock := newClock()
	h, s, box := codeSite(t, func(c *auth.Config) {
		c.Clock = clock.Now
		c.Providers[0].(*auth.Email).MaxAge = 10 * time.Minute
	}, "493817")
	b, late := newBrowser(t, h), newBrowser(t, h)
	late.ask("ada@example.com")
	clock.advance(11 * time.Minute)
	before := len(s.tokens)
	late.guess("493817", "ada@example.com").wantLocation(t, wrongCode)
	assert.Equal(t, before, len(s.tokens), "a try of a code that has expired is counted")
	late.open(box.last(t)).wantLocation(t, wrongCode)
	b.ask("ada@example.com")
	clock.advance(9 * time.Minute)
	b.guess("493817", "ada@example.com").wantLocation(t, origin)
}

// TestLinkWithACode: the link of a mail with a code asks first in another
// browser, works at once in the one that asked, and ends the code.
func TestLinkWithACode(t *testing.T) {
	h, _, box := codeSite(t, func(c *auth.Config) {
		p := box2(c)
		p.ID = "staff"
		codes(p, "493817")
	}, "493817")
	b, other := newBrowser(t, h), newBrowser(t, h)
	b.ask("ada@example.com")
	link := box.last(t)
	newBrowser(t, h).open(strings.Replace(link, "/callback/email", "/callback/staff", 1)).wantLocation(t, wrongCode)
	r := other.get(link)
	require.Truef(t, r.StatusCode == http.StatusOK && r.location() == "", "another browser is sent to %s", r.location())
	b.do(http.MethodGet, link, nil, http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}).wantLocation(t, origin)
	b.wantSession("ada@example.com")
	b.guess("493817", "ada@example.com").wantLocation(t, wrongCode)
	b.ask("ada@example.com")
	other.press(other.get(box.last(t)), "Sign in").wantLocation(t, origin)
	b.guess("493817", "ada@example.com").wantLocation(t, wrongCode)
}

// TestStoreFailsAtAGuess: a code that can't be counted is not compared.
func TestStoreFailsAtAGuess(t *testing.T) {
	h, s, _ := codeSite(t, nil, "493817")
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	asked := lookups(s, "ada@example.com")
	count := s.before
	s.before = func(method string, args ...any) error {
		if method == "createVerificationToken" {
			return fmt.Errorf("connection reset")
		}
		return count(method, args...)
	}
	assert.Equal(t, http.StatusServiceUnavailable, b.guess("493817", "ada@example.com").StatusCode)
	assert.Zero(t, asked(), "lookups")
	s.before = nil
	b.guess("493817", "ada@example.com").wantLocation(t, origin)
}

// replacing is a store that replaces a verification token that is stored.
type replacing struct{ capable }

func (s replacing) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if _, err := s.UseVerificationToken(ctx, v.Key()); err != nil {
		return nil, err
	}
	return s.capable.CreateVerificationToken(ctx, v)
}

// TestShortTokenNeedsAnAdapterThatCounts: with an adapter that can't count tries,
// no short token is mailed.
func TestShortTokenNeedsAnAdapterThatCounts(t *testing.T) {
	for name, a := range map[string]adapter.Adapter{"without TokenEdits": newStore(), "replaces": replacing{newCapable()}} {
		box, book := &outbox{}, &logBook{}
		p := box.provider()
		codes(p, "493817")
		b := newBrowser(t, newHandler(t, auth.Config{Adapter: a, Providers: []auth.Provider{p}, Logger: book.logger()}))
		r := b.post("/auth/signin/email", "email", "ada@example.com")
		s, _ := a.(*store)
		if s == nil {
			s = a.(replacing).store
		}
		assert.Truef(t, strings.HasPrefix(r.location(), origin+"/auth/signin?error=") && len(box.mails) == 0 &&
			len(s.tokens) == 0 && strings.Contains(book.String(), "TokenEdits"),
			"%s: sent to %s; mails %v, tokens %v, log %s", name, r.location(), box.mails, s.tokens, book)
		// The honest neighbour: a long text needs none of this.
		codes(p, strings.Repeat("unguessable-", 4))
		b = newBrowser(t, newHandler(t, auth.Config{Adapter: a, Providers: []auth.Provider{p}}))
		b.byMail(box, "ada@example.com").wantLocation(t, origin)
	}
}

// TestLinksCostWhatTheyCost: a link without a code makes the same calls of the
// adapter as at a site without codes.
func TestLinksCostWhatTheyCost(t *testing.T) {
	calls := func(configure func(p *auth.Email)) (list []string) {
		h, s, box := mailSite(t, func(c *auth.Config) { configure(c.Providers[0].(*auth.Email)) })
		s.before = noting(&list)
		b := newBrowser(t, h)
		b.byMail(box, "ada@example.com").wantLocation(t, origin)
		return list
	}
	want := []string{
		"getUserByEmail", "createVerificationToken", "useVerificationToken", "getUserByEmail", "getUserByEmail", "createUser", "createSession", "deleteVerificationTokens",
	}
	for name, got := range map[string][]string{
		"plain": calls(func(*auth.Email) {}), "long tokens": calls(func(p *auth.Email) { codes(p, strings.Repeat("unguessable-", 4)) }),
	} {
		assert.Equal(t, want, got, name)
	}
}

package auth_test

import (
	"context"
	"maps"
	"net/http"
	"net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const verifyPage = origin + "/auth/verify-request?provider=email&type=email"

// withCode configures a provider with Email.Code.
func withCode(c *auth.Config) { c.Providers[0].(*auth.Email).Code = true }

// TestCodeOnThePage: a person asks for a mail, types its code on the page that
// follows, wrong at first, and is signed in where they wanted to go.
func TestCodeOnThePage(t *testing.T) {
	h, _, box := mailSite(t, withCode)
	b := newBrowser(t, h)
	to := b.post("/auth/signin/email", "email", "ada+1@example.com", "callbackUrl", "/inbox")
	to.wantLocation(t, verifyPage)
	page := b.get(to.location())
	field := regexp.MustCompile(`<input[^>]*name="code"[^>]*>`).FindAllString(page.body, -1)
	require.Truef(t, len(field) == 1 && strings.Contains(field[0], `autocomplete="one-time-code"`) &&
		strings.Contains(field[0], `inputmode="numeric"`) && !strings.Contains(field[0], "maxlength"),
		"the field is %v on %s", field, page.body)
	assert.Truef(t, !strings.Contains(page.body, "<script") && !strings.Contains(page.body, `role="alert"`) &&
		strings.Contains(page.Header.Get("Cache-Control"), "no-store"),
		"got %v %s", page.Header, page.body)
	m := box.mails[0]
	require.Truef(t, regexp.MustCompile(`^[0-9]{6}$`).MatchString(m.Code) && m.Token == m.Code &&
		strings.HasPrefix(must(url.Parse(m.URL))(t).Query().Get("token"), m.Code),
		"code %q, token %q, link %s", m.Code, m.Token, m.URL)
	wrong := b.fill(page, "code", m.Code[1:]+m.Code[:1]+"0")
	wrong.wantLocation(t, verifyPage+"&error=Verification")
	again := b.get(wrong.location())
	assert.Truef(t, strings.Contains(again.body, `role="alert"`) && strings.Contains(again.body, `aria-invalid="true"`),
		"no error on %s", again.body)
	b.fill(again, "code", m.Code).wantLocation(t, origin+"/inbox")
	b.wantSession("ada+1@example.com")
	b.open(box.last(t)).wantLocation(t, wrongCode) // the link had the same record
	assert.NotContains(t, b.get(verifyPage).body, `name="code"`, "the page asks for a code that was used")
	b.byMail(box, "grace@example.com").wantLocation(t, origin+"/inbox") // the other way round
	assert.Equal(t, wrongCode, b.post("/auth/callback/email", "code", box.mails[1].Code).location(),
		"the code of a link that was used: sent to")
}

// TestPageAsksForNoCode: another browser, a provider without codes and a mail
// that has expired have a page without a field.
func TestPageAsksForNoCode(t *testing.T) {
	clock := newClock()
	h, _, _ := mailSite(t, func(c *auth.Config) {
		c.Clock = clock.Now
		withCode(c)
		box2(c).ID = "plain"
	})
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	b.post("/auth/signin/plain", "email", "ada@example.com")
	hasField := func(b *browser, page string) bool { return strings.Contains(b.get(page).body, `name="code"`) }
	plain := strings.Replace(verifyPage, "provider=email", "provider=plain", 1)
	assert.True(t, hasField(b, verifyPage) && !hasField(b, plain) && !hasField(newBrowser(t, h), verifyPage) &&
		!hasField(b, origin+"/auth/verify-request"),
		"a page has a field where no code was asked for, or none where one was")
	clock.advance(10*time.Minute + time.Second)
	assert.False(t, hasField(b, verifyPage), "the page asks for a code that has expired")
}

// TestCodeEndsAfterTenMinutes: code and link end together.
func TestCodeEndsAfterTenMinutes(t *testing.T) {
	for age, want := range map[time.Duration]string{10*time.Minute - time.Second: origin, 10*time.Minute + time.Second: wrongCode} {
		clock := newClock()
		h, _, box := mailSite(t, func(c *auth.Config) {
			c.Clock = clock.Now
			withCode(c)
		})
		b := newBrowser(t, h)
		b.ask("ada@example.com")
		b.ask("grace@example.com")
		clock.advance(age)
		b.post("/auth/callback/email", "code", box.mails[0].Code, "email", "ada@example.com").wantLocation(t, want)
		b.open(box.last(t)).wantLocation(t, want)
	}
}

// TestWhatIsNoCodeCostsNothing: a text that can't be a code is refused on the
// page, and no try is counted.
func TestWhatIsNoCodeCostsNothing(t *testing.T) {
	h, s, box := mailSite(t, withCode)
	b := newBrowser(t, h)
	b.ask("ada@example.com")
	before := len(s.tokens)
	for _, typed := range []string{"12345", "1234567", "abcdef", "12345a", "½23456", " - ", strings.Repeat("1", 10000)} {
		for range 6 {
			assert.Equalf(t, verifyPage+"&error=Verification", b.post("/auth/callback/email", "code", typed).location(),
				"%.20q: sent to", typed)
		}
	}
	assert.Len(t, s.tokens, before, "tries were counted")
	b.post("/auth/callback/email", "code", box.mails[0].Code, "email", "eve@example.com").wantLocation(t, wrongCode)
	b.post("/auth/callback/email", "code", box.mails[0].Code[:3]+" "+box.mails[0].Code[3:]).wantLocation(t, origin)
	for i, spell := range []rune{'０', '٠', '۰', '०'} {
		b.ask("ada@example.com")
		typed := strings.Map(func(c rune) rune { return c - '0' + spell }, box.mails[1+i].Code)
		assert.Equalf(t, origin, b.post("/auth/callback/email", "code", " "+typed).location(), "%q: sent to", typed)
	}
}

// TestCodesAreRandom: codes have six digits, zeros in front too, and all differ.
func TestCodesAreRandom(t *testing.T) {
	h, _, box := mailSite(t, withCode)
	first, seen := map[byte]bool{}, map[string]bool{}
	for range 200 {
		newBrowser(t, h).ask("ada@example.com")
	}
	for _, m := range box.mails {
		require.Len(t, m.Code, 6, "a code")
		first[m.Code[0]], seen[m.Code] = true, true
	}
	if len(first) != 10 || len(seen) < 190 { // one run in 10^8 has fewer
		t.Errorf("200 codes begin with %d digits, and %d differ", len(first), len(seen))
	}
}

// TestMailWithCode: the mail says what a person must know, and nothing that
// the browser sent.
func TestMailWithCode(t *testing.T) {
	server := newMailServer(t, nil)
	h := newHandler(t, auth.Config{Adapter: newCapable(), Providers: []auth.Provider{
		&auth.Email{Code: true, Server: "smtp://mailer:p%40ss%2Fword@" + server.address, From: "Example <no-reply@example.com>"},
	}})
	const firefox = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0 evil.example"
	b := newBrowser(t, h)
	b.get("/auth/signin")
	csrf := strings.Split(must(url.QueryUnescape(b.cookies["__Host-authjs.csrf-token"].Value))(t), "|")[0]
	b.do(http.MethodPost, "/auth/signin/email", strings.NewReader(url.Values{"email": {"ada@example.com"}, "csrfToken": {csrf}}.Encode()), http.Header{"User-Agent": {firefox}, "Content-Type": {"application/x-www-form-urlencoded"}}).wantLocation(t, verifyPage)
	got := server.next(t)
	m := must(mail.ReadMessage(strings.NewReader(got.data)))(t)
	id := m.Header.Get("Message-ID")
	assert.Truef(t, regexp.MustCompile(`^<[A-Za-z0-9]{20,}@example\.com>$`).MatchString(id), "Message-ID %s", id)
	for name := range m.Header {
		assert.Truef(t, name != "X-Mailer" && name != "User-Agent", "the mail has the header %s", name)
	}
	subject, text, rich := got.parts(t)
	last := regexp.MustCompile(`@app\.example\.com #([0-9]{6})$`).FindStringSubmatch(strings.TrimRight(text, "\n"))
	require.Truef(t, last != nil && subject == "Sign in to app.example.com", "subject %q, text %q", subject, text)
	for _, part := range []string{text, rich} {
		for _, want := range []string{"10 minutes", "Firefox on Windows", "We never ask for this code", last[1], "@app.example.com #" + last[1]} {
			assert.Containsf(t, part, want, "%q is not in", want)
		}
		assert.Truef(t, !strings.Contains(part, "evil.example") && !strings.Contains(part, "Gecko"),
			"a header is in %s", part)
	}
	b.post("/auth/callback/email", "code", last[1]).wantLocation(t, origin)
	b.wantSession("ada@example.com")
}

// TestMailNamesTheBrowser: browser and system are of a closed list.
func TestMailNamesTheBrowser(t *testing.T) {
	for header, want := range map[string]string{
		"": "an unknown browser on an unknown system", "curl/8.5 <b>https://evil.example</b>": "an unknown browser on an unknown system",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0":                                                                     "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0":              "Edge on Windows",
		"Mozilla/5.0 (Linux; Android 14; SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36": "Samsung Internet on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1":    "Safari on iOS",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0.0.0 Mobile/15E148 Safari/604.1": "Chrome on iOS",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 OPR/120.0.0.0":        "Opera on macOS",
		"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36":                             "Chrome on ChromeOS",
	} {
		m, err := auth.EmailMessage(auth.VerificationRequest{
			URL: origin + "/auth/callback/email", Code: "012345", Provider: auth.Email{Code: true, MaxAge: time.Minute}, Request: &http.Request{Header: http.Header{"User-Agent": {header}}},
		})
		assert.Truef(t, err == nil && strings.Contains(m.Text, want) && strings.Contains(m.HTML, want) &&
			!strings.Contains(m.Text+m.HTML, "evil") && strings.Contains(m.Text, "for 1 minute."),
			"%s: %v %s", header, err, m.Text)
	}
	m := must(auth.EmailMessage(auth.VerificationRequest{URL: origin, Code: "012345", Provider: auth.Email{Code: true}}))(t)
	assert.Truef(t, strings.HasSuffix(m.Text, "@app.example.com #012345"), "without a request: %q", m.Text)
}

// TestCodeNeeds: a configuration that can't keep what Email.Code promises is
// refused, with the reason.
func TestCodeNeeds(t *testing.T) {
	trust := true
	for want, change := range map[string]func(c *auth.Config){
		"":                           func(*auth.Config) {},
		"Code needs Config.URL":      func(c *auth.Config) { c.URL, c.TrustHost = "", &trust },
		"is valid for 10m0s at most": func(c *auth.Config) { c.Providers[0].(*auth.Email).MaxAge = time.Hour },
		"either Code or Generate": func(c *auth.Config) {
			c.Providers[0].(*auth.Email).GenerateVerificationToken = func(context.Context) (string, error) { return "", nil }
		},
		"adapter.TokenEdits": func(c *auth.Config) { c.Adapter = newStore() },
	} {
		p := (&outbox{}).provider()
		p.Code = true
		c := auth.Config{URL: origin, Secret: []string{strings.Repeat("a long secret ", 4)}, Adapter: newCapable(), Providers: []auth.Provider{p}}
		change(&c)
		_, err := auth.New(c)
		assert.Falsef(t, want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)),
			"want %q, got %v", want, err)
	}
}

// TestCodeBesideOtherProviders: providers with codes, own codes and links of one
// address, in two browsers, over two processes with one store, one of which
// starts anew.
func TestCodeBesideOtherProviders(t *testing.T) {
	s, box := newCapable(), &outbox{}
	start := func() *auth.Handler {
		code, own, plain := box.provider(), box.provider(), box.provider()
		code.ID, code.Code, own.ID, plain.ID = "code", true, "own", "plain"
		codes(own, "493817")
		return newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{code, own, plain}})
	}
	one, two := newBrowser(t, start()), newBrowser(t, start())
	for _, b := range []*browser{one, two} {
		for _, id := range []string{"code", "own", "plain"} {
			b.post("/auth/signin/"+id, "email", "ada@example.com")
		}
	}
	mailed := slices.Clone(box.mails)
	post := func(b *browser, id, code string) *reply {
		return b.post("/auth/callback/"+id, "code", code, "email", "ada@example.com")
	}
	restarted := one.clone(start())
	assert.NotEqual(t, origin, post(two, "code", mailed[0].Code).location(), "the code of the other browser: sent to")
	assert.NotEqual(t, origin, post(two, "plain", mailed[3].Code).location(), "a provider without codes: sent to")
	assert.NotEqual(t, origin, post(two, "own", mailed[3].Code).location(), "the code of another provider: sent to")
	before := maps.Clone(s.tokens)
	post(restarted, "code", mailed[0].Code).wantLocation(t, origin)
	restarted.wantSession("ada@example.com")
	for key := range before {
		_, left := s.tokens[key]
		assert.Falsef(t, left && key.Identifier == "ada@example.com", "left: %v", key)
	}
	for i, id := range []string{"code", "own"} {
		// A sign-in ends the others of the address.
		assert.NotEqualf(t, origin, post(two, id, mailed[3+i].Code).location(), "%s: sent to", id)
	}
	two.open(mailed[5].URL).wantLocation(t, wrongCode)
}

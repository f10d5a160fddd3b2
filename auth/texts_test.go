package auth_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/gatehouse-go/gatehouse/auth/texts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPagesInTheLanguageOfTheReader: the header Accept-Language chooses the language
// of pages and mails, and caches are told.
func TestPagesInTheLanguageOfTheReader(t *testing.T) {
	var box outbox
	h := newHandler(t, auth.Config{Adapter: newStore(), Providers: []auth.Provider{box.provider()}, Theme: auth.Theme{Name: "Example"}})
	for accepted, want := range map[string]struct{ language, direction string }{
		"":                               {"en", "ltr"},
		"de-AT,de;q=0.9,en;q=0.5":        {"de", "ltr"},
		"ar":                             {"ar", "rtl"},
		"tlh, fr;q=0.1":                  {"fr", "ltr"},
		"tlh":                            {"en", "ltr"},
		strings.Repeat("de;q=0.1,", 500): {"en", "ltr"},
		"de\";<script>":                  {"en", "ltr"},
	} {
		b := newBrowser(t, h)
		header := http.Header{"Accept-Language": {accepted}}
		for _, path := range []string{"/auth/signin", "/auth/signout", "/auth/error", "/auth/verify-request", "/auth/nothing"} {
			r := b.do(http.MethodGet, path, nil, http.Header{"Accept-Language": {accepted}, "Accept": {"text/html"}})
			assert.Truef(t, strings.Contains(r.body, `<html lang="`+want.language+`" dir="`+want.direction+`">`) && r.Header.Get("Vary") == "Accept-Language",
				"%.30q, %s: Vary %q, %.60q", accepted, path, r.Header.Get("Vary"), r.body)
		}
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		b.do(http.MethodPost, "/auth/signin/email", strings.NewReader("email=ada@example.com&csrfToken="+b.csrf()), header)
		require.NotEmptyf(t, box.mails, "%.30q: no mail", accepted)
		mail := must(auth.EmailMessage(box.mails[len(box.mails)-1]))(t)
		all := texts.All()
		l := all[slices.IndexFunc(all, func(l texts.Texts) bool { return l.Language == want.language })]
		subject := texts.Fill(l.Mail.SignIn.Subject, map[string]string{"site": "Example"})
		assert.Truef(t, mail.Subject == subject && strings.Contains(mail.HTML, `<html lang="`+want.language+`" dir="`+want.direction+`">`),
			"%.30q: the mail is %q, %q", accepted, mail.Subject, mail.HTML)
	}
}

// TestOwnTexts: a site changes one sentence, adds a language, and chooses the
// language by itself.
func TestOwnTexts(t *testing.T) {
	h := newHandler(t, auth.Config{
		Texts: []texts.Texts{
			{Language: "en", SignOut: texts.SignOut{Button: "Log off"}},
			{Language: "da", SignOut: texts.SignOut{Button: "Log af"}},
		},
		Language: func(r *http.Request) string {
			if r.URL.Query().Has("panic") {
				panic("no language")
			}
			return r.URL.Query().Get("lang")
		},
	})
	for path, want := range map[string]string{
		"/auth/signout": "Log off", "/auth/signout?lang=da-DK": "Log af", "/auth/signout?lang=en": "Log off", "/auth/signout?lang=xx": "Log af",
		"/auth/signout?lang=%3Cscript%3E": "Log af", "/auth/signout?panic": "Log af",
	} {
		header := http.Header{}
		if !strings.HasSuffix(path, "signout") {
			header.Set("Accept-Language", "da")
		}
		r := newBrowser(t, h).do(http.MethodGet, path, nil, header)
		assert.Truef(t, strings.Contains(r.body, want) && strings.Contains(r.body, "Are you sure") && r.Header.Get("Cache-Control") == "private, no-store",
			"%s: %v\n%s", path, r.Header, r.body)
	}
}

// TestProvidersHaveNoNameOfTheirOwn: a provider without a name has one in the language
// of the page, and so have its fields. Clients are told the names of Auth.js.
func TestProvidersHaveNoNameOfTheirOwn(t *testing.T) {
	marked := texts.English()
	for _, sentence := range marked.Sentences() {
		*sentence = "⟦" + strings.Join(regexp.MustCompile(`\{\w+\}`).FindAllString(*sentence, -1), " ") + "⟧"
	}
	var box outbox
	second := *box.provider()
	second.ID = "mail"
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, _ *pw.Settings) {
		c.Texts, c.Theme.Name, c.Experimental.EnableWebAuthn = []texts.Texts{marked}, "7", true
		c.Providers = []auth.Provider{
			box.provider(), &second,
			&auth.Credentials{UsesAdapterIDs: true, Authorize: password().Authorize},
			&auth.WebAuthn{Ceremonies: struct{ auth.WebAuthnCeremonies }{}, DisableScript: true},
		}
	})
	for _, path := range []string{"signin", "password/sign-up", "password/forgot", "password/choose"} {
		page := regexp.MustCompile(`(?s)<(style|script).*?</(style|script)>`).ReplaceAllString(s.browser().get("/auth/"+path).body, "")
		shown := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, "")
		rest := regexp.MustCompile(`⟦[^⟦⟧]*⟧`).ReplaceAllString(shown, "")
		word := regexp.MustCompile(`\pL+`).FindString(rest)
		assert.Truef(t, word == "" && strings.Contains(shown, "⟦"), "%s has the word %q of its own\n%s", path, word, page)
	}
	d := must(s.SignInData(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, origin+"/login", nil)))(t)
	for _, way := range append(d.ByAddress, d.Forms...) {
		names := way.Name
		for _, f := range way.Fields {
			names += f.Label
		}
		assert.Emptyf(t, regexp.MustCompile(`⟦[^⟦⟧]*⟧`).ReplaceAllString(names, ""), "the provider %s has the text", way.ID)
	}
	told := s.browser().get("/auth/providers").body
	for _, name := range []string{"Email", "Credentials", "WebAuthn", "Password"} {
		assert.Containsf(t, told, `"name":"`+name+`"`, "no provider is called %s in", name)
	}
}

// TestNoMailHasATextOfItsOwn: every word of a mail is a sentence of the
// configuration, or a value.
func TestNoMailHasATextOfItsOwn(t *testing.T) {
	marked := texts.English()
	for _, sentence := range marked.Sentences() {
		*sentence = "⟦" + strings.Join(regexp.MustCompile(`\{\w+\}`).FindAllString(*sentence, -1), " ") + "⟧"
	}
	for _, code := range []bool{false, true} {
		m := must(auth.EmailMessage(auth.VerificationRequest{
			URL: "https://1.2/", Code: "012345", Provider: auth.Email{Code: code}, Theme: auth.Theme{Name: "7", BrandColor: "#346df1", ButtonText: "#fff"}, Texts: &marked,
		}))(t)
		shown := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m.HTML, "") + m.Subject + strings.ReplaceAll(m.Text, "https://1.2/", "")
		rest := regexp.MustCompile(`⟦[^⟦⟧]*⟧`).ReplaceAllString(shown, "")
		if word := regexp.MustCompile(`\pL+`).FindString(rest); word != "" || !strings.Contains(shown, "⟦") {
			t.Errorf("code %v: the mail has the word %q of its own\n%s", code, word, shown)
		}
	}
}

package pages

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

const markup = `"><script>alert(1)</script><img src=x onerror=alert(1)>'` + "`{{.}}"

func plainLook() *Look { return newLook(Theme{}, nil) }

// newLook is the look of a page in English.
func newLook(theme Theme, brands map[string]Brand) *Look {
	languages, err := NewLanguages(nil, nil)
	if err != nil {
		panic(err)
	}
	return NewLooks(theme, brands, languages).For(httptest.NewRequest(http.MethodGet, "https://app.example.com/", nil))
}

// every returns each page, with s as every value that comes from a request or
// the configuration.
func every(s string) map[string]Rendered {
	return everyIn(newLook(Theme{Name: s, ColorScheme: s, Logo: s, BrandColor: s, ButtonText: s}, map[string]Brand{s: {s, s}}), s)
}

func everyIn(look *Look, s string) map[string]Rendered {
	return map[string]Rendered{
		"signin": withoutScript(SignIn{
			Look: look, CSRFToken: s, CallbackURL: s, Error: s, Email: s, Providers: everyKind(s),
		}.Render()),
		"signout":        SignOut{Look: look, Action: s, CSRFToken: s}.Render(),
		"verify-request": VerifyRequest{Look: look, SiteURL: s}.Render(),
		"code": VerifyRequest{
			Look: look, SiteURL: s, Action: s, CSRFToken: s, Fields: []Posted{{Name: s, Value: s}}, SignInURL: s, Wrong: true,
		}.Render(),
		"error": Error{Look: look, Type: s, SiteURL: s, SignInURL: s}.Render(),
		"held address": HeldAddress{
			Look: look, Email: s, Providers: []Provider{{ID: s, Name: s, Type: "oauth", Action: s, Logo: s}}, Passkey: true, SignInURL: s, Others: []string{s},
			AfreshURL: s, CSRFToken: s, CallbackURL: s,
		}.Render(),
		"confirm link":  ConfirmLink{Look: look, Email: s, SiteURL: s, Action: s, CSRFToken: s, Fields: []Posted{{Name: s, Value: s}}}.Render(),
		"hop":           withoutScript(Hop{Look: look, Action: s, Fields: []Posted{{Name: s, Value: s}}}.Render()),
		"access denied": Error{Look: look, Type: "AccessDenied", SiteURL: s, SignInURL: s}.Render(),
	}
}

// everyKind returns a provider of each kind, with s as every value.
func everyKind(s string) []Provider {
	fields := []Field{{Name: s, Label: s, Type: s, Placeholder: s, Attributes: map[string]string{s: s, "title": s, "onfocus": s, "formaction": s}}}
	return []Provider{
		{ID: s, Name: s, Type: "oauth", Action: s, Logo: s},
		{ID: s, Name: s, Type: "email", Action: s},
		{ID: s, Name: s, Type: "credentials", Action: s, Fields: fields},
		{ID: s, Name: s, Type: "webauthn", Action: s, Fields: fields},
		{ID: s, Name: s, Type: "credentials", Action: s, Password: true, Links: []Link{{URL: s, Text: s}}},
		{ID: s, Name: s, Type: "webauthn", Action: s, Shared: true, Conditional: true},
		{ID: s, Name: s, Type: "email", Action: s},
	}
}

// withoutScript removes our own script from a page.
func withoutScript(p Rendered) Rendered {
	p.HTML = []byte(strings.Replace(string(p.HTML), string(hopScript.element), "", 1))
	p.HTML = []byte(strings.Replace(string(p.HTML), string(showScript.element), "", 1))
	return p
}

// TestPasswordsCanBeShown: a page that asks for a password has a box that is hidden
// without the script, and a policy that allows the script; no other page has them.
func TestPasswordsCanBeShown(t *testing.T) {
	kinds := everyKind("x")
	look := plainLook()
	for name, c := range map[string]struct {
		page   Rendered
		script script
	}{
		"signin":          {SignIn{Look: look, Providers: kinds[4:5]}.Render(), showScript},
		"with a passkey":  {SignIn{Look: look, PasskeyScript: true, Providers: kinds}.Render(), bothScripts},
		"only a passkey":  {SignIn{Look: look, PasskeyScript: true, Providers: kinds[5:6]}.Render(), signInScript},
		"mail":            {SignIn{Look: look, Providers: kinds[1:2]}.Render(), script{}},
		"a new password":  {Password{Look: look, T: look.T, Action: "/x", New: true}.Render(), showScript},
		"an old password": {Password{Look: look, T: look.T, Action: "/x", Current: true}.Render(), showScript},
		"an address":      {Password{Look: look, T: look.T, Action: "/x", Asks: true}.Render(), script{}},
	} {
		html := string(c.page.HTML)
		shows := strings.Contains(string(c.script.element), "data-show")
		assert.Truef(t, strings.Contains(html, "<label class=\"check\" data-show hidden>") == shows && strings.Contains(html, "</main>"+string(c.script.element)+"</body>") &&
			strings.HasSuffix(c.page.ContentSecurityPolicy, "base-uri 'none'; frame-ancestors 'none'"+c.script.policy) && strings.HasPrefix(html, "<!DOCTYPE"),
			"%s: %s\n%s", name, c.page.ContentSecurityPolicy, html)
	}
}

// TestHopPostsItself: the policy allows the script of the page, and no other.
func TestHopPostsItself(t *testing.T) {
	page := Hop{Look: plainLook(), Action: "/auth/callback/apple", Fields: []Posted{{Name: "code", Value: "c"}}}.Render()
	html := string(page.HTML)
	_, rest, _ := strings.Cut(html, `<script type="module">`)
	script, _, _ := strings.Cut(rest, "</script>")
	sum := sha256.Sum256([]byte(script))
	assert.Truef(t, strings.Contains(script, "submit()") && strings.Contains(page.ContentSecurityPolicy, "script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'"),
		"the script is %q, the policy %s", script, page.ContentSecurityPolicy)
	assert.Truef(t, strings.Contains(html, `<input type="hidden" name="code" value="c">`) && strings.Contains(html, "<button"),
		"got %s", html)
}

func TestMarkupIsEscapedEverywhere(t *testing.T) {
	for _, text := range []string{markup, "data:image/png," + markup} {
		for name, page := range every(text) {
			html := string(page.HTML)
			assert.Falsef(t, regexp.MustCompile(`<input[^>]*formaction`).MatchString(html),
				"%s: a field sends the form elsewhere", name)
			for _, bad := range []string{"<script", "<img src=x", "onerror=alert(1)>", "onfocus="} {
				assert.NotContainsf(t, html, bad, "%s contains %s", name, bad)
			}
		}
	}
}

func TestScriptURLsAreRefused(t *testing.T) {
	for name, page := range every("javascript:alert(1)") {
		for _, attribute := range regexp.MustCompile(`(?:href|action|src)="([^"]*)"`).FindAllStringSubmatch(string(page.HTML), -1) {
			assert.Falsef(t, strings.HasPrefix(attribute[1], "javascript"), "%s: %s", name, attribute[0])
		}
	}
}

func TestPolicyAllowsTheStyleAndNothingInline(t *testing.T) {
	look := newLook(Theme{BrandColor: "#ff0000", ButtonText: "navy"}, map[string]Brand{
		"github": {Color: "#24292f"}, "google": {Color: "#fff"}, "bad": {Color: "red;}*{"}, "zoom": {Color: "#24292f", Text: "silver"}, "evil": {Color: "#24292f", Text: "red;}*{"},
	})
	page := SignIn{Look: look, Providers: []Provider{{ID: "github", Name: "GitHub", Type: "oauth", Action: "/auth/signin/github"}}}.Render()
	html := string(page.HTML)
	style := html[strings.Index(html, "<style>")+len("<style>") : strings.Index(html, "</style>")]
	sum := sha256.Sum256([]byte(style))
	want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	assert.Contains(t, page.ContentSecurityPolicy, want, "the policy does not name the hash of the style sheet")
	assert.True(t, !strings.Contains(page.ContentSecurityPolicy, "unsafe") && !strings.Contains(html, "style=") && !strings.Contains(html, "<script"),
		"the page needs more than its hash allows")
	for _, want := range []string{"--brand-color:#ff0000", "--button-text-color:navy", ".brand-1{--provider-brand-color:#24292f;--provider-text-color:#fff}", "--provider-text-color:#000", ".brand-3{--provider-brand-color:#24292f;--provider-text-color:silver}"} {
		assert.Containsf(t, style, want, "the style sheet lacks %s", want)
	}
	assert.NotContains(t, style, "red;}", "something that is no colour reached the style sheet")
	assert.Contains(t, html, `class="button brand-1"`, "the button lacks its class")
}

// TestButtonsAreReadable: white has a contrast of 4.51 to the first colour and
// of 4.23 to the second; WCAG 2.2 requires 4.5.
func TestButtonsAreReadable(t *testing.T) {
	for background, want := range map[string]string{
		"#1a73e8": "#fff", "#1877f2": "#000", "#000": "#fff", "#fff": "#000", "#f0f": "#000", "#F00F": "#000", "#24292f80": "#fff", "navy": "other",
	} {
		assert.Equalf(t, want, readableOn(background, "other"), "text on %s", background)
	}
}

func TestLogosAsDataURIs(t *testing.T) {
	const logo = "data:image/gif;base64,R0lGODlhAQABAAAAACw="
	look := newLook(Theme{Logo: logo}, nil)
	html := string(SignIn{Look: look, Providers: []Provider{{ID: "a", Type: "oauth", Logo: logo}, {ID: "b", Type: "oauth", Logo: "data:text/html,x"}}}.Render().HTML)
	assert.Equalf(t, 2, strings.Count(html, `src="`+logo+`"`), "logos that are shown\n%s", html)
	assert.NotContains(t, html, "data:text", "a data URI that is no image is shown")
}

func TestColors(t *testing.T) {
	for s, want := range map[string]bool{
		"#fff": true, "#FFAA00": true, "#ffaa0080": true, "rebeccapurple": true, "rgb(1 2 3 / 50%)": true, "hsl(120deg,50%,50%)": true,
		"": false, "#ff": false, "#fffff": false, "#ggg": false, "red;}": false, "url(x)": false, "rgb(1,2,3": false, "var(--x)": false, "red\n": false,
	} {
		assert.Equalf(t, want, Color(s), "Color(%q) is %v", s, !want)
	}
}

// TestOneAddressField: mail, password and passkey share the one field for an
// address, and a form with fields of its own stays apart.
func TestOneAddressField(t *testing.T) {
	p := SignIn{Look: plainLook(), PasskeyScript: true, Typed: "ada@example.com", TypedInto: "password", Error: "CredentialsSignin", Providers: []Provider{
		{ID: "email", Name: "Email", Type: "email", Action: "/auth/signin/email"}, {ID: "a", Name: "A", Type: "oauth", Action: "/auth/signin/a"},
		{ID: "password", Type: "credentials", Password: true, Action: "/auth/callback/password", Links: []Link{{"/forgot", "Forgot?"}}},
		{ID: "passkey", Type: "webauthn", Shared: true, Conditional: true, Action: "/auth/callback/passkey"},
		{ID: "staff", Name: "Staff", Type: "credentials", Action: "/auth/callback/staff", Fields: []Field{{Name: "number", Type: "text"}}},
	}}
	page := string(p.Render().HTML)
	for text, want := range map[string]int{
		`type="email"`: 1, `autocomplete="username webauthn"`: 1, `value="ada@example.com"`: 1, `formaction="/auth/signin/email"`: 1,
		`formaction="/auth/callback/passkey"`: 2, `action="/auth/callback/password"`: 1, `autocomplete="current-password"`: 1,
		`aria-describedby="signin-error" autofocus`: 1, `role="alert" id="signin-error"`: 1, "autofocus": 1, `href="/forgot"`: 1,
		`action="/auth/callback/staff"`: 1, `<div class="or">`: 1, `data-passkey="/auth/callback/passkey"`: 1, "<noscript>": 1,
	} {
		assert.Equalf(t, want, strings.Count(page, text), "how often %s is there", text)
	}
	p.Providers = p.Providers[3:4]
	if page = string(p.Render().HTML); !strings.Contains(page, ` hidden action="/auth/callback/passkey"`) || !strings.Contains(page, "<noscript>") {
		t.Errorf("a passkey form without a script is shown\n%s", page)
	}
}

// TestErrorsStandAtTheirField: a message about a form is there, any other one is at
// the top with the focus.
func TestErrorsStandAtTheirField(t *testing.T) {
	ways := []Provider{
		{ID: "email", Type: "email"}, {ID: "one", Type: "credentials", Fields: []Field{{Name: "user"}}},
		{ID: "two", Type: "credentials", Fields: []Field{{Name: "pin", Type: "password"}, {Name: "card"}}},
	}
	for failure, want := range map[string]string{"EmailSignInError": "email", "CredentialsSignin": "two", "OAuthSignin": "", "x": ""} {
		p := SignIn{Look: plainLook(), Error: failure, Providers: ways, Typed: "7", TypedInto: "two"}
		page := string(p.Render().HTML)
		if got := p.At(); got != want || p.AtTop() != (want == "") || strings.Count(page, "autofocus") != 1 {
			t.Errorf("%s: at %q, want %q\n%s", failure, got, want, page)
		}
		assert.Equalf(t, want == "", strings.Contains(page, `role="alert" tabindex="-1" autofocus`),
			"%s: at the top", failure)
		assert.Containsf(t, page, `name="card" id="input-card-for-two-provider" type="" placeholder="" value="7"`,
			"%s: what was typed is not in its field", failure)
	}
}

func TestOnlyExternalFormsCarryTheCallbackURL(t *testing.T) {
	html := string(SignIn{Look: plainLook(), CallbackURL: "https://app.example.com/", CSRFToken: "t", Providers: []Provider{
		{ID: "a", Type: "oauth", Action: "/a"}, {ID: "email", Type: "email", Action: "/e"},
	}}.Render().HTML)
	assert.True(t, strings.Count(html, `name="callbackUrl"`) == 1 && strings.Count(html, `name="csrfToken" value="t"`) == 2,
		html)
	// As in Auth.js, the field remains if the protection is off, and has no
	// value.
	got := string(SignOut{Look: plainLook()}.Render().HTML)
	assert.Contains(t, got, `method="POST"><input type="hidden" name="csrfToken"><button`)
}

func TestErrorPages(t *testing.T) {
	for kind, want := range map[string]struct {
		status int
		text   string
		link   string
	}{
		"":              {200, "<h1>Error</h1>", "https://app.example.com"},
		"constructor":   {200, "<h1>Error</h1>", "https://app.example.com"},
		"Configuration": {500, "There is a problem with this site", ""},
		"AccessDenied":  {403, "You do not have permission to sign in.", "https://app.example.com/auth/signin"},
		"Verification":  {403, "The sign in link is no longer valid.", "https://app.example.com/auth/signin"},
	} {
		p := Error{Look: plainLook(), Type: kind, SiteURL: "https://app.example.com", SignInURL: "https://app.example.com/auth/signin"}
		html := string(p.Render().HTML)
		if p.Status() != want.status || !strings.Contains(html, want.text) || want.link != "" && !strings.Contains(html, `href="`+want.link+`"`) {
			t.Errorf("%q: status %d\n%s", kind, p.Status(), html)
		}
		assert.Falsef(t, want.link == "" && strings.Contains(html, "href"), "%q has a link", kind)
	}
	html := string(VerifyRequest{Look: plainLook(), SiteURL: "https://app.example.com"}.Render().HTML)
	assert.Contains(t, html, `>app.example.com</a>`)
}

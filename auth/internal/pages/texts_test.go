package pages

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// markedTexts are texts in which each sentence is its name in brackets, with its
// values.
func markedTexts() texts.Texts {
	t := texts.English()
	for name, sentence := range t.Sentences() {
		*sentence = "⟦" + name + "⟧" + strings.Join(regexp.MustCompile(`\{\w+\}`).FindAllString(*sentence, -1), " ")
	}
	return t
}

const value = "§" // every value that is no sentence

var marked = regexp.MustCompile(`⟦([^⟦⟧]*)⟧`)

// TestNoPageHasATextOfItsOwn: every text that a person reads on a page is a
// sentence of the configuration or a value, and every sentence is on a page.
func TestNoPageHasATextOfItsOwn(t *testing.T) {
	languages, err := NewLanguages([]texts.Texts{markedTexts()}, nil)
	require.NoError(t, err)
	look := NewLooks(Theme{Name: value}, nil, languages).For(httptest.NewRequest(http.MethodGet, "/", nil))
	used := map[string]bool{}
	for name, page := range everyState(look) {
		for _, text := range readable(t, page.HTML) {
			for _, m := range marked.FindAllStringSubmatch(text, -1) {
				used[m[1]] = true
			}
			rest := strings.ReplaceAll(marked.ReplaceAllString(text, ""), value, "")
			assert.Falsef(t, strings.ContainsFunc(rest, unicode.IsLetter),
				"%s has the text %q, which is in no language", name, rest)
		}
	}
	all := markedTexts()
	for name := range all.Sentences() {
		group, _, _ := strings.Cut(name, ".")
		last := name[strings.LastIndexByte(name, '.')+1:]
		plural := slices.Contains([]string{"Zero", "One", "Two", "Few", "Many"}, last)
		assert.Truef(t, used[name] || plural || group == "Mail" || group == "Password" || slices.Contains(elsewhere, name),
			"no page has the sentence %s", name)
	}
}

// elsewhere are the sentences that the handler gives to a page.
var elsewhere = []string{
	"Passkeys.Renamed", "Passkeys.Removed", "Passkeys.Errors.OnlyWay", "Passkeys.Errors.NotFound", "Passkeys.Errors.CannotChange",
	"Passkeys.Errors.BadName", "Passkeys.Errors.Unreadable", "Passkeys.Errors.NotDone",
}

// everyState returns the pages in all their states.
func everyState(look *Look) map[string]Rendered {
	all := everyIn(look, value)
	for _, failure := range []string{
		"", "Signin", "OAuthAccountNotLinked", "EmailSignin", "EmailSignInError", "ProviderUnavailable", "MissingCSRF", "CredentialsSignin",
		"SessionRequired", "AccountNotLinked", "x", "Configuration", "AccessDenied", "AdapterError", "Verification", "InvalidProvider", "InvalidCheck",
	} {
		for _, person := range []string{"", value} {
			all["signin "+failure+person] = SignIn{Look: look, Error: failure, Person: person, PasskeyScript: true, Providers: everyKind(value)}.Render()
			all["error "+failure+person] = Error{Look: look, Type: failure, SiteURL: value, SignInURL: value, Person: person}.Render()
		}
	}
	all["credentials"] = SignIn{Look: look, Error: "CredentialsSignin", Providers: everyKind(value)[2:3]}.Render()
	unnamed := everyKind(value)[1:5]
	for i := range unnamed {
		unnamed[i].Name = ""
	}
	all["no names"] = SignIn{Look: look, Providers: append(unnamed, unnamed[0])}.Render()
	all["clash"] = SignIn{Look: look, Clash: true}.Render()
	passkeys := []Passkey{{Name: value, Created: value, LastUsed: value, BackedUp: true}, {Syncable: true}, {}}
	for _, failure := range []string{"", value} {
		all["passkeys"+failure] = Passkeys{Look: look, List: passkeys, Provider: value, Notice: value, Error: failure}.Render()
	}
	all["remove"] = Passkeys{Look: look, List: []Passkey{{ID: "1", Name: value}}, Asks: "1"}.Render()
	all["password"] = Password{Look: look, T: look.T, Action: value, Asks: true, Current: true, New: true, Error: value}.Render()
	all["no passkeys"] = Passkeys{Look: look}.Render()
	ways := []Credentials{{}, {Name: value}, {Name: value, Password: true}, {Password: true}}
	all["held 1"] = HeldAddress{Look: look, Unknown: true, OtherWays: true, Others: []string{value}}.Render()
	all["held 2"] = HeldAddress{Look: look, Passkey: true, Credentials: ways, Providers: everyKind(value)[:1]}.Render()
	for _, code := range []string{"expired", "unknown", "user-changed", "cloned", "unreadable", ""} {
		all["passkey "+code] = Error{Look: look, Type: "WebAuthnVerificationError", Code: code}.Render()
	}
	for _, status := range []int{400, 403, 405, 413, 429, 500, 503} {
		for _, wait := range []time.Duration{0, 9 * time.Second, 9 * time.Minute, 9 * time.Hour} {
			all["refused "+http.StatusText(status)+wait.String()] = Refused{Look: look, Status: status, SignInURL: value, Wait: wait}.Render()
		}
	}
	return all
}

// readable returns the texts of a page that a person sees or hears.
func readable(t *testing.T, page []byte) []string {
	t.Helper()
	root, err := html.ParseWithOptions(strings.NewReader(string(page)), html.ParseOptionEnableScripting(false))
	require.NoError(t, err)
	var found []string
	for n := range root.Descendants() {
		if n.Type == html.TextNode && n.Parent.Data != "script" && n.Parent.Data != "style" {
			found = append(found, n.Data)
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "alt", "aria-label", "placeholder", "title":
				found = append(found, a.Val)
			case "data-passkey-texts":
				found = append(found, marked.FindAllString(a.Val, -1)...)
			}
		}
	}
	return found
}

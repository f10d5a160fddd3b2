// Package pages renders the built-in pages: sign-in, sign-out, verify-request
// and error. A page is a plain value with all the data that it shows; rendering
// has no other input.
//
// The pages need no script, and load nothing except the logos that the
// configuration names. Their style is part of the page, allowed by its hash.
// html/template escapes every value that comes from a request.
package pages

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Rendered is a rendered page.
type Rendered struct {
	HTML []byte
	// ContentSecurityPolicy is the policy that the page needs.
	ContentSecurityPolicy string
	// Caching says what the language of the page depends on.
	Caching Caching
}

// SignIn is the page on which a person chooses how to sign in.
type SignIn struct {
	Look      *Look
	Providers []Provider
	// CSRFToken is empty if the protection is off.
	CSRFToken string
	// CallbackURL is the URL to which the browser goes after the sign-in.
	CallbackURL string
	// Error is the type of an earlier failure, or empty. It comes from the query
	// and may be anything.
	Error string
	// Email is the initial value of the address field. It comes from the query.
	Email string
	// Typed is what the person typed into the form of the provider TypedInto, which
	// was refused.
	Typed, TypedInto string
	// Clash says that the browser had sessions of two people, which were ended.
	Clash bool
	// Person is who is signed in, or empty. It is shown with the error MissingCSRF.
	Person string
	// PasskeyScript makes the forms of WebAuthn providers work.
	PasskeyScript bool
}

// Provider is one way to sign in.
type Provider struct {
	ID string
	// Name is empty if the page calls the provider by a name in its language.
	Name string
	// Type is oauth, oidc, email, credentials or webauthn.
	Type string
	// Action is the URL that the form is posted to.
	Action string
	Logo   string
	// Fields are the inputs of credentials and webauthn.
	Fields []Field
	// Conditional offers passkeys in the autofill of the fields.
	Conditional bool
	// Password says that this is the provider for passwords. Shared says that a
	// passkey needs no form of its own.
	Password, Shared bool
	// Links follow the form.
	Links []Link
}

// Link is a link to another page of the site.
type Link struct{ URL, Text string }

// Field is an input.
type Field struct {
	Name  string
	Label string
	Type  string
	// Identifier says that the field names the account.
	Identifier  bool
	Placeholder string
	// Attributes are further attributes of the input.
	Attributes map[string]string
}

// SignOut is the page that asks whether to sign out.
type SignOut struct {
	Look      *Look
	Action    string
	CSRFToken string
}

// VerifyRequest is the page that says that a mail was sent.
type VerifyRequest struct {
	Look *Look
	// SiteURL is the home page of the site.
	SiteURL string
	// Action is the URL that a code from the mail is posted to, with the hidden
	// fields. It is empty if the browser asked for no code.
	Action    string
	CSRFToken string
	Fields    []Posted
	// SignInURL is the page to ask for another mail.
	SignInURL string
	// Wrong says that a code was typed that does not count.
	Wrong bool
}

// Error is the page that says that something failed.
type Error struct {
	Look *Look
	// Type is Configuration, AccessDenied, AdapterError or one of those of a sign-in
	// that was not finished; every other value is shown as a plain error. Type and
	// Code come from the query.
	Type string
	// Code gives the reason of a WebAuthnVerificationError.
	Code string
	// SiteURL is the home page of the site, SignInURL its sign-in page. Both are
	// empty if they are not known.
	SiteURL   string
	SignInURL string
	// Person is who is signed in, or empty.
	Person string
}

// Unfinished reports whether the page is about a sign-in that was not finished,
// for a reason that lies with the browser or the person. Such a page says who is
// signed in.
func (p Error) Unfinished() bool {
	switch p.Type {
	case "InvalidCheck", "CallbackRouteError", "InvalidProvider", "UnknownAction", "Verification", "WebAuthnVerificationError", "ProviderUnavailable":
		return true
	}
	return false
}

// Offers reports whether the page leads to the sign-in page.
func (p Error) Offers() bool {
	return p.Unfinished() || p.Type == "AccessDenied" || p.Type == "AdapterError"
}

// ShowsSite reports whether the page leads to the home page.
func (p Error) ShowsSite() bool { return p.Person != "" || !p.Offers() && p.Type != "Configuration" }

// Title says what failed.
func (p Error) Title() string {
	t := &p.Look.T.Failure
	switch {
	case p.Type == "Configuration":
		return t.ServerTitle
	case p.Type == "AccessDenied":
		return t.DeniedTitle
	case p.Type == "AdapterError":
		return t.StoreTitle
	case p.Unfinished():
		return t.NotFinished
	}
	return t.Title
}

// Text says what happened, if that is known.
func (p Error) Text() string {
	t := &p.Look.T.Failure
	switch p.Type {
	case "Configuration":
		return t.Server
	case "AccessDenied":
		return t.Denied
	case "AdapterError":
		return t.Store
	case "Verification":
		return t.LinkInvalid
	case "ProviderUnavailable":
		return t.Unavailable
	case "WebAuthnVerificationError":
		return p.PasskeyAdvice()
	case "InvalidProvider", "UnknownAction":
		return t.NoAddress
	case "InvalidCheck", "CallbackRouteError":
		return t.TooLate
	}
	return ""
}

// Status returns the HTTP status of the page.
func (p Error) Status() int {
	switch p.Type {
	case "Configuration":
		return http.StatusInternalServerError
	case "AccessDenied", "Verification":
		return http.StatusForbidden
	case "AdapterError", "ProviderUnavailable":
		return http.StatusServiceUnavailable
	case "InvalidCheck", "CallbackRouteError", "InvalidProvider", "UnknownAction":
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// PasskeyAdvice says what to do after a WebAuthnVerificationError. The texts do
// not reveal whether a user exists.
func (p Error) PasskeyAdvice() string {
	t := &p.Look.T.Passkeys.Errors
	switch p.Code {
	case "expired":
		return t.Expired
	case "unknown":
		return t.Unknown
	case "user-changed":
		return t.UserChanged
	case "cloned":
		return t.Cloned
	case "unreadable":
		return t.BadAnswer
	default:
		return t.Refused
	}
}

// Render renders the page.
func (p SignIn) Render() Rendered {
	page := render(p.Look, "signin.html", p)
	page.ContentSecurityPolicy += p.script().policy
	return page
}

func (p SignIn) script() script {
	a := p.Address()
	switch shows := a != nil && a.Password != nil; {
	case p.PasskeyScript && shows:
		return bothScripts
	case p.PasskeyScript:
		return signInScript
	case shows:
		return showScript
	}
	return script{}
}

// Script returns the script of the page, if it has one.
func (p SignIn) Script() template.HTML { return p.script().element }

// Render renders the page.
func (p SignOut) Render() Rendered { return render(p.Look, "signout.html", p) }

// Render renders the page.
func (p VerifyRequest) Render() Rendered { return render(p.Look, "verify-request.html", p) }

// Render renders the page.
func (p Error) Render() Rendered { return render(p.Look, "error.html", p) }

// Message returns the text about an earlier failure, or "". The texts do not
// reveal whether an account exists.
func (p SignIn) Message() string {
	t := &p.Look.T.SignIn.Errors
	if p.Clash {
		return t.TwoPeople
	}
	switch p.Error {
	case "":
		return ""
	case "Signin", "OAuthSignin", "OAuthCallbackError", "OAuthCreateAccount", "EmailCreateAccount", "Callback":
		return t.OtherAccount
	case "OAuthAccountNotLinked":
		return t.NotLinked
	case "EmailSignin":
		return t.MailNotSent
	case "EmailSignInError":
		return t.AddressRefused
	case "ProviderUnavailable":
		return t.Unavailable
	case "MissingCSRF":
		return t.NoForm
	case "CredentialsSignin":
		if a := p.Address(); a != nil && a.Password != nil && p.At() == a.Password.ID {
			return p.Look.T.Password.Wrong
		}
		return t.Credentials
	case "SessionRequired":
		return t.SessionRequired
	default:
		if p.Error == "AccountNotLinked" && p.PasskeyScript {
			return t.PasskeyNotLinked
		}
		return t.Unknown
	}
}

// signedInAs says who is signed in.
func (l *Look) signedInAs(person string) string {
	if person == "" {
		return l.T.Common.NotSignedIn
	}
	return say(l.T.Common.SignedInAs, "person", person)
}

// SignedInAs says who is signed in.
func (p Error) SignedInAs() string { return p.Look.signedInAs(p.Person) }

// SignedInAs says who is signed in, if a form did not come from this browser.
func (p SignIn) SignedInAs() string {
	if p.Error != "MissingCSRF" || p.Clash {
		return ""
	}
	return p.Look.signedInAs(p.Person)
}

func external(kind string) bool { return kind == "oauth" || kind == "oidc" }

// forbidden reports whether a field may not set the attribute, because it would
// send the form elsewhere or run a script.
func forbidden(name string) bool {
	switch name {
	case "name", "id", "type", "placeholder", "form", "formaction", "formmethod", "formenctype", "formnovalidate", "formtarget", "style":
		return true
	}
	return len(name) >= 2 && name[:2] == "on"
}

// attribute writes one attribute of an input.
func attribute(name, value string) template.HTMLAttr {
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return ""
		}
	}
	if name == "" || forbidden(name) {
		return ""
	}
	if value == "" {
		return template.HTMLAttr(name)
	}
	return template.HTMLAttr(name + `="` + template.HTMLEscapeString(value) + `"`)
}

// host returns the host of an origin, for display.
func host(origin string) string {
	if u, err := url.Parse(origin); err == nil && u.Host != "" {
		return u.Host
	}
	return origin
}

// picture allows a logo to be a data URI too, if it is an image.
func picture(source string) any {
	if strings.HasPrefix(source, "data:image/") {
		return template.URL(source)
	}
	return source
}

//go:embed templates/*.html
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"attribute": attribute, "host": host, "picture": picture, "say": say, "stress": Stress,
}).ParseFS(files, "templates/*.html"))

// say fills values into a sentence: name, value, name, value, and so on.
func say(sentence string, pairs ...string) string { return texts.Fill(sentence, valuesOf(pairs)) }

// Stress does what say does, and stresses the values. A value keeps its own
// direction of writing.
func Stress(sentence string, pairs ...string) template.HTML {
	values := valuesOf(pairs)
	for name, value := range values {
		values[name] = `<strong dir="auto">` + template.HTMLEscapeString(value) + "</strong>"
	}
	return template.HTML(texts.Fill(template.HTMLEscapeString(sentence), values)) // all parts are escaped
}

func valuesOf(pairs []string) map[string]string {
	values := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return values
}

func render(look *Look, name string, data any) Rendered {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates take every value of the types above
	}
	return Rendered{HTML: b.Bytes(), ContentSecurityPolicy: look.policy, Caching: look.caching}
}

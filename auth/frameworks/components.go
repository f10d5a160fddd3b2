package frameworks

import (
	"bytes"
	"context"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Component is a piece of a page. It has the method of a component of
// github.com/a-h/templ, so that a template of templ renders it like one of its
// own.
type Component struct {
	template *template.Template
	data     any
}

// Render writes the HTML.
func (c Component) Render(_ context.Context, w io.Writer) error { return c.template.Execute(w, c.data) }

// HTML is the component for html/template.
func (c Component) HTML() (template.HTML, error) {
	var b bytes.Buffer
	err := c.Render(context.Background(), &b)
	return template.HTML(b.String()), err // escaped by html/template
}

// SignInProps are the properties of the component SignIn.
type SignInProps struct {
	// Provider is the ID of the provider; without it the form leads to the
	// sign-in page.
	Provider string
	// Type is the provider's, if it is not to be told from Provider: the form of
	// an e-mail provider asks for the address, that of a credentials provider has
	// the slot Credentials.
	Type auth.ProviderType
	// SignInPage is the path of the page whose POST is the action SignIn; the
	// default is signin.
	SignInPage string
	// RedirectTo is where the browser goes in the end.
	RedirectTo string
	// NoRedirect asks for the URL as JSON in place of a redirect.
	NoRedirect bool
	// AuthorizationParams are further parameters of the authorization request.
	AuthorizationParams map[string]string
	// CSRFToken is what auth.Handler.CSRFToken returns. It is not needed in browsers
	// that send Sec-Fetch-Site or Origin, as all do that are in use.
	CSRFToken string
	// Class is the class of the form.
	Class string

	// SubmitButton is what the button shows; the default is its text.
	SubmitButton template.HTML
	// Credentials holds the fields of a credentials provider.
	Credentials template.HTML
	// Email takes the place of the field for the address.
	Email template.HTML
}

// SignOutProps are the properties of the component SignOut.
type SignOutProps struct {
	// SignOutPage is the path of the page whose POST is the action SignOut; the
	// default is signout.
	SignOutPage string
	// RedirectTo is where the browser goes in the end.
	RedirectTo string
	// NoRedirect asks for the URL as JSON in place of a redirect.
	NoRedirect bool
	// CSRFToken is what auth.Handler.CSRFToken returns.
	CSRFToken string
	// Class is the class of the form.
	Class string
	// SubmitButton is what the button shows; the default is its text.
	SubmitButton template.HTML
}

var signInForm = template.Must(template.New("SignIn").Parse(
	`<form method="post" action="{{.Action}}"{{with .Class}} class="{{.}}"{{end}}>` +
		`{{with .Provider}}<input type="hidden" name="providerId" value="{{.}}">{{end}}` +
		`{{with .RedirectTo}}<input type="hidden" name="redirectTo" value="{{.}}">{{end}}` +
		`{{if .NoRedirect}}<input type="hidden" name="redirect" value="false">{{end}}` +
		`{{with .CSRFToken}}<input type="hidden" name="csrfToken" value="{{.}}">{{end}}` +
		`{{range .Params}}<input type="hidden" name="authorizationParams-{{.Name}}" value="{{.Value}}">{{end}}` +
		`{{if .IsCredentials}}{{.Credentials}}{{end}}` +
		`{{if .IsEmail}}{{if .Email}}{{.Email}}{{else}}<label>Email <input type="email" name="email" placeholder="email@example.com" autocomplete="email" required></label>{{end}}{{end}}` +
		`<button type="submit">{{if .SubmitButton}}{{.SubmitButton}}{{else}}Sign in{{with .Provider}} with {{.}}{{end}}{{end}}</button></form>`))

var signOutForm = template.Must(template.New("SignOut").Parse(
	`<form method="post" action="{{.Action}}"{{with .Class}} class="{{.}}"{{end}}>` +
		`{{with .RedirectTo}}<input type="hidden" name="redirectTo" value="{{.}}">{{end}}` +
		`{{if .NoRedirect}}<input type="hidden" name="redirect" value="false">{{end}}` +
		`{{with .CSRFToken}}<input type="hidden" name="csrfToken" value="{{.}}">{{end}}` +
		`<button type="submit">{{if .SubmitButton}}{{.SubmitButton}}{{else}}Sign out{{end}}</button></form>`))

// SignIn is the component with the form of a sign-in.
func SignIn(p SignInProps) Component {
	type param struct{ Name, Value string }
	var params []param
	for _, name := range slices.Sorted(maps.Keys(p.AuthorizationParams)) {
		params = append(params, param{name, p.AuthorizationParams[name]})
	}
	if p.Type == "" {
		switch p.Provider {
		case "credentials":
			p.Type = auth.TypeCredentials
		case "email", "sendgrid", "resend":
			p.Type = auth.TypeEmail
		}
	}
	return Component{signInForm, struct {
		SignInProps
		Action                 string
		Params                 []param
		IsCredentials, IsEmail bool
	}{p, action(p.SignInPage, "signin"), params, p.Type == auth.TypeCredentials, p.Type == auth.TypeEmail}}
}

// SignOut is the component with the form of a sign-out.
func SignOut(p SignOutProps) Component {
	return Component{signOutForm, struct {
		SignOutProps
		Action string
	}{p, action(p.SignOutPage, "signout")}}
}

// action is the path of a page of the site.
func action(page, preset string) string {
	if page == "" {
		page = preset
	}
	return "/" + strings.TrimLeft(page, "/\\")
}

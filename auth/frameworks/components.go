package frameworks

import (
	"bytes"
	"cmp"
	"context"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Component is a part of a page. It has the method of a component of
// github.com/a-h/templ, so that a template of templ renders it like one of its
// own components.
type Component struct {
	template *template.Template
	data     any
}

// Render writes the HTML.
func (c Component) Render(_ context.Context, w io.Writer) error { return c.template.Execute(w, c.data) }

// HTML returns the HTML of the component for html/template.
func (c Component) HTML() (template.HTML, error) {
	var b bytes.Buffer
	err := c.Render(context.Background(), &b)
	return template.HTML(b.String()), err // escaped by html/template
}

// SignInProps are the properties of the component SignIn.
type SignInProps struct {
	// Provider is the ID of the provider. If it is empty, the form leads to the
	// sign-in page.
	Provider string
	// Type is the type of the provider. It is needed if Provider does not
	// determine it. The form of an e-mail provider has a field for the address;
	// the form of a credentials provider has the slot Credentials.
	Type auth.ProviderType
	// SignInPage is the path of the page whose POST is the action SignIn; the
	// default is signin.
	SignInPage string
	// RedirectTo is the URL or path to which the browser goes after the
	// sign-in.
	RedirectTo string
	// NoRedirect requests the URL as JSON in place of a redirect.
	NoRedirect bool
	// AuthorizationParams are further parameters of the authorization request.
	AuthorizationParams url.Values
	// CSRFToken is the result of auth.Handler.CSRFToken. Browsers that send
	// Sec-Fetch-Site or Origin do not need it; all browsers in use do.
	CSRFToken string
	// Class is the class of the form.
	Class string

	// SubmitButton is the content of the button; the default is its text.
	SubmitButton template.HTML
	// Credentials holds the fields of a credentials provider.
	Credentials template.HTML
	// Email replaces the field for the address.
	Email template.HTML
}

// SignOutProps are the properties of the component SignOut.
type SignOutProps struct {
	// SignOutPage is the path of the page whose POST is the action SignOut; the
	// default is signout.
	SignOutPage string
	// RedirectTo is the URL or path to which the browser goes after the
	// sign-out.
	RedirectTo string
	// NoRedirect requests the URL as JSON in place of a redirect.
	NoRedirect bool
	// CSRFToken is the result of auth.Handler.CSRFToken.
	CSRFToken string
	// Class is the class of the form.
	Class string
	// SubmitButton is the content of the button; the default is its text.
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

// SignIn returns the component with the sign-in form.
func SignIn(p SignInProps) Component {
	type param struct{ Name, Value string }
	var params []param
	for _, name := range slices.Sorted(maps.Keys(p.AuthorizationParams)) {
		for _, value := range p.AuthorizationParams[name] {
			params = append(params, param{name, value})
		}
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

// SignOut returns the component with the sign-out form.
func SignOut(p SignOutProps) Component {
	return Component{signOutForm, struct {
		SignOutProps
		Action string
	}{p, action(p.SignOutPage, "signout")}}
}

// action returns the path of a page of the site.
func action(page, preset string) string {
	return "/" + strings.TrimLeft(cmp.Or(page, preset), "/\\")
}

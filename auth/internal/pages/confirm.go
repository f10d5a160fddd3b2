package pages

import "html/template"

// HeldAddress is the page for a person who has proven an address that another
// user has. It names the ways in which that user signs in.
type HeldAddress struct {
	Look *Look
	// Email is the address.
	Email string
	// Providers are the user's ways to sign in that lead to another site.
	Providers []Provider
	// Passkey says that the user has a passkey; SignInURL is the page that uses
	// it.
	Passkey   bool
	SignInURL string
	// Credentials are other ways on the page SignInURL. OtherWays says that there
	// may be ways without a name.
	Credentials []Credentials
	OtherWays   bool
	// Others are the names of the user's ways that the site no longer offers.
	Others []string
	// Unknown says that Providers lists all providers, because those of the
	// user are not known.
	Unknown bool
	// AfreshURL is the URL of the form that starts afresh.
	AfreshURL   string
	CSRFToken   string
	CallbackURL string
}

// Credentials is a form on the sign-in page. Name is empty if the
// configuration has none.
type Credentials struct {
	Name     string
	Password bool
}

// SignInWith is the text of the button that leads to a form.
func (p HeldAddress) SignInWith(c Credentials) string {
	t := &p.Look.T.HeldAddress
	switch {
	case !c.Password:
		return p.Look.SignInWith(Provider{Name: c.Name})
	case c.Name == "":
		return t.WithPassword
	}
	return say(t.WithPasswordOf, "provider", c.Name)
}

// ConfirmLink is the page that asks whether to use the link of a mail.
type ConfirmLink struct {
	Look *Look
	// Email is the address in the link. It comes from the query and may be
	// anything.
	Email string
	// SiteURL is the origin of the site.
	SiteURL string
	// Action is the URL that uses the link. A link can be used once.
	Action    string
	CSRFToken string
	// Fields are the hidden fields of the form.
	Fields []Posted
}

// Hop is the page that repeats a POST of another site from our own site, so
// that the browser sends all its cookies.
type Hop struct {
	Look   *Look
	Action string
	Fields []Posted
}

// Posted is a hidden field.
type Posted struct{ Name, Value string }

// Render renders the page.
func (p HeldAddress) Render() Rendered { return render(p.Look, "held-address.html", p) }

// Class returns the class with the colours of a provider's button.
func (p HeldAddress) Class(id string) string { return p.Look.classes[id] }

// Render renders the page.
func (p ConfirmLink) Render() Rendered { return render(p.Look, "confirm-link.html", p) }

var hopScript = newScript("document.forms[0].submit();\n")

// Render renders the page.
func (p Hop) Render() Rendered {
	page := render(p.Look, "hop.html", p)
	page.ContentSecurityPolicy += hopScript.policy
	return page
}

// Script returns the script that posts the form. Without scripts the page has a
// button.
func (Hop) Script() template.HTML { return hopScript.element }

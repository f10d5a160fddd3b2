package pages

import "html/template"

// HeldAddress is the page for somebody who has proven an address that another
// user holds: it names how that user signs in.
type HeldAddress struct {
	Look *Look
	// Email is the address.
	Email string
	// Providers are the ways in which the user signs in that lead to another site.
	Providers []Provider
	// Passkey says that the user has a passkey; SignInURL is where it is used.
	Passkey   bool
	SignInURL string
	// Others are the names of ways that are no longer offered.
	Others []string
	// Unknown says that Providers are all that there are, not just those of the
	// user.
	Unknown bool
	// AfreshURL is what starts afresh.
	AfreshURL   string
	CSRFToken   string
	CallbackURL string
}

// ConfirmLink is the page that asks whether to use the link of a mail.
type ConfirmLink struct {
	Look *Look
	// Email is the address in the link. It comes from the query and may be
	// anything.
	Email string
	// SiteURL is the origin of the site.
	SiteURL string
	// Action is what uses the link up.
	Action    string
	CSRFToken string
	// Fields are posted along.
	Fields []Posted
}

// Hop is the page that posts what another site posted to us once more, from our
// own site, so that the browser sends all its cookies.
type Hop struct {
	Look   *Look
	Action string
	Fields []Posted
}

// Posted is a hidden field.
type Posted struct{ Name, Value string }

// Render renders the page.
func (p HeldAddress) Render() Rendered { return render(p.Look, "held-address.html", p) }

// Class is the class that carries the colours of a provider's button.
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

// Script posts the form. Without it there is a button.
func (Hop) Script() template.HTML { return hopScript.element }

package pages

import (
	"html/template"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Password is a page about a password: it asks for an address, or for a password
// that was chosen, or before a password is removed. It works
// without its script.
type Password struct {
	Look *Look
	T    *texts.Texts
	Form texts.Form
	// Text is the text of the form with its values.
	Text string
	// Action is the URL that the form is posted to; empty means no form.
	Action    string
	CSRFToken string
	Fields    []Posted
	// Asks says that the address is asked for. Email is the address, which password
	// managers save with the password.
	Asks  bool
	Email string
	// Current and New say which passwords are asked for. Rule says how long a new one
	// must be, and Min how many code points that are.
	Current, New bool
	Rule         string
	Min          int
	// Error is what is wrong, with the input At: email, current or password.
	Error, At string
	Links     []Link
}

// Render renders the page.
func (p Password) Render() Rendered {
	page := render(p.Look, "password.html", p)
	page.ContentSecurityPolicy += p.script().policy
	return page
}

func (p Password) script() script {
	if p.Action == "" || !p.Current && !p.New {
		return script{}
	}
	return showScript
}

// Script returns the script of the page, if it has one.
func (p Password) Script() template.HTML { return p.script().element }

// Site names the site in a text.
func Site(origin string) string { return host(origin) }

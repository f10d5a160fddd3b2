package pages

import (
	"cmp"
	"html/template"
)

// Passkeys is the page on which users manage their passkeys.
type Passkeys struct {
	Look *Look
	List []Passkey
	// AuthURL is the URL of the routes without its final slash. Provider is the
	// ID of the provider for new passkeys.
	AuthURL, Provider string
	// CSRFToken is empty if the protection is off.
	CSRFToken string
	// HomeURL is the home page of the site.
	HomeURL string
	// Asks is the ID of a passkey that is removed if the person confirms it.
	Asks string
	// Notice and Error report the result of a change.
	Notice, Error string
	// Forget is the ID of a passkey that was just removed from the relying
	// party RPID. The script tells the browser.
	Forget, RPID string
}

// Passkey is one passkey. Created and LastUsed are dates, or empty.
type Passkey struct {
	ID, Name, Created, LastUsed string
	BackedUp, Syncable          bool
}

// Asked is the passkey of Asks, or nil.
func (p Passkeys) Asked() *Passkey {
	for i := range p.List {
		if p.Asks != "" && p.List[i].ID == p.Asks {
			return &p.List[i]
		}
	}
	return nil
}

// Called is the name of a passkey.
func (p Passkeys) Called(k Passkey) string { return cmp.Or(k.Name, p.Look.T.Passkeys.Unnamed) }

// Render renders the page.
func (p Passkeys) Render() Rendered {
	page := render(p.Look, "passkeys.html", p)
	page.ContentSecurityPolicy += passkeysScript.policy
	return page
}

// Script returns the script of the page.
func (Passkeys) Script() template.HTML { return passkeysScript.element }

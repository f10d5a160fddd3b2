package pages

import (
	"cmp"
	"html/template"
)

// Address is the form with the one field for an address. It serves every way to
// sign in that begins with an address: a password, a mail, a passkey. Its answer is
// the same whoever has the address.
type Address struct {
	Password *Provider
	Mails    []Provider
	Passkey  *Provider
}

// Address returns the form for an address, or nil if no provider needs one.
func (p SignIn) Address() *Address {
	var a Address
	for i := range p.Providers {
		switch shown := &p.Providers[i]; {
		case shown.Password:
			a.Password = shown
		case shown.Type == "email":
			a.Mails = append(a.Mails, *shown)
		case shown.Shared && a.Passkey == nil:
			a.Passkey = shown
		}
	}
	if a.Password == nil && a.Mails == nil && a.Passkey == nil {
		return nil
	}
	return &a
}

// Main is the provider of the first button, which also the key Enter presses.
func (a Address) Main() Provider {
	switch {
	case a.Password != nil:
		return *a.Password
	case len(a.Mails) > 0:
		return a.Mails[0]
	}
	return *a.Passkey
}

// NeedsScript says that the form does nothing without the script.
func (a Address) NeedsScript() bool { return a.Password == nil && len(a.Mails) == 0 }

// Further are the providers of mails that have another button than the first.
func (a Address) Further() []Provider {
	if a.Password == nil && len(a.Mails) > 0 {
		return a.Mails[1:]
	}
	return a.Mails
}

// Links lead to pages about the password.
func (a Address) Links() []Link {
	if a.Password == nil {
		return nil
	}
	return a.Password.Links
}

// Buttons are the providers whose button leads to another site.
func (p SignIn) Buttons() []Entry {
	var buttons []Entry
	for _, shown := range p.Providers {
		if external(shown.Type) {
			buttons = append(buttons, Entry{Provider: shown, Class: p.Look.classes[shown.ID], Mark: mark(shown)})
		}
	}
	return buttons
}

// Forms are the providers with a form of their own.
func (p SignIn) Forms() []Entry {
	var forms []Entry
	address := p.Address()
	for _, shown := range p.Providers {
		if external(shown.Type) || shown.Password || shown.Type == "email" || shown.Shared && shown.ID == address.Passkey.ID {
			continue
		}
		forms = append(forms, Entry{Provider: shown, Focus: address == nil && len(forms) == 0 && !p.AtTop()})
	}
	return forms
}

// Entry is a provider as the template shows it.
type Entry struct {
	Provider
	// Class sets the colours of the provider's button, Mark is a picture on it.
	Class string
	Mark  template.HTML
	// Focus says that the first input of the form gets the focus.
	Focus bool
}

// At returns the ID of the provider at whose form the error is shown, or "".
func (p SignIn) At() string {
	address := p.Address()
	switch p.Error {
	case "EmailSignin", "EmailSignInError":
		if address != nil && len(address.Mails) > 0 {
			return address.Main().ID
		}
	case "CredentialsSignin":
		first := ""
		for _, shown := range p.Providers {
			if shown.Type == "credentials" {
				if shown.ID == p.TypedInto {
					return shown.ID
				}
				if first == "" || shown.Password {
					first = shown.ID
				}
			}
		}
		return first
	}
	return ""
}

// AtTop says that there is a message that belongs to no form. It has the focus.
func (p SignIn) AtTop() bool { return p.Clash || p.Error != "" && p.At() == "" }

// Wrong says that the message is about the form of a provider.
func (p SignIn) Wrong(id string) bool { return !p.Clash && p.Error != "" && p.At() == id }

// TypedFor is what was typed before into the form of a provider.
func (p SignIn) TypedFor(id string) string {
	if p.TypedInto == id {
		return p.Typed
	}
	return ""
}

// TypedAddress is the first value of the address field.
func (p SignIn) TypedAddress() string {
	a := p.Address()
	if a.Password != nil && p.TypedFor(a.Password.ID) != "" {
		return p.Typed
	}
	for _, m := range a.Mails {
		if p.TypedFor(m.ID) != "" {
			return p.Typed
		}
	}
	return p.Email
}

// Names says that the field with an index names the account: a field that says so,
// or else the first that is not secret.
func (e Entry) Names(index int) bool {
	first := -1
	for i, f := range e.Fields {
		if f.Identifier {
			return i == index
		}
		if first < 0 && f.Type != "password" && f.Type != "hidden" && f.Type != "checkbox" && f.Type != "submit" {
			first = i
		}
	}
	return first == index
}

// Called is the name of a provider on a page.
func (l *Look) Called(p Provider) string {
	t := l.T
	switch {
	case p.Type == "webauthn":
		return cmp.Or(p.Name, t.Passkeys.Unnamed)
	case p.Type == "email":
		return cmp.Or(p.Name, t.Common.Address)
	case p.Password:
		return cmp.Or(p.Name, t.Password.Label)
	}
	return cmp.Or(p.Name, t.Common.Credentials)
}

// SignInWith is the text of the button of a provider.
func (l *Look) SignInWith(p Provider) string {
	if p.Type == "webauthn" && p.Name == "" {
		return l.T.SignIn.Passkey
	}
	return say(l.T.Common.SignInWith, "provider", l.Called(p))
}

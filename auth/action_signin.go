package auth

import (
	"cmp"
	"context"
	"html/template"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// signInPage serves GET signin. It never starts a sign-in. If a form was refused
// because the browser did not show that it is of this site, the page says who is
// signed in. If the browser has sessions of two people, the page ends them and says
// so.
func (e *engine) signInPage(ctx context.Context, r *request) (*Result, error) {
	if r.provider != nil {
		return nil, &Error{Type: ErrUnknownAction, Message: "a sign-in must be started by POST", client: true}
	}
	clash := !r.head && e.sessionCookies(ctx, r).clash
	var ended []*http.Cookie
	if clash {
		ended = e.endCookies(ctx, r)
	}
	if custom := e.config.Pages.SignIn; custom != "" {
		query := "callbackUrl=" + wire.QueryEscape(r.callbackURL)
		if first := r.query.Get("error"); first != "" {
			query += "&error=" + wire.QueryEscape(first)
		}
		result := redirectTo(wire.WithQuery(custom, query))
		result.Cookies = ended
		return result, nil
	}
	page := signInView{e, r}.page()
	page.Clash, page.CSRFToken, page.CallbackURL = clash, r.csrf.Token, r.callbackURL
	if page.Error == string(ErrMissingCSRF) {
		_, shown := e.person(ctx, r)
		page.Person = shown.title()
	}
	typed, taken := e.begun(r).TakeTyped()
	if taken != nil {
		page.Typed, page.TypedInto, ended = typed.Name, typed.Provider, append(ended, taken)
	}
	if page.Person != "" || clash || taken != nil {
		result := privatePage(page.Render(), http.StatusOK)
		result.Cookies = ended
		return result, nil
	}
	return r.htmlWithToken(page.Render()), nil
}

// signInView is a sign-in page for a request.
type signInView struct {
	e *engine
	r *request
}

// page is what the page shows of the configuration, and of the query.
func (v signInView) page() *pages.SignIn {
	e, r := v.e, v.r
	page := &pages.SignIn{Look: e.look.of(r.http), Error: r.parameter("error"), Email: r.parameter("email")}
	for _, p := range e.config.Providers {
		if shown, ok := e.pageProvider(r, p); ok {
			page.Providers = append(page.Providers, shown)
			if w, ok := p.(*WebAuthn); ok && !w.DisableScript {
				page.PasskeyScript = true
			}
		}
	}
	return page
}

// SignInData is what the built-in sign-in page shows, for a page of your own at
// Config.Pages.SignIn.
type SignInData struct {
	// Site is the name of the site, and Texts are the sentences in the language of
	// the reader. Direction is that language's: ltr or rtl.
	Site      string
	Texts     texts.Texts
	Direction string
	// CSRFToken and CallbackURL are the values of the fields csrfToken and
	// callbackUrl, which each form posts.
	CSRFToken, CallbackURL string
	// Error is the parameter error of the request, and Message says to the person
	// what it means; both are empty if nothing failed. At is the ID of the provider
	// whose form the message is about, or empty.
	Error   ErrorType
	Message string
	At      string
	// Typed is the address or the name that the person typed before a mistake.
	Typed string
	// Buttons lead to another site. ByAddress share one field named email: a
	// password, mails, a passkey. Forms have fields of their own.
	Buttons, ByAddress, Forms []SignInWay

	redact.Shown // prints no token
}

// SignInWay is a provider on a sign-in page.
type SignInWay struct {
	ID, Name string
	Type     ProviderType
	// URL is where its form is posted.
	URL string
	// Mark is a small picture, drawn as SVG, and Logo the URL of one that the
	// configuration has. Both may be empty.
	Mark template.HTML
	Logo string
	// Fields are the inputs of its form. A provider of mails and a button have none.
	Fields []Field
	// Links lead to pages about its password.
	Links []SignInLink
}

// SignInLink is a link with its text.
type SignInLink struct{ URL, Text string }

// SignInData returns what the built-in sign-in page shows, for the request of a page
// of your own. It sets the cookie of the CSRF token as CSRFToken does, and deletes
// the one that keeps what the person typed.
func (h *Handler) SignInData(w http.ResponseWriter, hr *http.Request) (*SignInData, error) {
	token, err := h.CSRFToken(w, hr)
	if err != nil {
		return nil, err
	}
	r := h.engine.newRequest(hr, ActionSignIn)
	r.query = hr.URL.Query()
	page := signInView{h.engine, r}.page()
	typed, taken := h.engine.begun(r).TakeTyped()
	if taken != nil && !r.head {
		(&Result{Cookies: []*http.Cookie{taken}}).SendCookies(w)
	}
	page.Typed, page.TypedInto = typed.Name, typed.Provider
	d := &SignInData{
		Site: page.Look.Site, Texts: *page.Look.T, Direction: page.Look.Direction, CSRFToken: token, CallbackURL: r.parameter("callbackUrl"),
		Error: ErrorType(page.Error), Message: page.Message(), At: page.At(), Typed: cmp.Or(typed.Name, page.Email),
	}
	for _, b := range page.Buttons() {
		d.Buttons = append(d.Buttons, wayOf(page.Look, b.Provider, b.Mark))
	}
	if a := page.Address(); a != nil {
		for _, p := range []*pages.Provider{a.Password, a.Passkey} {
			if p != nil {
				d.ByAddress = append(d.ByAddress, wayOf(page.Look, *p, ""))
			}
		}
		for _, p := range a.Mails {
			d.ByAddress = append(d.ByAddress, wayOf(page.Look, p, ""))
		}
	}
	for _, f := range page.Forms() {
		d.Forms = append(d.Forms, wayOf(page.Look, f.Provider, ""))
	}
	return d, nil
}

func wayOf(l *pages.Look, p pages.Provider, mark template.HTML) SignInWay {
	way := SignInWay{ID: p.ID, Name: l.Called(p), Type: ProviderType(p.Type), URL: p.Action, Mark: mark, Logo: p.Logo}
	for _, f := range p.Fields {
		way.Fields = append(way.Fields, Field(f))
	}
	for _, l := range p.Links {
		way.Links = append(way.Links, SignInLink(l))
	}
	return way
}

// pageProvider returns a provider as the sign-in page shows it, and whether the
// page shows it.
func (e *engine) pageProvider(r *request, p Provider) (pages.Provider, bool) {
	shown := pages.Provider{ID: p.id(), Type: string(p.kind()), Action: e.providerURL(r, ActionSignIn, p.id())}
	var fields []Field
	t := e.look.of(r.http).T
	switch p := p.(type) {
	case *Email:
		shown.Name = p.Name
		return shown, true
	case *OAuth:
		shown.Name, shown.Logo = p.displayName(), p.Style.Logo
		return shown, true
	case *Credentials:
		fields, shown.Name = p.Fields, p.Name
	case *Password:
		fields, shown.Links, shown.Password = p.fields(t), passwordFlow{e, r, p}.links(), true
	case *WebAuthn:
		fields, shown.Name, shown.Conditional = p.formFields(t), p.Name, p.EnableConditionalUI
		shown.Shared = p.FormFields == nil && !p.DisableScript
	}
	shown.Action = e.providerURL(r, ActionCallback, p.id())
	for _, f := range fields {
		f.Label, f.Type = cmp.Or(f.Label, f.Name), cmp.Or(f.Type, "text")
		shown.Fields = append(shown.Fields, pages.Field(f))
	}
	return shown, len(fields) > 0 || p.kind() == TypeCredentials
}

// signIn serves POST signin: it starts a sign-in with an OAuth, OpenID Connect
// or e-mail provider. For other providers it redirects to the sign-in page.
func (e *engine) signIn(ctx context.Context, r *request) (*Result, error) {
	if err := r.needCSRF(); err != nil {
		return nil, err
	}
	switch p := r.provider.(type) {
	case *OAuth:
		return e.signInOAuth(ctx, r, p)
	case *Email:
		return e.signInEmail(ctx, r, p)
	}
	return redirectTo(e.url(r, ActionSignIn)), nil
}

package auth

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// The pages of password.Provider. sign-up and forgot ask for an address and mail a
// link to it, the same whether anybody has the address or not. choose is where the
// link leads: the password is chosen there, in the browser that has the link, and
// the POST uses up the link. change and remove are for the user who is signed in.
const (
	stepSignUp = "sign-up"
	stepForgot = "forgot"
	stepChoose = "choose"
	stepChange = "change"
	stepRemove = "remove"
)

// wellKnownPassword is where password managers ask for the page that changes a
// password (W3C, A Well-Known URL for Changing Passwords).
const wellKnownPassword = "/.well-known/change-password"

// page serves GET password.
func (f passwordFlow) page(ctx context.Context) (*Result, error) {
	switch f.r.step {
	case stepSignUp, stepForgot:
		return f.show(f.askPage()), nil
	case stepChoose:
		return f.show(f.choosePage()), nil
	case stepChange, stepRemove:
		c, err := f.changer(ctx)
		if err != nil || c.user == nil {
			return f.toSignIn(), err
		}
		return f.show(c.page(f)), nil
	}
	return nil, &Error{Type: ErrUnknownAction, Message: "no page about passwords has this path", client: true}
}

// post serves POST password.
func (f passwordFlow) post(ctx context.Context) (*Result, error) {
	if err := f.r.needCSRF(); err != nil {
		return nil, err
	}
	switch f.r.step {
	case stepSignUp, stepForgot:
		return f.ask(ctx)
	case stepChoose:
		return f.choose(ctx)
	case stepChange, stepRemove:
		c, err := f.changer(ctx)
		if err != nil || c.user == nil {
			return f.toSignIn(), err
		}
		return c.serve(ctx, f)
	}
	return nil, &Error{Type: ErrUnknownAction, Message: "no form about passwords has this path", client: true}
}

// links lead from the sign-in page to the others.
func (f passwordFlow) links() []pages.Link {
	t := &f.texts().Password
	return []pages.Link{{URL: f.url(stepForgot), Text: t.Forgotten}, {URL: f.url(stepSignUp), Text: t.CreateAccount}}
}

// texts are the sentences of pages and mails.
func (f passwordFlow) texts() *texts.Texts { return f.e.look.of(f.r.http).T }

func (f passwordFlow) url(step string) string { return f.e.url(f.r, ActionPassword) + "/" + step }

// form is a page with a form.
func (f passwordFlow) form(t texts.Form) pages.Password {
	return pages.Password{
		Look: f.e.look.of(f.r.http), T: f.texts(), Form: t, Action: f.url(f.r.step), CSRFToken: f.r.csrf.Token,
		Fields: []pages.Posted{{Name: "callbackUrl", Value: f.r.callbackURL}},
		Text:   texts.Fill(t.Text, map[string]string{"site": f.e.look.of(f.r.http).Site}),
	}
}

// withNew is a page that asks for a new password.
func (f passwordFlow) withNew(p pages.Password) pages.Password {
	p.New, p.Min = true, f.p.settings.Hasher.Min()
	p.Rule = p.T.Number(p.T.Password.Rule, p.Min)
	return p
}

func (f passwordFlow) show(p pages.Password) *Result { return privatePage(p.Render(), http.StatusOK) }

// again shows a page once more, with what is wrong with an input.
func (f passwordFlow) again(status int, p pages.Password, at, message string) *Result {
	p.At, p.Error = at, message
	return privatePage(p.Render(), status)
}

// toSignIn sends a person who is not signed in to the sign-in page, and from there
// back.
func (f passwordFlow) toSignIn() *Result {
	return redirectTo(wire.WithQuery(f.e.signInURL(f.r), "callbackUrl="+wire.QueryEscape(f.url(f.r.step))))
}

func (f passwordFlow) askPage() pages.Password {
	t := &f.texts().Password
	form := t.SignUp
	if f.r.step == stepForgot {
		form = t.Reset
	}
	page := f.form(form)
	page.Asks = true
	page.Links = []pages.Link{{URL: f.e.signInURL(f.r), Text: page.T.Common.SignIn}}
	return page
}

// ask mails a link. Whoever has the address or not, the answer is the same, as are
// the number of mails and the work.
func (f passwordFlow) ask(ctx context.Context) (*Result, error) {
	page, typed := f.askPage(), f.r.form.Get("email")
	page.Email = typed
	address, err := NormalizeEmail(typed)
	if err != nil {
		return f.again(http.StatusBadRequest, page, "email", page.T.SignIn.Errors.AddressRefused), nil //nolint:nilerr // the page says it
	}
	if err := f.limit(ctx, TypeEmail, address); err != nil {
		return nil, err
	}
	user, err := f.find(ctx, address, typed)
	if err != nil {
		return nil, err
	}
	if err := f.mailLink(ctx, user, address); err != nil {
		return nil, err
	}
	if f.r.wantsJSON() {
		return redirectTo(f.e.url(f.r, ActionVerifyRequest) + "?provider=" + f.p.id() + "&type=email"), nil
	}
	page.Action, page.Links, page.Form.Title = "", nil, page.T.Common.CheckMail
	page.Text = texts.Fill(page.T.Password.Sent, map[string]string{"address": address})
	return f.show(page), nil
}

// mailLink mails the link with which a password is chosen, unless enough of them are
// valid.
func (f passwordFlow) mailLink(ctx context.Context, user *adapter.User, address string) error {
	kind, purpose, to := passwords.SignUp, passwords.SignUp, address
	if user != nil {
		kind, purpose = passwords.Reset, passwords.Reset
		if f.r.step == stepSignUp {
			kind = passwords.SignUpKnown
		}
		to = cmp.Or(user.Email, address)
	}
	token, err := wire.RandomHex(f.e.config.Random)
	if err != nil {
		return err
	}
	token = token[:secureBits/4]
	now := f.e.config.Clock()
	expires, ok, err := passwords.Pending(ctx, f.e.store.passwords, f.e.csrfKeys[0], purpose, address, token, now)
	if err != nil || !ok {
		return err
	}
	link := f.url(stepChoose) + "?for=" + string(purpose) + "&token=" + token + "&email=" + wire.QueryEscape(address) +
		"&callbackUrl=" + wire.QueryEscape(f.r.callbackURL)
	m := passwords.Write(f.texts(), kind, to, f.r.origin, link, expires.Sub(now).Truncate(time.Minute), f.colors())
	m.Expires = expires
	return f.send(ctx, m)
}

func (f passwordFlow) colors() passwords.Colors {
	return passwords.Colors{Brand: f.e.config.Theme.BrandColor, Text: f.e.config.Theme.ButtonText}
}

// send sends a mail. A refused recipient is logged, and the answer says nothing of it.
func (f passwordFlow) send(ctx context.Context, m passwords.Mail) error {
	from, server := f.e.config.mailer(f.p)
	_, err := guard(ctx, func(ctx context.Context, m passwords.Mail) (struct{}, error) {
		if f.p.settings.Send != nil {
			return struct{}{}, f.p.settings.Send(ctx, m)
		}
		return struct{}{}, sendBySMTP(ctx, VerificationRequest{Identifier: m.To, Provider: Email{
			From: from, Server: server,
			Message: func(VerificationRequest) (Message, error) {
				return Message{Subject: m.Subject, Text: m.Text, HTML: m.HTML}, nil
			},
		}})
	}, m)
	if err == nil {
		return nil
	}
	if _, ours := typeOf(err); !ours {
		err = &Error{Type: ErrEmailSignIn, Message: "the mail about a password was not sent", Cause: err}
	}
	if errors.Is(err, ErrRecipientRefused) {
		f.e.logError(ctx, err)
		return nil
	}
	return err
}

// tell mails what was done. It is done: a failure is logged.
func (f passwordFlow) tell(ctx context.Context, kind passwords.Kind, user *adapter.User) {
	if user.Email == "" {
		return
	}
	if err := f.send(ctx, passwords.Write(f.texts(), kind, user.Email, f.r.origin, "", 0, f.colors())); err != nil {
		f.e.logError(ctx, err)
	}
}

// proof is what a link brings. To show the page uses up nothing.
type proof struct {
	purpose        passwords.Kind
	token, address string
}

func (f passwordFlow) proof() (proof, bool) {
	token, address := f.r.linkFields(&Email{})
	p := proof{passwords.Kind(f.r.submitted("for")), token, spaceAsPlus(address)}
	known := slices.Contains(passwords.Purposes, p.purpose)
	return p, known && p.token != "" && len(p.token) < maxTypedCode && p.address != "" && len(p.address) <= maxEmail
}

func (f passwordFlow) choosePage() pages.Password {
	page := f.withNew(f.form(f.texts().Password.Choose))
	p, ok := f.proof()
	if !ok {
		return f.lostLink(page)
	}
	page.Email = p.address
	page.Text = texts.Fill(page.Form.Text, map[string]string{"site": f.e.look.of(f.r.http).Site, "address": p.address})
	page.Fields = append(page.Fields, pages.Posted{Name: "for", Value: string(p.purpose)},
		pages.Posted{Name: "token", Value: p.token}, pages.Posted{Name: "email", Value: p.address})
	return page
}

// lostLink is the page about a link that is not valid.
func (f passwordFlow) lostLink(page pages.Password) pages.Password {
	page.Action, page.Text, page.Error = "", "", page.T.Password.LinkInvalid
	page.Links = []pages.Link{{URL: f.url(stepForgot), Text: page.T.Password.Forgotten}}
	return page
}

// choose uses up a link, stores the password, and signs in. A password that is
// refused uses up nothing.
func (f passwordFlow) choose(ctx context.Context) (*Result, error) {
	page := f.choosePage()
	p, ok := f.proof()
	if !ok {
		return f.again(http.StatusForbidden, page, "", page.Error), nil
	}
	password := f.r.form.Get("password")
	if message := f.refuse(ctx, password, p.address); message != "" {
		return f.again(http.StatusBadRequest, page, "password", message), nil
	}
	if err := f.limit(ctx, TypeCredentials, p.address); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	e := f.e
	used, err := passwords.Use(ctx, e.store.passwords, e.csrfKeys, p.purpose, p.address, p.token, e.config.Clock())
	if err != nil {
		return nil, err
	}
	if used == nil {
		return f.again(http.StatusForbidden, f.lostLink(page), "", page.T.Password.LinkInvalid), nil
	}
	chosen, err := f.newPassword(ctx, "", password)
	if err != nil { // the link counts still
		return nil, errors.Join(err, giveLinkBack(ctx, e.store.passwords, *used))
	}
	return f.signInProven(ctx, p.address, chosen)
}

// signInProven signs in the person who has proven the address, with a password from
// now on.
func (f passwordFlow) signInProven(ctx context.Context, address string, chosen *adapter.Password) (*Result, error) {
	e := f.e
	user, owner, err := e.userOfEmail(ctx, address)
	if err != nil {
		return nil, err
	}
	account := &Account{Provider: f.p.id(), Type: TypeEmail, ProviderAccountID: user.Email, UserID: owner}
	id := identity{user: user, account: account, proof: EmailProven, password: chosen}
	result, err := e.complete(ctx, f.r, id, owner, SignInParams{User: user, Account: account})
	if err != nil {
		return nil, err
	}
	if err := passwords.End(ctx, e.store.passwords, e.csrfKeys, address); err != nil {
		e.logError(ctx, err) // they expire in any case
	}
	if has(ctx, e.store.passwords, owner, chosen) { // otherwise the person was asked what to do
		f.tell(ctx, passwords.Changed, &adapter.User{Email: user.Email})
	}
	return result, nil
}

// giveLinkBack makes a link count again.
func giveLinkBack(ctx context.Context, s *keptPasswords, used adapter.VerificationToken) error {
	return s.CreateToken(ctx, used)
}

// has reports whether the user with the ID, which is empty for a new one, has the
// password.
func has(ctx context.Context, s *keptPasswords, userID string, p *adapter.Password) bool {
	if userID == "" {
		return false
	}
	now, err := s.Password(ctx, userID)
	return err == nil && now != nil && now.Hash == p.Hash
}

// refuse says why a new password is not accepted, or "".
func (f passwordFlow) refuse(ctx context.Context, password string, words ...string) string {
	t := f.texts()
	h := f.p.settings.Hasher
	switch h.Refuse(ctx, password, append(words, pages.Site(f.r.origin))...) {
	case "":
		return ""
	case "too-short":
		return t.Number(t.Password.TooShort, h.Min())
	case "too-common":
		return t.Password.Common
	case "too-obvious":
		return t.Password.Personal
	case "breached":
		return t.Password.Breached
	case "not-text":
		return t.Password.NotText
	}
	return t.Number(t.Password.TooLong, passwords.MaxCharacters)
}

// changer is the user who is signed in, with what a change needs.
type changer struct {
	loggedIn
	user   *adapter.User
	stored *adapter.Password
	// fresh says that the sign-in is a few minutes old at most, so that the old
	// password is not asked for.
	fresh bool
}

// changer finds the user who is signed in; user is nil if nobody is.
func (f passwordFlow) changer(ctx context.Context) (changer, error) {
	return f.changerIn(ctx, f.e.browser(ctx, f.r))
}

func (f passwordFlow) changerIn(ctx context.Context, b browser) (changer, error) {
	e := f.e
	current, err := e.currentUser(ctx, b)
	c := changer{loggedIn: current, user: current.record}
	if err != nil || c.user == nil {
		return changer{}, err
	}
	if c.stored, err = e.store.passwords.Password(ctx, c.user.ID); err != nil {
		return changer{}, err
	}
	token := current.browser.sessionToken
	began, known := beganAt(token)
	if current.session == nil {
		opened, err := e.tokens.open(ctx, token, current.browser.salt)
		if err != nil {
			return changer{}, err
		}
		began, known = opened.began, true
	}
	c.fresh = known && e.config.Clock().Sub(began) < fresh
	return c, nil
}

// asks reports whether the old password must be shown.
func (c changer) asks() bool { return c.stored != nil && !c.fresh }

func (c changer) page(f passwordFlow) pages.Password {
	form := f.texts().Password.Change
	if f.r.step == stepRemove {
		form = f.texts().Password.Remove
	}
	page := f.form(form)
	switch {
	case c.stored == nil && (f.r.step == stepRemove || !c.fresh):
		page.Action, page.Text, page.Error = "", "", page.T.Password.SignInAgain
		if f.r.step == stepRemove {
			page.Error = page.T.Password.None
		}
		page.Links = []pages.Link{{URL: f.toSignIn().Location, Text: page.T.Common.SignIn}}
		return page
	case f.r.step == stepChange:
		page = f.withNew(page)
	}
	page.Email, page.Current = c.user.Email, c.asks()
	if page.Current {
		page.Links = []pages.Link{{URL: f.url(stepForgot), Text: page.T.Password.Forgotten}}
	}
	return page
}

// serve makes the change that a POST asks for.
func (c changer) serve(ctx context.Context, f passwordFlow) (*Result, error) {
	page := c.page(f)
	if page.Action == "" {
		return f.again(http.StatusForbidden, page, "", page.Error), nil
	}
	address := cmp.Or(c.user.Email, c.user.ID)
	if err := f.limit(ctx, TypeCredentials, address); err != nil {
		return nil, err
	}
	old, password := f.r.form.Get("current"), f.r.form.Get("password")
	if f.r.step == stepChange {
		if message := f.refuse(ctx, password, c.user.Email, userFromRecord(c.user).Name); message != "" {
			return f.again(http.StatusBadRequest, page, "password", message), nil
		}
	}
	if c.asks() {
		if old == "" || len(old) > passwords.MaxBytes {
			return f.again(http.StatusForbidden, page, "current", page.T.Password.CurrentWrong), nil
		}
		shown, err := f.try(ctx, c.user.ID, address, old)
		if err != nil {
			return nil, err
		}
		if shown == nil {
			return f.again(http.StatusForbidden, page, "current", page.T.Password.CurrentWrong), nil
		}
		if c.stored = shown; f.r.step == stepChange && old == password {
			return f.again(http.StatusBadRequest, page, "password", page.T.Password.Equal), nil
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	if f.r.step == stepRemove {
		return c.remove(ctx, f, page)
	}
	return c.change(ctx, f, page, password)
}

// change stores another password. The other sessions end, and this one gets a new
// key.
func (c changer) change(ctx context.Context, f passwordFlow, page pages.Password, password string) (*Result, error) {
	chosen, err := f.newPassword(ctx, c.user.ID, password)
	if err != nil {
		return nil, err
	}
	switch ok, err := replacePassword(ctx, f.e.store.passwords, c.stored, *chosen); {
	case err != nil:
		return nil, err
	case !ok:
		return f.again(http.StatusConflict, page, "current", page.T.Password.CurrentWrong), nil
	}
	return c.done(ctx, f, passwords.Changed, chosen)
}

// replacePassword stores a password in place of one that was read, or of none. It
// reports false if that was changed meanwhile.
func replacePassword(ctx context.Context, s *keptPasswords, read *adapter.Password, chosen adapter.Password) (bool, error) {
	if read == nil {
		return true, s.setPassword(ctx, chosen)
	}
	return passwords.Replace(ctx, s, *read, chosen)
}

// remove removes the password, unless it is the only way to sign in.
func (c changer) remove(ctx context.Context, f passwordFlow, page pages.Password) (*Result, error) {
	byMail := f.e.emailProviders > 0 && c.user.Email != "" && c.user.EmailVerified != nil
	switch err := dropPassword(ctx, f.e.store.passwords, c.user.ID, !byMail); {
	case errors.Is(err, adapter.ErrLastCredential):
		return f.again(http.StatusConflict, page, "", page.T.Password.OnlyWay), nil
	case err != nil:
		return nil, err
	}
	return c.done(ctx, f, passwords.Removed, nil)
}

func dropPassword(ctx context.Context, s *keptPasswords, userID string, keepOne bool) error {
	return s.deletePassword(ctx, userID, keepOne)
}

// done ends the other sessions, tells the user, and gives this browser a new session.
func (c changer) done(ctx context.Context, f passwordFlow, kind passwords.Kind, chosen *adapter.Password) (*Result, error) {
	if err := endSessionsOf(ctx, f.e.store.passwords, c.user.ID); err != nil {
		return nil, err
	}
	f.tell(ctx, kind, c.user)
	account := &Account{Provider: f.p.id(), Type: TypeCredentials, ProviderAccountID: c.user.ID, UserID: c.user.ID}
	return f.begin(ctx, c.user, account, chosen, c.brief)
}

func endSessionsOf(ctx context.Context, s *keptPasswords, userID string) error {
	return s.of.endSessions(ctx, userID)
}

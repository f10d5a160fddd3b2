package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"html/template"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// EmailMessage writes the default mail: it names the site and has the link. It
// does not contain the address that it is sent to, so that nobody can use the
// form to send their own text to strangers.
func EmailMessage(v VerificationRequest) (Message, error) {
	u, err := url.Parse(v.URL)
	if err != nil {
		return Message{}, &Error{Type: ErrEmailSignIn, Message: "the link is not a URL"}
	}
	t, name := v.texts(), cmp.Or(v.Theme.Name, u.Host)
	view := mailView{
		T: t, Direction: "ltr", Site: name, URL: v.URL, Code: codeIn(v, u.Hostname()),
		BrandColor: cmp.Or(v.Theme.BrandColor, "#346df1"), ButtonText: cmp.Or(v.Theme.ButtonText, "#fff"),
	}
	if t.RightToLeft() {
		view.Direction = "rtl"
	}
	if name == u.Host {
		// The zero-width space keeps mail programs from making a link of the name.
		view.Site = strings.ReplaceAll(name, ".", "\u200b.")
	}
	var html strings.Builder
	if err := mailTemplate.Execute(&html, view); err != nil {
		return Message{}, err
	}
	site := map[string]string{"site": name}
	text := texts.Fill(t.Mail.SignIn.Text, site) + "\n" + v.URL + "\n\n"
	if view.Code != nil {
		text += view.Code.text()
	}
	return Message{Subject: texts.Fill(t.Mail.SignIn.Subject, site), Text: text, HTML: html.String()}, nil
}

// texts are the texts of the mail.
func (v *VerificationRequest) texts() *texts.Texts {
	if v.Texts != nil {
		return v.Texts
	}
	return new(texts.English())
}

// mailView is what the template of a mail shows.
type mailView struct {
	T                                 *texts.Texts
	Direction                         string
	Site, URL, BrandColor, ButtonText string
	Code                              *mailedCode
}

// Heading says what the mail is for.
func (v mailView) Heading() template.HTML { return pages.Stress(v.T.Mail.SignIn.Text, "site", v.Site) }

var mailTemplate = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="{{.T.Language}}" dir="{{.Direction}}"><body style="margin:0;padding:24px;background:#f9f9f9;font-family:Helvetica,Arial,sans-serif;color:#444">
<table role="presentation" width="100%" style="max-width:600px;margin:auto;background:#fff;border-radius:10px">
<tr><td align="center" style="padding:24px 16px 0;font-size:22px">{{.Heading}}</td></tr>
<tr><td align="center" style="padding:24px 16px"><a href="{{.URL}}" style="display:inline-block;padding:12px 24px;border-radius:5px;font-size:18px;font-weight:bold;text-decoration:none;background:{{.BrandColor}};color:{{.ButtonText}}">{{.T.Mail.SignIn.Button}}</a></td></tr>
{{with .Code}}<tr><td align="center" style="padding:0 16px 24px;font-size:16px;line-height:22px">{{.Use}}<br><strong style="font-size:28px;line-height:48px;letter-spacing:4px">{{.Code}}</strong><br>{{.Valid}} {{.Asked}}<br>{{.Never}}</td></tr>
{{end}}<tr><td align="center" style="padding:0 16px 24px;font-size:16px;line-height:22px">{{.T.Mail.SignIn.Ignore}}</td></tr>
{{with .Code}}<tr><td align="center" style="padding:0 16px 24px;font-size:13px" dir="ltr">{{.LastLine}}</td></tr>
{{end}}</table></body></html>
`))

// smtpTimeout bounds the whole conversation with a mail server.
const smtpTimeout = 30 * time.Second

// sendBySMTP sends the mail through Email.Server.
func sendBySMTP(ctx context.Context, v VerificationRequest) error {
	ctx, cancel := context.WithTimeout(ctx, smtpTimeout)
	defer cancel()
	client, err := smtpClient(ctx, v.Provider.Server)
	if err != nil {
		return err
	}
	m, err := mailOf(v)
	if err != nil {
		return err
	}
	server, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return fmt.Errorf("the mail server can't be used: %w", err)
	}
	defer func() { _ = client.CloseWithSMTPClient(server) }()
	if takes, _ := server.Extension("SMTPUTF8"); !takes && !isASCII(v.Identifier[:strings.LastIndexByte(v.Identifier, '@')]) {
		return &Error{Type: ErrEmailSignIn, Message: "the part of the address before the @ is not ASCII, and the mail server has no SMTPUTF8 (RFC 6531)", client: true}
	}
	err = client.SendWithSMTPClient(server, m)
	if refused, ok := errors.AsType[*mail.SendError](err); ok && refusesRecipient(refused) {
		return &Error{Type: ErrEmailSignIn, Cause: &Error{Type: ErrRecipientRefused, Cause: err, client: true}}
	}
	return err
}

// refusesRecipient reports whether the mail server has accepted the sender and
// then refused the recipient, or the mail for the recipient. The reply 421 says
// that the server is closing (RFC 5321 section 3.8).
func refusesRecipient(e *mail.SendError) bool {
	switch e.Reason {
	case mail.ErrSMTPRcptTo, mail.ErrSMTPData, mail.ErrSMTPDataClose:
		return e.ErrorCode() >= 400 && e.ErrorCode() != 421
	}
	return false
}

// mailOf writes the mail. Domains are in ASCII, because not every mail server
// on the way has SMTPUTF8 (RFC 6531 section 3.2).
func mailOf(v VerificationRequest) (*mail.Msg, error) {
	write := v.Provider.Message
	if write == nil {
		write = EmailMessage
	}
	content, err := write(v)
	if err != nil {
		return nil, err
	}
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	from, err := netmail.ParseAddress(v.Provider.From)
	if err != nil {
		return nil, errors.New("Email.From is not an e-mail address")
	}
	m.FromMailAddress(&netmail.Address{Name: from.Name, Address: asciiDomain(from.Address)})
	if err := m.To(asciiDomain(v.Identifier)); err != nil {
		return nil, errBadEmail
	}
	_, domain, _ := cutAddress(asciiDomain(from.Address))
	m.SetMessageIDWithValue(rand.Text() + "@" + domain)
	m.Subject(content.Subject)
	m.SetBodyString(mail.TypeTextPlain, content.Text)
	if content.HTML != "" {
		m.AddAlternativeString(mail.TypeTextHTML, content.HTML)
	}
	return m, nil
}

// smtpClient makes a client for the mail server at a URL. The client works
// until the context ends. No error quotes the URL, because it holds a password.
func smtpClient(ctx context.Context, server string) (*mail.Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("Email.Server is not a URL of the form smtp://user:password@host:port")
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	options := []mail.Option{mail.WithTimeout(smtpTimeout)}
	port, login := 587, mail.SMTPAuthAutoDiscover
	switch u.Scheme {
	case "smtp":
		policy := mail.TLSMandatory
		if wire.IsLoopback("http://" + u.Host) { // nobody listens in between
			policy, login = mail.TLSOpportunistic, mail.SMTPAuthPlainNoEnc
		}
		options = append(options, mail.WithTLSPolicy(policy))
	case "smtps":
		port, dialer = 465, &tls.Dialer{Config: &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}}
		options = append(options, mail.WithSSL())
	default:
		return nil, fmt.Errorf("Email.Server has scheme %q, want smtp or smtps", u.Scheme)
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("the port of Email.Server is not a number")
		}
	}
	// The mail library gives each step a new deadline. The connection is closed
	// when the context ends, so that the conversation ends, too.
	options = append(options, mail.WithPort(port), mail.WithDialContextFunc(func(dial context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(dial, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = conn.Close() })
		}
		return conn, err
	}))
	if password, ok := u.User.Password(); ok {
		options = append(options, mail.WithSMTPAuth(login), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	return mail.NewClient(u.Hostname(), options...)
}

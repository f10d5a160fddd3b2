package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"
)

// smtpTimeout bounds the whole conversation with a mail server.
const smtpTimeout = 30 * time.Second

// sendBySMTP sends the mail through Email.Server.
func sendBySMTP(ctx context.Context, v VerificationRequest) error {
	client, err := smtpClient(v.Provider.Server)
	if err != nil {
		return err
	}
	write := v.Provider.Message
	if write == nil {
		write = EmailMessage
	}
	content, err := write(v)
	if err != nil {
		return err
	}
	m := mail.NewMsg()
	if err := m.From(v.Provider.From); err != nil {
		return errors.New("Email.From is no address")
	}
	if err := m.To(v.Identifier); err != nil {
		return errBadEmail
	}
	m.Subject(content.Subject)
	m.SetBodyString(mail.TypeTextPlain, content.Text)
	if content.HTML != "" {
		m.AddAlternativeString(mail.TypeTextHTML, content.HTML)
	}
	ctx, cancel := context.WithTimeout(ctx, smtpTimeout)
	defer cancel()
	return client.DialAndSendWithContext(ctx, m)
}

// smtpClient reads the URL of a mail server. No error quotes it, since it holds
// a password.
func smtpClient(server string) (*mail.Client, error) {
	u, err := url.Parse(server)
	if err != nil || u.Hostname() == "" {
		return nil, errors.New("Email.Server is no URL of the form smtp://user:password@host:port")
	}
	options := []mail.Option{mail.WithTimeout(smtpTimeout)}
	port, login := 587, mail.SMTPAuthAutoDiscover
	switch u.Scheme {
	case "smtp":
		policy := mail.TLSMandatory
		if isLoopback("http://" + u.Host) { // nobody listens in between
			policy, login = mail.TLSOpportunistic, mail.SMTPAuthPlainNoEnc
		}
		options = append(options, mail.WithTLSPolicy(policy))
	case "smtps":
		port = 465
		options = append(options, mail.WithSSL())
	default:
		return nil, fmt.Errorf("Email.Server has scheme %q, want smtp or smtps", u.Scheme)
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, errors.New("Email.Server has a bad port")
		}
	}
	options = append(options, mail.WithPort(port))
	if password, ok := u.User.Password(); ok {
		options = append(options, mail.WithSMTPAuth(login), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	return mail.NewClient(u.Hostname(), options...)
}

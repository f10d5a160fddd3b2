package auth_test

import (
	"cmp"
	"crypto/tls"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/http/httptest"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
)

// mailServer is a real SMTP server that keeps what it receives.
type mailServer struct {
	address  string
	received chan received
	utf8     bool // it has SMTPUTF8
}

// next waits for a mail.
func (m *mailServer) next(t *testing.T) received {
	t.Helper()
	select {
	case got := <-m.received:
		return got
	case <-time.After(10 * time.Second):
		t.Fatal("no mail arrived")
		return received{}
	}
}

type received struct {
	from string
	to   []string
	data string
}

func newMailServer(t *testing.T, config *tls.Config, change ...func(*smtp.Server)) *mailServer {
	t.Helper()
	m := &mailServer{received: make(chan received, 8)}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &mailSession{server: m}, nil }))
	server.Domain, server.AllowInsecureAuth, server.TLSConfig = "localhost", true, config
	for _, c := range change {
		c(server)
	}
	m.utf8 = server.EnableSMTPUTF8
	l := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	m.address = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		assert.NoError(t, <-done, "mail server")
	})
	return m
}

// mailSession is one connection. It asks for a password, and refuses one
// recipient.
type mailSession struct {
	server *mailServer
	mail   received
	known  bool
	// refuses says that the recipient refuses the mail once it is there.
	refuses bool
}

func (s *mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, pass string) error {
		if user != "mailer" || pass != "p@ss/word" {
			return smtp.ErrAuthFailed
		}
		s.known = true
		return nil
	}), nil
}

func (s *mailSession) Mail(from string, _ *smtp.MailOptions) error {
	if !s.known {
		return smtp.ErrAuthRequired
	}
	s.mail.from = from
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	switch name, _, _ := strings.Cut(to, "@"); name {
	case "nobody":
		return &smtp.SMTPError{Code: 550, Message: "no such mailbox"}
	case "full":
		return &smtp.SMTPError{Code: 452, Message: "the mailbox is full"}
	case "closing":
		return &smtp.SMTPError{Code: 421, Message: "closing"}
	case "refuses":
		s.refuses = true
	}
	if !s.server.utf8 && strings.ContainsFunc(to, func(r rune) bool { return r > 127 }) {
		return &smtp.SMTPError{Code: 553, EnhancedCode: smtp.EnhancedCode{5, 6, 7}, Message: "address refused"}
	}
	s.mail.to = append(s.mail.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	b, err := io.ReadAll(r)
	if s.refuses {
		return &smtp.SMTPError{Code: 554, Message: "not wanted"}
	}
	s.mail.data = string(b)
	s.server.received <- s.mail
	return err
}

func (s *mailSession) Reset() { s.mail = received{} }

func (s *mailSession) Logout() error { return nil }

// parts returns subject, text and HTML of a mail.
func (r received) parts(t *testing.T) (subject, text, html string) {
	t.Helper()
	m := must(mail.ReadMessage(strings.NewReader(r.data)))(t)
	subject = must(new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")))(t)
	_, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	require.NoError(t, err)
	for p := multipart.NewReader(m.Body, params["boundary"]); ; {
		part, err := p.NextRawPart()
		if errors.Is(err, io.EOF) {
			return subject, text, html
		}
		require.NoError(t, err)
		b := must(io.ReadAll(quotedprintable.NewReader(part)))(t)
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			html = string(b)
		} else {
			text = strings.ReplaceAll(string(b), "\r\n", "\n")
		}
	}
}

// TestMail sends a link through a real SMTP server, and signs in with the link
// that arrives.
func TestMail(t *testing.T) {
	server := newMailServer(t, nil)
	h := newHandler(t, auth.Config{Adapter: newStore(), Theme: auth.Theme{BrandColor: "#123456"}, Providers: []auth.Provider{
		&auth.Email{Server: "smtp://mailer:p%40ss%2Fword@" + server.address, From: "Example <no-reply@example.com>"},
	}})
	b := newBrowser(t, h)
	b.post("/auth/signin/email", "email", "Ada@Example.com").wantLocation(t, origin+"/auth/verify-request?provider=email&type=email")
	got := server.next(t)
	assert.Equal(t, "no-reply@example.com", got.from)
	assert.Equal(t, []string{"ada@example.com"}, got.to)
	subject, text, html := got.parts(t)
	assert.Equal(t, "Sign in to app.example.com", subject, "subject")
	lines := strings.Split(text, "\n")
	require.Truef(t, len(lines) >= 2 && lines[0] == "Sign in to app.example.com", "text %q", text)
	link := lines[1]
	assert.Truef(t, strings.Contains(html, "#123456") &&
		strings.Contains(html, strings.ReplaceAll(link, "&", "&amp;")) && !strings.Contains(html, ">ada@"),
		"html %s", html)
	b.get(link).wantLocation(t, origin)
	b.wantSession("ada@example.com")
}

// TestMailToInternationalAddresses: the domain of an address is sent in ASCII,
// which every mail server takes. A local part that is not ASCII is sent only to
// a server with SMTPUTF8. Without it the person gets the form again, and the log
// has no error: the server of the site works.
func TestMailToInternationalAddresses(t *testing.T) {
	for name, c := range map[string]struct {
		typed, to, from string
		utf8            bool
	}{
		"domain":                     {"ada@exämple.de", "ada@xn--exmple-cua.de", "", false},
		"domain, the other spelling": {"ada@xn--exmple-cua.de", "ada@xn--exmple-cua.de", "", false},
		"domain of three labels":     {"Ada@Mail.BÜCHER.example", "ada@mail.xn--bcher-kva.example", "", false},
		"domain, SMTPUTF8":           {"ada@exämple.de", "ada@xn--exmple-cua.de", "", true},
		"ASCII":                      {"ada@example.com", "ada@example.com", "", false},
		"sender":                     {"ada@example.com", "ada@example.com", "Bücher <no-reply@bücher.example>", false},
		"local part, SMTPUTF8":       {"jürgen@exämple.de", "jürgen@xn--exmple-cua.de", "", true},
		"local part":                 {"jürgen@exämple.de", "", "", false},
		"local part, ASCII domain":   {"用户@example.com", "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			server := newMailServer(t, nil, func(s *smtp.Server) { s.EnableSMTPUTF8 = c.utf8 })
			var book logBook
			h := newHandler(t, auth.Config{Adapter: newStore(), Logger: book.logger(), Providers: []auth.Provider{
				&auth.Email{Server: "smtp://mailer:p%40ss%2Fword@" + server.address, From: cmp.Or(c.from, "no-reply@example.com")},
			}})
			answer := newBrowser(t, h).post("/auth/signin/email", "email", c.typed)
			if c.to == "" {
				answer.wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
				log := book.String()
				assert.Truef(t, !strings.Contains(log, "ERROR") && strings.Contains(log, "SMTPUTF8"), "log: %s", log)
				return
			}
			answer.wantLocation(t, origin+"/auth/verify-request?provider=email&type=email")
			got := server.next(t)
			m := must(mail.ReadMessage(strings.NewReader(got.data)))(t)
			from, err := mail.ParseAddress(m.Header.Get("From"))
			assert.Falsef(t, err != nil || strings.Contains(c.from, "@") &&
				(from.Name != "Bücher" || from.Address != "no-reply@xn--bcher-kva.example" || got.from != from.Address),
				"from %q, %v, %v", got.from, from, err)
			assert.Truef(t, len(got.to) == 1 && got.to[0] == c.to, "to %q, want %q", got.to, c.to)
		})
	}
}

// TestMailFails: a sign-in whose mail is refused ends with an error, and the
// log does not contain the password.
func TestMailFails(t *testing.T) {
	server := newMailServer(t, nil)
	notSent, sent := "/auth/signin?error=EmailSignInError", "/auth/verify-request?provider=email&type=email"
	for name, c := range map[string]struct{ server, to, log, location string }{
		"no such mailbox": {"smtp://mailer:p%40ss%2Fword@" + server.address, "nobody@example.com", "no such mailbox", sent},
		"full mailbox":    {"smtp://mailer:p%40ss%2Fword@" + server.address, "full@example.com", "full", sent},
		"refused mail":    {"smtp://mailer:p%40ss%2Fword@" + server.address, "refuses@example.com", "not wanted", sent},
		"server closes":   {"smtp://mailer:p%40ss%2Fword@" + server.address, "closing@example.com", "closing", notSent},
		"wrong password":  {"smtp://mailer:wr0ng-passw0rd@" + server.address, "ada@example.com", "Authentication failed", notSent},
		"no server":       {"smtp://mailer:wr0ng-passw0rd@127.0.0.1:1", "ada@example.com", "refused", notSent},
		"no server again": {"smtp://mailer:wr0ng-passw0rd@127.0.0.1:1", "nobody@example.com", "refused", notSent},
	} {
		t.Run(name, func(t *testing.T) {
			var book logBook
			h := newHandler(t, auth.Config{Adapter: newStore(), Logger: book.logger(), Providers: []auth.Provider{
				&auth.Email{Server: c.server, From: "no-reply@example.com"},
			}})
			newBrowser(t, h).post("/auth/signin/email", "email", c.to).wantLocation(t, origin+c.location)
			log := book.String()
			assert.Truef(t, strings.Contains(log, c.log) && strings.Contains(log, "EmailSignInError") &&
				!strings.Contains(log, "wr0ng") && !strings.Contains(log, "p@ss"), "log: %s", log)
			assert.Equalf(t, c.location != sent, strings.Contains(log, "level=ERROR"), "an error is logged: %s", log)
		})
	}
}

// TestMailChecksCertificates: a server that offers STARTTLS with a certificate
// that no authority has signed gets no mail and no password.
func TestMailChecksCertificates(t *testing.T) {
	certificate := httptest.NewUnstartedServer(nil)
	certificate.StartTLS()
	defer certificate.Close()
	server := newMailServer(t, &tls.Config{Certificates: certificate.TLS.Certificates, MinVersion: tls.VersionTLS12})
	var book logBook
	h := newHandler(t, auth.Config{Adapter: newStore(), Logger: book.logger(), Providers: []auth.Provider{
		&auth.Email{Server: "smtp://mailer:p%40ss%2Fword@" + server.address, From: "no-reply@example.com"},
	}})
	newBrowser(t, h).post("/auth/signin/email", "email", "ada@example.com").wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
	assert.Contains(t, book.String(), "certificate", "log")
}

// TestEmailMessage: the default mail does not contain the address, and markup
// in the theme stays text.
func TestEmailMessage(t *testing.T) {
	m := must(auth.EmailMessage(auth.VerificationRequest{
		Identifier: "ada@example.com", URL: origin + `/auth/callback/email?token=1&email=x`, Theme: auth.Theme{BrandColor: `red"><script>`, ButtonText: `</a>`},
	}))(t)
	assert.True(t, !strings.Contains(m.HTML, "<script>") && !strings.Contains(m.HTML, "ada@") && strings.Count(m.HTML, "</a>") == 1,
		m.HTML)
	assert.Equal(t, "Sign in to app.example.com\n"+origin+"/auth/callback/email?token=1&email=x\n\n", m.Text)
}

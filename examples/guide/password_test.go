package guide

import (
	"context"
	"crypto/tls"
	"html"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mailServer is an SMTP server that passes on the text of each mail.
func mailServer(t *testing.T) (address string, mails chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	mails = make(chan string, 8)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go receiveMail(textproto.NewConn(conn), mails)
		}
	}()
	return "smtp://" + listener.Addr().String(), mails
}

func receiveMail(c *textproto.Conn, mails chan<- string) {
	defer func() { _ = c.Close() }()
	answer := "220 ready"
	for {
		if c.PrintfLine("%s", answer) != nil {
			return
		}
		line, err := c.ReadLine()
		if err != nil {
			return
		}
		answer = "250 ok"
		switch command, _, _ := strings.Cut(strings.ToUpper(line), " "); command {
		case "DATA":
			if c.PrintfLine("354 go on") != nil {
				return
			}
			data, err := c.ReadDotBytes()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(quotedprintable.NewReader(strings.NewReader(string(data))))
			mails <- string(text)
		case "QUIT":
			answer = "221 bye"
		}
	}
}

// newClientOf is a client at https://example.com.
func newClientOf(t *testing.T, site http.Handler) *client {
	t.Helper()
	server := httptest.NewTLSServer(site)
	t.Cleanup(server.Close)
	c := newClient(t)
	c.http.Transport = &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a server of the test
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	}
	return c
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// submit opens a page and submits its form with further fields.
func (c *client) submit(page, action string, fields ...string) {
	c.t.Helper()
	_, body := c.fetch(http.MethodGet, page, nil)
	form := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(body, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	c.fetch(http.MethodPost, "https://example.com"+action, form)
}

// TestPasswords: the ten lines of the guide sign a person up, with a mail that a real
// server takes, and in.
func TestPasswords(t *testing.T) {
	server, mails := mailServer(t)
	site, err := passwords(memory.New(), secret, server)
	require.NoError(t, err)
	const auth = "https://example.com/auth"
	c := newClientOf(t, site)
	c.submit(auth+"/password/sign-up", "/auth/password/sign-up", "email", "ada@example.net")
	link := ""
	select {
	case mail := <-mails:
		link = regexp.MustCompile(`https://example\.com/auth/password/choose\?[^\s"<]+`).FindString(mail)
	case <-time.After(30 * time.Second):
	}
	require.NotEmpty(t, link, "no mail with a link")
	c.submit(link, "/auth/password/choose", "password", "correct horse battery staple")
	_, session := c.fetch(http.MethodGet, auth+"/session", nil)
	require.Contains(t, session, "ada@example.net", "session after the sign-up")
	other := newClientOf(t, site)
	other.submit(auth+"/signin", "/auth/callback/password", "email", "ada@example.net", "password", "wrong")
	_, session = other.fetch(http.MethodGet, auth+"/session", nil)
	assert.Equal(t, "null", session, "a wrong password signs in")
	other.submit(auth+"/signin", "/auth/callback/password", "email", "ada@example.net", "password", "correct horse battery staple")
	_, session = other.fetch(http.MethodGet, auth+"/session", nil)
	assert.Contains(t, session, "ada@example.net", "session after the sign-in")
}

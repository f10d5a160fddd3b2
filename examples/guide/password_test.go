package guide

import (
	"context"
	"crypto/tls"
	"html"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/cookiejar"
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

// visitor is a browser at https://example.com.
func visitor(t *testing.T, site http.Handler) *http.Client {
	t.Helper()
	server := httptest.NewTLSServer(site)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a server of the test
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	}}
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// submit opens a page and submits its form with further fields.
func submit(t *testing.T, c *http.Client, page, action string, fields ...string) string {
	t.Helper()
	form := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(body(t, c, page), -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, err := c.PostForm("https://example.com"+action, form)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

func body(t *testing.T, c *http.Client, page string) string {
	t.Helper()
	r, err := c.Get(page)
	require.NoError(t, err)
	defer func() { _ = r.Body.Close() }()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(text)
}

// TestPasswords: the ten lines of the guide sign a person up, with a mail that a real
// server takes, and in.
func TestPasswords(t *testing.T) {
	server, mails := mailServer(t)
	site, err := passwords(memory.New(), secret, server)
	require.NoError(t, err)
	const auth = "https://example.com/auth"
	c := visitor(t, site)
	submit(t, c, auth+"/password/sign-up", "/auth/password/sign-up", "email", "ada@example.net")
	link := ""
	select {
	case mail := <-mails:
		link = regexp.MustCompile(`https://example\.com/auth/password/choose\?[^\s"<]+`).FindString(mail)
	case <-time.After(30 * time.Second):
	}
	require.NotEmpty(t, link, "no mail with a link")
	submit(t, c, link, "/auth/password/choose", "password", "correct horse battery staple")
	require.Contains(t, body(t, c, auth+"/session"), "ada@example.net", "session after the sign-up")
	other := visitor(t, site)
	submit(t, other, auth+"/signin", "/auth/callback/password", "email", "ada@example.net", "password", "wrong")
	assert.Equal(t, "null", body(t, other, auth+"/session"), "a wrong password signs in")
	submit(t, other, auth+"/signin", "/auth/callback/password", "email", "ada@example.net", "password", "correct horse battery staple")
	assert.Contains(t, body(t, other, auth+"/session"), "ada@example.net", "session after the sign-in")
}

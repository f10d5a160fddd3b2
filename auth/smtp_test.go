package auth_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/mail"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMailHeaders: neither the address nor the text of a mail becomes a header
// or another recipient, even if an application does not check them.
func TestMailHeaders(t *testing.T) {
	server := newMailServer(t, nil)
	for name, c := range map[string]struct {
		identifier string
		message    auth.Message
		sent       bool
	}{
		"subject of two lines":       {"ada@example.com", auth.Message{Subject: "Hello\r\nBcc: eve@example.com", Text: "t"}, true},
		"subject with a bare feed":   {"ada@example.com", auth.Message{Subject: "Hello\nBcc: eve@example.com", Text: "t"}, true},
		"subject with a bare return": {"ada@example.com", auth.Message{Subject: "Hello\rBcc: eve@example.com", Text: "t"}, true},
		"subject ends the headers":   {"ada@example.com", auth.Message{Subject: "Hello\r\n\r\nbody", Text: "t"}, true},
		"text of SMTP":               {"ada@example.com", auth.Message{Subject: "Hello", Text: "a\r\n.\r\nRCPT TO:<eve@example.com>\r\n"}, true},
		"recipient of two lines":     {"ada@example.com\r\nBcc: eve@example.com", auth.Message{Subject: "Hello", Text: "t"}, false},
		"recipient with a bare feed": {"ada@example.com\nBcc: eve@example.com", auth.Message{Subject: "Hello", Text: "t"}, false},
		"two recipients":             {"ada@example.com, eve@example.com", auth.Message{Subject: "Hello", Text: "t"}, false},
		"recipient ends the command": {"ada@example.com>\r\nRCPT TO:<eve@example.com", auth.Message{Subject: "Hello", Text: "t"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, auth.Config{Adapter: newStore(), Providers: []auth.Provider{&auth.Email{
				Server: "smtp://mailer:p%40ss%2Fword@" + server.address, From: "Example <no-reply@example.com>",
				NormalizeIdentifier: func(string) (string, error) { return c.identifier, nil },
				Message:             func(auth.VerificationRequest) (auth.Message, error) { return c.message, nil },
			}}})
			answer := newBrowser(t, h).post("/auth/signin/email", "email", "ada@example.com")
			if !c.sent {
				answer.wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
				require.Empty(t, server.received, "a mail was sent")
				return
			}
			got := server.next(t)
			m := must(mail.ReadMessage(strings.NewReader(got.data)))(t)
			assert.Truef(t, len(got.to) == 1 && got.to[0] == "ada@example.com" && m.Header.Get("Bcc") == "" && m.Header.Get("To") == "<ada@example.com>",
				"the mail went to %q with the headers %v", got.to, m.Header)
			assert.Truef(t, m.Header.Get("Content-Type") != "" && m.Header.Get("Date") != "",
				"the headers end early: %v", m.Header)
		})
	}
}

// TestSilentMailServer: if a mail server greets and then says nothing, the
// sign-in waits at most until the context of the request ends.
func TestSilentMailServer(t *testing.T) {
	listener := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = listener.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, "220 mail.example\r\n"); err != nil {
			return
		}
		in := bufio.NewReader(conn)
		if _, err := in.ReadString('\n'); err == nil { // EHLO
			cancel()
		}
		_, _ = io.Copy(io.Discard, in) // until the client has closed
	}()
	h := newHandler(t, auth.Config{Adapter: newStore(), Providers: []auth.Provider{
		&auth.Email{Server: "smtp://" + listener.Addr().String(), From: "no-reply@example.com"},
	}})
	newBrowser(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(ctx))
	})).post("/auth/signin/email", "email", "ada@example.com").wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
	<-ended
}

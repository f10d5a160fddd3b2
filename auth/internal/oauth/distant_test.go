package oauth_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A proxy from the environment would resolve the names.
func init() { _ = os.Setenv("NO_PROXY", "*") }

// namesOnThisMachine makes every host name resolve to this machine, with a name
// server on loopback.
func namesOnThisMachine(t *testing.T) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		message := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			answer := append([]byte(nil), message[:n]...)
			end := 12 // the end of the question: labels, type and class
			for answer[end] != 0 {
				end += int(answer[end]) + 1
			}
			kind := binary.BigEndian.Uint16(answer[end+1:])
			answer = answer[:end+5]
			copy(answer[2:], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}) // a response without records
			if kind == 1 {
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
			}
			_, _ = server.WriteTo(answer, from)
		}
	}()
	before := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
	t.Cleanup(func() {
		net.DefaultResolver = before
		_ = server.Close()
		<-done
	})
}

// TestNameThatLeadsToThisMachine: the metadata of a remote issuer names an
// endpoint on a host whose name resolves to this machine. No connection is
// made. A host and port that the configuration names are reached wherever they
// are. An application with its own client reaches every host.
func TestNameThatLeadsToThisMachine(t *testing.T) {
	namesOnThisMachine(t)
	reached := make(chan struct{}, 10)
	service := httptest.NewUnstartedServer(nil)
	service.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			reached <- struct{}{}
		}
	}
	service.Start()
	t.Cleanup(service.Close)
	_, port, _ := net.SplitHostPort(service.Listener.Addr().String())
	get := func(client *http.Client) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://internal.evil.example:"+port+"/token", nil)
		require.NoError(t, err)
		res, err := client.Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		return err
	}
	for what, c := range map[string]struct {
		client *http.Client
		want   bool
	}{
		"named by the metadata":         {oauth.Distant(nil, "https://idp.example", "https://idp.example/token"), false},
		"a client with a time limit":    {oauth.Distant(&http.Client{Timeout: 1 << 30}, "https://idp.example"), false},
		"on another port of the issuer": {oauth.Distant(nil, "https://internal.evil.example"), false},
		"named by the configuration":    {oauth.Distant(nil, "https://idp.example", "https://INTERNAL.evil.example:"+port+"/token"), true},
		"an issuer on this machine":     {oauth.Distant(nil, "http://localhost:9000"), true},
		"a client of the application":   {oauth.Distant(&http.Client{Transport: http.DefaultTransport}, "https://idp.example"), true},
	} {
		err := get(c.client) // the service speaks no TLS, so there is always an error
		refused := err != nil && strings.Contains(err.Error(), "the endpoint has a loopback or link-local address")
		assert.Truef(t, refused != c.want && (len(reached) > 0) == c.want,
			"%s: %v, %d connections, want them: %v", what, err, len(reached), c.want)
		for len(reached) > 0 {
			<-reached
		}
	}
}

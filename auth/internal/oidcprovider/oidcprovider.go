// Package oidcprovider runs oidc-provider, which the OpenID Foundation has
// certified, for tests that sign in with it.
package oidcprovider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/internal/node"
)

// patience is the longest time in which the provider must start, on a machine
// that is busy with other work.
const patience = time.Minute

// Provider is a provider on loopback, in a process of its own. Anybody can sign
// in at it.
type Provider struct {
	Issuer string
	in     io.Writer
	lines  <-chan string
}

// Start starts a provider that runs until the test ends.
func Start(t *testing.T) *Provider {
	t.Helper()
	cmd := node.Command(t, "nobody signed in with oidc-provider", "oidc/provider.mjs")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // the provider then ends
		for range lines {
		}
		_ = cmd.Wait() // the end of the test may have killed it
	})
	p := &Provider{in: in, lines: lines}
	p.Issuer = p.line(t)
	return p
}

// line returns the next line that the provider writes.
func (p *Provider) line(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		if !ok {
			t.Fatal("the provider ended")
		}
		return line
	case <-time.After(patience):
		t.Fatalf("the provider says nothing for %v", patience)
	}
	return ""
}

// Rotate replaces the signing keys of the provider.
func (p *Provider) Rotate(t *testing.T) {
	t.Helper()
	_, err := io.WriteString(p.in, "rotate\n")
	require.NoError(t, err)
	require.Equal(t, "rotated", p.line(t))
}

// Register registers a client with the metadata (RFC 7591 section 2), and
// returns its ID and its secret, if it has one.
func (p *Provider) Register(t *testing.T, metadata map[string]any) (id, secret string) {
	t.Helper()
	body, err := json.Marshal(metadata)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.Issuer+"/reg", bytes.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	var client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	require.Equalf(t, http.StatusCreated, res.StatusCode, "registration of %s: %s", body, answer)
	require.NoErrorf(t, json.Unmarshal(answer, &client), "registration of %s: %s", body, answer)
	return client.ID, client.Secret
}

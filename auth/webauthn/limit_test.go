package webauthn_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// counted counts the calls of a store that tell whether a user or passkey is
// known.
type counted struct {
	*memory.Adapter
	calls atomic.Int32
}

func (c *counted) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	c.calls.Add(1)
	return c.Adapter.GetUserByEmail(ctx, email)
}

func (c *counted) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	c.calls.Add(1)
	return c.Adapter.GetAuthenticator(ctx, id)
}

// TestGuessingPasskeysIsLimited: a client that asks for options or posts
// answers too often is told to wait before the store is read. The text is the
// same for known and unknown users. A client below the limit is not hindered.
func TestGuessingPasskeysIsLimited(t *testing.T) {
	t.Parallel()
	limited := false
	var attempts []auth.Attempt
	store := &counted{Adapter: memory.New()}
	s := newSite(t, func(c *auth.Config) {
		c.Adapter = store
		c.Limit = func(_ context.Context, a auth.Attempt) error {
			attempts = append(attempts, a)
			if limited {
				return &auth.TooManyAttempts{RetryAfter: 30 * time.Second}
			}
			return nil
		}
	})
	b := newBrowser(t, s)
	key := softkey.New(t, softkey.ES256)
	b.wantDone(b.register(key, "ada@example.com"))
	b.signOut()
	b.wantDone(b.signIn(key))
	b.signOut()
	require.Truef(t, len(attempts) == 4 && attempts[0].Form.Get("email") == "ada@example.com",
		"two ceremonies made %d attempts, want 4; the first has the form %v", len(attempts), map[string]any(attempts[0].Form))
	for _, a := range attempts {
		assert.Truef(t, a.Provider == "passkey" && a.Type == auth.TypeWebAuthn && a.Request != nil,
			"the attempt is of %s, %s, with request: %v", a.Provider, a.Type, a.Request != nil)
	}

	begun := b.options("action=authenticate")
	known := key.Authenticate(t, begun.Options, b.client())
	unknown := softkey.New(t, softkey.ES256).Authenticate(t, begun.Options, b.client())
	limited = true
	before := store.calls.Load()
	answers := map[string]bool{}
	want := func(what string, r *reply) {
		t.Helper()
		assert.Truef(t, r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "30" && strings.Contains(r.Header.Get("Cache-Control"), "no-store"),
			"%s: status %d, header %v", what, r.StatusCode, r.Header)
		for _, c := range r.Cookies() {
			assert.NotContainsf(t, c.Name, "challenge", "%s: sets", what)
		}
		answers[r.body] = true
	}
	for _, email := range []string{"ada@example.com", "nobody@example.com"} {
		for _, action := range []string{"", "action=register&", "action=authenticate&"} {
			want("options "+action+email, b.get("/auth/webauthn-options/passkey?"+action+"email="+email))
		}
	}
	want("answer of a known passkey", b.finish("authenticate", known))
	want("answer of an unknown passkey", b.finish("authenticate", unknown))
	want("answer that is not JSON", b.finish("authenticate", "{"))
	assert.Truef(t, len(answers) == 1 && store.calls.Load() == before,
		"the answers are %v; the store was asked %d times", answers, store.calls.Load()-before)

	limited = false // the refused request did not use the challenge
	b.wantDone(b.finish("authenticate", known))
}

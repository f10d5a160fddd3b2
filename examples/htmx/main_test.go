package main

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/require"
)

func visit(t *testing.T) *visitor.Visitor {
	t.Helper()
	site, err := newSite(auth.Config{Secret: []string{strings.Repeat("router-secret", 3)}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return visitor.Serve(t, site)
}

func TestSite(t *testing.T) { visit(t).SignInAndOut("<b>For Ada only.</b>") }

// TestFragmentAsksToSignIn: htmx can't show a sign-in page in a part of another
// page. It is told to open that page, and the browser comes back to the page
// that it was on.
func TestFragmentAsksToSignIn(t *testing.T) {
	v := visit(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.Site+"/private", nil)
	require.NoError(t, err)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", v.Site+"/?tab=1")
	res, err := v.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	if got := res.Header.Get("HX-Redirect"); res.StatusCode != http.StatusUnauthorized || got != "/auth/signin?callbackUrl=%2F%3Ftab%3D1" {
		t.Errorf("got %d, %q", res.StatusCode, got)
	}
}

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visit(t).Guarded("only.") }

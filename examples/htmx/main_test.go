package main

import (
	"net/http"
	"testing"

	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSite(t *testing.T) { visitor.Visit(t, newSite).SignInAndOut("<b>For Ada only.</b>") }

// TestFragmentAsksToSignIn: htmx can't show a sign-in page in a part of another
// page. It is told to open that page, and the browser comes back to the page
// that it was on.
func TestFragmentAsksToSignIn(t *testing.T) {
	v := visitor.Visit(t, newSite)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, v.Site+"/private", nil)
	require.NoError(t, err)
	r.Header.Set("HX-Request", "true")
	r.Header.Set("HX-Current-URL", v.Site+"/?tab=1")
	res, err := v.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	assert.Equal(t, http.StatusUnauthorized, res.StatusCode)
	assert.Equal(t, "/auth/signin?callbackUrl=%2F%3Ftab%3D1", res.Header.Get("HX-Redirect"))
}

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visitor.Visit(t, newSite).Guarded("only.") }

package main

import (
	"log/slog"
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

func TestSite(t *testing.T) { visit(t).SignInAndOut("For Ada only.") }

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visit(t).Guarded("only.") }

package main

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
)

func TestSite(t *testing.T) { visitor.Visit(t, newSite).SignInAndOut("For Ada only.") }

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visitor.Visit(t, newSite).Guarded("only.") }

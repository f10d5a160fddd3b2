package postgres_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/authjs"
)

// TestInterop has the real @auth/pg-adapter and this adapter take turns on one
// database.
func TestInterop(t *testing.T) {
	for name, c := range map[string]struct{ authJSTables, ensure bool }{
		"our tables":                      {false, true},
		"tables of Auth.js as they are":   {true, false},
		"tables of Auth.js with our keys": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema(t)
			pool := inSchema(t, schema)
			if c.authJSTables {
				makeAuthJSTables(t, pool)
			}
			a := newAdapter(t, pool)
			if c.ensure {
				if err := a.EnsureSchema(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			js := authjs.Start(t, "../../interop/pg", serverURL(t, postgresURL), schema)
			authjs.Exchange(t, a, js, authjs.Sharing{Nobody: "31415926", Authenticators: c.ensure})
			if left := strings.Join(dump(t, pool), ""); strings.Contains(left, "{") {
				t.Errorf("rows are left: %s", left)
			}
		})
	}
}

package postgres_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/authjs"
)

// TestInterop lets the real @auth/pg-adapter and this adapter take turns on
// one database.
func TestInterop(t *testing.T) {
	for name, authJSTables := range map[string]bool{"our tables": false, "tables of Auth.js": true} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema(t)
			pool := inSchema(t, schema)
			if authJSTables {
				makeAuthJSTables(t, pool)
			}
			a := newAdapter(t, pool)
			if err := a.EnsureSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			js := authjs.Start(t, "../../interop/pg", serverURL(t, postgresURL), schema)
			authjs.Exchange(t, a, js, authjs.Sharing{Nobody: "31415926", Authenticators: true})
			if left := strings.Join(dump(t, pool), ""); strings.Contains(left, "{") {
				t.Errorf("rows are left: %s", left)
			}
		})
	}
}

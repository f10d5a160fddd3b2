package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
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

// TestInteropDrizzle lets the real @auth/drizzle-adapter and this adapter take turns on
// the tables of Drizzle as they are, over sessions of the server that are far from UTC.
func TestInteropDrizzle(t *testing.T) {
	for name, changed := range map[string]bool{"as they are": false, "after SchemaChanges": true} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema(t)
			pool := withParameters(t, map[string]string{"search_path": schema, "timezone": "Asia/Kathmandu"})
			execSQL(t, pool, postgrestest.DrizzleTables, pgx.QueryExecModeSimpleProtocol)
			if changed {
				for _, change := range must(newAdapter(t, pool, postgres.WithLayout(postgres.Drizzle())).SchemaChanges(t.Context()))(t) {
					execSQL(t, pool, change, pgx.QueryExecModeSimpleProtocol)
				}
			}
			a := newAdapter(t, pool, postgres.WithLayout(postgres.Drizzle()))
			if err := a.EnsureSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			js := authjs.Start(t, "../../interop/drizzlepg", serverURL(t, postgresURL), schema)
			sharing := authjs.Sharing{Nobody: "nobody", Authenticators: true}
			if !changed { // the column has 32 bits
				sharing.ExpiresAt = 2000000000
			}
			authjs.Exchange(t, a, js, sharing)
		})
	}
}

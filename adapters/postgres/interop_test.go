package postgres_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			require.NoError(t, a.EnsureSchema(t.Context()))
			js := authjs.Start(t, "../../interop/pg", serverURL(t, postgresURL), schema)
			authjs.Exchange(t, a, js, authjs.Sharing{Nobody: "31415926", Authenticators: true})
			assert.NotContains(t, strings.Join(dump(t, pool), ""), "{", "rows are left")
		})
	}
}

// TestInteropDrizzle lets the real @auth/drizzle-adapter and this adapter take turns on
// tables of either origin, over sessions of the server that are far from UTC.
func TestInteropDrizzle(t *testing.T) {
	testProduct(t, product{layout: postgres.Drizzle(), tables: postgrestest.DrizzleTables, dir: "../../interop/drizzlepg",
		documented: "schema.mjs", ours: "ours.mjs", start: func(t *testing.T, dir, schema, file string) *authjs.Adapter {
			return authjs.Start(t, dir, serverURL(t, postgresURL), schema, file)
		}})
}

// TestInteropPrisma does the same with the real @auth/prisma-adapter, whose client is
// generated from each schema file.
func TestInteropPrisma(t *testing.T) {
	testProduct(t, product{layout: postgres.Prisma(), tables: postgrestest.PrismaTables, dir: "../../interop/prisma",
		documented: "schema.prisma", ours: "ours.prisma", start: func(t *testing.T, dir, schema, file string) *authjs.Adapter {
			return authjs.Start(t, dir, file, serverURL(t, postgresURL), schema)
		}})
}

// product is another product that shares tables with this adapter.
type product struct {
	layout           postgres.Layout
	tables           string
	dir              string
	documented, ours string // its schema files, for its tables and for ours
	start            func(t *testing.T, dir, schema, file string) *authjs.Adapter
}

func testProduct(t *testing.T, p product) {
	for _, origin := range []string{"as they are", "after SchemaChanges", "our tables"} {
		t.Run(origin, func(t *testing.T) {
			schema := newSchema(t)
			pool := withParameters(t, map[string]string{"search_path": schema, "timezone": "Asia/Kathmandu"})
			options := []postgres.Option{postgres.WithLayout(p.layout)}
			file := p.documented
			if origin == "our tables" {
				options, file = nil, p.ours
			} else {
				execSQL(t, pool, p.tables, pgx.QueryExecModeSimpleProtocol)
			}
			file = must(filepath.Abs(filepath.Join(p.dir, file)))(t)
			if origin == "after SchemaChanges" {
				changes := must(newAdapter(t, pool, options...).SchemaChanges(t.Context()))(t)
				for _, change := range changes {
					execSQL(t, pool, change, pgx.QueryExecModeSimpleProtocol)
				}
				changed := authjs.WithLines(t, string(must(os.ReadFile(file))(t)), changes)
				file = filepath.Join(t.TempDir(), filepath.Base(file))
				require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
			}
			a := newAdapter(t, pool, options...)
			require.NoError(t, a.EnsureSchema(t.Context()))
			js := p.start(t, p.dir, schema, file)
			sharing := authjs.Sharing{Nobody: "nobody", Authenticators: true}
			if origin == "as they are" { // the column has 32 bits
				sharing.ExpiresAt = 2000000000
			}
			authjs.Exchange(t, a, js, sharing)
			authjs.Passkeys(t, a, js, origin != "as they are")
			if !a.RequiresEmail() {
				authjs.WithoutAddress(t, a, js)
			}
			left := value[int](t, pool, rowsLeft)
			assert.Equalf(t, 0, left, "%d rows are left", left)
		})
	}
}

// rowsLeft counts the rows of all tables but the version table.
const rowsLeft = `SELECT sum((xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', tablename), false, true, '')))[1]::text::int)::int
	FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'gatehouse_schema'`

package mysql_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
)

// databaseURL is the URL of the database for the clients of Node.
func databaseURL(t *testing.T, env *mysqltest.Env) string {
	t.Helper()
	return strings.TrimSuffix(os.Getenv(serverURL), "/") + "/" + databaseOf(t, env)
}

// TestInteropDrizzle lets the real @auth/drizzle-adapter and this adapter take turns on
// tables of either origin, on connections that are far from UTC.
func TestInteropDrizzle(t *testing.T) {
	for _, origin := range []string{"as they are", "after SchemaChanges", "our tables"} {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			sharing := authjs.Sharing{Nobody: "nobody", Authenticators: true, ReadsFirst: true, LoserFails: true}
			settings := mysqltest.Settings{Site: "Drizzle", AsTheyAre: true}
			layout := []mysql.Option{mysql.WithLayout(mysql.Drizzle())}
			switch origin {
			case "our tables":
				settings, layout = mysqltest.Settings{}, nil
			case "as they are":
				sharing.ExpiresAt, sharing.At = 2000000000, time.Date(2037, 2, 28, 23, 59, 58, 0, time.UTC)
			}
			env := open(t, settings)
			far := pool(t, databaseOf(t, env), func(c *driver.Config) { c.Params["time_zone"] = "'+05:45'" })
			a, file := on(t, far, layout...), ""
			if layout != nil {
				file = schemaFile(t, env, a, "../../interop/drizzlemysql/schema.mjs", origin == "after SchemaChanges")
			}
			require.NoError(t, a.EnsureSchema(t.Context()))
			js := authjs.Start(t, "../../interop/drizzlemysql", databaseURL(t, env), file)
			if layout != nil {
				isDescribed(t, env, js)
			}
			authjs.Exchange(t, a, js, sharing)
			authjs.Passkeys(t, a, js, origin != "as they are")
			authjs.WithoutAddress(t, a, js)
			isEmpty(t, env)
		})
	}
}

// TestInteropPrisma does the same with the real @auth/prisma-adapter, whose client is
// generated from each schema file.
func TestInteropPrisma(t *testing.T) {
	for _, origin := range []string{"as they are", "after SchemaChanges"} {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			env := open(t, mysqltest.Settings{Site: "Prisma", AsTheyAre: true})
			far := pool(t, databaseOf(t, env), func(c *driver.Config) { c.Params["time_zone"] = "'+05:45'" })
			a := on(t, far, mysql.WithLayout(mysql.Prisma()))
			file := schemaFile(t, env, a, "../../interop/prisma/schema.prisma", origin == "after SchemaChanges")
			require.NoError(t, a.EnsureSchema(t.Context()))
			js := authjs.Start(t, "../../interop/prisma", file, databaseURL(t, env))
			// With snapshot isolation the error is 1020: the row has changed since the product has read it.
			sharing := authjs.Sharing{Nobody: "nobody", Authenticators: true, ReadsFirst: !checksReads(t, env), LoserFails: true}
			if origin == "as they are" { // the column has 32 bits
				sharing.ExpiresAt = 2000000000
			}
			authjs.Exchange(t, a, js, sharing)
			authjs.Passkeys(t, a, js, origin != "as they are")
			if !a.RequiresEmail() {
				authjs.WithoutAddress(t, a, js)
			}
			isEmpty(t, env)
		})
	}
}

// schemaFile returns the path of the product's schema file for MySQL. If changed is set, it
// runs the statements of SchemaChanges, and the file has their lines.
func schemaFile(t *testing.T, env *mysqltest.Env, a *mysql.Adapter, documented string, changed bool) string {
	t.Helper()
	text := must(os.ReadFile(documented))(t)
	file := strings.Replace(string(text), `"postgresql"`, `"mysql"`, 1)
	if changed {
		changes := must(a.SchemaChanges(t.Context()))(t)
		script(t, env, strings.Join(changes, ";\n"))
		file = authjs.WithTypes(t, file, changes)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(documented))
	require.NoError(t, os.WriteFile(path, []byte(file), 0o600))
	return path
}

// isDescribed compares the columns of the tables with those of Drizzle's schema: their types, and
// whether they accept null.
func isDescribed(t *testing.T, env *mysqltest.Env, js *authjs.Adapter) {
	t.Helper()
	var want, got []string
	listed, _ := js.Call("listColumns")["list"].([]any)
	for _, column := range listed {
		want = append(want, strings.Replace(fmt.Sprint(column), " boolean", " tinyint", 1))
	}
	// The width of an integer, as MariaDB writes it, says nothing about the type.
	rows, err := env.Admin.QueryContext(t.Context(), `SELECT CONCAT(TABLE_NAME, '.', COLUMN_NAME, ' ',
		IF(DATA_TYPE LIKE '%int', DATA_TYPE, COLUMN_TYPE), IF(IS_NULLABLE = 'NO', ' not null', ''))
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'other\_%'`)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var column string
		require.NoError(t, rows.Scan(&column))
		got = append(got, column)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, want)
	assert.ElementsMatch(t, want, got, "the columns of Drizzle's schema and of the tables")
}

// isEmpty fails the test if a table of records has rows.
func isEmpty(t *testing.T, env *mysqltest.Env) {
	t.Helper()
	const names = "SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE ?"
	var all string
	require.NoError(t, env.Admin.QueryRowContext(t.Context(), names, "%gatehouse_schema").Scan(&all))
	for name := range strings.SplitSeq(all, ",") {
		assert.Zerof(t, number(t, env.Admin, "SELECT COUNT(*) FROM `"+name+"`"), "rows are left in %s", name)
	}
}

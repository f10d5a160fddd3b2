package mysql_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
)

const (
	serverURL = "GATEHOUSE_MARIADB_URL"
	skip      = "GATEHOUSE_SKIP_STORES"
)

var everyWiring = flag.Bool("every-wiring", false, "TestConformance runs on the tables of sites too, which takes minutes")

// TestMain says once that the server is missing.
func TestMain(m *testing.M) {
	if os.Getenv(serverURL) == "" {
		if os.Getenv(skip) != "1" {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need a MariaDB server, such as mysql://root@127.0.0.1:3306/, where they may create databases; %s=1 leaves them out\n", serverURL, skip)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "*** SKIPPED: every test that needs MariaDB, since %s is not set and %s=1 ***\n",
			serverURL, skip)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// open makes a database with the tables, which is dropped at the end of the test.
func open(t testing.TB, s mysqltest.Settings) *mysqltest.Env {
	t.Helper()
	if s.URL = os.Getenv(serverURL); s.URL == "" {
		t.Skipf("LEFT OUT: %s is not set and %s=1", serverURL, skip)
	}
	env := must(mysqltest.Open(t.Context(), s))(t)
	t.Cleanup(func() { assert.NoError(t, env.Close(context.Background())) })
	return env
}

// TestConformance runs the suite over the newest server, and with settings of the
// connection under which other statements would change results.
func TestConformance(t *testing.T) {
	for name, s := range map[string]mysqltest.Settings{
		"default": {},
		"settings": {ParseTime: true, Params: map[string]string{"time_zone": "'+13:00'", "sql_mode": "''",
			"sql_safe_updates": "1", "sql_select_limit": "1"}},
		"prisma":                       {Site: "Prisma", AsTheyAre: true},
		"prisma_without_foreign_keys":  {Site: "Prisma", AsTheyAre: true, NoForeignKeys: true},
		"prisma_after_schema_changes":  {Site: "Prisma"},
		"drizzle":                      {Site: "Drizzle", AsTheyAre: true},
		"drizzle_in_another_zone":      {Site: "Drizzle", AsTheyAre: true, Params: map[string]string{"time_zone": "'+05:45'"}},
		"drizzle_after_schema_changes": {Site: "Drizzle"},
	} {
		if s.Site != "" && !*everyWiring {
			continue
		}
		t.Run(name, func(t *testing.T) {
			h := open(t, s).Harness()
			h.Name = "mysql, " + name
			adaptertest.Run(t, h)
		})
	}
}

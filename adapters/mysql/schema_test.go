package mysql

import (
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files of the schema")

// TestSchemaFilesAreTheTables: the files that Schema returns make the tables that
// EnsureSchema makes.
func TestSchemaFilesAreTheTables(t *testing.T) {
	for folder, collation := range map[string]string{"mariadb": collations[0], "mysql": collations[1]} {
		var b strings.Builder
		b.WriteString(`-- The records of Gatehouse, in the tables and columns of Auth.js's Drizzle adapter.
-- Instants are in UTC; account.expires_at is seconds since the Unix epoch. Keys are
-- compared byte for byte, without padding. The adapter adds the prefix to every name in
-- backticks.

`)
		for _, table := range tables {
			if table.since == 0 {
				b.WriteString(table.create(collation) + ";\n\n")
			}
		}
		b.WriteString("-- One row: the version of these tables.\n" + strings.Replace(createVersion, "IF NOT EXISTS ", "", 1) + ";\n" + setVersion(1) + ";\n")
		isFile(t, folder+"/0001_tables.sql", b.String())
		isFile(t, folder+"/0002_passwords.sql", "-- The passwords of users, apart from the tables of Auth.js. Both texts are compared byte for byte.\n\n"+
			tableOf("passwords").create(collation)+";\n\n"+setVersion(2)+";\n")
	}
}

// isFile compares a file of the schema with its text.
func isFile(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile("schema/"+file, []byte(want), 0o600))
		return
	}
	if text, err := fs.ReadFile(Schema(), file); err != nil || string(text) != want {
		t.Errorf("%s is not what EnsureSchema makes (%v): go test -run TestSchemaFiles -update", file, err)
	}
}

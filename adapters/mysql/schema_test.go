package mysql

import (
	"flag"
	"io/fs"
	"os"
	"strings"
	"testing"
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
			b.WriteString(table.create(collation) + ";\n\n")
		}
		b.WriteString("-- One row: the version of these tables.\n" + strings.Join(createVersion(), ";\n") + ";\n")
		file := folder + "/0001_tables.sql"
		if *update {
			if err := os.WriteFile("schema/"+file, []byte(b.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if text, err := fs.ReadFile(Schema(), file); err != nil || string(text) != b.String() {
			t.Errorf("%s is not what EnsureSchema makes (%v): go test -run TestSchemaFiles -update", file, err)
		}
	}
}

package sqlite

import (
	"embed"
	"io/fs"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schema is a version of the tables. It has the files that make them in a new
// database, and the columns and indexes that tables made by another product must
// have.
type schema struct {
	version int
	files   fs.FS
	tables  []table
	trigger string // what the trigger user_delete_trg does
}

type table struct {
	name    string
	columns []column
	indexes []index
	beside  bool // a site of others works without it
}

// column is a column that the adapter uses.
type column struct {
	name  string
	kind  string // TEXT or INTEGER
	null  bool   // the adapter stores nulls
	added bool   // EnsureSchema adds it to a table that lacks it
}

// index is an index that must exist, under any name. A unique index has exactly
// these columns; another index begins with them.
type index struct {
	name    string
	unique  bool
	columns []string
}

func textColumn(name string) column { return column{name: name, kind: "TEXT"} }
func intColumn(name string) column  { return column{name: name, kind: "INTEGER"} }
func (c column) orNull() column     { c.null = true; return c }
func (c column) inNewer() column    { c.null, c.added = true, true; return c }

// currentSchema is the schema of this version of the package. A new version adds
// columns with inNewer, indexes, and an SQL file that makes the same changes.
var currentSchema = &schema{
	version: 2,
	files:   schemaFiles,
	tables: []table{{
		name:    "user",
		columns: []column{textColumn("id"), textColumn("name").orNull(), textColumn("email").orNull(), intColumn("emailVerified").orNull(), textColumn("image").orNull()},
		indexes: []index{{"user_id_key", true, []string{"id"}}, {"user_email_key", true, []string{"email"}}},
	}, {
		name: "account",
		columns: []column{
			textColumn("userId"), textColumn("type"), textColumn("provider"), textColumn("providerAccountId"), textColumn("access_token").orNull(),
			textColumn("refresh_token").orNull(), textColumn("id_token").orNull(), textColumn("scope").orNull(), textColumn("token_type").orNull(),
			textColumn("session_state").orNull(), intColumn("expires_at").orNull(), textColumn("authorization_details").inNewer(),
		},
		indexes: []index{
			{"account_provider_key", true, []string{"provider", "providerAccountId"}},
			{"account_userId_idx", false, []string{"userId"}},
		},
	}, {
		name:    "session",
		columns: []column{textColumn("sessionToken"), textColumn("userId"), intColumn("expires")},
		indexes: []index{
			{"session_sessionToken_key", true, []string{"sessionToken"}},
			{"session_userId_idx", false, []string{"userId"}},
			{"session_expires_idx", false, []string{"expires"}},
		},
	}, {
		name:    "verificationToken",
		columns: []column{textColumn("identifier"), textColumn("token"), intColumn("expires")},
		indexes: []index{
			{"verificationToken_identifier_key", true, []string{"identifier", "token"}},
			{"verificationToken_expires_idx", false, []string{"expires"}},
		},
	}, {
		name: "authenticator",
		columns: []column{
			textColumn("credentialID"), textColumn("userId"), textColumn("providerAccountId"), textColumn("credentialPublicKey"), intColumn("counter"),
			textColumn("credentialDeviceType"), intColumn("credentialBackedUp"), textColumn("transports").orNull(),
			textColumn("name").inNewer(), intColumn("created").inNewer(), intColumn("lastUsed").inNewer(),
		},
		indexes: []index{
			{"authenticator_credentialID_key", true, []string{"credentialID"}},
			{"authenticator_userId_idx", false, []string{"userId"}},
		},
		beside: true,
	}, {
		name:    "passwords",
		columns: []column{textColumn("userId"), textColumn("hash"), textColumn("state")},
		indexes: []index{{"passwords_userId_key", true, []string{"userId"}}},
		beside:  true,
	}},
	trigger: `
		DELETE FROM "session" WHERE userId = old.id;
		DELETE FROM "account" WHERE userId = old.id;
		DELETE FROM "authenticator" WHERE userId = old.id;
		DELETE FROM "passwords" WHERE userId = old.id;`,
}

// Schema returns the numbered SQL files that make the tables in a new database,
// for applications that have a migration tool. Each file runs once. Every name in
// double quotes is a table, index or trigger; with WithPrefix it takes the prefix.
func Schema() fs.FS {
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// newDatabase returns the files as one script.
func (s *schema) newDatabase() (script string, err error) {
	files, err := fs.Glob(s.files, "schema/*.sql")
	for _, file := range files {
		text, err := fs.ReadFile(s.files, file)
		if err != nil {
			return "", err
		}
		script += string(text)
	}
	return script, err
}

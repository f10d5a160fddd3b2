package postgres

import (
	"embed"
	"io/fs"
	"strings"
	"time"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schema is a version of the tables: files that make them in a new database,
// and what the tables of another product must have.
type schema struct {
	version int
	lease   time.Duration // for which one process changes the tables, unless it renews that
	files   fs.FS
	tables  []table
}

type table struct {
	name    string
	columns []column
	indexes []index
	owned   bool // "userId" references users, and a deleted user takes the rows along
}

// column is a column that the adapter uses, or one that it makes for others.
type column struct {
	name, typ string // typ "id" is the type of users.id
	null      bool   // the adapter stores nulls
	exact     bool   // compared byte for byte
	added     bool   // tables without it get it
	others    string // the adapter does not use it; this is how a new table has it
}

// index is an index that must be there under any name. One that is unique has
// exactly these columns, another one begins with them.
type index struct {
	name    string
	unique  bool
	columns []string
}

// currentSchema is what this version of the package works with. A new version
// adds columns with added, indexes, and a file that does the same.
var currentSchema = &schema{
	version: 1,
	lease:   10 * time.Second,
	files:   schemaFiles,
	tables: []table{{
		name: "users",
		columns: []column{
			{name: "id", typ: "id", exact: true},
			{name: "name", typ: "text", null: true},
			{name: "email", typ: "text", null: true, exact: true},
			{name: "emailVerified", typ: "timestamptz", null: true},
			{name: "image", typ: "text", null: true},
		},
		indexes: []index{
			{"users_pkey", true, []string{"id"}},
			{"users_email_key", true, []string{"email"}},
		},
	}, {
		name: "accounts", owned: true,
		columns: []column{
			{name: "id", others: `text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text`},
			{name: "userId", typ: "id"},
			{name: "type", typ: "text"},
			{name: "provider", typ: "text", exact: true},
			{name: "providerAccountId", typ: "text", exact: true},
			{name: "refresh_token", typ: "text", null: true},
			{name: "access_token", typ: "text", null: true},
			{name: "expires_at", typ: "bigint", null: true},
			{name: "id_token", typ: "text", null: true},
			{name: "scope", typ: "text", null: true},
			{name: "session_state", typ: "text", null: true},
			{name: "token_type", typ: "text", null: true},
			{name: "authorization_details", typ: "json", null: true, added: true},
		},
		indexes: []index{
			{"accounts_provider_providerAccountId_key", true, []string{"provider", "providerAccountId"}},
			{"accounts_userId_idx", false, []string{"userId"}},
		},
	}, {
		name: "sessions", owned: true,
		columns: []column{
			{name: "id", others: `text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text`},
			{name: "userId", typ: "id"},
			{name: "expires", typ: "timestamptz"},
			{name: "sessionToken", typ: "text", exact: true},
		},
		indexes: []index{
			{"sessions_sessionToken_key", true, []string{"sessionToken"}},
			{"sessions_userId_idx", false, []string{"userId"}},
			{"sessions_sweep_idx", false, []string{"expires", "sessionToken"}},
		},
	}, {
		name: "verification_token",
		columns: []column{
			{name: "identifier", typ: "text", exact: true},
			{name: "expires", typ: "timestamptz"},
			{name: "token", typ: "text", exact: true},
		},
		indexes: []index{
			{"verification_token_identifier_token_key", true, []string{"identifier", "token"}},
			{"verification_token_sweep_idx", false, []string{"expires", "identifier", "token"}},
		},
	}, {
		name: "authenticators", owned: true,
		columns: []column{
			{name: "credentialID", typ: "text", exact: true},
			{name: "userId", typ: "id"},
			{name: "providerAccountId", typ: "text"},
			{name: "credentialPublicKey", typ: "text"},
			{name: "counter", typ: "bigint"},
			{name: "credentialDeviceType", typ: "text"},
			{name: "credentialBackedUp", typ: "boolean"},
			{name: "transports", typ: "text", null: true},
			{name: "name", typ: "text", null: true, added: true},
			{name: "created", typ: "timestamptz", null: true, added: true},
			{name: "lastUsed", typ: "timestamptz", null: true, added: true},
		},
		indexes: []index{
			{"authenticators_credentialID_key", true, []string{"credentialID"}},
			{"authenticators_userId_idx", false, []string{"userId"}},
		},
	}},
}

// accepted are the types of existing columns that serve for a type, by the names
// that Postgres gives them. The first is the one that a new column gets.
var accepted = map[string][]string{
	"text":        {"text", "character varying"},
	"timestamptz": {"timestamp with time zone"},
	"bigint":      {"bigint", "integer"},
	"boolean":     {"boolean"},
	"json":        {"json", "jsonb"},
	"id":          {"text", "character varying", "uuid", "smallint", "integer", "bigint"},
}

// Schema returns the numbered SQL files that make the tables in a new database,
// with the default names, for applications that have a migration tool. Each file
// runs once. A database that Auth.js made takes other statements, which
// [Adapter.SchemaChanges] returns.
func Schema() fs.FS {
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the name above is wrong
	}
	return files
}

// newDatabase returns the files as one script, with the adapter's names.
func (s *schema) newDatabase(n names) (string, error) {
	files, err := fs.Glob(s.files, "schema/*.sql")
	if err != nil {
		return "", err
	}
	var script strings.Builder
	for _, file := range files {
		sql, err := fs.ReadFile(s.files, file)
		if err != nil {
			return "", err
		}
		script.WriteString(n.inFile(string(sql)))
	}
	return script.String(), nil
}

// inFile renames what the schema files name. They write every table in double
// quotes.
func (n names) inFile(sql string) string {
	var pairs []string
	for _, table := range []string{"users", "accounts", "sessions", "verification_token", "authenticators", versionTable} {
		pairs = append(pairs, `"`+table+`"`, n.table(table), `"`+table+`_`, `"`+n.prefix+table+`_`)
	}
	return strings.NewReplacer(pairs...).Replace(sql)
}

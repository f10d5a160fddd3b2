package postgres

import (
	"embed"
	"io/fs"
	"strings"
	"time"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// schema is a version of the tables. It has the files that make them in a new
// database, and the columns and indexes that tables made by another product
// must have.
type schema struct {
	version int
	lease   time.Duration // how long one process may change the tables without renewing the lease
	files   fs.FS
	tables  []table
}

type table struct {
	name    string
	columns []column
	indexes []index
	owned   bool // "userId" references users, and a deleted user takes the rows along
	spare   bool // a site of others may lack the table
}

// column is a column that the adapter uses, or one that it makes for others.
type column struct {
	name, typ string // typ "id" is the type of users.id
	null      bool   // the adapter stores nulls
	exact     bool   // it must be compared byte for byte
	added     bool   // EnsureSchema adds it to a table that lacks it
	others    string // the definition in a new table of a column that the adapter does not use
}

// index is an index that must exist, under any name. A unique index has exactly
// these columns; another index begins with them.
type index struct {
	name    string
	unique  bool
	columns []string
}

// currentSchema is the schema of this version of the package. A new version
// adds columns with added, indexes, and an SQL file that makes the same
// changes.
var currentSchema = &schema{
	version: 2,
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
		name: "authenticators", owned: true, spare: true,
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
	}, {
		name: "passwords", owned: true, spare: true,
		columns: []column{
			{name: "userId", typ: "id"},
			{name: "hash", typ: "text", exact: true},
			{name: "state", typ: "text", exact: true},
		},
		indexes: []index{
			{"passwords_pkey", true, []string{"userId"}},
		},
	}},
}

// accepted has, for each type of the schema, the types that an existing column
// may have, by their names in Postgres. A new column gets the first one.
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
// runs once. A database that Auth.js made needs other statements, which
// [Adapter.SchemaChanges] returns.
func Schema() fs.FS {
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the name is a constant
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

// inFile puts the adapter's names in place of the names in the schema files,
// where every table is in double quotes.
func (n names) inFile(sql string) string {
	var pairs []string
	for _, table := range []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords", versionTable} {
		pairs = append(pairs, `"`+table+`"`, n.table(table), `"`+table+`_`, `"`+n.prefix+table+`_`)
	}
	return strings.NewReplacer(pairs...).Replace(sql)
}

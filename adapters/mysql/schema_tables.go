package mysql

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed schema
var schemaFiles embed.FS

// versionTable has one row: the version of the tables, and the process that changes them.
const (
	versionTable  = "gatehouse_schema"
	schemaVersion = 2
)

// table is a table of this version of the package.
type table struct {
	name    string
	since   int // the version that made it; 0 means the first
	columns []column
	keys    []key
}

// column is a column that the adapter uses.
type column struct {
	name   string
	kind   string // the data type, as information_schema.columns has it
	length int    // characters of a varchar
	null   bool
	digest string   // the expression of a generated column
	of     []string // the columns that the digest is of
}

// key is a unique key or an index. The server's error names the key that was violated, so
// it has a name that no other key has.
type key struct {
	name    string
	unique  bool
	columns []string
}

func varchar(name string, length int) column {
	return column{name: name, kind: "varchar", length: length}
}
func text(name string) column    { return column{name: name, kind: "mediumtext"} }
func number(name string) column  { return column{name: name, kind: "bigint"} }
func boolean(name string) column { return column{name: name, kind: "tinyint"} }
func at(name string) column      { return column{name: name, kind: "datetime"} }
func (c column) orNull() column  { c.null = true; return c }

// sha256Of is a generated column with the digest of texts that together are too long for
// a key: InnoDB has room for 3,072 bytes.
func sha256Of(name string, columns ...string) column {
	var parts []string
	for _, c := range columns[:len(columns)-1] {
		parts = append(parts, "octet_length("+c+")", "':'")
	}
	expression := "unhex(sha2(" + columns[0] + ",256))"
	if len(columns) > 1 {
		expression = "unhex(sha2(concat(" + strings.Join(append(parts, columns...), ",") + "),256))"
	}
	return column{name: name, kind: "binary", digest: expression, of: columns}
}

// Lengths of keys in characters. Each fits a key of InnoDB, or has a digest.
const (
	idLength         = 255
	emailLength      = 320
	providerLength   = 255
	tokenLength      = 512
	credentialLength = 1364 // 1,023 bytes in base64url, WebAuthn Level 3 section 4
)

// tables are the tables, with owners before what they own. A number that no other table
// refers to is the primary key, so that long keys do not stand in every index.
var tables = []table{{
	name: "user",
	columns: []column{varchar("id", idLength), text("name").orNull(), varchar("email", emailLength).orNull(),
		at("emailVerified").orNull(), text("image").orNull()},
	keys: []key{{"user_id_key", true, []string{"id"}}, {"user_email_key", true, []string{"email"}}},
}, {
	name: "account",
	columns: []column{
		varchar("userId", idLength), varchar("type", 255), varchar("provider", providerLength),
		varchar("providerAccountId", providerLength),
		text("access_token").orNull(), text("refresh_token").orNull(), text("id_token").orNull(), text("scope").orNull(),
		text("token_type").orNull(),
		text("session_state").orNull(), number("expires_at").orNull(), text("authorization_details").orNull(),
	},
	keys: []key{
		{"account_provider_key", true, []string{"provider", "providerAccountId"}}, {"account_userId_idx", false, []string{"userId"}},
	},
}, {
	name:    "session",
	columns: []column{varchar("sessionToken", tokenLength), varchar("userId", idLength), at("expires")},
	keys: []key{
		{"session_sessionToken_key", true, []string{"sessionToken"}}, {"session_userId_idx", false, []string{"userId"}},
		{"session_expires_idx", false, []string{"expires"}},
	},
}, {
	name: "verificationToken",
	columns: []column{
		varchar("identifier", emailLength), varchar("token", tokenLength), at("expires"),
		sha256Of("pair", "identifier", "token"),
	},
	keys: []key{
		{"verificationToken_pair_key", true, []string{"pair"}},
		{"verificationToken_identifier_idx", false, []string{"identifier"}},
		{"verificationToken_expires_idx", false, []string{"expires"}},
	},
}, {
	name: "authenticator",
	columns: []column{
		varchar("credentialID", credentialLength), varchar("userId", idLength),
		varchar("providerAccountId", providerLength), text("credentialPublicKey"),
		number("counter"), varchar("credentialDeviceType", 255), boolean("credentialBackedUp"),
		text("transports").orNull(), text("name").orNull(),
		at("created").orNull(), at("lastUsed").orNull(), sha256Of("credential", "credentialID"),
	},
	keys: []key{
		{"authenticator_credential_key", true, []string{"credential"}}, {"authenticator_userId_idx", false, []string{"userId"}},
	},
}, {
	name: "passwords", since: 2,
	columns: []column{varchar("userId", idLength), varchar("hash", 2000), text("state")},
	keys:    []key{{"passwords_userId_key", true, []string{"userId"}}},
}}

// foreignKey is the name of the foreign key to the owner, or "".
func (t *table) foreignKey() string {
	if t.column("userId") == nil {
		return ""
	}
	return t.name + "_userId_fkey"
}

// keyNames are the names of the keys, the indexes and the foreign key.
func (t *table) keyNames() []string {
	var names []string
	for _, k := range t.keys {
		names = append(names, k.name)
	}
	if name := t.foreignKey(); name != "" {
		names = append(names, name)
	}
	return names
}

// key returns the unique key with the name, or nil.
func (t *table) key(name string) *key {
	for i := range t.keys {
		if t.keys[i].unique && t.keys[i].name == name {
			return &t.keys[i]
		}
	}
	return nil
}

func (t *table) column(name string) *column {
	for i := range t.columns {
		if t.columns[i].name == name {
			return &t.columns[i]
		}
	}
	return nil
}

// tableOf returns the table with the name.
func tableOf(name string) *table {
	for i := range tables {
		if tables[i].name == name {
			return &tables[i]
		}
	}
	panic("mysql: no table " + name)
}

// Schema returns the numbered SQL files that make the tables in a new database, for
// applications that have a migration tool. Each file runs once. The folder mariadb is
// for MariaDB and the folder mysql for MySQL: the collations differ. With WithPrefix
// every name in backticks takes the prefix, except those of columns.
func Schema() fs.FS {
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

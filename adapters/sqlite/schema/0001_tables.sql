-- The records of Gatehouse. Tables, columns and encodings are those of the
-- SQLite schema of Auth.js's Drizzle adapter: instants are milliseconds since
-- the Unix epoch, account.expires_at is seconds. Keys are compared byte for
-- byte. Every name in double quotes takes the table prefix.

CREATE TABLE IF NOT EXISTS "user" (
	id            TEXT NOT NULL PRIMARY KEY,
	name          TEXT,
	email         TEXT NOT NULL, -- empty: none
	emailVerified INTEGER,
	image         TEXT
) STRICT;

CREATE TABLE IF NOT EXISTS "account" (
	userId                TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
	type                  TEXT NOT NULL,
	provider              TEXT NOT NULL,
	providerAccountId     TEXT NOT NULL,
	access_token          TEXT,
	refresh_token         TEXT,
	id_token              TEXT,
	scope                 TEXT,
	token_type            TEXT,
	session_state         TEXT,
	expires_at            INTEGER,
	authorization_details TEXT, -- JSON
	PRIMARY KEY (provider, providerAccountId)
) STRICT;

CREATE TABLE IF NOT EXISTS "session" (
	sessionToken TEXT NOT NULL PRIMARY KEY,
	userId       TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
	expires      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "verificationToken" (
	identifier TEXT NOT NULL,
	token      TEXT NOT NULL,
	expires    INTEGER NOT NULL,
	PRIMARY KEY (identifier, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS "authenticator" (
	credentialID         TEXT NOT NULL PRIMARY KEY,
	userId               TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
	providerAccountId    TEXT NOT NULL,
	credentialPublicKey  TEXT NOT NULL,
	counter              INTEGER NOT NULL,
	credentialDeviceType TEXT NOT NULL,
	credentialBackedUp   INTEGER NOT NULL,
	transports           TEXT,
	name                 TEXT,
	created              INTEGER,
	lastUsed             INTEGER
) STRICT;

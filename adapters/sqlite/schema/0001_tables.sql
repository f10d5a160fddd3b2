-- The records of Gatehouse. Tables, columns and encodings are those of the
-- SQLite schema of Auth.js's Drizzle adapter, which can use this database.
-- Instants are milliseconds since the Unix epoch; account.expires_at is seconds.
-- Keys are compared byte for byte. The adapter adds the prefix to every name in
-- double quotes.

CREATE TABLE "user" (
	id            TEXT NOT NULL PRIMARY KEY,
	name          TEXT,
	email         TEXT, -- null means no address
	emailVerified INTEGER,
	image         TEXT
) STRICT;

-- An address has one user at most. Any number of users may have no address.
CREATE UNIQUE INDEX "user_email_key" ON "user" (email);

CREATE TABLE "account" (
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
CREATE INDEX "account_userId_idx" ON "account" (userId);

CREATE TABLE "session" (
	sessionToken TEXT NOT NULL PRIMARY KEY,
	userId       TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
	expires      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX "session_userId_idx" ON "session" (userId);
CREATE INDEX "session_expires_idx" ON "session" (expires);

CREATE TABLE "verificationToken" (
	identifier TEXT NOT NULL,
	token      TEXT NOT NULL,
	expires    INTEGER NOT NULL,
	PRIMARY KEY (identifier, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX "verificationToken_expires_idx" ON "verificationToken" (expires);

CREATE TABLE "authenticator" (
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
CREATE INDEX "authenticator_userId_idx" ON "authenticator" (userId);

-- SQLite enforces foreign keys only on connections that turn them on. This
-- trigger runs on every connection, in the statement that deletes the user.
CREATE TRIGGER "user_delete_trg" BEFORE DELETE ON "user" BEGIN
	DELETE FROM "session" WHERE userId = old.id;
	DELETE FROM "account" WHERE userId = old.id;
	DELETE FROM "authenticator" WHERE userId = old.id;
END;

-- One row: the version of these tables.
CREATE TABLE "gatehouse_schema" (
	single  INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
	version INTEGER NOT NULL
) STRICT;
INSERT INTO "gatehouse_schema" VALUES (1, 1);

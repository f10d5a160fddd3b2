package ownadapter

import (
	"context"
	"database/sql"
)

// schema makes five tables. Each promise of the contract about two records at
// once is a constraint here: a unique key for a value that only one user may
// have, a foreign key for a record that is deleted with its user.
const schema = `
CREATE TABLE IF NOT EXISTS users (
	id TEXT PRIMARY KEY, name TEXT, email TEXT UNIQUE, email_verified INTEGER, image TEXT
) STRICT;
CREATE TABLE IF NOT EXISTS accounts (
	provider TEXT NOT NULL, provider_account_id TEXT NOT NULL,
	user_id TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
	type TEXT NOT NULL, access_token TEXT, refresh_token TEXT, id_token TEXT, scope TEXT, token_type TEXT,
	session_state TEXT, expires_at INTEGER, authorization_details TEXT,
	PRIMARY KEY (provider, provider_account_id)
) STRICT;
CREATE INDEX IF NOT EXISTS accounts_user ON accounts (user_id);
CREATE TABLE IF NOT EXISTS sessions (
	session_token TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users ON DELETE CASCADE, expires INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS sessions_user ON sessions (user_id);
CREATE INDEX IF NOT EXISTS sessions_expires ON sessions (expires);
CREATE TABLE IF NOT EXISTS verification_tokens (
	identifier TEXT NOT NULL, token TEXT NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY (identifier, token)
) STRICT;
CREATE INDEX IF NOT EXISTS verification_tokens_expires ON verification_tokens (expires);
CREATE TABLE IF NOT EXISTS authenticators (
	credential_id TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES users ON DELETE CASCADE,
	provider_account_id TEXT NOT NULL, public_key TEXT NOT NULL, counter INTEGER NOT NULL,
	backed_up INTEGER NOT NULL, device_type TEXT NOT NULL, transports TEXT
) STRICT;
CREATE INDEX IF NOT EXISTS authenticators_user ON authenticators (user_id);`

// EnsureSchema makes the tables that are missing. A second call changes
// nothing.
func EnsureSchema(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, schema)
	return failed(ctx, "ensure schema", err)
}

CREATE TABLE p1_account (userId text(255) NOT NULL, type text(255) NOT NULL, provider text(255) NOT NULL, providerAccountId text(255) NOT NULL,
	refresh_token text, access_token text, expires_at integer, token_type text(255), scope text(255), id_token text, session_state text(255),
	PRIMARY KEY (provider, providerAccountId), FOREIGN KEY (userId) REFERENCES p1_user (id));
CREATE INDEX account_user_id_idx ON p1_account (userId);
CREATE TABLE p1_session (sessionToken text(255) PRIMARY KEY NOT NULL, userId text(255) NOT NULL, expires integer NOT NULL, FOREIGN KEY (userId) REFERENCES p1_user (id));
CREATE TABLE p1_user (id text(255) PRIMARY KEY NOT NULL, name text(255), email text(255) NOT NULL UNIQUE, emailVerified integer DEFAULT (unixepoch()), image text(255));
CREATE TABLE p1_verification_token (identifier text(255) NOT NULL, token text(255) NOT NULL, expires integer NOT NULL, PRIMARY KEY (identifier, token));

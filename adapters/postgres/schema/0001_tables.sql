-- The tables and columns of the Auth.js schema for Postgres, with text IDs, and
-- the table of authenticators, which Auth.js defines for other databases only.
--
-- Every deterministic collation compares keys byte for byte. The collation "C"
-- does it fast, and its indexes stay correct when the system's locale data
-- change. @auth/pg-adapter needs the id columns of accounts and sessions.

CREATE TABLE "users" (
	id              text COLLATE "C" PRIMARY KEY DEFAULT gen_random_uuid()::text,
	name            text,
	email           text COLLATE "C" UNIQUE, -- null means no address
	"emailVerified" timestamptz,
	image           text
);

CREATE TABLE "accounts" (
	id                    text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text,
	"userId"              text COLLATE "C" NOT NULL,
	type                  text NOT NULL,
	provider              text COLLATE "C" NOT NULL,
	"providerAccountId"   text COLLATE "C" NOT NULL,
	refresh_token         text,
	access_token          text,
	expires_at            bigint, -- seconds since the Unix epoch
	id_token              text,
	scope                 text,
	session_state         text,
	token_type            text,
	authorization_details json,
	PRIMARY KEY (provider, "providerAccountId"),
	CONSTRAINT "accounts_userId_fkey" FOREIGN KEY ("userId") REFERENCES "users" (id) ON DELETE CASCADE
);
CREATE INDEX "accounts_userId_idx" ON "accounts" ("userId");

CREATE TABLE "sessions" (
	id             text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text,
	"userId"       text COLLATE "C" NOT NULL,
	expires        timestamptz NOT NULL,
	"sessionToken" text COLLATE "C" PRIMARY KEY,
	CONSTRAINT "sessions_userId_fkey" FOREIGN KEY ("userId") REFERENCES "users" (id) ON DELETE CASCADE
);
CREATE INDEX "sessions_userId_idx" ON "sessions" ("userId");
CREATE INDEX "sessions_sweep_idx" ON "sessions" (expires, "sessionToken");

CREATE TABLE "verification_token" (
	identifier text COLLATE "C" NOT NULL,
	expires    timestamptz NOT NULL,
	token      text COLLATE "C" NOT NULL,
	PRIMARY KEY (identifier, token)
);
CREATE INDEX "verification_token_sweep_idx" ON "verification_token" (expires, identifier, token);

CREATE TABLE "authenticators" (
	"credentialID"         text COLLATE "C" PRIMARY KEY,
	"userId"               text COLLATE "C" NOT NULL,
	"providerAccountId"    text COLLATE "C" NOT NULL,
	"credentialPublicKey"  text NOT NULL,
	counter                bigint NOT NULL,
	"credentialDeviceType" text NOT NULL,
	"credentialBackedUp"   boolean NOT NULL,
	transports             text,
	name                   text,
	created                timestamptz,
	"lastUsed"             timestamptz,
	CONSTRAINT "authenticators_userId_fkey" FOREIGN KEY ("userId") REFERENCES "users" (id) ON DELETE CASCADE
);
CREATE INDEX "authenticators_userId_idx" ON "authenticators" ("userId");

-- One row: the version of the tables, the process that changes them, and the
-- time until which the process holds that right.
CREATE TABLE IF NOT EXISTS "gatehouse_schema" (
	single    boolean PRIMARY KEY DEFAULT true CHECK (single),
	version   integer NOT NULL,
	migrating text,
	until     timestamptz
);
INSERT INTO "gatehouse_schema" AS s (version) VALUES (1)
	ON CONFLICT (single) DO UPDATE SET version = greatest(s.version, excluded.version);

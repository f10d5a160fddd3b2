-- Tables and columns of the Auth.js Postgres schema, with text IDs, and the
-- table of authenticators, which Auth.js has for other databases. Tables that
-- exist are left alone, whoever made them.
--
-- Keys are compared byte for byte under any collation; "C" makes that fast and
-- keeps the indexes right when the system's locale data change.
--
-- The id columns of accounts and sessions are there for @auth/pg-adapter.

DO $$
BEGIN
	IF to_regclass('"users"') IS NULL THEN
		CREATE TABLE "users" (
			id              text COLLATE "C" PRIMARY KEY DEFAULT gen_random_uuid()::text,
			name            text,
			email           text COLLATE "C" UNIQUE,
			"emailVerified" timestamptz,
			image           text
		);
	END IF;

	IF to_regclass('"accounts"') IS NULL THEN
		CREATE TABLE "accounts" (
			id                    text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text,
			"userId"              text COLLATE "C" NOT NULL,
			type                  text NOT NULL,
			provider              text COLLATE "C" NOT NULL,
			"providerAccountId"   text COLLATE "C" NOT NULL,
			refresh_token         text,
			access_token          text,
			expires_at            bigint,
			id_token              text,
			scope                 text,
			session_state         text,
			token_type            text,
			authorization_details json,
			PRIMARY KEY (provider, "providerAccountId")
		);
	END IF;

	IF to_regclass('"sessions"') IS NULL THEN
		CREATE TABLE "sessions" (
			id             text COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text,
			"userId"       text COLLATE "C" NOT NULL,
			expires        timestamptz NOT NULL,
			"sessionToken" text COLLATE "C" PRIMARY KEY
		);
	END IF;

	IF to_regclass('"verification_token"') IS NULL THEN
		CREATE TABLE "verification_token" (
			identifier text COLLATE "C" NOT NULL,
			expires    timestamptz NOT NULL,
			token      text COLLATE "C" NOT NULL,
			PRIMARY KEY (identifier, token)
		);
	END IF;

	IF to_regclass('"authenticators"') IS NULL THEN
		CREATE TABLE "authenticators" (
			"credentialID"         text COLLATE "C" PRIMARY KEY,
			"providerAccountId"    text NOT NULL,
			"credentialPublicKey"  text NOT NULL,
			counter                bigint NOT NULL,
			"credentialDeviceType" text NOT NULL,
			"credentialBackedUp"   boolean NOT NULL,
			transports             text,
			name                   text,
			created                timestamptz,
			"lastUsed"             timestamptz
		);
		-- Users that Auth.js made have integer IDs.
		EXECUTE (SELECT format('ALTER TABLE %s ADD COLUMN "userId" %s %s NOT NULL', '"authenticators"',
				format_type(atttypid, NULL),
				CASE WHEN attcollation <> 0 THEN 'COLLATE ' || attcollation::regcollation END)
			FROM pg_attribute WHERE attrelid = '"users"'::regclass AND attname = 'id');
	END IF;
END
$$;

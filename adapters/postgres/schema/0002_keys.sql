-- What the schema of Auth.js lacks: a column, room in its varchar columns,
-- unique keys, indexes, and foreign keys that take a user's records along.
-- Whatever is there already, under any name, is left alone and not locked. No
-- row is changed or deleted: duplicates make this script fail as a whole.
--
-- The indexes are built while writers wait. On tables of many million rows
-- create them beforehand, with CREATE INDEX CONCURRENTLY.

DO $$
DECLARE
	k record;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '"accounts"'::regclass
			AND attname = 'authorization_details' AND NOT attisdropped) THEN
		ALTER TABLE "accounts" ADD COLUMN authorization_details json;
	END IF;

	IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '"authenticators"'::regclass
			AND attname = 'lastUsed' AND NOT attisdropped) THEN
		ALTER TABLE "authenticators" ADD COLUMN name text, ADD COLUMN created timestamptz, ADD COLUMN "lastUsed" timestamptz;
	END IF;

	-- From varchar to text is a change of the catalog only.
	FOR k IN SELECT a.attrelid::regclass AS tab, a.attname AS col FROM pg_attribute AS a
		WHERE a.attrelid IN ('"users"'::regclass, '"accounts"'::regclass, '"sessions"'::regclass, '"verification_token"'::regclass)
		AND a.atttypid = 'varchar'::regtype AND a.attnum > 0 AND NOT a.attisdropped
		AND a.attname IN ('name', 'email', 'type', 'provider', 'providerAccountId', 'sessionToken', 'identifier', 'token')
	LOOP
		EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE text', k.tab, k.col);
	END LOOP;

	-- An index serves if these are its leading columns; a unique one must have
	-- exactly these, and cover every row.
	FOR k IN SELECT * FROM (VALUES
		('"users"',              true,  '"users_email_key"',                        '{email}'::name[]),
		('"accounts"',           true,  '"accounts_provider_providerAccountId_key"', '{provider,providerAccountId}'),
		('"sessions"',           true,  '"sessions_sessionToken_key"',              '{sessionToken}'),
		('"verification_token"', true,  '"verification_token_identifier_token_key"', '{identifier,token}'),
		('"authenticators"',     true,  '"authenticators_credentialID_key"',        '{credentialID}'),
		('"accounts"',           false, '"accounts_userId_idx"',                    '{userId}'),
		('"sessions"',           false, '"sessions_userId_idx"',                    '{userId}'),
		('"authenticators"',     false, '"authenticators_userId_idx"',              '{userId}'),
		('"sessions"',           false, '"sessions_expires_idx"',                   '{expires}'),
		('"verification_token"', false, '"verification_token_expires_idx"',         '{expires}')
	) AS v (tab, uniq, name, cols)
	LOOP
		CONTINUE WHEN EXISTS (
			SELECT FROM pg_index AS i
			CROSS JOIN LATERAL (SELECT array_agg(a.attname ORDER BY c.n) AS cols
				FROM unnest(i.indkey) WITH ORDINALITY AS c (attnum, n)
				JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = c.attnum
				WHERE c.n <= i.indnkeyatts) AS has
			WHERE i.indrelid = k.tab::regclass AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
			AND CASE WHEN k.uniq THEN i.indisunique AND i.indimmediate AND has.cols @> k.cols AND has.cols <@ k.cols
				ELSE has.cols[1] = k.cols[1] END);
		EXECUTE format('CREATE %s INDEX %s ON %s (%s)', CASE WHEN k.uniq THEN 'UNIQUE' END, k.name, k.tab,
			(SELECT string_agg(format('%I', c), ', ') FROM unnest(k.cols) AS c));
	END LOOP;

	-- Rows whose user is gone stay, and find nobody; the key then binds new
	-- rows only.
	FOR k IN SELECT * FROM (VALUES
		('"accounts"',       '"accounts_userId_fkey"'),
		('"sessions"',       '"sessions_userId_fkey"'),
		('"authenticators"', '"authenticators_userId_fkey"')
	) AS v (tab, name)
	LOOP
		CONTINUE WHEN EXISTS (SELECT FROM pg_constraint WHERE contype = 'f' AND conrelid = k.tab::regclass
			AND confrelid = '"users"'::regclass);
		EXECUTE format('ALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY ("userId") REFERENCES %s (id) ON DELETE CASCADE NOT VALID',
			k.tab, k.name, '"users"');
		BEGIN
			EXECUTE format('ALTER TABLE %s VALIDATE CONSTRAINT %s', k.tab, k.name);
		EXCEPTION WHEN foreign_key_violation THEN
			RAISE NOTICE '% has rows whose user is gone', k.tab;
		END;
	END LOOP;
END
$$;

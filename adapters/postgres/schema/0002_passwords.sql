-- The passwords of users, apart from the tables of Auth.js: a hash, and what the
-- application knows of the password. Both are compared byte for byte.

CREATE TABLE "passwords" (
	"userId" text COLLATE "C" PRIMARY KEY,
	hash     text COLLATE "C" NOT NULL,
	state    text COLLATE "C" NOT NULL,
	CONSTRAINT "passwords_userId_fkey" FOREIGN KEY ("userId") REFERENCES "users" (id) ON DELETE CASCADE
);

INSERT INTO "gatehouse_schema" AS s (version) VALUES (2)
	ON CONFLICT (single) DO UPDATE SET version = greatest(s.version, excluded.version);

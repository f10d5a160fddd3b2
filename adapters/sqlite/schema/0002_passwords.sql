-- The passwords of users, which Auth.js does not have. The hash is a text that package
-- auth/password makes, and state is empty or JSON.

CREATE TABLE "passwords" (
	userId TEXT NOT NULL PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
	hash   TEXT NOT NULL,
	state  TEXT NOT NULL
) STRICT;

DROP TRIGGER "user_delete_trg";
CREATE TRIGGER "user_delete_trg" BEFORE DELETE ON "user" BEGIN
	DELETE FROM "session" WHERE userId = old.id;
	DELETE FROM "account" WHERE userId = old.id;
	DELETE FROM "authenticator" WHERE userId = old.id;
	DELETE FROM "passwords" WHERE userId = old.id;
END;

UPDATE "gatehouse_schema" SET version = 2;

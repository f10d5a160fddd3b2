-- One user per address; any number of users without one.
CREATE UNIQUE INDEX IF NOT EXISTS "user_email_idx" ON "user" (email) WHERE email <> '';

-- What belongs to a user, and what is over.
CREATE INDEX IF NOT EXISTS "account_userId_idx" ON "account" (userId);
CREATE INDEX IF NOT EXISTS "session_userId_idx" ON "session" (userId);
CREATE INDEX IF NOT EXISTS "session_expires_idx" ON "session" (expires);
CREATE INDEX IF NOT EXISTS "verificationToken_expires_idx" ON "verificationToken" (expires);
CREATE INDEX IF NOT EXISTS "authenticator_userId_idx" ON "authenticator" (userId);

-- Foreign keys hold only on connections that ask for them. This trigger is on
-- every connection, and part of the statement that deletes the user.
CREATE TRIGGER IF NOT EXISTS "user_delete_trg" BEFORE DELETE ON "user" BEGIN
	DELETE FROM "session" WHERE userId = old.id;
	DELETE FROM "account" WHERE userId = old.id;
	DELETE FROM "authenticator" WHERE userId = old.id;
END;

CREATE INDEX CONCURRENTLY "logins_userId_idx" ON "site"."logins" ("user_id");
CREATE INDEX CONCURRENTLY "web sessions_userId_idx" ON "site"."web sessions" ("user_id");
CREATE INDEX CONCURRENTLY "web sessions_sweep_idx" ON "site"."web sessions" ("expires_at", "token");
CREATE INDEX CONCURRENTLY "Tokens_sweep_idx" ON "site"."Tokens" ("until", "identifier", "token");
CREATE INDEX CONCURRENTLY "keys_userId_idx" ON "site"."keys" ("user_id");
CREATE TABLE "site"."passwords" ("userId" text COLLATE "default" NOT NULL, "hash" text COLLATE "C" NOT NULL, "state" text COLLATE "C" NOT NULL, PRIMARY KEY ("userId"), CONSTRAINT "passwords_userId_fkey" FOREIGN KEY ("userId") REFERENCES "site"."People" ("ID") ON DELETE CASCADE)

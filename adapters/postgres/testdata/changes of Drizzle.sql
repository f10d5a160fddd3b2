-- Drizzle, table account: expires_at: bigint("expires_at", { mode: "number" })
ALTER TABLE "site"."account" ALTER COLUMN "expires_at" TYPE bigint;
-- Drizzle, table account: authorization_details: json("authorization_details")
ALTER TABLE "site"."account" ADD COLUMN IF NOT EXISTS "authorization_details" json;
-- Drizzle, table account: index("account_userId_idx").on(t.userId)
CREATE INDEX CONCURRENTLY "account_userId_idx" ON "site"."account" ("userId");
-- Drizzle, table session: index("session_userId_idx").on(t.userId)
CREATE INDEX CONCURRENTLY "session_userId_idx" ON "site"."session" ("userId");
-- Drizzle, table session: index("session_sweep_idx").on(t.expires, t.sessionToken)
CREATE INDEX CONCURRENTLY "session_sweep_idx" ON "site"."session" ("expires", "sessionToken");
-- Drizzle, table verificationToken: index("verificationToken_sweep_idx").on(t.expires, t.identifier, t.token)
CREATE INDEX CONCURRENTLY "verificationToken_sweep_idx" ON "site"."verificationToken" ("expires", "identifier", "token");
-- Drizzle, table authenticator: counter: bigint("counter", { mode: "number" }).notNull()
ALTER TABLE "site"."authenticator" ALTER COLUMN "counter" TYPE bigint;
-- Drizzle, table authenticator: name: text("name")
ALTER TABLE "site"."authenticator" ADD COLUMN IF NOT EXISTS "name" text;
-- Drizzle, table authenticator: created: timestamp("created", { mode: "date", withTimezone: true })
ALTER TABLE "site"."authenticator" ADD COLUMN IF NOT EXISTS "created" timestamp with time zone;
-- Drizzle, table authenticator: lastUsed: timestamp("lastUsed", { mode: "date", withTimezone: true })
ALTER TABLE "site"."authenticator" ADD COLUMN IF NOT EXISTS "lastUsed" timestamp with time zone;
-- Drizzle, a new table:
-- export const passwords = pgTable("passwords", {
--   userId: text("userId").primaryKey().references(() => users.id, { onDelete: "cascade" }),
--   hash: text("hash").notNull(),
--   state: text("state").notNull(),
-- })
CREATE TABLE "site"."passwords" ("userId" text COLLATE "default" NOT NULL, "hash" text COLLATE "C" NOT NULL, "state" text COLLATE "C" NOT NULL, PRIMARY KEY ("userId"), CONSTRAINT "passwords_userId_fkey" FOREIGN KEY ("userId") REFERENCES "site"."user" ("id") ON DELETE CASCADE)

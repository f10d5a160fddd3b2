-- Drizzle, table account: expires_at: bigint("expires_at", { mode: "number" })
ALTER TABLE "account" ALTER COLUMN "expires_at" TYPE bigint;
-- Drizzle, table account: authorization_details: json("authorization_details")
ALTER TABLE "account" ADD COLUMN IF NOT EXISTS "authorization_details" json;
-- Drizzle, table account: index("account_userId_idx").on(t.userId)
CREATE INDEX CONCURRENTLY "account_userId_idx" ON "account" ("userId");
-- Drizzle, table account: userId: text("userId").notNull().references(() => users.id, { onDelete: "cascade" })
ALTER TABLE "account" ADD CONSTRAINT "account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user" ("id") ON DELETE CASCADE NOT VALID;
ALTER TABLE "account" VALIDATE CONSTRAINT "account_userId_fkey";
-- Drizzle, table session: index("session_userId_idx").on(t.userId)
CREATE INDEX CONCURRENTLY "session_userId_idx" ON "session" ("userId");
-- Drizzle, table session: index("session_sweep_idx").on(t.expires, t.sessionToken)
CREATE INDEX CONCURRENTLY "session_sweep_idx" ON "session" ("expires", "sessionToken");
-- Drizzle, table verificationToken: index("verificationToken_sweep_idx").on(t.expires, t.identifier, t.token)
CREATE INDEX CONCURRENTLY "verificationToken_sweep_idx" ON "verificationToken" ("expires", "identifier", "token");
-- Drizzle, a new table:
-- export const authenticators = pgTable("authenticator", {
--   credentialID: text("credentialID").primaryKey(),
--   userId: text("userId").notNull().references(() => users.id, { onDelete: "cascade" }),
--   providerAccountId: text("providerAccountId").notNull(),
--   credentialPublicKey: text("credentialPublicKey").notNull(),
--   counter: bigint("counter", { mode: "number" }).notNull(),
--   credentialDeviceType: text("credentialDeviceType").notNull(),
--   credentialBackedUp: boolean("credentialBackedUp").notNull(),
--   transports: text("transports"),
--   name: text("name"),
--   created: timestamp("created", { mode: "date", withTimezone: true }),
--   lastUsed: timestamp("lastUsed", { mode: "date", withTimezone: true }),
-- })
CREATE TABLE "authenticator" ("credentialID" text COLLATE "C" NOT NULL, "userId" text COLLATE "default" NOT NULL, "providerAccountId" text NOT NULL, "credentialPublicKey" text NOT NULL, "counter" bigint NOT NULL, "credentialDeviceType" text NOT NULL, "credentialBackedUp" boolean NOT NULL, "transports" text, "name" text, "created" timestamp with time zone, "lastUsed" timestamp with time zone, PRIMARY KEY ("credentialID"), CONSTRAINT "authenticator_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user" ("id") ON DELETE CASCADE);
-- Drizzle, table authenticator: index("authenticator_userId_idx").on(t.userId)
CREATE INDEX CONCURRENTLY "authenticator_userId_idx" ON "authenticator" ("userId");
-- Drizzle, a new table:
-- export const passwords = pgTable("passwords", {
--   userId: text("userId").primaryKey().references(() => users.id, { onDelete: "cascade" }),
--   hash: text("hash").notNull(),
--   state: text("state").notNull(),
-- })
CREATE TABLE "passwords" ("userId" text COLLATE "default" NOT NULL, "hash" text COLLATE "C" NOT NULL, "state" text COLLATE "C" NOT NULL, PRIMARY KEY ("userId"), CONSTRAINT "passwords_userId_fkey" FOREIGN KEY ("userId") REFERENCES "user" ("id") ON DELETE CASCADE)

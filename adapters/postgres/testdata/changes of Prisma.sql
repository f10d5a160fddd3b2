-- schema.prisma, model User: email String? @unique
ALTER TABLE "site"."User" ALTER COLUMN "email" DROP NOT NULL;
-- schema.prisma, model Account: expires_at BigInt?
ALTER TABLE "site"."Account" ALTER COLUMN "expires_at" TYPE bigint;
-- schema.prisma, model Account: authorization_details Json? @db.Json
ALTER TABLE "site"."Account" ADD COLUMN IF NOT EXISTS "authorization_details" json;
-- schema.prisma, model Account: @@index([userId], map: "Account_userId_idx")
CREATE INDEX CONCURRENTLY "Account_userId_idx" ON "site"."Account" ("userId");
-- schema.prisma, model Session: @@index([userId], map: "Session_userId_idx")
CREATE INDEX CONCURRENTLY "Session_userId_idx" ON "site"."Session" ("userId");
-- schema.prisma, model Session: @@index([expires, sessionToken], map: "Session_sweep_idx")
CREATE INDEX CONCURRENTLY "Session_sweep_idx" ON "site"."Session" ("expires", "sessionToken");
-- schema.prisma, model VerificationToken: @@index([expires, identifier, token], map: "VerificationToken_sweep_idx")
CREATE INDEX CONCURRENTLY "VerificationToken_sweep_idx" ON "site"."VerificationToken" ("expires", "identifier", "token");
-- schema.prisma, model Authenticator: counter BigInt
ALTER TABLE "site"."Authenticator" ALTER COLUMN "counter" TYPE bigint;
-- schema.prisma, model Authenticator: name String?
ALTER TABLE "site"."Authenticator" ADD COLUMN IF NOT EXISTS "name" text;
-- schema.prisma, model Authenticator: created DateTime? @db.Timestamptz(6)
ALTER TABLE "site"."Authenticator" ADD COLUMN IF NOT EXISTS "created" timestamp with time zone;
-- schema.prisma, model Authenticator: lastUsed DateTime? @db.Timestamptz(6)
ALTER TABLE "site"."Authenticator" ADD COLUMN IF NOT EXISTS "lastUsed" timestamp with time zone;
-- schema.prisma, model User: passwords passwords?
-- schema.prisma, a new model:
-- model passwords {
--   userId String @id
--   hash String
--   state String
--   user User @relation(fields: [userId], references: [id], onDelete: Cascade, onUpdate: NoAction)
-- }
CREATE TABLE "site"."passwords" ("userId" text COLLATE "default" NOT NULL, "hash" text COLLATE "C" NOT NULL, "state" text COLLATE "C" NOT NULL, PRIMARY KEY ("userId"), CONSTRAINT "passwords_userId_fkey" FOREIGN KEY ("userId") REFERENCES "site"."User" ("id") ON DELETE CASCADE)

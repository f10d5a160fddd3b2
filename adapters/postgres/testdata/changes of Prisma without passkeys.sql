-- schema.prisma, model User: email String? @unique
ALTER TABLE "User" ALTER COLUMN "email" DROP NOT NULL;
-- schema.prisma, model Account: expires_at BigInt?
ALTER TABLE "Account" ALTER COLUMN "expires_at" TYPE bigint;
-- schema.prisma, model Account: authorization_details Json? @db.Json
ALTER TABLE "Account" ADD COLUMN IF NOT EXISTS "authorization_details" json;
-- schema.prisma, model Account: @@index([userId], map: "Account_userId_idx")
CREATE INDEX CONCURRENTLY "Account_userId_idx" ON "Account" ("userId");
-- schema.prisma, model User: Account Account[]
-- schema.prisma, model Account: user User @relation(fields: [userId], references: [id], onDelete: Cascade, onUpdate: NoAction)
ALTER TABLE "Account" ADD CONSTRAINT "Account_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE NOT VALID;
ALTER TABLE "Account" VALIDATE CONSTRAINT "Account_userId_fkey";
-- schema.prisma, model Session: @@index([userId], map: "Session_userId_idx")
CREATE INDEX CONCURRENTLY "Session_userId_idx" ON "Session" ("userId");
-- schema.prisma, model Session: @@index([expires, sessionToken], map: "Session_sweep_idx")
CREATE INDEX CONCURRENTLY "Session_sweep_idx" ON "Session" ("expires", "sessionToken");
-- schema.prisma, model VerificationToken: @@index([expires, identifier, token], map: "VerificationToken_sweep_idx")
CREATE INDEX CONCURRENTLY "VerificationToken_sweep_idx" ON "VerificationToken" ("expires", "identifier", "token");
-- schema.prisma, model User: Authenticator Authenticator[]
-- schema.prisma, a new model:
-- model Authenticator {
--   credentialID String @id
--   userId String
--   providerAccountId String
--   credentialPublicKey String
--   counter BigInt
--   credentialDeviceType String
--   credentialBackedUp Boolean
--   transports String?
--   name String?
--   created DateTime? @db.Timestamptz(6)
--   lastUsed DateTime? @db.Timestamptz(6)
--   user User @relation(fields: [userId], references: [id], onDelete: Cascade, onUpdate: NoAction)
-- }
CREATE TABLE "Authenticator" ("credentialID" text COLLATE "C" NOT NULL, "userId" text COLLATE "default" NOT NULL, "providerAccountId" text NOT NULL, "credentialPublicKey" text NOT NULL, "counter" bigint NOT NULL, "credentialDeviceType" text NOT NULL, "credentialBackedUp" boolean NOT NULL, "transports" text, "name" text, "created" timestamp with time zone, "lastUsed" timestamp with time zone, PRIMARY KEY ("credentialID"), CONSTRAINT "Authenticator_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE);
-- schema.prisma, model Authenticator: @@index([userId], map: "Authenticator_userId_idx")
CREATE INDEX CONCURRENTLY "Authenticator_userId_idx" ON "Authenticator" ("userId");
-- schema.prisma, model User: passwords passwords?
-- schema.prisma, a new model:
-- model passwords {
--   userId String @id
--   hash String
--   state String
--   user User @relation(fields: [userId], references: [id], onDelete: Cascade, onUpdate: NoAction)
-- }
CREATE TABLE "passwords" ("userId" text COLLATE "default" NOT NULL, "hash" text COLLATE "C" NOT NULL, "state" text COLLATE "C" NOT NULL, PRIMARY KEY ("userId"), CONSTRAINT "passwords_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User" ("id") ON DELETE CASCADE)

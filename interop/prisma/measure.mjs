// Lets adaptertest measure the real @auth/prisma-adapter on PostgreSQL, with the models of its documentation. The argument is
// the URL of the server. Each store is a schema.
import { PrismaAdapter } from "@auth/prisma-adapter"
import { PrismaPg } from "@prisma/adapter-pg"
import { join } from "node:path"
import pg from "pg"
import { measure } from "../measure.mjs"
import { schemas } from "../schemas.mjs"
import { generated } from "./client.mjs"

const owner = `"userId" TEXT NOT NULL REFERENCES "User" (id) ON DELETE CASCADE ON UPDATE CASCADE`
const times = `"createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, "updatedAt" TIMESTAMP(3) NOT NULL`
const tables = `
CREATE TABLE IF NOT EXISTS "User" (id TEXT PRIMARY KEY, name TEXT, email TEXT NOT NULL UNIQUE, "emailVerified" TIMESTAMP(3), image TEXT, ${times});
CREATE TABLE IF NOT EXISTS "Account" (${owner}, type TEXT NOT NULL, provider TEXT NOT NULL, "providerAccountId" TEXT NOT NULL, refresh_token TEXT,
  access_token TEXT, expires_at INTEGER, token_type TEXT, scope TEXT, id_token TEXT, session_state TEXT, ${times},
  PRIMARY KEY (provider, "providerAccountId"));
CREATE TABLE IF NOT EXISTS "Session" ("sessionToken" TEXT NOT NULL UNIQUE, ${owner}, expires TIMESTAMP(3) NOT NULL, ${times});
CREATE TABLE IF NOT EXISTS "VerificationToken" (identifier TEXT NOT NULL, token TEXT NOT NULL, expires TIMESTAMP(3) NOT NULL, PRIMARY KEY (identifier, token));
CREATE TABLE IF NOT EXISTS "Authenticator" ("credentialID" TEXT NOT NULL UNIQUE, ${owner}, "providerAccountId" TEXT NOT NULL,
  "credentialPublicKey" TEXT NOT NULL, counter INTEGER NOT NULL, "credentialDeviceType" TEXT NOT NULL, "credentialBackedUp" BOOLEAN NOT NULL,
  transports TEXT, PRIMARY KEY ("userId", "credentialID"));`

const { PrismaClient, remove } = generated(join(import.meta.dirname, "schema.prisma"))
process.on("exit", remove)

await measure({
  hello: {
    name: "@auth/prisma-adapter (PostgreSQL)",
    features: ["second", "reopen", "address"],
    declarations: {
      assignsIDs: true,
      timeless: true,
      lacks: ["Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  ...schemas({
    pg, url: process.argv[2], tables,
    adapterOf: (pool, schema) => PrismaAdapter(new PrismaClient({ adapter: new PrismaPg(pool, { schema }) })),
  }),
})

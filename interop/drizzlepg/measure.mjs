// Lets adaptertest measure the real @auth/drizzle-adapter on PostgreSQL, with its own tables. The argument is the URL of the
// server. Each store is a schema.
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/node-postgres"
import pg from "pg"
import { measure } from "../measure.mjs"
import { schemas } from "../schemas.mjs"

const owner = `"userId" text NOT NULL REFERENCES "user"(id) ON DELETE CASCADE`
const tables = `
CREATE TABLE IF NOT EXISTS "user" (id text PRIMARY KEY, name text, email text UNIQUE, "emailVerified" timestamp, image text);
CREATE TABLE IF NOT EXISTS account (${owner}, type text NOT NULL, provider text NOT NULL, "providerAccountId" text NOT NULL,
  refresh_token text, access_token text, expires_at integer, token_type text, scope text, id_token text, session_state text,
  PRIMARY KEY (provider, "providerAccountId"));
CREATE TABLE IF NOT EXISTS session ("sessionToken" text PRIMARY KEY, ${owner}, expires timestamp NOT NULL);
CREATE TABLE IF NOT EXISTS "verificationToken" (identifier text NOT NULL, token text NOT NULL, expires timestamp NOT NULL,
  PRIMARY KEY (identifier, token));
CREATE TABLE IF NOT EXISTS authenticator ("credentialID" text NOT NULL UNIQUE, ${owner}, "providerAccountId" text NOT NULL,
  "credentialPublicKey" text NOT NULL, counter integer NOT NULL, "credentialDeviceType" text NOT NULL, "credentialBackedUp" boolean NOT NULL,
  transports text, PRIMARY KEY ("userId", "credentialID"));`

await measure({
  hello: {
    name: "@auth/drizzle-adapter (PostgreSQL)",
    features: ["second", "reopen", "address"],
    declarations: {
      assignsIDs: true,
      timeless: true,
      lacks: ["Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  ...schemas({ pg, url: process.argv[2], tables, adapterOf: (pool) => DrizzleAdapter(drizzle(pool)) }),
})

// Lets adaptertest measure the real @auth/drizzle-adapter on SQLite, with its own tables. Each store is a file.
import { mkdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { createClient } from "@libsql/client"
import { drizzle } from "drizzle-orm/libsql"
import { measure } from "../measure.mjs"

const tables = `
CREATE TABLE IF NOT EXISTS user (id text PRIMARY KEY NOT NULL, name text, email text UNIQUE, emailVerified integer, image text);
CREATE TABLE IF NOT EXISTS account (userId text NOT NULL REFERENCES user(id) ON DELETE CASCADE, type text NOT NULL,
  provider text NOT NULL, providerAccountId text NOT NULL, refresh_token text, access_token text, expires_at integer,
  token_type text, scope text, id_token text, session_state text, PRIMARY KEY (provider, providerAccountId));
CREATE TABLE IF NOT EXISTS session (sessionToken text PRIMARY KEY NOT NULL, userId text NOT NULL REFERENCES user(id) ON DELETE CASCADE,
  expires integer NOT NULL);
CREATE TABLE IF NOT EXISTS verificationToken (identifier text NOT NULL, token text NOT NULL, expires integer NOT NULL,
  PRIMARY KEY (identifier, token));
CREATE TABLE IF NOT EXISTS authenticator (credentialID text NOT NULL UNIQUE, userId text NOT NULL REFERENCES user(id) ON DELETE CASCADE,
  providerAccountId text NOT NULL, credentialPublicKey text NOT NULL, counter integer NOT NULL, credentialDeviceType text NOT NULL,
  credentialBackedUp integer NOT NULL, transports text, PRIMARY KEY (userId, credentialID));`

// Several processes open one store, so its file has a known name.
const folder = join(tmpdir(), "adaptertest-drizzle")
const file = (store) => join(folder, `${store}.db`)
mkdirSync(folder, { recursive: true })

await measure({
  hello: {
    name: "@auth/drizzle-adapter (SQLite)",
    features: ["second", "reopen"],
    declarations: {
      assignsIDs: true,
      noPooler: "a file has no pooler",
      timeless: true,
      lacks: ["Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  async open({ store }) {
    const client = createClient({ url: `file:${file(store)}` })
    await client.executeMultiple("PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF")
    await client.executeMultiple(tables)
    const adapter = DrizzleAdapter(drizzle(client))
    return { adapter, close: () => client.close() }
  },
  drop: (store) => { for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(file(store) + suffix, { force: true }) },
})

// Lets adaptertest measure the real @auth/pg-adapter, with the tables of its documentation. The argument is the URL of the
// server. Each store is a schema.
import PostgresAdapter from "@auth/pg-adapter"
import pg from "pg"
import { measure } from "../measure.mjs"
import { schemas } from "../schemas.mjs"

const tables = `
CREATE TABLE IF NOT EXISTS verification_token (identifier TEXT NOT NULL, expires TIMESTAMPTZ NOT NULL, token TEXT NOT NULL,
  PRIMARY KEY (identifier, token));
CREATE TABLE IF NOT EXISTS accounts (id SERIAL, "userId" INTEGER NOT NULL, type VARCHAR(255) NOT NULL, provider VARCHAR(255) NOT NULL,
  "providerAccountId" VARCHAR(255) NOT NULL, refresh_token TEXT, access_token TEXT, expires_at BIGINT, id_token TEXT, scope TEXT,
  session_state TEXT, token_type TEXT, PRIMARY KEY (id));
CREATE TABLE IF NOT EXISTS sessions (id SERIAL, "userId" INTEGER NOT NULL, expires TIMESTAMPTZ NOT NULL, "sessionToken" VARCHAR(255) NOT NULL,
  PRIMARY KEY (id));
CREATE TABLE IF NOT EXISTS users (id SERIAL, name VARCHAR(255), email VARCHAR(255), "emailVerified" TIMESTAMPTZ, image TEXT, PRIMARY KEY (id));`

await measure({
  hello: {
    name: "@auth/pg-adapter",
    features: ["second", "reopen", "address"],
    ids: "integer",
    declarations: {
      assignsIDs: true,
      timeless: true,
      lacks: ["Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  ...schemas({ pg, url: process.argv[2], tables, adapterOf: PostgresAdapter }),
})

// Lets adaptertest measure the real @auth/pg-adapter, with the tables of its documentation. The argument is the URL of the
// server. Each store is a schema.
import PostgresAdapter from "@auth/pg-adapter"
import pg from "pg"
import { measure } from "../measure.mjs"

const url = process.argv[2]
const admin = new pg.Pool({ connectionString: url, max: 2 })
const tables = (schema) => `
SELECT pg_advisory_xact_lock(1);
CREATE SCHEMA IF NOT EXISTS ${schema};
SET LOCAL search_path TO ${schema};
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
    features: ["second", "reopen"],
    ids: "integer",
    declarations: {
      assignsIDs: true,
      timeless: true,
      lacks: ["Account.AuthorizationDetails", "Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  async open({ store }) {
    await admin.query(tables(store))
    const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${store}`, max: 4 })
    pool.on("error", () => {}) // a connection that breaks while it is idle
    return { adapter: PostgresAdapter(pool), close: () => pool.end() }
  },
  drop: (store) => admin.query(`DROP SCHEMA ${store} CASCADE`),
})

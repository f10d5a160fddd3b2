// Serves the real @auth/drizzle-adapter. The arguments are the database, a URL and a schema,
// and the module with the tables, in this folder or anywhere; without it the adapter has its own.
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/node-postgres"
import pg from "pg"
import { serve } from "../serve.mjs"
import { tables } from "../tables.mjs"

const [url, schema, file] = process.argv.slice(2)

const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 })
const adapter = DrizzleAdapter(drizzle(pool), await tables(import.meta.dirname, file))
const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
await serve({ ...adapter, listAuthenticatorsByUserId })
await pool.end()

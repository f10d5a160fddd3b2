// Serves the real @auth/drizzle-adapter with its own tables. The database is named by the
// arguments: a URL and a schema.
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/node-postgres"
import pg from "pg"
import { serve } from "../serve.mjs"

const [url, schema] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 })
const adapter = DrizzleAdapter(drizzle(pool))
const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
await serve({ ...adapter, listAuthenticatorsByUserId })
await pool.end()

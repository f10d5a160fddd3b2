// Serves the real @auth/drizzle-adapter. The arguments are the database, a URL and a schema,
// and the module with the tables, in this folder or anywhere; without it the adapter has its own.
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { drizzle } from "drizzle-orm/node-postgres"
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import pg from "pg"
import { serve } from "../serve.mjs"

const [url, schema, file] = process.argv.slice(2)

// The module finds the packages of this folder only from within it.
async function tables() {
  if (!file) return undefined
  const dir = mkdtempSync(join(import.meta.dirname, "install-"))
  try {
    copyFileSync(file, join(dir, "schema.mjs"))
    return { ...(await import(join(dir, "schema.mjs"))) }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 })
const adapter = DrizzleAdapter(drizzle(pool), await tables())
const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
await serve({ ...adapter, listAuthenticatorsByUserId })
await pool.end()

// Serves the real @auth/pg-adapter. The database is named by the arguments: a
// URL and a schema.
import PostgresAdapter from "@auth/pg-adapter"
import pg from "pg"
import { serve } from "../serve.mjs"

const [url, schema] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 })
await serve(PostgresAdapter(pool))
await pool.end()

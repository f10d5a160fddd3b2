// Calls methods of the real @auth/pg-adapter. Each line of standard input is a
// JSON object {method, args}, each line of standard output one of {result} or
// {error}, in the same order: calls on consecutive lines run at the same time.
// The database is named by the arguments: a URL and a schema.
import PostgresAdapter from "@auth/pg-adapter"
import pg from "pg"
import { createInterface } from "node:readline"

const [url, schema] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 })
const adapter = PostgresAdapter(pool)

// Auth.js passes instants as Date objects.
const revive = (key, value) => ((key === "expires" || key === "emailVerified") && value ? new Date(value) : value)

let last = Promise.resolve()
for await (const line of createInterface({ input: process.stdin })) {
  const { method, args } = JSON.parse(line, revive)
  const answer = adapter[method](...args).then(
    (result) => ({ result: result ?? null }),
    (error) => ({ error: String(error) }),
  )
  last = last.then(async () => console.log(JSON.stringify(await answer)))
}
await last
await pool.end()

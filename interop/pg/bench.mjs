// Times getSessionAndUser of the real @auth/pg-adapter, one call after another,
// and prints the median in nanoseconds. Arguments: URL, schema, number of calls.
import PostgresAdapter from "@auth/pg-adapter"
import pg from "pg"

const [url, schema, calls] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` })
const adapter = PostgresAdapter(pool)
const { rows } = await pool.query(`SELECT "sessionToken" AS token FROM sessions ORDER BY md5("sessionToken") LIMIT 10000`)

const times = []
for (let n = -200; n < Number(calls); n++) {
  const { token } = rows[(n + 200) % rows.length]
  const start = process.hrtime.bigint()
  const found = await adapter.getSessionAndUser(token)
  const took = Number(process.hrtime.bigint() - start)
  if (!found) throw new Error(`no session ${token}`)
  if (n >= 0) times.push(took)
}
await pool.end()
times.sort((a, b) => a - b)
console.log(JSON.stringify({ median: times[times.length >> 1] }))

// Keeps each store of a measurement in a PostgreSQL schema of its own.
//   pg         the package pg
//   url        of the server; with the feature address, open names another place of it, where faults are injected
//   tables     the statements that make the tables
//   adapterOf  makes the adapter of a pool, whose search path is the schema, and of the name of the schema
import { setTimeout } from "node:timers/promises"

export function schemas({ pg, url, tables, adapterOf }) {
  const admin = new pg.Pool({ connectionString: url, max: 2 })
  return {
    async open({ store, address }) {
      // Several processes open one store: they make it one after the other.
      await admin.query(`SELECT pg_advisory_xact_lock(1);
CREATE SCHEMA IF NOT EXISTS ${store};
SET LOCAL search_path TO ${store};
${tables}`)
      const at = new URL(url)
      if (address) at.host = address
      const pool = new pg.Pool({ connectionString: at.href, options: `-c search_path=${store}`, max: 4 })
      pool.on("error", () => {}) // a connection that breaks while it is idle
      const ends = []
      pool.on("connect", (client) => ends.push(new Promise((ended) => client.once("end", ended))))
      // The end of a pool does not wait until its connections have said goodbye, and behind the proxy one may never end.
      const close = async () => (await pool.end(), await Promise.race([Promise.all(ends), setTimeout(1000)]))
      return { adapter: adapterOf(pool, store), close }
    },
    drop: (store) => admin.query(`DROP SCHEMA ${store} CASCADE`),
  }
}

// Keeps each store of a measurement in a PostgreSQL schema of its own.
//   pg         the package pg
//   tables     the statements that make the tables
//   adapterOf  makes the adapter of a pool, whose search path is the schema, and of the name of the schema
export function schemas({ pg, url, tables, adapterOf }) {
  const admin = new pg.Pool({ connectionString: url, max: 2 })
  return {
    async open({ store }) {
      // Several processes open one store: they make it one after the other.
      await admin.query(`SELECT pg_advisory_xact_lock(1);
CREATE SCHEMA IF NOT EXISTS ${store};
SET LOCAL search_path TO ${store};
${tables}`)
      const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${store}`, max: 4 })
      pool.on("error", () => {}) // a connection that breaks while it is idle
      return { adapter: adapterOf(pool, store), close: () => pool.end() }
    },
    drop: (store) => admin.query(`DROP SCHEMA ${store} CASCADE`),
  }
}

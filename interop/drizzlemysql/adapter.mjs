// Serves the real @auth/drizzle-adapter, and a method that lists the columns of its tables. The arguments are the database, a URL, and the module
// with the tables, in this folder or anywhere; without it the adapter has its own.
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { getTableConfig } from "drizzle-orm/mysql-core"
import { drizzle } from "drizzle-orm/mysql2"
import mysql from "mysql2/promise"
import { serve } from "../serve.mjs"
import { tables } from "../tables.mjs"

const [url, file] = process.argv.slice(2)

const pool = mysql.createPool({ uri: url, connectionLimit: 4 })
const schema = await tables(import.meta.dirname, file)
const adapter = DrizzleAdapter(drizzle(pool), schema)
const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
const columnsOf = ({ name, columns }) => columns.map((c) => `${name}.${c.name} ${c.getSQLType()}${c.notNull ? " not null" : ""}`)
const listColumns = async () => ({ list: Object.values(schema).flatMap((table) => columnsOf(getTableConfig(table))) })
await serve({ ...adapter, listAuthenticatorsByUserId, listColumns })
await pool.end()

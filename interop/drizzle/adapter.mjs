// Serves the real @auth/drizzle-adapter. The database is named by the argument,
// the path of a SQLite file.
import { DrizzleAdapter } from "@auth/drizzle-adapter"
import { createClient } from "@libsql/client"
import { drizzle } from "drizzle-orm/libsql"
import { serve } from "../serve.mjs"

const client = createClient({ url: `file:${process.argv[2]}` })
await client.execute("PRAGMA busy_timeout = 5000")
const adapter = DrizzleAdapter(drizzle(client))
const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
await serve({ ...adapter, listAuthenticatorsByUserId })
client.close()

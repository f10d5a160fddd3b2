// Serves the real @auth/prisma-adapter. The arguments are the path of a schema file, from
// which it generates a client, and the database: a URL and a schema of PostgreSQL, a URL of
// MariaDB, or the path of a SQLite file and the format of its instants.
import { PrismaAdapter } from "@auth/prisma-adapter"
import { PrismaLibSql } from "@prisma/adapter-libsql"
import { PrismaMariaDb } from "@prisma/adapter-mariadb"
import { PrismaPg } from "@prisma/adapter-pg"
import { serve } from "../serve.mjs"
import { generated } from "./client.mjs"

const [file, database, part] = process.argv.slice(2)
function store() {
  if (database.startsWith("postgres"))
    return new PrismaPg({ connectionString: database, options: `-c search_path=${part}`, max: 4 }, { schema: part })
  if (database.startsWith("mysql")) return new PrismaMariaDb(database)
  return new PrismaLibSql({ url: `file:${database}` }, { timestampFormat: part })
}

const { PrismaClient, remove } = generated(file)
try {
  const client = new PrismaClient({ adapter: store() })
  const adapter = PrismaAdapter(client)
  // Prisma returns 64-bit integers as BigInt.
  BigInt.prototype.toJSON = function () {
    return Number(this)
  }
  const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
  await serve({ ...adapter, listAuthenticatorsByUserId })
  await client.$disconnect()
} finally {
  remove()
}

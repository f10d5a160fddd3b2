// Serves the real @auth/prisma-adapter. The arguments are the path of a schema file, from
// which it generates a client, and the database: a URL and a schema of PostgreSQL, or the
// path of a SQLite file and the format of its instants.
import { PrismaAdapter } from "@auth/prisma-adapter"
import { PrismaLibSql } from "@prisma/adapter-libsql"
import { PrismaPg } from "@prisma/adapter-pg"
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { serve } from "../serve.mjs"

const [file, database, part] = process.argv.slice(2)
const dir = mkdtempSync(join(tmpdir(), "prisma-"))
try {
  copyFileSync(file, join(dir, "schema.prisma"))
  symlinkSync(join(import.meta.dirname, "node_modules"), join(dir, "node_modules"), "junction")
  // To generate a client needs no engine: without this variable Prisma would download one.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: "1", CHECKPOINT_DISABLE: "1" }
  const prisma = join(import.meta.dirname, "node_modules", "prisma", "build", "index.js")
  execFileSync(process.execPath, [prisma, "generate", "--no-hints"], { cwd: dir, env, stdio: ["ignore", "ignore", "inherit"] })
  const { PrismaClient } = createRequire(import.meta.url)(join(dir, "client"))
  const store = database.startsWith("postgres")
    ? new PrismaPg({ connectionString: database, options: `-c search_path=${part}`, max: 4 }, { schema: part })
    : new PrismaLibSql({ url: `file:${database}` }, { timestampFormat: part })
  const client = new PrismaClient({ adapter: store })
  const adapter = PrismaAdapter(client)
  // Prisma returns 64-bit integers as BigInt.
  BigInt.prototype.toJSON = function () {
    return Number(this)
  }
  const listAuthenticatorsByUserId = async (id) => ({ list: await adapter.listAuthenticatorsByUserId(id) })
  await serve({ ...adapter, listAuthenticatorsByUserId })
  await client.$disconnect()
} finally {
  rmSync(dir, { recursive: true, force: true })
}

// Generates the client of a Prisma schema in a temporary folder.
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"

// generated returns the class PrismaClient, and a function that removes the folder.
export function generated(schema) {
  const dir = mkdtempSync(join(tmpdir(), "prisma-"))
  const remove = () => rmSync(dir, { recursive: true, force: true })
  try {
    copyFileSync(schema, join(dir, "schema.prisma"))
    symlinkSync(join(import.meta.dirname, "node_modules"), join(dir, "node_modules"), "junction")
    // To generate a client needs no engine: without this variable Prisma would download one.
    const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: "1", CHECKPOINT_DISABLE: "1" }
    const prisma = join(import.meta.dirname, "node_modules", "prisma", "build", "index.js")
    execFileSync(process.execPath, [prisma, "generate", "--no-hints"], { cwd: dir, env, stdio: ["ignore", "ignore", "inherit"] })
    const { PrismaClient } = createRequire(import.meta.url)(join(dir, "client"))
    return { PrismaClient, remove }
  } catch (error) {
    remove()
    throw error
  }
}

// Reads a module with tables, which finds the packages of the folder only from within it:
//   await tables(import.meta.dirname, file)
// Without a file it returns undefined.
import { copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"

export async function tables(folder, file) {
  if (!file) return undefined
  const dir = mkdtempSync(join(folder, "install-"))
  try {
    copyFileSync(file, join(dir, "schema.mjs"))
    return { ...(await import(join(dir, "schema.mjs"))) }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

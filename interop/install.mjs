// Installs the packages of a folder, unless those of its lock file are there:
//   node install.mjs pg
// They are installed in a new folder, which is then moved in place, so that several processes may install them at once.
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"

const dir = join(import.meta.dirname, process.argv[2] ?? ".")
const modules = join(dir, "node_modules")
const lock = (folder) => readFileSync(join(folder, "package-lock.json"), "utf8")
const installed = () => existsSync(join(modules, "package-lock.json")) && lock(modules) === lock(dir)

if (!installed()) {
  const temporary = mkdtempSync(join(dir, "install-"))
  try {
    for (const name of ["package.json", "package-lock.json", ".npmrc"]) cpSync(join(dir, name), join(temporary, name))
    const npm = () => spawnSync("npm", ["ci"], { cwd: temporary, stdio: "inherit", shell: process.platform === "win32" })
    let { status, error } = npm()
    for (let again = 0; status !== 0 && !error && again < 2; again++) ({ status, error } = npm()) // a registry may fail once
    if (status !== 0) throw new Error(`npm ci: ${error ?? `status ${status}`}`)
    cpSync(join(temporary, "package-lock.json"), join(temporary, "node_modules", "package-lock.json"))
    place(join(temporary, "node_modules"))
  } finally {
    rmSync(temporary, { recursive: true, force: true })
  }
}

function place(made) {
  try {
    renameSync(made, modules)
  } catch (error) {
    if (installed()) return // another process has installed them
    rmSync(modules, { recursive: true, force: true }) // the packages of an earlier lock file
    renameSync(made, modules)
  }
}

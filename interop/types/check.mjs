// Compiles the types of the browser module, and a program that uses all of them, as strictly as TypeScript can:
//   node check.mjs ../../auth/client
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"

const source = resolve(process.argv[2])
const dir = mkdtempSync(join(import.meta.dirname, "check-"))
try {
  for (const name of readdirSync(source)) if (name.endsWith(".d.ts")) cpSync(join(source, name), join(dir, name))
  cpSync(join(import.meta.dirname, "use.ts"), join(dir, "use.ts"))
  const compile = (...files) =>
    spawnSync(join(import.meta.dirname, "node_modules", ".bin", "tsc"), [
      "--strict", "--noEmit", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--module", "esnext", "--moduleResolution", "bundler",
      "--target", "es2022", "--lib", "es2022,dom", "--types", "", ...files,
    ], { cwd: dir, encoding: "utf8" })
  const good = compile("use.ts", "gatehouse.d.ts")
  if (good.status !== 0) throw new Error(`the types don't compile:\n${good.stdout}${good.stderr}`)
  // Each of these programs is wrong, so that types that accept everything are noticed.
  const wrong = ["signIn(1)", "signIn('a', {}, 1)", "signIn('a', {}, [['a']])", "signIn('a', {}, { a: 1 })", "signOut({ redirect: 'no' })", "const s: string = getSession()", "onSession(1)", "configure({})", "nothing()", "getSession().then((s) => s.user)"]
  for (const [i, line] of wrong.entries()) {
    writeFileSync(join(dir, `wrong${i}.ts`), `import * as g from "./gatehouse"\nconst { configure, getSession, onSession, signIn, signOut } = g\n${line.replace("nothing", "g.nothing")}\nexport {}\n`)
    if (compile(`wrong${i}.ts`).status === 0) throw new Error(`this compiles and should not: ${line}`)
  }
  console.log("ok")
} finally {
  rmSync(dir, { recursive: true, force: true })
}

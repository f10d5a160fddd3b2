// Calls methods of a storage adapter of Auth.js. Each line of standard input is
// a JSON object {method, args}, each line of standard output one of {result} or
// {error}, in the same order: calls on consecutive lines run at the same time.
import { createInterface } from "node:readline"

// Auth.js passes instants as Date objects.
const revive = (key, value) => ((key === "expires" || key === "emailVerified") && value ? new Date(value) : value)

export async function serve(adapter) {
  let last = Promise.resolve()
  for await (const line of createInterface({ input: process.stdin })) {
    const { method, args } = JSON.parse(line, revive)
    const answer = adapter[method](...(args ?? [])).then(
      (result) => ({ result: result ?? null }),
      (error) => ({ error: String(error) }),
    )
    last = last.then(async () => console.log(JSON.stringify(await answer)))
  }
  await last
}

// Calls methods of the real @auth/mongodb-adapter. Each line of standard input
// is a JSON object {method, args}, each line of standard output one of {result}
// or {error}, in the same order: calls on consecutive lines run at the same
// time. The database is named by the arguments: a URL and a name.
import { MongoDBAdapter } from "@auth/mongodb-adapter"
import { MongoClient } from "mongodb"
import { createInterface } from "node:readline"

const [url, databaseName] = process.argv.slice(2)
const client = new MongoClient(url, { maxPoolSize: 4 })
const adapter = MongoDBAdapter(client, { databaseName })

// Auth.js passes instants as Date objects.
const revive = (key, value) => ((key === "expires" || key === "emailVerified") && value ? new Date(value) : value)

let last = Promise.resolve()
for await (const line of createInterface({ input: process.stdin })) {
  const { method, args } = JSON.parse(line, revive)
  const answer = adapter[method](...args).then(
    (result) => ({ result: result ?? null }),
    (error) => ({ error: String(error) }),
  )
  last = last.then(async () => console.log(JSON.stringify(await answer)))
}
await last
await client.close()

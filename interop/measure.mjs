// Lets adaptertest measure a storage adapter of Auth.js: it reads requests, one JSON object on each line of standard
// input, and writes answers to standard output. adaptertest/remote/PROTOCOL.md describes both. Copy this file, and
// write a script that calls measure, such as drizzle/measure.mjs:
//   go run ./cmd/adaptertest -profile authjs -- node ../interop/drizzle/measure.mjs
import { createInterface } from "node:readline"

// measure serves a program:
//   hello  what the program says of itself: name, version, features, declarations, ids
//   open   opens {store, address, connections, namespace} and returns { adapter, close, connections }
//   drop   deletes a store, if it is set
export async function measure({ hello, open, drop }) {
  const handles = new Map()
  const control = {
    hello: () => ({ protocol: 1, ...hello, features: [...(hello.features ?? []), ...(drop ? ["drop"] : [])] }),
    ping: () => null,
    open: async (_, [what]) => {
      const opened = await open(what)
      handles.set(handles.size + 1, opened)
      return { handle: handles.size, methods: Object.keys(opened.adapter).filter((name) => typeof opened.adapter[name] === "function") }
    },
    close: async ({ handle }) => {
      const opened = handles.get(handle)
      if (!opened.closed) await opened.close?.()
      opened.closed = true
      return null
    },
    drop: async (_, [store]) => (await drop(store), null),
    stats: ({ handle }) => ({ connections: handles.get(handle).connections(), memory: process.memoryUsage().rss }),
  }
  const answer = async (request) => {
    const { call, handle, args } = request
    if (call in control) return control[call](request, args)
    if (holdsBytes(args)) {
      if (/^(get|use|delete|unlink|list)/.test(call)) return null // no record can have a key that is no text
      throw new Error("a text is not valid UTF-8")
    }
    for (const field of foreign[call] ?? []) if (args[0][field] === null) delete args[0][field]
    const result = await handles.get(handle).adapter[call](...args)
    // Auth.js lets these methods return nothing: what was given stands for what was stored.
    return textIds(result ?? (/^(create|link)/.test(call) ? args[0] : null))
  }
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line, revive)
    if (request.call === "cancel") continue
    answer(request)
      .then((result) => ({ result: result ?? null }), (error) => ({ error: describe(error) }))
      .then((said) => process.stdout.write(JSON.stringify({ id: request.id, ...said }) + "\n"))
  }
  for (const { close, closed } of handles.values()) if (!closed) await close?.()
  process.exit(0)
}

// Auth.js does not know these fields, and an adapter may refuse them.
const foreign = { linkAccount: ["authorization_details"], createAuthenticator: ["name", "created", "lastUsed"] }

// Auth.js passes instants as Date objects.
const instants = new Set(["expires", "emailVerified", "created", "lastUsed"])
const revive = (key, value) => (instants.has(key) && typeof value === "string" ? new Date(value) : value)

// JavaScript has no text that is not Unicode. Such a text comes as {base64}.
const holdsBytes = (value) =>
  value !== null && typeof value === "object" &&
  (typeof value.base64 === "string" || Object.values(value).some(holdsBytes))

// Databases with serial keys return numbers, and Auth.js passes them on as they are.
function textIds(value) {
  if (Array.isArray(value)) return value.map(textIds)
  if (value === null || typeof value !== "object" || typeof value.toJSON === "function") return value
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, /^(id|userId)$/.test(key) && typeof v === "number" ? String(v) : textIds(v)]))
}

// The codes of drivers for a unique value that is taken, and for an owner that does not exist.
const taken = new Set(["23505", "11000", "P2002", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_UNIQUE"])
const ownerless = new Set(["23503", "P2003", "P2025", "SQLITE_CONSTRAINT_FOREIGNKEY"])

function describe(error) {
  const codes = []
  for (let e = error; e; e = e.cause) codes.push(e.extendedCode, e.code, /(UNIQUE|FOREIGN KEY) constraint failed/.exec(e.message)?.[1])
  const has = (set, word) => codes.some((code) => set.has(String(code)) || code === word)
  const absent = has(ownerless, "FOREIGN KEY") || /^(User|Authenticator) not found\.$/.test(error?.message)
  const kind = has(taken, "UNIQUE") ? "conflict" : absent ? "notFound" : undefined
  const code = codes.find((c) => c !== undefined)
  return { kind, message: String(error?.message ?? error), cause: code === undefined ? undefined : { type: String(code), code: String(code) } }
}

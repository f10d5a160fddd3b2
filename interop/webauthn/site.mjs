// A site with the real Auth.js and its passkey provider, over a store in memory. Each line of standard input is a JSON object,
// each line of standard output its answer, in the same order:
//   {config: {now, provider, strategy, signIn, newUser}}    starts a new site, with the clock fixed at now (milliseconds)
//   {seed: {users, accounts, authenticators}}               adds rows
//   {request: {method, url, headers, body}}                 gives {status, headers, setCookie, body, trace}
//   {store: true}                                           gives all rows
//   {bench: {data, cookie, seconds}}                        gives {options, callbacks}, see bench below
import { createInterface } from "node:readline"
import { Auth } from "@auth/core"
import Passkey from "@auth/core/providers/passkey"
import WebAuthn from "@auth/core/providers/webauthn"

const RealDate = Date
let now = RealDate.now()
globalThis.Date = class extends RealDate {
  constructor(...args) {
    super(...(args.length ? args : [now]))
  }
  static now() {
    return now
  }
}

let rows, trace, config

function adapter() {
  const copy = (row) => (row ? { ...row } : null)
  const methods = {
    createUser: (u) => (rows.users.push((u = { ...u, id: `user-${rows.users.length + 1}` })), copy(u)),
    getUser: (id) => copy(rows.users.find((u) => u.id === id)),
    getUserByEmail: (email) => copy(rows.users.find((u) => u.email === email)),
    getUserByAccount: ({ provider, providerAccountId }) => {
      const account = rows.accounts.find((a) => a.provider === provider && a.providerAccountId === providerAccountId)
      return copy(rows.users.find((u) => u.id === account?.userId))
    },
    updateUser: (u) => copy(Object.assign(rows.users.find((x) => x.id === u.id), u)),
    linkAccount: (a) => (rows.accounts.push({ ...a }), copy(a)),
    getAccount: (id, provider) => copy(rows.accounts.find((a) => a.provider === provider && a.providerAccountId === id)),
    createSession: (s) => (rows.sessions.push({ ...s }), copy(s)),
    getSessionAndUser: (token) => {
      const session = rows.sessions.find((s) => s.sessionToken === token)
      return session ? { session: copy(session), user: copy(rows.users.find((u) => u.id === session.userId)) } : null
    },
    updateSession: (s) => copy(Object.assign(rows.sessions.find((x) => x.sessionToken === s.sessionToken), s)),
    deleteSession: (token) => ((rows.sessions = rows.sessions.filter((s) => s.sessionToken !== token)), null),
    createAuthenticator: (a) => {
      if (rows.authenticators.some((x) => x.credentialID === a.credentialID)) throw new Error("taken")
      rows.authenticators.push({ ...a })
      return copy(a)
    },
    getAuthenticator: (id) => copy(rows.authenticators.find((a) => a.credentialID === id)),
    listAuthenticatorsByUserId: (id) => rows.authenticators.filter((a) => a.userId === id).map(copy),
    updateAuthenticatorCounter: (id, counter) => copy(Object.assign(rows.authenticators.find((a) => a.credentialID === id), { counter })),
  }
  return Object.fromEntries(
    Object.entries(methods).map(([name, f]) => [
      name,
      async (...args) => {
        trace.push(`adapter.${name}`)
        return f(...args)
      },
    ]),
  )
}

function start({ now: at, provider = "passkey", strategy = "database", signIn = true, newUser, secret }) {
  now = at ?? RealDate.now()
  rows = { users: [], accounts: [], sessions: [], authenticators: [] }
  const note = (name) => () => void trace.push(`event.${name}`)
  config = {
    secret,
    trustHost: true,
    basePath: "/auth",
    session: { strategy },
    adapter: adapter(),
    providers: [provider === "passkey" ? Passkey : WebAuthn],
    experimental: { enableWebAuthn: true },
    pages: newUser ? { newUser } : {},
    callbacks: { signIn: () => (trace.push("callback.signIn"), signIn) },
    events: Object.fromEntries(["createUser", "linkAccount", "signIn", "updateUser"].map((name) => [name, note(name)])),
    logger: { error: (e) => trace.push(`log.${e.type ?? e.name}`), warn() {}, debug() {} },
  }
}

async function answer({ method, url, headers, body }) {
  trace = []
  const response = await Auth(new Request(url, { method, headers, body: body ?? undefined }), config)
  return {
    status: response.status,
    headers: Object.fromEntries([...response.headers].filter(([name]) => name !== "set-cookie")),
    setCookie: response.headers.getSetCookie(),
    body: await response.text(),
    trace,
  }
}

// bench measures requests for options, and callbacks with an answer whose counter is set back each time; times in seconds.
async function bench({ site, data, cookie, seconds }) {
  const options = () => new Request(`${site}/auth/webauthn-options/passkey?action=authenticate`)
  const callback = () =>
    new Request(`${site}/auth/callback/passkey`, {
      method: "POST",
      headers: { cookie, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ action: "authenticate", data }).toString(),
    })
  const run = async (make, good) => {
    const times = (n) => async () => {
      for (let i = 0; i < n; i++) {
        trace = []
        const response = await Auth(make(), config)
        if (!good(response)) throw new Error(`${response.status} ${response.headers.get("location")}`)
        await response.text()
      }
    }
    await times(50)()
    const began = performance.now()
    let n = 0
    for (; performance.now() - began < 1000 * seconds; n += 20) await times(20)()
    return (performance.now() - began) / 1000 / n
  }
  return {
    options: await run(options, (r) => r.status === 200),
    callback: await run(callback, (r) => r.headers.get("location") === site),
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line)
  let result = {}
  try {
    if (message.config) start(message.config)
    if (message.seed) for (const [kind, list] of Object.entries(message.seed)) rows[kind].push(...list)
    if (message.request) result = await answer(message.request)
    if (message.store) result = rows
    if (message.bench) result = await bench(message.bench)
  } catch (error) {
    result = { error: String(error?.stack ?? error) }
  }
  console.log(JSON.stringify(result))
}

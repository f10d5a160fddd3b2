// Serves requests with the real Auth.js: a JSON list of {config, request} on
// standard input gives a JSON list of responses on standard output. The
// configuration can name only a few functions: a credentials provider that accepts
// ada with the password lovelace, and callbacks by name. With the list
// verificationTokens it has an adapter with these tokens, and an e-mail provider.
import { Auth, skipCSRFCheck } from "@auth/core"
import { text } from "node:stream/consumers"

const callbacks = {
  "session-token": ({ session, token }) => ({ ...session, token }),
  "jwt-merge": ({ token, session, trigger }) => (trigger === "update" ? { ...token, update: session ?? null } : token),
}

// The adapter has one user at most.
function adapterWith(tokens) {
  let user = null
  return {
    useVerificationToken: async ({ identifier, token }) => {
      const i = tokens.findIndex((t) => t.identifier === identifier && t.token === token)
      return i < 0 ? null : tokens.splice(i, 1).map((t) => ({ ...t, expires: new Date(t.expires) }))[0]
    },
    createVerificationToken: async (token) => token,
    createUser: async (data) => (user = data),
    getUserByEmail: async (email) => (user?.email === email ? user : null),
    updateUser: async (data) => (user = { ...user, ...data }),
    getUser: async () => user,
    getUserByAccount: async () => null,
    linkAccount: async () => null,
  }
}

function configured({ callbacks: names, verificationTokens: tokens, skipCSRFCheck: skip, ...config }) {
  const quiet = () => {}
  const mail = { id: "email", name: "Email", type: "email", maxAge: 86400, sendVerificationRequest: async () => {} }
  return {
    trustHost: true,
    logger: { error: quiet, warn: quiet, debug: quiet },
    providers: [
      {
        id: "credentials",
        name: "Credentials",
        type: "credentials",
        credentials: { username: { label: "Username" }, password: { label: "Password", type: "password" } },
        authorize: ({ username, password }) =>
          username === "ada" && password === "lovelace" ? { id: "1", name: "Ada", email: "ada@example.com" } : null,
      },
      {
        id: "mock-oauth",
        name: "Mock OAuth",
        type: "oauth",
        clientId: "id",
        clientSecret: "secret",
        authorization: "https://idp.example.com/authorize?scope=profile",
        token: "https://idp.example.com/token",
        userinfo: "https://idp.example.com/userinfo",
      },
    ],
    callbacks: Object.fromEntries(Object.entries(names ?? {}).map(([k, v]) => [k, callbacks[v]])),
    ...(tokens ? { adapter: adapterWith(tokens), session: { strategy: "jwt" }, providers: [mail] } : {}),
    ...(skip ? { skipCSRFCheck } : {}),
    ...config,
  }
}

const out = []
for (const { config, request } of JSON.parse(await text(process.stdin))) {
  const { method, url, headers, body } = request
  try {
    const response = await Auth(new Request(url, { method, headers, body: body ?? undefined }), configured(config))
    out.push({
      status: response.status,
      headers: Object.fromEntries([...response.headers].filter(([name]) => name !== "set-cookie")),
      setCookie: response.headers.getSetCookie(),
      body: await response.text(),
    })
  } catch (error) {
    out.push({ error: String(error) })
  }
}
process.stdout.write(JSON.stringify(out))

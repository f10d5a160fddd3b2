// Serves requests with the real Auth.js: a JSON list of {config, request} on
// standard input gives a JSON list of responses on standard output. Functions of
// the configuration are few: a credentials provider that lets ada with the
// password lovelace in, and callbacks by name.
import { Auth } from "@auth/core"
import { text } from "node:stream/consumers"

const callbacks = {
  "session-token": ({ session, token }) => ({ ...session, token }),
  "jwt-merge": ({ token, session, trigger }) => (trigger === "update" ? { ...token, update: session ?? null } : token),
}

function configured({ callbacks: names, ...config }) {
  const quiet = () => {}
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

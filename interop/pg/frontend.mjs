// A front end with the real @auth/core: its routes below /api/auth, with sessions in PostgreSQL. The arguments are the URL of
// the server, a schema, the secret, and where to listen (127.0.0.1 and any port). It prints its URL, and then each link that it
// would mail.
import { createServer } from "node:http"
import { Auth } from "@auth/core"
import PostgresAdapter from "@auth/pg-adapter"
import pg from "pg"

const [url, schema, secret, host = "127.0.0.1", port = 0] = process.argv.slice(2)
const config = {
  adapter: PostgresAdapter(new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 4 })),
  basePath: "/api/auth",
  secret,
  trustHost: true,
  session: { updateAge: 0 },
  providers: [{ id: "email", type: "email", name: "Email", maxAge: 3600, sendVerificationRequest: ({ url }) => console.log(url) }],
}

const server = createServer(async (req, res) => {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  const body = chunks.length ? Buffer.concat(chunks) : undefined
  const response = await Auth(new Request(`http://${req.headers.host}${req.url}`, { method: req.method, headers: req.headers, body }), config)
  for (const [name, value] of response.headers) if (name !== "set-cookie") res.setHeader(name, value)
  res.setHeader("set-cookie", response.headers.getSetCookie())
  res.writeHead(response.status)
  res.end(await response.text())
})
server.listen(Number(port), host, () => console.log(`http://${host}:${server.address().port}`))

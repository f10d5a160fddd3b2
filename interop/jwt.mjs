// Runs calls of the real token module: a JSON list of {call, params} on standard
// input gives a JSON list of {result} or {error} on standard output. getToken
// takes plain headers.
import { decode, encode, getToken } from "@auth/core/jwt"
import { text } from "node:stream/consumers"

const calls = {
  encode,
  decode,
  getToken: ({ headers, ...params }) => getToken({ req: { headers }, ...params }),
}

const out = []
for (const { call, params } of JSON.parse(await text(process.stdin))) {
  try {
    out.push({ result: await calls[call](params) })
  } catch (error) {
    out.push({ error: String(error) })
  }
}
process.stdout.write(JSON.stringify(out))

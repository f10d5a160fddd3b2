// Sends the commands of @upstash/redis to a Redis server, in place of Upstash's REST server.
import { connect } from "node:net"

// requester returns what the constructor of Redis takes in place of an address and a token.
export function requester(url) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port || 6379), hostname)
  const waiting = []
  let received = Buffer.alloc(0)
  socket.on("data", (data) => {
    received = Buffer.concat([received, data])
    for (let reply; waiting.length > 0 && (reply = parse(received, 0)); received = received.subarray(reply.end)) {
      const { resolve, reject } = waiting.shift()
      if (reply.value instanceof Error) reject(reply.value)
      else resolve(reply.value)
    }
  })
  socket.on("error", (error) => waiting.splice(0).forEach(({ reject }) => reject(error)))
  const send = (command) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      const parts = command.map((part) => Buffer.from(typeof part === "object" ? JSON.stringify(part) : String(part)))
      socket.write(Buffer.concat([`*${parts.length}\r\n`, ...parts.flatMap((p) => [`$${p.length}\r\n`, p, "\r\n"])].map((p) => Buffer.from(p))))
    })
  const settled = (commands) => Promise.all(commands.map((c) => send(c).then((result) => ({ result }), (e) => ({ error: e.message }))))
  return {
    send,
    // A pipeline is an array of commands.
    request: async ({ body }) => (Array.isArray(body[0]) ? settled(body) : { result: await send(body) }),
  }
}

// parse returns the reply that begins at a place, and where it ends; or nothing if it is not whole.
function parse(bytes, at) {
  const line = bytes.indexOf("\r\n", at)
  if (line < 0) return undefined
  const text = bytes.toString("utf8", at + 1, line)
  let end = line + 2
  switch (String.fromCharCode(bytes[at])) {
    case "+":
      return { value: text, end }
    case "-":
      return { value: new Error(text), end }
    case ":":
      return { value: Number(text), end }
    case "$":
      if (text === "-1") return { value: null, end }
      if (bytes.length < end + Number(text) + 2) return undefined
      return { value: bytes.toString("utf8", end, end + Number(text)), end: end + Number(text) + 2 }
    case "*": {
      const values = []
      for (let i = 0; i < Number(text); i++) {
        const next = parse(bytes, end)
        if (!next) return undefined
        values.push(next.value)
        end = next.end
      }
      return { value: text === "-1" ? null : values, end }
    }
  }
  throw new Error(`a reply begins with ${JSON.stringify(text)}`)
}

// Lets adaptertest measure the real @auth/upstash-redis-adapter. The argument is the URL of a Redis server, which gets the
// commands that Upstash's server would get. Each store is a prefix of the keys.
import { UpstashRedisAdapter } from "@auth/upstash-redis-adapter"
import { Redis } from "@upstash/redis"
import { measure } from "../measure.mjs"
import { requester } from "./resp.mjs"

const server = requester(process.argv[2])

await measure({
  hello: {
    name: "@auth/upstash-redis-adapter",
    features: ["second", "reopen"],
    declarations: {
      assignsIDs: true,
      timeless: true,
      noPooler: "the server has no pooler",
      lacks: ["Authenticator.Name", "Authenticator.Created", "Authenticator.LastUsed"],
    },
  },
  open: ({ store }) => ({ adapter: UpstashRedisAdapter(new Redis(server), { baseKeyPrefix: `${store}:` }) }),
  drop: async (store) => {
    const keys = await server.send(["KEYS", `${store}:*`])
    if (keys.length > 0) await server.send(["DEL", ...keys])
  },
})

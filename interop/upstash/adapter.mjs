// Serves the real @auth/upstash-redis-adapter. The arguments are the URL of a
// server that speaks Upstash's REST protocol and the adapter's options in JSON.
import { UpstashRedisAdapter } from "@auth/upstash-redis-adapter"
import { Redis } from "@upstash/redis"
import { serve } from "../serve.mjs"

const [url, options] = process.argv.slice(2)
await serve(UpstashRedisAdapter(new Redis({ url, token: "of a test", retry: false }), JSON.parse(options)))

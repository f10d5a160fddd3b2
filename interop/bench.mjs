// Measures the real Auth.js: {task, secret, cookie, provider, seconds} on
// standard input gives {requests, seconds, cpu, warmUp} on standard output, where
// seconds is the time that the requests took, cpu is their processor time, and
// warmUp is the number of requests before the measurement, for as many seconds.
// The tasks are session (GET session with the cookie), start (POST signin) and
// complete (GET callback), the latter two with a provider that answers at once.
import { Auth, skipCSRFCheck } from "@auth/core"
import { text } from "node:stream/consumers"

const { task, secret, cookie, provider, seconds } = JSON.parse(await text(process.stdin))
const site = "http://localhost/auth"
const quiet = () => {}
const config = {
  secret,
  skipCSRFCheck,
  trustHost: true,
  basePath: "/auth",
  logger: { error: (e) => console.error(e), warn: quiet, debug: quiet },
  providers: provider ? [{ id: "idp", name: "idp", ...provider }] : [],
}

let spent = 0
let cpu = 0
async function timed(request) {
  const began = performance.now()
  const usage = process.cpuUsage()
  const response = await Auth(request, config)
  await response.text()
  const { user, system } = process.cpuUsage(usage)
  spent += performance.now() - began
  cpu += user + system
  return response
}

const cookiesOf = (response) =>
  response.headers
    .getSetCookie()
    .map((line) => line.split(";")[0])
    .join("; ")

const start = () => new Request(`${site}/signin/idp`, { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "" })

const tasks = {
  async session() {
    const response = await timed(new Request(`${site}/session`, { headers: { cookie } }))
    if (response.status !== 200 || response.headers.getSetCookie().length === 0) throw new Error(`session: status ${response.status}`)
  },
  async start() {
    const response = await timed(start())
    if (!response.headers.get("location").includes("/authorize?")) throw new Error(`start: ${response.headers.get("location")}`)
  },
  async complete() {
    const started = await Auth(start(), config)
    const answered = await fetch(started.headers.get("location"), { redirect: "manual" })
    const response = await timed(new Request(answered.headers.get("location"), { headers: { cookie: cookiesOf(started) } }))
    if (!response.headers.getSetCookie().some((c) => c.includes("session-token="))) throw new Error(`complete: ${response.headers.get("location")}`)
  },
}

// run sends requests for the given time, and at least one.
async function run() {
  spent = cpu = 0
  let requests = 0
  const end = performance.now() + 1000 * seconds
  do {
    await tasks[task]()
    requests++
  } while (performance.now() < end)
  return requests
}

const warmUp = await run() // so that all code is compiled before the measurement
const requests = await run()
process.stdout.write(JSON.stringify({ requests, seconds: spent / 1000, cpu: cpu / 1e6, warmUp }))

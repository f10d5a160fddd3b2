// An OpenID provider on loopback. Clients register themselves (RFC 7591), and everybody may sign in, with any password.
// The first line of standard output is the issuer. The line "rotate" on standard input replaces the signing keys, which a
// line confirms. The provider ends with standard input.
import { generateKeyPairSync } from "node:crypto"
import { createServer } from "node:http"
import { createInterface } from "node:readline"

console.info = console.warn // standard output is for the lines above
const { Provider } = await import("oidc-provider")
const { createMemoryAdapter } = await import("oidc-provider/lib/adapters/memory_adapter.js")

const storage = createMemoryAdapter() // it stays when the keys are replaced

const keys = () =>
  [
    ["rsa", { modulusLength: 2048 }],
    ["ec", { namedCurve: "P-256" }],
    ["ed25519", {}],
  ].map(([type, options]) => generateKeyPairSync(type, options).privateKey.export({ format: "jwk" }))

const provider = (issuer) =>
  new Provider(issuer, {
    adapter: storage,
    claims: { profile: ["name"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false, // the ID token also has the claims of the scopes
    cookies: { keys: ["not a secret"] },
    enabledJWA: { idTokenSigningAlgValues: ["HS256", "RS256", "PS256", "ES256", "EdDSA"] },
    features: { jwtUserinfo: { enabled: true }, registration: { enabled: true } },
    // The name tells where the claims come from.
    findAccount: (_, id) => ({
      accountId: id,
      claims: (use) => ({ sub: id, name: `${id} of the ${use}`, email: `${id}@example.com`, email_verified: true }),
    }),
    jwks: { keys: keys() },
    scopes: ["openid", "profile", "email", "offline_access"],
  }).callback()

const server = createServer((request, response) => serve(request, response))
await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
const issuer = `http://localhost:${server.address().port}`
let serve = provider(issuer)
console.log(issuer)
for await (const line of createInterface({ input: process.stdin })) {
  if (line !== "rotate") continue
  serve = provider(issuer)
  console.log("rotated")
}
process.exit()

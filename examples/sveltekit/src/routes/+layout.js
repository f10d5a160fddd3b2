// The Go program is the server: Node renders nothing.
export const ssr = false

// The session for all pages, read again after invalidate("auth:session").
export async function load({ fetch, depends }) {
  depends("auth:session")
  const response = await fetch("/auth/session")
  if (!response.ok) throw new Error("the session could not be read")
  return { session: await response.json() }
}

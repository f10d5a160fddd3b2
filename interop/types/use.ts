import {
  ClientError, configure, getCsrfToken, getProviders, getSession, onSession, registerPasskey, signIn, signInWithPasskey, signOut, update,
  type Outcome, type Provider, type Session, type SessionState,
} from "./gatehouse"

declare module "./gatehouse" {
  interface Session {
    role?: string
  }
}

configure({ basePath: "/api/auth" })

export async function use(): Promise<void> {
  const session: Session | null = await getSession({ broadcast: false })
  const email: string | null | undefined = session?.user?.email
  const role: string | undefined = session?.role
  const token: string = await getCsrfToken()
  const providers: Record<string, Provider> | null = await getProviders()
  const type = providers?.["github"]?.type
  const outcome: Outcome | undefined = await signIn("credentials", { redirect: false, username: "ada", password: "x" })
  if (outcome?.error) console.log(outcome.code, outcome.status, outcome.ok, outcome.url)
  await signIn()
  await signIn("github", { redirectTo: "/" }, { prompt: "consent" })
  await signIn("github", { redirect: false }, "prompt=consent&resource=a&resource=b")
  await signIn("github", {}, new URLSearchParams({ prompt: "consent" }))
  await signIn("github", {}, [["resource", "a"], ["resource", "b"]])
  const left: Outcome = await signOut({ redirect: false })
  await signOut()
  await update({ role: "admin" })
  await signInWithPasskey()
  await registerPasskey("passkey", { email: "ada@example.com", redirect: false })
  const end: () => void = onSession(({ session, status, error }: SessionState) => {
    if (status === "authenticated") console.log(session?.expires)
    if (error instanceof ClientError) console.log(error.status)
  }, { interval: 60, refetchOnFocus: false, refetchWhenOffline: false })
  end()
  console.log(email, role, token, type, left)
}

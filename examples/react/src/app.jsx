import { useState } from "react"
import { signIn, signOut, useSession } from "next-auth/react"

export function App() {
  return location.pathname === "/private" ? <Private /> : <Home />
}

function Home() {
  const { data: session, status, update } = useSession()
  const [problem, setProblem] = useState("")
  const withPassword = async (event) => {
    event.preventDefault()
    const outcome = await signIn("credentials", { ...Object.fromEntries(new FormData(event.target)), redirect: false })
    setProblem(outcome.error ? `${outcome.error}: ${outcome.code}` : "")
  }
  const byMail = async (event) => {
    event.preventDefault()
    const outcome = await signIn("email", { email: new FormData(event.target).get("email"), redirect: false })
    setProblem(outcome.error ?? "A link is on its way.")
  }
  if (status === "loading") return <p>…</p>
  if (!session) {
    return (
      <main>
        <p>Nobody is signed in.</p>
        <form id="password" onSubmit={withPassword}>
          <input name="username" placeholder="Name" autoComplete="username" />
          <input name="password" type="password" placeholder="Password" autoComplete="current-password" />
          <button>Sign in</button>
        </form>
        <form id="mail" onSubmit={byMail}>
          <input name="email" type="email" placeholder="Address" autoComplete="email" />
          <button>Send me a link</button>
        </form>
        <button id="oauth" onClick={() => signIn("development")}>Sign in with Dev</button>
        <p id="problem">{problem}</p>
      </main>
    )
  }
  return (
    <main>
      <p>Signed in as {session.user.name ?? session.user.email}.</p>
      <button id="update" onClick={() => update({ name: "Augusta" })}>Call me Augusta</button>
      <button id="signout" onClick={() => signOut()}>Sign out</button>
    </main>
  )
}

function Private() {
  const { data: session } = useSession({ required: true })
  return <p>{session ? `For ${session.user.name} only.` : "…"}</p>
}

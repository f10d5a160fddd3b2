import { createRoot } from "react-dom/client"
import { SessionProvider } from "next-auth/react"
import { App } from "./app.jsx"

// ?poll=1 reads the session every second.
const poll = Number(new URLSearchParams(location.search).get("poll"))

createRoot(document.querySelector("#root")).render(
  <SessionProvider refetchInterval={poll}>
    <App />
  </SessionProvider>,
)

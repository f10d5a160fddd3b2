import { defineConfig } from "vite"

export default defineConfig({
  // next-auth/react looks for its server in the environment of Node; in a browser it needs only the path below.
  define: {
    "process.env.NEXTAUTH_URL": JSON.stringify("http://localhost/api/auth"),
    "process.env.NEXTAUTH_URL_INTERNAL": "undefined",
    "process.env.VERCEL_URL": "undefined",
  },
  // `npm run dev` serves the page; the Go program answers the routes.
  server: { proxy: { "/api/auth": "http://localhost:3000" } },
})

import { sveltekit } from "@sveltejs/kit/vite"
import { defineConfig } from "vite"

export default defineConfig({
  plugins: [sveltekit()],
  // `npm run dev` serves the page; the Go program answers the routes.
  server: { proxy: { "/auth": "http://localhost:3000" } },
})

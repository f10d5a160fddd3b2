// Package auth adds sign-in, sign-out and sessions to a web application.
//
// [New] compiles a [Config] into a [Handler], an http.Handler for GET and POST
// below the base path. Program code reads the session of a request with
// [Handler.Session]. Sign-in is by e-mail link, by credentials that the
// application checks, by OAuth 2 and OpenID Connect providers, and by WebAuthn.
// Sessions live in an encrypted cookie, or in a store behind an
// [adapter.Adapter].
//
// Routes, cookies, token format and JSON are those of Auth.js v5, so programs
// of both kinds can share one secret, one cookie and one database.
//
// What holds throughout:
//
//   - A session that has expired signs nobody in, anywhere.
//   - Everything that changes state needs a CSRF token, or a secret that was
//     sent to the user, or a check bound to the sign-in in this browser.
//   - A redirect leaves the site only where Callbacks.Redirect allows it.
//   - No token, cookie, code or secret is in an error, a log record or, the
//     link that is mailed apart, in a URL.
//   - A failing or panicking event handler never breaks a sign-in.
//
// GUIDE.md, beside this file, is on providers of one's own, proxies, preview
// deployments, linking, and front ends with Auth.js.
//
// The package starts no goroutine that outlives a request and keeps no state
// outside the Handler. It does not rate-limit; that is the work of what stands
// in front of it.
package auth

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
// The package is experimental: its interface will change. WebAuthn, which
// Config.Experimental turns on, may change or be removed without notice.
//
// What holds throughout:
//
//   - A session that has expired signs nobody in, anywhere.
//   - A request that changes state needs a CSRF token, or a secret that was
//     sent to the user, or a check bound to the sign-in in this browser.
//   - A redirect leaves the site only where Callbacks.Redirect allows it, or
//     where Callbacks.SignIn sends a person whom it refuses.
//   - No token, cookie, code or secret is in an error or a log record. None is
//     in a URL either, except in the mail link.
//   - An event handler that fails or panics never breaks a sign-in.
//
// GUIDE.md, beside this file, explains how to write providers, and how to use
// proxies, preview deployments, linking, and front ends with Auth.js.
//
// The package starts no goroutine that outlives a request and keeps no state
// outside the Handler, except the state that calls of [Auth] and [Raw] share.
// It limits no rates by itself: package limit does, as Config.Limit, or a server
// in front of it.
package auth

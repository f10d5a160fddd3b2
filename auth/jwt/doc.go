// Package jwt makes and reads the encrypted tokens of Gatehouse: session
// tokens, and the sealed values of check and state cookies.
//
// A token is a compact JWE with direct encryption, in the format of Auth.js v5:
// each side reads the tokens of the other. The content encryption is
// A256CBC-HS512; A256GCM is read too. The key is derived from a secret and a
// salt by HKDF-SHA-256. The salt is the full name of the cookie that carries
// the token, so a token is not valid in any other cookie.
//
// [Encode] and [Decode] make and read tokens, [GetToken] finds a token in a
// request, and [Keys] caches derived keys. [ParseCookies] reads the Cookie
// header, and [ReadChunks] joins the chunks of a long value.
//
// A token is not a record in a store, so it can't be revoked before it expires.
// The package does no input or output, starts no goroutine and keeps no state
// of its own. GetToken reads two environment variables.
//
// The package will be refactored, so programs should not rely on it: read the
// session with Handler.Session of package auth, or with an integration of
// package frameworks.
package jwt

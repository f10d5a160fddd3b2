// Package oauth speaks to OAuth 2 and OpenID Connect providers: discovery,
// token request, ID token and userinfo. It knows nothing of sign-in, cookies or
// sessions.
//
// What comes from a provider is not trusted: answers are bounded in size and
// time, redirects are not followed, endpoints must be https unless they are on
// this machine, and the signature of every ID token is verified.
package oauth

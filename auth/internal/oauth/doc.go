// Package oauth sends requests to OAuth 2 and OpenID Connect providers:
// discovery, token request, ID token and userinfo. It does not handle sign-ins,
// cookies or sessions.
//
// Data from a provider is not trusted: responses are limited in size and time,
// redirects are not followed, endpoints must be https unless they are on this
// machine, and the signature of every ID token is verified.
package oauth

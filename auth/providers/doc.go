// Package providers is a catalogue of ready OAuth, OpenID Connect and mail
// providers. Each has a constructor; ByID makes one by its ID, All lists them,
// and PROVIDERS.md shows what each of them takes.
//
//	auth.Config{Providers: []auth.Provider{providers.GitHub(), providers.Google()}}
//
// Client ID and secret come from AUTH_<ID>_ID and AUTH_<ID>_SECRET, the issuer
// from AUTH_<ID>_ISSUER and the key of a mail service from AUTH_<ID>_KEY, unless
// an option gives them. <ID> is in upper case with hyphens as underscores. What
// is missing is an error of auth.New.
//
// The result of a constructor can be changed: a field that is set counts, the
// others are filled in by auth.New. Every flow has a state; PKCE and, for OpenID
// Connect, a nonce are used too unless the provider is known not to allow it.
//
// An e-mail address counts as proven only where the provider says that it is
// verified, see Info.EmailVerified.
package providers

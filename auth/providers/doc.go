// Package providers is a catalogue of ready OAuth, OpenID Connect and mail
// providers. Each has a constructor. ByID makes a provider by its ID, All lists
// all providers, and PROVIDERS.md lists the options of each.
//
//	auth.Config{Providers: []auth.Provider{providers.GitHub(), providers.Google()}}
//
// Client ID and secret come from AUTH_<ID>_ID and AUTH_<ID>_SECRET, the issuer
// from AUTH_<ID>_ISSUER and the key of a mail service from AUTH_<ID>_KEY,
// unless an option gives them. <ID> is the ID in upper snake case. auth.New
// reports values that are missing.
//
// The application can change the result of a constructor: auth.New fills in
// only the fields that are not set. Every flow uses state. Flows use PKCE and,
// for OpenID Connect, a nonce, unless the provider is known not to allow it.
//
// An e-mail address is proven only if the provider says that it is verified;
// see Info.EmailVerified.
package providers

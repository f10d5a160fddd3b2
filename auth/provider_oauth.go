package auth

import (
	"cmp"
	"context"
	"crypto"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
)

// OAuth is an OAuth 2 or OpenID Connect provider. Package providers has
// ready-made ones.
type OAuth struct {
	// ID is part of the URLs, and of the names of the environment variables
	// AUTH_<ID>_ID, AUTH_<ID>_SECRET and AUTH_<ID>_ISSUER. Required. An ID means
	// one authorization server: the callback URL, which contains the ID, is how
	// the answers of several servers are told apart. An application that makes a
	// configuration for each request, with a server for each tenant, needs an ID
	// for each server.
	ID string
	// EnvID replaces ID in the names of the environment variables.
	EnvID string
	// Name is shown; the default is ID.
	Name string
	// Type is TypeOAuth, the default, or TypeOIDC.
	Type ProviderType

	// Issuer is the provider's issuer identifier, an https URL. With it,
	// endpoints that are not given are discovered.
	Issuer string
	// WellKnown is the URL of the provider's metadata, if it is not Issuer +
	// /.well-known/openid-configuration. The metadata replaces endpoints that are
	// not given. If Issuer is empty and this URL is https, the issuer is the one in
	// the metadata; if it is http, on this machine, the URL must contain the issuer.
	// With Issuer, metadata of another issuer is refused.
	WellKnown string
	// JWKS is the URL of the provider's keys, if it is not in the metadata.
	JWKS string

	ClientID     string
	ClientSecret string

	Authorization AuthorizationEndpoint
	Token         TokenEndpoint
	UserInfo      UserInfoEndpoint

	// Checks protect the flow. An empty list means CheckPKCE and CheckState.
	// CheckState is added when a redirect proxy is used. CheckNonce is for
	// TypeOIDC only. A list with only CheckNone turns the checks off. CheckPKCE
	// alone protects only if the provider supports PKCE. A check can be used once
	// in each process. A browser that keeps its cookies can use a check again in
	// another process for 15 minutes, but this succeeds only if the provider
	// accepts a code twice.
	Checks []Check
	// Client says how this program presents itself to the provider.
	Client ClientMetadata

	// Profile makes a user from the provider's profile. The ID in its result
	// becomes Account.ProviderAccountID. The default takes id, name, email and
	// image from the standard claims.
	Profile func(ctx context.Context, profile Profile, tokens TokenSet) (*User, error)
	// NoEmail says that the provider never states an address. Then nobody can sign up
	// with it if the adapter requires one (adapter.EmailRequirer), as New warns.
	NoEmail bool
	// EmailVerified returns what the provider states about the address that
	// Profile returned. The default is StandardEmailProof. The address is treated
	// as proven by the person only if the result is EmailProven.
	EmailVerified func(profile Profile, email string) EmailProof
	// Account chooses which parts of the token answer the adapter stores. The
	// default keeps AccessToken, IDToken, RefreshToken, ExpiresAt, Scope, TokenType
	// and SessionState; AuthorizationDetails can be stored, too. A nil result keeps
	// nothing. At a later sign-in, parts that are not kept stay as they were stored.
	Account func(tokens TokenSet) *TokenSet
	// UserInfoOnly takes the user from the userinfo endpoint although there is
	// an ID token, which is still required and verified. It is idToken: false of
	// Auth.js, for TypeOIDC.
	UserInfoOnly bool

	// AllowDangerousEmailAccountLinking links the account to the user who has its
	// e-mail address, although that user is not signed in. A person who can make
	// this provider state an address can then sign in as its owner. The account is
	// not linked if the provider says that the address is not verified. It is also
	// not linked if the user has not proven the address and has accounts or
	// passkeys.
	AllowDangerousEmailAccountLinking bool

	// RedirectProxyURL is Config.RedirectProxyURL for this provider alone.
	RedirectProxyURL string
	// HTTPClient makes the requests to the provider; the default has timeouts and
	// does not follow redirects. It connects to a loopback or link-local address
	// only if the configuration names the host, or if the issuer is on this
	// machine. The field is customFetch of Auth.js.
	HTTPClient *http.Client

	Style Style

	// Complete, if set, is called by New, on a copy whose client ID, secret and
	// issuer have been taken from the environment. It fills in the fields that
	// depend on them. New reports its error as a problem of the configuration.
	Complete func(p *OAuth) error
}

// Check is a protection of the OAuth flow.
type Check string

// The checks.
const (
	CheckNone  Check = "none"
	CheckState Check = "state"
	CheckPKCE  Check = "pkce"
	CheckNonce Check = "nonce"
)

// AuthorizationEndpoint is where the browser is sent to sign in.
type AuthorizationEndpoint struct {
	// URL may have a query. Empty means discovery.
	URL string
	// Params are added to the query of URL.
	Params url.Values
	// Request, if set, makes the final URL from the one that was prepared. It
	// must keep client_id, redirect_uri, response_type and the checks.
	Request func(ctx context.Context, prepared *url.URL) (*url.URL, error)
}

// TokenEndpoint is where the code is exchanged for tokens.
type TokenEndpoint struct {
	// URL may have a query. Empty means discovery.
	URL string
	// Params are added to the query of URL.
	Params url.Values
	// Request, if set, exchanges the code in place of the standard request.
	Request func(ctx context.Context, p TokenRequest) (*TokenSet, error)
	// Prepare, if set, changes the standard request before it is sent.
	Prepare func(r *http.Request, form url.Values) error
	// Conform, if set, turns the provider's answer into a standard one. It returns
	// its argument or a new response. If it returns a new response, it must close
	// the body of its argument.
	Conform func(r *http.Response) (*http.Response, error)
}

// TokenRequest is the argument of TokenEndpoint.Request.
type TokenRequest struct {
	// Provider has its defaults filled in.
	Provider OAuth
	Client   *http.Client
	// Code, RedirectURI and CodeVerifier are the parameters of the standard
	// request. CodeVerifier is empty without CheckPKCE.
	Code         string
	RedirectURI  string
	CodeVerifier string
	// Params are all parameters of the authorization answer.
	Params url.Values

	redact.Shown // prints no secret
}

// UserInfoEndpoint is where the provider tells who signed in.
type UserInfoEndpoint struct {
	// URL may have a query. Empty means discovery.
	URL string
	// Params are added to the query of URL.
	Params url.Values
	// Request, if set, gets the profile in place of the standard request.
	Request func(ctx context.Context, p UserInfoRequest) (Profile, error)
}

// UserInfoRequest is the argument of UserInfoEndpoint.Request.
type UserInfoRequest struct {
	// Provider has its defaults filled in.
	Provider OAuth
	Client   *http.Client
	Tokens   TokenSet
	// Claims are those of the ID token, which has been verified; nil if there is
	// none. The profile must have the same sub.
	Claims Profile
	// Params are all parameters of the authorization answer.
	Params url.Values

	redact.Shown // prints no secret
}

// ClientAuth is a way to authenticate at the token endpoint.
type ClientAuth string

// The ways of RFC 6749 section 2.3 and OpenID Connect Core section 9.
const (
	ClientSecretBasic ClientAuth = "client_secret_basic"
	ClientSecretPost  ClientAuth = "client_secret_post"
	ClientSecretJWT   ClientAuth = "client_secret_jwt"
	PrivateKeyJWT     ClientAuth = "private_key_jwt"
	ClientAuthNone    ClientAuth = "none"
)

// ClientMetadata is the metadata of a client (OpenID Connect Dynamic Client
// Registration 1.0 section 2) that differs from the defaults.
type ClientMetadata struct {
	// TokenEndpointAuthMethod is ClientSecretBasic by default.
	TokenEndpointAuthMethod ClientAuth
	// PrivateKey and KeyID sign the assertion of PrivateKeyJWT.
	PrivateKey crypto.Signer
	KeyID      string
	// TokenEndpointAuthSigningAlg is the algorithm of the assertion. The default
	// is HS256 for ClientSecretJWT. For PrivateKeyJWT the default depends on
	// PrivateKey: RS256, EdDSA, or the algorithm of its curve.
	TokenEndpointAuthSigningAlg string
	// IDTokenSignedResponseAlg is the only algorithm with which ID tokens may be
	// signed. Empty means the algorithms of the metadata except HS256, or RS256 if
	// the metadata has none.
	IDTokenSignedResponseAlg string
	// UserInfoSignedResponseAlg asks for a signed userinfo answer, and is the only
	// algorithm with which it may be signed.
	UserInfoSignedResponseAlg string
	// DefaultMaxAge is the greatest age that the authentication at the provider
	// may have, in whole seconds. The provider is asked for it. Zero means any
	// age. RequireAuthTime makes the claim auth_time obligatory.
	DefaultMaxAge   time.Duration
	RequireAuthTime bool
	// DangerouslyAcceptShortSecret accepts a client secret that is a key of HMAC
	// signatures (HS256 and ClientSecretJWT) and has fewer bytes than the
	// algorithm needs, 32 for HS256. A person who sees one signature can try to
	// guess such a key, and with it can sign in as anybody.
	DangerouslyAcceptShortSecret bool
}

func (p *OAuth) id() string { return p.ID }

func (p *OAuth) displayName() string { return cmp.Or(p.Name, p.ID) }

func (p *OAuth) kind() ProviderType { return cmp.Or(p.Type, TypeOAuth) }

// LogValue keeps secrets out of logs.
func (p OAuth) LogValue() slog.Value { return slog.StringValue(p.ID) }

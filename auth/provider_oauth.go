package auth

import (
	"context"
	"crypto"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// OAuth is an OAuth 2 or OpenID Connect provider. Package providers has ready
// ones.
type OAuth struct {
	// ID is part of the URLs, and of the names of the environment variables
	// AUTH_<ID>_ID, AUTH_<ID>_SECRET and AUTH_<ID>_ISSUER. Required. An ID stands for
	// one authorization server: its callback URL is how the answers of several are
	// told apart. An application that makes a configuration for each request, with a
	// server for each tenant, needs an ID for each of them.
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
	// WellKnown is the URL of the provider's metadata, where it is not
	// Issuer + /.well-known/openid-configuration. It replaces Issuer if it
	// contains it.
	WellKnown string
	// JWKS is the URL of the provider's keys, where it is not in the metadata.
	JWKS string

	ClientID     string
	ClientSecret string

	Authorization AuthorizationEndpoint
	Token         TokenEndpoint
	UserInfo      UserInfoEndpoint

	// Checks protect the flow. None means CheckPKCE and CheckState. CheckState is
	// added when a redirect proxy is used. CheckNonce is for TypeOIDC only. A
	// list of just CheckNone has no checks. CheckPKCE alone protects only at a
	// provider that has PKCE. A check is spent once in each process:
	// a browser that keeps its cookies can show one again to another process, for
	// 15 minutes, and gets as far as the provider lets a code be used twice.
	Checks []Check
	// Client says how this program presents itself to the provider.
	Client ClientMetadata

	// Profile maps what the provider says to a user. The ID in its result
	// becomes Account.ProviderAccountID. The default takes id, name, email and
	// image from the standard claims.
	Profile func(ctx context.Context, profile Profile, tokens TokenSet) (*User, error)
	// EmailVerified says what the provider states about an address, which is the
	// one that Profile returned. The default is StandardEmailProof. An address is
	// taken for the person's own only if the result is EmailProven.
	EmailVerified func(profile Profile, email string) EmailProof
	// Account chooses what of the token answer the adapter stores. The default
	// keeps everything that has a column; nil as the result keeps nothing.
	Account func(tokens TokenSet) *TokenSet
	// UserInfoOnly takes the user from the userinfo endpoint although there is
	// an ID token, which is still required and verified. It is idToken: false of
	// Auth.js, for TypeOIDC.
	UserInfoOnly bool

	// AllowDangerousEmailAccountLinking links the account to the user who has
	// its e-mail address, without that user being signed in. Who can make
	// this provider state an address can then sign in as its owner. An address that
	// the provider says is not verified is not linked, nor one that its user has
	// not proven while that user has accounts or passkeys.
	AllowDangerousEmailAccountLinking bool

	// RedirectProxyURL is Config.RedirectProxyURL for this provider alone.
	RedirectProxyURL string
	// HTTPClient makes the requests to the provider; the default has timeouts,
	// does not follow redirects, and connects to no address of this machine or its
	// link unless the configuration names the host, or the issuer is on this
	// machine. It is customFetch of Auth.js.
	HTTPClient *http.Client

	Style Style

	// Complete, if set, is called by New, on a copy whose client ID, secret and
	// issuer have been taken from the environment. It fills in what depends on
	// them. Its error is a problem of the configuration.
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
	// Conform, if set, makes a standard answer of the provider's. It returns its
	// argument or a new response, and owns the body of what it does not return.
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
	// is HS256 for ClientSecretJWT, and what goes with PrivateKey: RS256, EdDSA,
	// or that of its curve.
	TokenEndpointAuthSigningAlg string
	// IDTokenSignedResponseAlg is the only algorithm that ID tokens may have;
	// empty means those of the metadata but HS256, or RS256.
	IDTokenSignedResponseAlg string
	// UserInfoSignedResponseAlg asks for a signed userinfo answer and is the
	// only algorithm that it may have.
	UserInfoSignedResponseAlg string
	// DefaultMaxAge is the greatest age of the authentication at the provider, to
	// the second, which it is asked for; zero means any. RequireAuthTime makes the
	// claim auth_time obligatory.
	DefaultMaxAge   time.Duration
	RequireAuthTime bool
	// DangerouslyAcceptShortSecret accepts a client secret that is a key of HMAC
	// signatures (HS256 and ClientSecretJWT) and has fewer bytes than they need, 32
	// for HS256. Who sees one signature can guess such a key, and then sign in as
	// everybody.
	DangerouslyAcceptShortSecret bool
}

func (p *OAuth) id() string { return p.ID }

func (p *OAuth) displayName() string {
	if p.Name == "" {
		return p.ID
	}
	return p.Name
}

func (p *OAuth) kind() ProviderType {
	if p.Type == "" {
		return TypeOAuth
	}
	return p.Type
}

// LogValue keeps secrets out of logs.
func (p OAuth) LogValue() slog.Value { return slog.StringValue(p.ID) }

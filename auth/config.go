package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Claims is the content of a session token. See docs/protocol.md, "Session tokens".
type Claims = jwt.Claims

// Config has all settings. Only the providers and a secret are required; the
// secret may come from the environment.
type Config struct {
	// Providers are the ways to sign in, in the order in which the sign-in page
	// shows them.
	Providers []Provider

	// Adapter is the store for users, accounts, sessions and verification tokens.
	// If it is set, the default of Session.Strategy is StrategyDatabase. A store
	// that has only some of the methods is completed by adapter.Partial.
	Adapter adapter.Adapter

	// Secret is at least 32 random characters; a shorter one is refused. It encrypts cookies and hashes tokens. A list serves
	// rotation: put a new secret in front. The first encrypts, all decrypt. CSRF
	// tokens and mail links are hashed with the whole list, as in Auth.js. Those
	// that were made with an earlier list stay valid if that list is the end of
	// this one, or is one secret of it. Remove an old secret when everything made
	// with it has expired. Environment: AUTH_SECRET, NEXTAUTH_SECRET.
	Secret []string

	// DangerouslyAcceptShortSecrets accepts secrets of fewer than 32 characters
	// after the first of a list, until everything made with them has expired. A
	// person who guesses a secret can sign in as anybody.
	DangerouslyAcceptShortSecrets bool

	// URL is the public URL of the site: scheme, host and port. If it is set, the
	// origin of a request does not matter, so set it behind a proxy. A path in it
	// is the base path, if BasePath is empty; otherwise both must be equal.
	// Environment: AUTH_URL, NEXTAUTH_URL.
	URL string

	// urlPathIgnored says that the path in URL, which the environment set, is not
	// the base path that the program set.
	urlPathIgnored bool

	// Origins are the origins at which a site with several hosts answers, such as
	// https://app.example.com, in place of URL. The Host header chooses one of them; its
	// scheme counts, also if a proxy ends TLS. A request for any other host is refused,
	// whatever TrustHost says, so no forged header can put another site into a mail.
	// X-Forwarded headers are not read.
	Origins []string

	// BasePath is the path that all routes are below; the default is /auth.
	// Environment: the path of AUTH_URL or NEXTAUTH_URL.
	BasePath string

	// Home is where a sign-in and a sign-out end, and where the pages link to, if
	// no callback URL says otherwise: a path such as /app, or an http(s) URL. The
	// default is what stands before /auth or /api/auth in the base path: /app for
	// /app/api/auth, and the origin of the site for /auth.
	Home string

	Session   SessionConfig
	JWT       JWTConfig
	Callbacks Callbacks
	Events    Events
	Pages     Pages
	Cookies   Cookies
	Theme     Theme

	// Texts are the texts of the built-in pages and mails, one value for each
	// language. Empty sentences are those that are shipped. The first language is
	// for people who ask for none of the others. Nil means texts.All.
	Texts []texts.Texts

	// Language returns the language of the page that answers a request, as a tag
	// such as de. If it is nil, or returns "" or a language that Texts does not
	// have, the header Accept-Language decides.
	Language func(r *http.Request) string

	// UseSecureCookies restricts cookies to https and gives them the name prefixes
	// that browsers protect. With nil, the default, the scheme of each request
	// decides.
	UseSecureCookies *bool

	// TrustHost says that the Host header may be used to build URLs, among them
	// the links that are mailed. This is safe only behind a server or proxy that
	// checks the header. With nil, the default, New trusts loopback hosts.
	// X-Forwarded headers are never used. If URL or Origins is set, TrustHost is not needed.
	// Environment: AUTH_TRUST_HOST.
	TrustHost *bool

	// RedirectProxyURL is the URL, with the base path, of the deployment that
	// providers send the browser back to. It is for deployments whose own URL is
	// registered with no provider. The state parameter then carries the URL that
	// the proxy sends the browser on to. It is longer than the 128 characters that
	// WeChat accepts. Environment: AUTH_REDIRECT_PROXY_URL. The deployment with
	// this URL is the proxy: it needs URL and RedirectProxyOrigins, the others
	// need neither.
	RedirectProxyURL string

	// RedirectProxyOrigins are the deployments to which this deployment, as their
	// redirect proxy, sends browsers on: https origins such as
	// https://app.example.com:8443. A * means one first label, as in
	// https://*.preview.example.com. Nobody else may be able to set up a site at a
	// name that matches.
	RedirectProxyOrigins []string

	// Debug logs more. Secrets are not logged at any level. Debug is ignored if
	// Logger is set.
	Debug bool

	// Logger receives all records; the default is slog.Default().
	Logger *slog.Logger

	// TrustedProxies are the networks of the proxies in front of the site, such as
	// 10.0.0.0/8. Handler.ClientAddress and Attempt.Client then take the client from
	// X-Forwarded-For, which each proxy must append to. Without it, the address of
	// the connection counts.
	TrustedProxies []netip.Prefix
	// TrustedProxyCount is the number of proxies in front of the site, each of which
	// appends to the headers X-Forwarded-For, -Proto and -Host. It is for proxies
	// whose addresses change: only they may reach the server. The value counts that
	// stands so many places from the right. Set either it or TrustedProxies.
	TrustedProxyCount int

	// Limit is called before credentials are checked, a mail is sent, the options
	// of a passkey ceremony are given or its answer is read, and before a browser is
	// sent to an OAuth provider. A sign-in with a passkey calls it twice. Package
	// limit has such a function: limit.New(limit.Options{}). An error refuses the
	// attempt with status 429 and the header Retry-After; a *TooManyAttempts sets the
	// value of that header. The answer does not tell whether the user exists. Server
	// code gets an *Error of type ErrTooManyAttempts.
	Limit func(ctx context.Context, a Attempt) error

	Experimental Experimental

	// SkipCSRFCheck turns the CSRF protection off. Apart from the zero value, its
	// only value is the marker SkipCSRFCheck. It is for authors of framework
	// integrations that have their own protection.
	SkipCSRFCheck SkipCSRF

	// MaxBodySize is the size in bytes of the largest body that is read; the
	// default is 64 KB (65536). A larger body is answered with status 413.
	MaxBodySize int64

	// Clock returns the current time; the default is time.Now.
	Clock func() time.Time

	// Random is the source of tokens and IDs; the default is crypto/rand.Reader. A
	// replacement must be safe for concurrent use, and as unpredictable as the
	// default.
	Random io.Reader
}

// LogValue keeps secrets out of logs: it shows nothing of the configuration.
func (Config) LogValue() slog.Value { return slog.StringValue(redacted) }

// SkipCSRF is the type of the marker SkipCSRFCheck.
type SkipCSRF string

// SkipCSRFCheck as the value of Config.SkipCSRFCheck turns the CSRF protection
// off.
const SkipCSRFCheck SkipCSRF = "skip-csrf-check"

// Strategy is the place where sessions are kept.
type Strategy string

const (
	// StrategyJWT keeps the session in an encrypted token in a cookie.
	StrategyJWT Strategy = "jwt"
	// StrategyDatabase keeps the session in the adapter; the cookie has its key.
	StrategyDatabase Strategy = "database"
)

// SessionConfig has the settings of sessions.
type SessionConfig struct {
	// Strategy is StrategyDatabase by default if there is an adapter, and
	// StrategyJWT otherwise.
	Strategy Strategy
	// MaxAge is the time after which an unused session ends; the default is 30
	// days.
	MaxAge time.Duration
	// UpdateAge is the shortest time between two extensions of a session in use. A
	// session is extended in the database or by a new token. Nil means once a day;
	// zero means at every use. A token is replaced at the latest after half of its
	// lifetime.
	UpdateAge *time.Duration
	// AbsoluteMaxAge is the time after the sign-in at which a session ends
	// permanently, however much it is used; zero means never. The key of a
	// database session tells when the session began. A session that began before
	// this setting was made has a key without that time; such a session is not
	// extended any more.
	AbsoluteMaxAge time.Duration
	// Revoked is called at each reading of a session token. It reports whether the
	// token's session was ended since, for example because the user signed out
	// everywhere. The claims sub and auth_time identify the session; auth_time is
	// the instant of the sign-in in seconds. An error means that Revoked could not
	// find out; the session is then neither read nor ended. Revoked need not know
	// the sessions that were signed out in this process. Database sessions are
	// ended in the database.
	Revoked func(ctx context.Context, token Claims) (bool, error)
	// GenerateSessionToken makes the key of a database session; the default is
	// a random UUID. The result must be unguessable.
	GenerateSessionToken func(ctx context.Context) (string, error)
}

// JWTConfig has the settings of session tokens. See docs/protocol.md, "Session tokens".
type JWTConfig struct {
	// Secret replaces Config.Secret for tokens.
	Secret []string
	// MaxAge is the lifetime of a token; the default is Session.MaxAge. If the two
	// differ, session, cookie and token end at the earlier instant.
	MaxAge time.Duration
	// Encode and Decode replace jwt.Encode and jwt.Decode for the session token.
	// If one of them is not set, the function of package jwt stays. Decode returns
	// nil for a token that is not valid. Encode must return a token.
	Encode func(ctx context.Context, p jwt.EncodeParams) (string, error)
	Decode func(ctx context.Context, p jwt.DecodeParams) (Claims, error)
}

// Pages replaces built-in pages by pages of the application, each given as a
// path such as /login, or as a URL.
type Pages struct {
	// SignIn gets the parameters callbackUrl, and error and code if there was an
	// error.
	SignIn string
	// SignOut asks for confirmation.
	SignOut string
	// Error gets the parameter error.
	Error string
	// VerifyRequest says that a mail was sent. It gets provider and type.
	VerifyRequest string
	// NewUser is the page that a new user is sent to after the first sign-in, with
	// the parameter callbackUrl. Without it, a new user is sent to the same page
	// as other users.
	NewUser string
}

// ColorScheme is the look of the built-in pages.
type ColorScheme string

// The colour schemes. ColorSchemeAuto, the default, follows the browser.
const (
	ColorSchemeAuto  ColorScheme = "auto"
	ColorSchemeLight ColorScheme = "light"
	ColorSchemeDark  ColorScheme = "dark"
)

// Theme is the look of the built-in pages and of the sign-in mail.
type Theme struct {
	// Name is the name of the site on the pages and in mails; the default is its
	// host.
	Name        string
	ColorScheme ColorScheme
	// Logo is the URL of a picture at the top of each page.
	Logo string
	// BrandColor and ButtonText are CSS colours, for accents and for the text on
	// buttons.
	BrandColor string
	ButtonText string
}

// Cookies changes names and attributes of the cookies.
type Cookies struct {
	SessionToken     CookieConfig
	CallbackURL      CookieConfig
	CSRFToken        CookieConfig
	PKCECodeVerifier CookieConfig
	// State is also for the cookies that belong to one OAuth sign-in each, at most
	// four in a browser: their names begin with the one here and a dot.
	State             CookieConfig
	Nonce             CookieConfig
	WebAuthnChallenge CookieConfig
	// FormerDomains are the values that SessionToken.Domain had before. A browser
	// keeps the session cookie that it got then. A sign-in and a sign-out delete it
	// under these domains, and the one that was set for this host alone, if it is a
	// session of this site.
	FormerDomains []string
}

// specs returns all cookies, for http or for https.
func (c *Cookies) specs(secure bool) wire.CookieSpecs {
	specs := wire.NewCookieSpecs(secure)
	for spec, given := range map[*wire.CookieSpec]CookieConfig{
		&specs.Session: c.SessionToken, &specs.CallbackURL: c.CallbackURL, &specs.CSRF: c.CSRFToken, &specs.PKCE: c.PKCECodeVerifier,
		&specs.State: c.State, &specs.Nonce: c.Nonce, &specs.Challenge: c.WebAuthnChallenge,
	} {
		spec.Apply(wire.CookieChange(given))
	}
	own := specs.Session.Template.Domain
	for _, domain := range append([]string{""}, c.FormerDomains...) {
		if !strings.EqualFold(strings.TrimPrefix(domain, "."), strings.TrimPrefix(own, ".")) {
			specs.Session.Elsewhere = append(specs.Session.Elsewhere, domain)
		}
	}
	return specs
}

// CookieConfig changes one cookie; a zero field keeps its default.
type CookieConfig struct {
	// Name is the whole name. It is also the salt of the token in the cookie, so
	// tokens that were issued under an old name are not valid under a new one.
	Name     string
	Domain   string
	Path     string
	SameSite http.SameSite
	HTTPOnly *bool
	Secure   *bool
	// MaxAge has no effect on the session cookie, whose lifetime is
	// Session.MaxAge.
	MaxAge      time.Duration
	Partitioned bool
	// Priority is Low, Medium or High, for browsers that support it.
	Priority string
}

// Experimental turns on features that may change or be removed without notice.
type Experimental struct {
	// EnableWebAuthn allows WebAuthn providers.
	EnableWebAuthn bool
}

const (
	defaultBasePath  = "/auth"
	defaultMaxAge    = 30 * 24 * time.Hour
	defaultUpdateAge = 24 * time.Hour
	// defaultMaxBody is the size in bytes of the largest body that is read. The
	// largest legitimate bodies, a form or the answer of an authenticator, have a
	// few kilobytes.
	defaultMaxBody = 64 << 10
)

// withDefaults fills in the defaults that are the same for every request.
func (c Config) withDefaults() Config {
	c.BasePath = cmp.Or(c.BasePath, pathOf(c.URL), defaultBasePath)
	if before, ok := strings.CutSuffix(cleanBasePath(c.BasePath), "/auth"); ok && c.Home == "" {
		c.Home = strings.TrimSuffix(before, "/api")
	}
	if c.Session.Strategy == "" {
		c.Session.Strategy = StrategyJWT
		if c.Adapter != nil {
			c.Session.Strategy = StrategyDatabase
		}
	}
	c.Session.MaxAge = cmp.Or(c.Session.MaxAge, defaultMaxAge)
	if c.Session.UpdateAge == nil {
		c.Session.UpdateAge = new(defaultUpdateAge)
	}
	c.Secret = slices.Clone(c.Secret)
	c.JWT.Secret = slices.Clone(c.JWT.Secret)
	if len(c.JWT.Secret) == 0 {
		c.JWT.Secret = c.Secret
	}
	c.Providers = slices.Clone(c.Providers)
	c.JWT.MaxAge = cmp.Or(c.JWT.MaxAge, c.Session.MaxAge)
	if c.Session.Strategy == StrategyJWT { // a session ends no later than its token, and a token no later than its session
		c.Session.MaxAge = min(c.Session.MaxAge, c.JWT.MaxAge)
		c.JWT.MaxAge = c.Session.MaxAge
	}
	c.Theme.ColorScheme = cmp.Or(c.Theme.ColorScheme, ColorSchemeAuto)
	c.MaxBodySize = cmp.Or(c.MaxBodySize, defaultMaxBody)
	c.Random = cmp.Or(c.Random, rand.Reader)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Debug = c.Debug && c.Logger == nil; c.Debug {
		c.Logger = slog.New(debugging{slog.Default().Handler()})
	} else if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

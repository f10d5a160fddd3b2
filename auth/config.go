package auth

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// Claims is the content of a session token. See docs/protocol.md, "Session tokens".
type Claims = jwt.Claims

// Config is everything that can be set. Providers and a secret, here or in the
// environment, are enough.
type Config struct {
	// Providers are the ways to sign in, in the order in which the sign-in page
	// shows them.
	Providers []Provider

	// Adapter is the store for users, accounts, sessions and verification
	// tokens. With one, Session.Strategy is StrategyDatabase unless it is set.
	// A store that has only some of the methods is lifted by adapter.Partial.
	Adapter adapter.Adapter

	// Secret is at least 32 random characters; a shorter one is refused unless the
	// site is on loopback. It encrypts cookies and hashes tokens. A list serves
	// rotation: put a new one in front. The first encrypts, all decrypt; CSRF tokens
	// and mail links are hashed with the whole list, as Auth.js does, and those of
	// an earlier list are good as long as that list is the end of this one, or one
	// secret of it. Remove an old secret when what was made with it has expired.
	// Environment: AUTH_SECRET.
	Secret []string

	// DangerouslyAcceptShortSecrets accepts secrets of fewer than 32 characters
	// after the first of a list, until what was made with them has expired. What
	// can be guessed, everybody can sign in with.
	DangerouslyAcceptShortSecrets bool

	// URL is the public URL of the site, of which only scheme, host and port
	// count. With it the origin of requests does not matter, so it is the right
	// thing behind a proxy. Environment: AUTH_URL.
	URL string

	// BasePath is the path that all routes are below; the default is /auth.
	// Environment: the path of AUTH_URL.
	BasePath string

	Session   SessionConfig
	JWT       JWTConfig
	Callbacks Callbacks
	Events    Events
	Pages     Pages
	Cookies   Cookies
	Theme     Theme

	// UseSecureCookies restricts cookies to https and gives them the names that
	// browsers protect. The default, nil, goes by the scheme of each request.
	UseSecureCookies *bool

	// TrustHost says that the Host header may be used to build URLs, among them
	// the links that are mailed. Only a server or proxy that checks the header
	// makes it so. With nil, the default, New trusts loopback hosts. X-Forwarded
	// headers are never looked at. Setting URL makes trust unnecessary.
	// Environment: AUTH_TRUST_HOST.
	TrustHost *bool

	// RedirectProxyURL is the URL, with the base path, of the deployment that
	// providers send the browser back to, for deployments whose own URL no
	// provider knows. The state parameter then carries where the proxy sends the
	// browser on to, and has more characters than the 128 that WeChat takes.
	// Environment: AUTH_REDIRECT_PROXY_URL. The deployment with this URL is the
	// proxy: it needs URL and RedirectProxyOrigins, the others need neither.
	RedirectProxyURL string

	// RedirectProxyOrigins are the deployments that this one sends browsers on to
	// as their redirect proxy: https origins such as https://app.example.com:8443,
	// where * stands for one first label, as in https://*.preview.example.com.
	// Nobody else may be able to set up a site at a name that fits.
	RedirectProxyOrigins []string

	// Debug logs more. No level ever logs secrets. It is ignored if Logger is
	// set.
	Debug bool

	// Logger receives all records; the default is slog.Default().
	Logger *slog.Logger

	// Limit is asked before credentials are checked, a mail is sent, the options of
	// a passkey ceremony are given, or its answer is read. A sign-in with a passkey
	// asks twice. An error refuses the attempt with status 429 and
	// Retry-After, which *TooManyAttempts sets; whether somebody is known makes no
	// difference. Server code gets an *Error of type ErrTooManyAttempts.
	Limit func(ctx context.Context, a Attempt) error

	Experimental Experimental

	// SkipCSRFCheck turns the CSRF protection off; its only value besides the
	// zero one is the marker SkipCSRFCheck. It is for authors of framework
	// integrations that have a protection of their own.
	SkipCSRFCheck SkipCSRF

	// MaxBodySize is the size in bytes of the largest body that is read; the
	// default is 64 KB. A larger one is answered with status 413.
	MaxBodySize int64

	// Clock tells the time; the default is time.Now.
	Clock func() time.Time

	// Random is the source of tokens and IDs; the default is
	// crypto/rand.Reader. It must be safe for concurrent use, and as
	// unpredictable as that.
	Random io.Reader
}

// LogValue keeps secrets out of logs: of the configuration nothing is shown.
func (Config) LogValue() slog.Value { return slog.StringValue(redacted) }

// SkipCSRF is the type of the marker SkipCSRFCheck.
type SkipCSRF string

// SkipCSRFCheck as the value of Config.SkipCSRFCheck turns the CSRF protection
// off.
const SkipCSRFCheck SkipCSRF = "skip-csrf-check"

// Strategy is where sessions live.
type Strategy string

const (
	// StrategyJWT keeps the session in an encrypted token in a cookie.
	StrategyJWT Strategy = "jwt"
	// StrategyDatabase keeps the session in the adapter; the cookie has its key.
	StrategyDatabase Strategy = "database"
)

// SessionConfig is about sessions.
type SessionConfig struct {
	// Strategy is StrategyDatabase by default if there is an adapter, and
	// StrategyJWT otherwise.
	Strategy Strategy
	// MaxAge is after how long without use a session ends; the default is 30
	// days.
	MaxAge time.Duration
	// UpdateAge is how often at most a session in use is extended: in the
	// database, or by a new token; nil means once a day, zero every time. A token
	// is replaced after half of its life at the latest.
	UpdateAge *time.Duration
	// AbsoluteMaxAge is how long after the sign-in a session ends for good,
	// however much it is used; zero means never. A database session tells by its
	// key when it began; one whose key does not, because it began before the
	// setting, is not extended any more.
	AbsoluteMaxAge time.Duration
	// Revoked is asked at each reading of a session token whether its session was
	// ended since, for example because the user signed out everywhere: by the
	// claims sub and auth_time, the instant of the sign-in in seconds. An error
	// means that it could not be found out; the session is then neither read nor
	// ended. Of sessions that were signed out in this process it need not know.
	// Database sessions are ended in the database.
	Revoked func(ctx context.Context, token Claims) (bool, error)
	// GenerateSessionToken makes the key of a database session; the default is
	// a random UUID. The result must be unguessable.
	GenerateSessionToken func(ctx context.Context) (string, error)
}

// JWTConfig is about session tokens. See docs/protocol.md, "Session tokens".
type JWTConfig struct {
	// Secret replaces Config.Secret for tokens.
	Secret []string
	// MaxAge is how long a token is good for; the default is Session.MaxAge.
	MaxAge time.Duration
	// Encode and Decode replace jwt.Encode and jwt.Decode for the session
	// token. They are set both or neither. Decode returns nil for a token that
	// is void.
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
	// VerifyRequest tells that a mail was sent. It gets provider and type.
	VerifyRequest string
	// NewUser is where a new user is sent after the first sign-in, with the
	// parameter callbackUrl. Without it they go where others go.
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
	// State is also for the cookies that each OAuth sign-in has to itself, at
	// most four in a browser: their names begin with the one here and a dot.
	State             CookieConfig
	Nonce             CookieConfig
	WebAuthnChallenge CookieConfig
}

// CookieConfig changes one cookie; what is zero keeps its default.
type CookieConfig struct {
	// Name is the whole name. It is also the salt of the token in the cookie, so
	// another name voids what was issued under the old one.
	Name     string
	Domain   string
	Path     string
	SameSite http.SameSite
	HTTPOnly *bool
	Secure   *bool
	// MaxAge is not for the session cookie, whose lifetime is Session.MaxAge.
	MaxAge      time.Duration
	Partitioned bool
	// Priority is Low, Medium or High, for browsers that know it.
	Priority string
}

// Experimental turns on what may change or go without notice.
type Experimental struct {
	// EnableWebAuthn allows WebAuthn providers.
	EnableWebAuthn bool
}

const (
	defaultBasePath  = "/auth"
	defaultMaxAge    = 30 * 24 * time.Hour
	defaultUpdateAge = 24 * time.Hour
)

// withDefaults fills in everything that has a default which is the same for
// every request.
func (c Config) withDefaults() Config {
	if c.BasePath == "" {
		c.BasePath = defaultBasePath
	}
	if c.Session.Strategy == "" {
		c.Session.Strategy = StrategyJWT
		if c.Adapter != nil {
			c.Session.Strategy = StrategyDatabase
		}
	}
	if c.Session.MaxAge == 0 {
		c.Session.MaxAge = defaultMaxAge
	}
	if c.Session.UpdateAge == nil {
		c.Session.UpdateAge = new(defaultUpdateAge)
	}
	c.Secret = slices.Clone(c.Secret)
	c.JWT.Secret = slices.Clone(c.JWT.Secret)
	if len(c.JWT.Secret) == 0 {
		c.JWT.Secret = c.Secret
	}
	c.Providers = slices.Clone(c.Providers)
	if c.JWT.MaxAge == 0 {
		c.JWT.MaxAge = c.Session.MaxAge
	}
	if c.Theme.ColorScheme == "" {
		c.Theme.ColorScheme = ColorSchemeAuto
	}
	if c.MaxBodySize == 0 {
		c.MaxBodySize = defaultMaxBody
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
		if c.Debug {
			c.Logger = slog.New(debugging{c.Logger.Handler()})
		}
	}
	return c
}

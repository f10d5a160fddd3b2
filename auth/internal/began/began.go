// Package began keeps what a browser began and has not ended yet: sign-ins with
// OAuth and ceremonies with a passkey. It keeps them in sealed cookies of that
// browser, and remembers which of them were ended. It writes no response: its
// functions return the cookies to set.
package began

import (
	"io"
	"log/slog"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/once"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// MaxAge is the longest time that a person may take at the provider.
const MaxAge = 15 * time.Minute

// MaxCookie is the length of name and value that every browser accepts (RFC
// 6265 section 6.1), minus some bytes for the attributes.
const MaxCookie = 3936

// maxAtOnce is how many sign-ins of one browser may be under way, and how many
// ceremonies.
const maxAtOnce = 4

// Sealer has what all browsers share.
type Sealer struct {
	// Clock returns the current time, and Random is the source of random values.
	Clock  func() time.Time
	Random io.Reader
	// Secrets encrypt cookies; Keys are derived from them.
	Secrets []string
	Keys    *jwt.Keys
	// CSRF are the keys that CSRF tokens are hashed with.
	CSRF wire.HashKeys
	// Once remembers the values that were used.
	Once *once.Memory
}

// Browser is the browser that makes a request.
type Browser struct {
	*Sealer
	// Jar holds the cookies of the request. Cookies are the cookies that the site
	// may set.
	Jar     wire.Jar
	Cookies *wire.CookieSpecs
	// Secure says that the site is on https, or that its cookies are for https.
	Secure bool
	// Log logs a step, without secrets.
	Log func(message string, attrs ...slog.Attr)
}

// Seal returns a token with the claims, which is valid for MaxAge. Salt is the
// name of its cookie.
func (s *Sealer) Seal(salt string, claims jwt.Claims) (string, error) {
	return jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: s.Secrets, Salt: salt, MaxAge: MaxAge, Keys: s.Keys, Now: s.Clock})
}

// Open returns the claims of a token that Seal made.
func (s *Sealer) Open(salt, sealed string) (jwt.Claims, error) {
	return jwt.Decode(jwt.DecodeParams{Token: sealed, Secrets: s.Secrets, Salt: salt, Keys: s.Keys, Now: s.Clock})
}

// Reason is the reason why something can't be begun or ended.
type Reason int

const (
	// InvalidCheck says that a check is missing, has expired, or belongs to another sign-in.
	InvalidCheck Reason = iota
	// ForgedState says that the state parameter is not the one that was sent.
	ForgedState
	// LostChallenge says that the cookie of a ceremony can't be used.
	LostChallenge
	// OtherChallenge says that the challenge of the answer was not given to this browser.
	OtherChallenge
	// TooLarge says that what is to be kept does not fit in a cookie.
	TooLarge
)

// Error is the error of this package. Other errors come from the source of
// random values, and from the encryption.
type Error struct {
	Reason Reason
	// Message names the check and says what is wrong with it.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func invalidCheck(what, message string) error {
	return &Error{InvalidCheck, what + ": " + message}
}

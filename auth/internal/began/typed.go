package began

import (
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// What a person typed into a form that was refused waits in a sealed cookie for
// the sign-in page, so that it stands in no URL. The page deletes the cookie.

const (
	// typedMaxAge is how long the cookie is read.
	typedMaxAge = time.Minute
	// maxTyped is the length in bytes of the longest name that is kept.
	maxTyped = 320

	claimTyped    = "t"
	claimProvider = "p"
)

// Typed is the name of an account that a person typed into the form of a provider.
type Typed struct{ Provider, Name string }

func (b *Browser) typedCookie() wire.CookieSpec { return wire.HostCookie("authjs.typed", b.Secure) }

// KeepTyped returns the cookie that keeps a name, or nil if there is none to keep.
func (b *Browser) KeepTyped(t Typed) (*http.Cookie, error) {
	if t.Name == "" || len(t.Name) > maxTyped {
		return nil, nil
	}
	return b.keep(b.typedCookie(), jwt.Claims{claimTyped: t.Name, claimProvider: t.Provider}, typedMaxAge)
}

// TakeTyped returns the name that the browser brings, and the cookie that deletes
// it. The cookie is nil if the browser brings none.
func (b *Browser) TakeTyped() (Typed, *http.Cookie) {
	spec := b.typedCookie()
	sealed := b.Jar.Get(spec.Name)
	if sealed == "" {
		return Typed{}, nil
	}
	claims, err := b.Open(spec.Name, sealed)
	if err != nil { // it is too old, or not ours
		return Typed{}, spec.Clear(spec.Name)
	}
	return Typed{Provider: claims.String(claimProvider), Name: claims.String(claimTyped)}, spec.Clear(spec.Name)
}

package began

import (
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// A code that a person types is short, so it counts only together with a long
// text, the handle, which the browser that asked for the mail keeps in a sealed
// cookie. The browser can't read the handle, so nobody who has the browser can
// compare codes with anything outside of the site.

// maxCodes is how many mails with codes a browser remembers, and maxCodeAge the
// longest time that it does.
const (
	maxCodes   = 4
	maxCodeAge = 7 * 24 * time.Hour
	claimCodes = "codes"
)

// Code is a mail with a code that a browser asked for.
type Code struct {
	Provider string `json:"p"`
	// Address is the identifier of the verification token.
	Address string `json:"a"`
	// Handle is what follows the code in the link. It has 128 random bits.
	Handle string `json:"h"`
	// Expires is when the code ends, in seconds since the epoch.
	Expires int64 `json:"e"`
}

func (b *Browser) codeCookie() wire.CookieSpec { return wire.HostCookie("authjs.code", b.Secure) }

// Codes returns the mails with codes that the browser asked for, the newest
// first, without those that have expired.
func (b *Browser) Codes() []Code {
	return slices.DeleteFunc(listIn[Code](b, b.codeCookie(), claimCodes), func(c Code) bool {
		return b.Clock().Unix() > c.Expires || c.Handle == ""
	})
}

// KeepCode returns the cookie of a browser that has asked for one more mail.
func (b *Browser) KeepCode(c Code) (*http.Cookie, error) {
	return b.keepCodes(append([]Code{c}, b.Codes()...))
}

// ForgetCodes returns the cookies of a browser without the mails of a provider to
// an address; none if it has no such mails.
func (b *Browser) ForgetCodes(provider, address string) ([]*http.Cookie, error) {
	codes := b.Codes()
	n := len(codes)
	codes = slices.DeleteFunc(codes, func(c Code) bool { return c.Provider == provider && c.Address == address })
	if len(codes) == n {
		return nil, nil
	}
	c, err := b.keepCodes(codes)
	return []*http.Cookie{c}, err
}

// keepCodes returns the cookie that keeps the given mails, the newest first. It
// drops the oldest if there are too many. Without any, it deletes the cookie.
func (b *Browser) keepCodes(codes []Code) (*http.Cookie, error) {
	spec := b.codeCookie()
	for codes = codes[:min(len(codes), maxCodes)]; len(codes) > 0; codes = codes[:len(codes)-1] {
		age := time.Second
		for _, c := range codes {
			age = max(age, time.Duration(c.Expires-b.Clock().Unix())*time.Second)
		}
		age = min(age, maxCodeAge)
		c, err := b.keep(spec, jwt.Claims{claimCodes: codes}, age)
		if err != nil || len(c.Name)+len(c.Value) <= MaxCookie {
			return c, err
		}
	}
	return spec.Clear(spec.Name), nil
}

package began

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// A stranger who guesses at somebody's account makes the sign-in to it slow. The
// browsers in which that person signed in before are to be counted apart, so a
// sealed cookie says for whom the browser is known. It signs nobody in.

const (
	// knownAge is how long a browser is known after a sign-in.
	knownAge = 180 * 24 * time.Hour
	// maxKnown is for how many people a browser is known, and maxKnownCookie the
	// length of the cookie.
	maxKnown       = 4
	maxKnownCookie = 1500
	claimKnown     = "known"
)

// Known says that a user signed in in this browser before.
type Known struct {
	// ID is that of the browser for this user. Nobody else has it.
	ID string `json:"i"`
	// User is the ID of the user.
	User string `json:"u"`
	// Version is that of the user's password at the sign-in. If the user has another
	// one now, the browser is not known any more.
	Version string `json:"v,omitempty"`
	// Names are hashes of the names that the person types to sign in.
	Names []string `json:"n,omitempty"`
	// Until is when the browser is not known any more, in seconds since the epoch.
	Until int64 `json:"e"`
}

func (b *Browser) knownCookie() wire.CookieSpec { return wire.HostCookie("authjs.known", b.Secure) }

// known returns for whom the browser is known, the last who signed in first.
func (b *Browser) known() []Known {
	return slices.DeleteFunc(listIn[Known](b, b.knownCookie(), claimKnown), func(k Known) bool { return k.ID == "" || k.User == "" || b.Clock().Unix() > k.Until })
}

// nameMark is a hash of a name that a person types.
func nameMark(name string) string {
	sum := sha256.Sum256([]byte("name " + strings.ToLower(strings.TrimSpace(name))))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// Remember returns the cookie by which the browser is known for a user, who has
// the names: those that the person types to sign in.
func (b *Browser) Remember(user, version string, names ...string) (*http.Cookie, error) {
	id, err := wire.RandomBase64(b.Random)
	if err != nil {
		return nil, err
	}
	now := Known{ID: id[:22], User: user, Version: version, Until: b.Clock().Add(knownAge).Unix()}
	for _, name := range names {
		if mark := nameMark(name); name != "" && !slices.Contains(now.Names, mark) {
			now.Names = append(now.Names, mark)
		}
	}
	list := b.known()
	for _, k := range list {
		if k.User == user && k.Version == version { // a limit of its own must not begin anew with each sign-in
			now.ID = k.ID
		}
	}
	list = slices.DeleteFunc(list, func(k Known) bool { return k.User == user })
	return b.keepKnown(append([]Known{now}, list...))
}

// ForgetKnown returns the cookie of a browser that is not known for a user.
func (b *Browser) ForgetKnown(user string) (*http.Cookie, error) {
	return b.keepKnown(slices.DeleteFunc(b.known(), func(k Known) bool { return k.User == user }))
}

// keepKnown returns the cookie that keeps the list. It drops the last if there are
// too many. Without any, it deletes the cookie.
func (b *Browser) keepKnown(list []Known) (*http.Cookie, error) {
	spec := b.knownCookie()
	for list = list[:min(len(list), maxKnown)]; len(list) > 0; list = list[:len(list)-1] {
		c, err := b.keep(spec, jwt.Claims{claimKnown: list}, knownAge)
		if err != nil || len(c.Value) <= maxKnownCookie {
			return c, err
		}
	}
	return spec.Clear(spec.Name), nil
}

// KnownFor returns who signed in in this browser with a name, or nil.
func (b *Browser) KnownFor(name string) *Known {
	if name == "" {
		return nil
	}
	mark := nameMark(name)
	for _, k := range b.known() {
		if slices.Contains(k.Names, mark) {
			return &k
		}
	}
	return nil
}

// KnownTo returns the ID of the browser if the user signed in here while the
// password had the version, or else an empty text.
func (b *Browser) KnownTo(user, version string) string {
	for _, k := range b.known() {
		if k.User == user && k.Version == version {
			return k.ID
		}
	}
	return ""
}

package auth

import (
	"encoding/json"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// User is a person, as a provider describes them or as the adapter keeps them.
// See docs/protocol.md, "Records".
type User struct {
	// ID is the adapter's ID for a stored user, and the provider's otherwise.
	ID string
	// Name, Email and Image, the URL of a picture, are empty when not known.
	Name, Email, Image string
	// EmailVerified is when the user first proved the address, by a mail link or
	// through a provider, or nil if they have not. Only stored users have it.
	EmailVerified *time.Time
	// Extra holds further members, for callbacks and for the session's JSON. They
	// are never stored by the adapter. A member with the name of one of the fields
	// above is used only while that field is empty.
	Extra map[string]any
}

// MarshalJSON writes the fields that are set, by their names in Auth.js (id,
// name, email, emailVerified, image), and the members of Extra.
func (u User) MarshalJSON() ([]byte, error) {
	var m wire.Members
	m.Text("id", u.ID)
	m.Text("name", u.Name)
	m.Text("email", u.Email)
	if u.EmailVerified != nil {
		m.Time("emailVerified", *u.EmailVerified)
	}
	m.Text("image", u.Image)
	m.Extra(u.Extra, func(name string) bool {
		return name == "id" && u.ID != "" || name == "name" && u.Name != "" || name == "email" && u.Email != "" ||
			name == "emailVerified" && u.EmailVerified != nil || name == "image" && u.Image != ""
	})
	return m.End()
}

func userFromRecord(r *adapter.User) *User {
	return &User{ID: r.ID, Name: textOf(r.Name), Email: r.Email, EmailVerified: r.EmailVerified, Image: textOf(r.Image)}
}

func (u *User) record() adapter.User {
	return adapter.User{ID: u.ID, Name: textOrNil(u.Name), Email: u.Email, EmailVerified: u.EmailVerified, Image: textOrNil(u.Image)}
}

// Profile is what a provider says about a person: the claims of an ID token or
// the members of a userinfo answer, as encoding/json decodes them (numbers as
// json.Number).
type Profile map[string]any

// String returns the text or the number at the path, or "" if there is none:
// p.String("address", "country"). A float64 of 2^53 or more is not returned:
// several numbers are rounded to it, so it could be the ID of several people.
func (p Profile) String(path ...string) string {
	var v any = map[string]any(p)
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[name]
	}
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case float64:
		if math.Abs(v) < maxExact {
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return ""
}

// maxExact is the number from which on a float64 can't represent every whole
// number.
const maxExact = 1 << 53

// identifies reports whether a text can name one person. A text with bytes that
// are not UTF-8, or with the character that replaces what could not be decoded
// (U+FFFD), has lost a part on its way: several texts become it. A text without
// a character that is shown names nobody either.
func identifies(id string) bool {
	return utf8.ValidString(id) && !strings.ContainsRune(id, utf8.RuneError) &&
		strings.ContainsFunc(id, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !ignorable(r) })
}

// LogValue keeps personal data out of logs: it logs only the number of claims.
func (p Profile) LogValue() slog.Value { return slog.IntValue(len(p)) }

// shownUser is what the client sees of a stored user. A name or image that is
// not known, or stored as an empty text, is null.
func shownUser(user *User) *User {
	shown := &User{Name: user.Name, Email: user.Email, Image: user.Image}
	if user.Name == "" {
		shown.setExtra("name", nil)
	}
	if user.Image == "" {
		shown.setExtra("image", nil)
	}
	return shown
}

// userFromClaims is the user of a session token, without ID, which the client
// is not shown by default. A claim that is not a text stays as it is.
func userFromClaims(c Claims) *User {
	u := &User{}
	for _, m := range userClaims {
		v, present := c[m.claim]
		text, ok := v.(string)
		switch {
		case !present:
		case !ok || text == "":
			u.setExtra(m.member, v)
		case m.member == "name":
			u.Name = text
		case m.member == "image":
			u.Image = text
		default:
			u.Email = text
		}
	}
	return u
}

// userClaims are the claims of a session token that describe the user, and the
// members of the session's user that show them.
var userClaims = [...]struct{ claim, member string }{{"name", "name"}, {"email", "email"}, {"picture", "image"}}

func (u *User) setExtra(name string, v any) {
	if u.Extra == nil {
		u.Extra = map[string]any{}
	}
	u.Extra[name] = v
}

// withID is the same user with an ID.
func (u *User) withID(id string) *User {
	c := *u
	c.ID = id
	return &c
}

// claimsFromUser are the claims of a new session token.
func claimsFromUser(u *User) Claims {
	c := Claims{"sub": u.ID}
	for _, m := range userClaims {
		if v, ok := u.Extra[m.member]; ok {
			c[m.claim] = v
		}
	}
	setTexts(c, map[string]string{"name": u.Name, "email": u.Email, "picture": u.Image})
	return c
}

package began

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// listIn returns the list that a sealed cookie of the browser keeps in a claim. It
// is empty if the browser has no such cookie, or one that can't be read.
func listIn[T any](b *Browser, spec wire.CookieSpec, claim string) (list []T) {
	sealed := b.Jar.Get(spec.Name)
	if sealed == "" {
		return nil
	}
	claims, err := b.Open(spec.Name, sealed)
	if err != nil {
		return nil
	}
	text, err := json.Marshal(claims[claim])
	if err != nil || json.Unmarshal(text, &list) != nil {
		return nil
	}
	return list
}

// keep returns the cookie that keeps a sealed claim for a time.
func (b *Browser) keep(spec wire.CookieSpec, claims jwt.Claims, age time.Duration) (*http.Cookie, error) {
	sealed, err := jwt.Encode(jwt.EncodeParams{
		Token: claims, Secrets: b.Secrets, Salt: spec.Name, MaxAge: age, Keys: b.Keys, Now: b.Clock,
	})
	if err != nil {
		return nil, err
	}
	c := spec.Set(sealed)
	c.MaxAge = int(age / time.Second)
	return c, nil
}

package passwords

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A mail about a password has a token of 128 random bits. What is stored is its
// MAC with a key of the purpose, under an identifier that is no address, so that no
// other route, and no Auth.js on the same table, accepts it.

// MaxPending is how many mails of one purpose are valid at once for one address.
const MaxPending = 5

// span is how long a mail is valid at least; at most it is twice as long.
const span = 30 * time.Minute

// Purposes are those that tokens have.
var Purposes = []Kind{SignUp, Reset}

// Tokens stores verification tokens.
type Tokens interface {
	CreateToken(ctx context.Context, t adapter.VerificationToken) error
	UseToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error)
	DeleteTokens(ctx context.Context, identifier string) error
}

func mac(key, purpose, text string) string {
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte("password " + purpose + "\x00" + text))
	return hex.EncodeToString(h.Sum(nil))
}

// identifier names the records of an address. The address can't be read from it.
func identifier(what string, purpose Kind, key, address string) string {
	hashed := mac(key, "address "+what, string(purpose)+"\x00"+address)
	return "password-" + what + ":" + string(purpose) + ":" + hashed[:32]
}

// Pending stores a token for an address. Ok is false if enough of them are valid
// already. Key is the newest secret of the site.
//
// Five records count the tokens of a window of time, and of the next one, in which
// they may still be valid. A store refuses a record that exists, so no two calls,
// in whatever process, take the same.
func Pending(
	ctx context.Context, s Tokens, key string, purpose Kind, address, token string, now time.Time,
) (expires time.Time, ok bool, err error) {
	window := now.Unix() / int64(span/time.Second)
	expires = time.Unix((window+2)*int64(span/time.Second), 0).UTC()
	slot := identifier("slot", purpose, key, address)
	for n := range MaxPending {
		taken, err := take(ctx, s, slot, window, n, expires)
		if err != nil {
			return time.Time{}, false, err
		}
		if taken {
			k := linkKey(key, purpose, address, token)
			link := adapter.VerificationToken{Identifier: k.Identifier, Token: k.Token, Expires: expires}
			return expires, true, s.CreateToken(ctx, link)
		}
	}
	return time.Time{}, false, nil
}

// linkKey is where the token of a link is stored.
func linkKey(key string, purpose Kind, address, token string) adapter.VerificationTokenKey {
	return adapter.VerificationTokenKey{
		Identifier: identifier("link", purpose, key, address), Token: mac(key, string(purpose), token),
	}
}

// take stores the records of a token in two windows.
func take(ctx context.Context, s Tokens, slot string, window int64, n int, expires time.Time) (bool, error) {
	for w := window; w <= window+1; w++ {
		name := "slot " + strconv.FormatInt(w, 10) + " " + strconv.Itoa(n) + " " + slot
		err := s.CreateToken(ctx, adapter.VerificationToken{Identifier: slot, Token: name, Expires: expires.Add(time.Hour)})
		switch {
		case errors.Is(err, adapter.ErrConflict):
			return false, nil
		case err != nil:
			return false, err
		}
	}
	return true, nil
}

// Use spends a token that was made with any of the keys. The result is nil if there
// is none, or if it has expired. All others of the address end.
func Use(
	ctx context.Context, s Tokens, keys []string, purpose Kind, address, token string, now time.Time,
) (*adapter.VerificationToken, error) {
	for _, key := range keys {
		used, err := s.UseToken(ctx, linkKey(key, purpose, address, token))
		if err != nil {
			return nil, err
		}
		if used != nil {
			if !now.Before(used.Expires) {
				return nil, nil
			}
			return used, nil
		}
	}
	return nil, nil
}

// End ends all tokens of an address.
func End(ctx context.Context, s Tokens, keys []string, address string) error {
	var failed error
	for _, key := range keys {
		for _, purpose := range Purposes {
			for _, what := range []string{"link", "slot"} {
				failed = errors.Join(failed, s.DeleteTokens(ctx, identifier(what, purpose, key, address)))
			}
		}
	}
	return failed
}

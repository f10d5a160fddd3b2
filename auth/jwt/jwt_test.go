package jwt_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

const secret = "a secret of at least thirty-two characters"

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	token := must(jwt.Encode(jwt.EncodeParams{Secrets: []string{secret}, Salt: "c"}))(t)
	expired := must(jwt.Encode(jwt.EncodeParams{Secrets: []string{secret}, Salt: "c", MaxAge: -time.Hour}))(t)
	cases := []struct {
		name    string
		params  jwt.DecodeParams
		is, not []error
	}{
		{"no secret", jwt.DecodeParams{Token: token, Salt: "c"}, []error{jwt.ErrMissingSecret}, []error{jwt.ErrInvalid}},
		{"empty secret", jwt.DecodeParams{Token: token, Salt: "c", Secrets: []string{""}}, nil, []error{jwt.ErrInvalid}},
		{"salt of 1 KB", jwt.DecodeParams{Token: token, Salt: strings.Repeat("c", 1024), Secrets: []string{secret}}, nil, []error{jwt.ErrInvalid}},
		{"expired", jwt.DecodeParams{Token: expired, Salt: "c", Secrets: []string{secret}}, []error{jwt.ErrInvalid, jwt.ErrExpired}, nil},
		{"other secret", jwt.DecodeParams{Token: token, Salt: "c", Secrets: []string{"other"}}, []error{jwt.ErrInvalid}, []error{jwt.ErrExpired}},
		{"line end inside", jwt.DecodeParams{Token: token + "\n", Salt: "c", Secrets: []string{secret}}, []error{jwt.ErrInvalid}, nil},
		{"too large", jwt.DecodeParams{Token: strings.Repeat("a", jwt.MaxTokenSize+1), Salt: "c", Secrets: []string{secret}}, []error{jwt.ErrInvalid}, nil},
		{"many dots", jwt.DecodeParams{Token: strings.Repeat(".", jwt.MaxTokenSize), Salt: "c", Secrets: []string{secret}}, []error{jwt.ErrInvalid}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			claims, err := jwt.Decode(c.params)
			require.Truef(t, claims == nil && err != nil, "got %v, %v, want an error", claims, err)
			for _, target := range c.is {
				assert.ErrorIs(t, err, target)
			}
			for _, target := range c.not {
				assert.NotErrorIs(t, err, target)
			}
			assert.Truef(t, !strings.Contains(err.Error(), secret) && !strings.Contains(err.Error(), token[:20]),
				"the error tells too much: %v", err)
		})
	}
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]jwt.EncodeParams{
		"no secret":          {},
		"empty first secret": {Secrets: []string{"", secret}},
		"salt of 1 KB":       {Secrets: []string{secret}, Salt: strings.Repeat("c", 1024)},
		"not JSON":           {Secrets: []string{secret}, Token: jwt.Claims{"x": math.NaN()}},
		"too long":           {Secrets: []string{secret}, Token: jwt.Claims{"x": strings.Repeat("x", jwt.MaxTokenSize)}},
	}
	for name, params := range cases {
		token, err := jwt.Encode(params)
		assert.Truef(t, token == "" && err != nil, "%s: got %d characters, %v, want an error", name, len(token), err)
	}
}

// TestLongestToken checks that Decode reads the longest token that Encode
// makes.
func TestLongestToken(t *testing.T) {
	t.Parallel()
	made := 0
	for n := jwt.MaxTokenSize * 3 / 4; n > jwt.MaxTokenSize*3/4-1000; n -= 89 {
		token, err := jwt.Encode(jwt.EncodeParams{Secrets: []string{secret}, Token: jwt.Claims{"x": strings.Repeat("x", n)}})
		if err != nil {
			continue
		}
		made++
		_, err = jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{secret}})
		require.NoErrorf(t, err, "a token of %d characters was made but not read", len(token))
	}
	assert.NotEqual(t, 0, made, "no token was made")
}

// TestEveryBitCounts alters each character of a token in turn: Decode must
// refuse each altered token.
func TestEveryBitCounts(t *testing.T) {
	t.Parallel()
	keys := new(jwt.Keys)
	params := jwt.EncodeParams{Token: jwt.Claims{"sub": "1"}, Secrets: []string{secret}, Salt: "c", Keys: keys}
	token := must(jwt.Encode(params))(t)
	for i := range len(token) {
		for _, c := range []byte{'A', 'B', '_', '.', ' ', '=', 0, 0xff} {
			if token[i] == c {
				continue
			}
			bad := token[:i] + string([]byte{c}) + token[i+1:]
			claims, err := jwt.Decode(jwt.DecodeParams{Token: bad, Secrets: []string{secret}, Salt: "c", Keys: keys})
			require.Errorf(t, err, "character %d replaced by %q: got claims %v", i, c, claims)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		params := jwt.EncodeParams{Token: jwt.Claims{"sub": "1"}, Secrets: []string{secret}, MaxAge: time.Minute}
		token := must(jwt.Encode(params))(t)
		decode := func() error {
			_, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{secret}})
			return err
		}
		<-time.After(time.Minute + 14*time.Second)
		assert.NoError(t, decode(), "14 s after exp")
		<-time.After(time.Second)
		assert.ErrorIs(t, decode(), jwt.ErrExpired, "15 s after exp")
	})
}

func TestClaims(t *testing.T) {
	t.Parallel()
	c := jwt.Claims{"sub": "1", "name": nil, "iat": 1768478400.25, "int": 1768478400, "huge": 1e300, "nan": math.NaN(), "n": json.Number("7")}
	assert.Truef(t, c.String("sub") == "1" && c.String("name") == "" && c.String("iat") == "" && c.String("absent") == "",
		"String: got %q %q %q %q", c.String("sub"), c.String("name"), c.String("iat"), c.String("absent"))
	got, ok := c.Time("iat")
	assert.Truef(t, ok && got.Equal(time.UnixMilli(1768478400250)) && got.Location() == time.UTC, "Time: got %v, %v", got, ok)
	got, ok = c.Time("int")
	assert.Truef(t, ok && got.Unix() == 1768478400, "Time of an int: got %v, %v", got, ok)
	got, ok = c.Time("n")
	assert.Truef(t, ok && got.Unix() == 7, "Time of a json.Number: got %v, %v", got, ok)
	for _, name := range []string{"sub", "name", "huge", "nan", "absent"} {
		got, ok := c.Time(name)
		assert.Truef(t, !ok && got.IsZero(), "Time(%s): got %v, %v, want none", name, got, ok)
	}
}

// TestKeysBounded uses more keys than the cache holds, from many goroutines.
func TestKeysBounded(t *testing.T) {
	t.Parallel()
	keys := new(jwt.Keys)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				salt := fmt.Sprint(g*50 + i)
				token, err := jwt.Encode(jwt.EncodeParams{Secrets: []string{secret}, Salt: salt, Keys: keys})
				if !assert.NoError(t, err) {
					return
				}
				_, err = jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{secret}, Salt: salt, Keys: keys})
				assert.NoErrorf(t, err, "salt %s", salt)
			}
		})
	}
	wg.Wait()
	n := keys.Len()
	assert.Truef(t, n <= 256 && n >= 200, "the cache holds %d keys, want at most 256, and not much less", n)
}

func TestGetTokenErrors(t *testing.T) {
	t.Parallel()
	_, err := jwt.GetToken(t.Context(), jwt.GetTokenParams{Secrets: []string{secret}})
	assert.ErrorIsf(t, err, jwt.ErrMissingRequest, "got %v, want ErrMissingRequest", err)
	for authorization, want := range map[string]string{"Bearer": "", "Bearer ": "", "Bearer a%2Eb": "a.b", "Bearer a b": "a", "Bearer %ff": "", "Bearer %": ""} {
		got, err := jwt.GetRawToken(jwt.GetTokenParams{Header: http.Header{"Authorization": {authorization}}})
		assert.Truef(t, err == nil && got == want, "%q: got %q, %v, want %q", authorization, got, err, want)
	}
}

// TestTokenWithoutKid: the first secret of the list that decrypts a token
// without kid is used, and others give no claims.
func TestTokenWithoutKid(t *testing.T) {
	t.Parallel()
	newest, other := "newest secret, which has made no token", "a secret of another site, for no token"
	for _, name := range []jose.ContentEncryption{jose.A256CBC_HS512, jose.A256GCM} {
		token := joseEncrypt(t, name, derivedFrom(t, secret, "c", name), "", `{"sub":"1"}`)
		header, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[0])
		require.Truef(t, err == nil && !strings.Contains(string(header), "kid"), "the token has the header %s", header)
		for _, keys := range []*jwt.Keys{nil, new(jwt.Keys)} {
			for _, c := range []struct {
				secrets []string
				ok      bool
			}{
				{[]string{secret}, true}, {[]string{secret, newest}, true}, {[]string{newest, secret}, true}, {[]string{newest, other, secret}, true},
				{[]string{newest}, false}, {[]string{newest, other}, false},
			} {
				claims, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: c.secrets, Salt: "c", Keys: keys})
				assert.Falsef(t, c.ok != (claims.String("sub") == "1") || c.ok != (err == nil) || !c.ok && !errors.Is(err, jwt.ErrInvalid),
					"%s, %q: got %v, %v", name, c.secrets, claims, err)
			}
			altered := token[:len(token)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(token, "A")]
			claims, err := jwt.Decode(jwt.DecodeParams{Token: altered, Secrets: []string{newest, secret}, Salt: "c", Keys: keys})
			assert.ErrorIsf(t, err, jwt.ErrInvalid, "%s, altered: got %v,", name, claims)
		}
	}
}

// derivedFrom is the key that docs/protocol.md derives from a secret and a salt.
func derivedFrom(t testing.TB, secret, salt string, enc jose.ContentEncryption) []byte {
	t.Helper()
	size := map[jose.ContentEncryption]int{jose.A256CBC_HS512: 64, jose.A256GCM: 32}[enc]
	return must(hkdf.Key(sha256.New, []byte(secret), []byte(salt), "Auth.js Generated Encryption Key ("+salt+")", size))(t)
}

// TestIntegersKeepTheirDigits: an integer that a token can't hold exactly is
// refused, wherever it is in the claims. All others come back as they were.
func TestIntegersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	type row struct {
		ID uint64 `json:"id"`
	}
	for _, c := range []struct {
		value any
		want  float64 // 0: refused
	}{
		{int64(1) << 53, 1 << 53}, {int64(1)<<53 + 1, 0}, {-(int64(1)<<53 + 1), 0}, {int64(1) << 62, 1 << 62}, {int64(1)<<62 + 1, 0},
		{uint64(1<<64 - 1), 0}, {json.Number("9007199254740993"), 0}, {json.Number("123456789012345"), 123456789012345},
		{row{ID: 9007199254740993}, 0}, {[]any{1, map[string]any{"a": int64(9007199254740993)}}, 0},
		{float64(1 << 60), 1 << 60}, {1e300, 1e300}, {0.1234567890123456789, 0.1234567890123456789},
	} {
		token, err := jwt.Encode(jwt.EncodeParams{Token: jwt.Claims{"uid": c.value}, Secrets: []string{secret}, Salt: "s"})
		if c.want == 0 {
			if err == nil || !strings.Contains(err.Error(), `"uid"`) {
				t.Errorf("%v: got %v, want an error that names the claim", c.value, err)
			}
			continue
		}
		claims, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{secret}, Salt: "s"})
		if err != nil || claims["uid"] != c.want {
			t.Errorf("%v: got %v, %v", c.value, claims["uid"], err)
			continue
		}
		if _, err := jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: []string{secret}, Salt: "s"}); err != nil {
			t.Errorf("%v is refused when it is encoded again: %v", c.value, err)
		}
	}
	text := jwt.Claims{"uid": "9007199254740993", "10000000000000000001": "x"}
	_, err := jwt.Encode(jwt.EncodeParams{Token: text, Secrets: []string{secret}, Salt: "s"})
	assert.NoError(t, err, "digits in a text")
}

// TestWhichCookieHasTheToken: the URL of the site says which of the two cookies
// GetToken and GetRawToken read.
func TestWhichCookieHasTheToken(t *testing.T) {
	for name, c := range map[string]struct {
		params            jwt.GetTokenParams
		auth, next, plain string
	}{
		"nothing is known":              {plain: "plain"},
		"https":                         {params: jwt.GetTokenParams{URL: "https://app.example.com"}},
		"http":                          {params: jwt.GetTokenParams{URL: "http://localhost:3000"}, plain: "plain"},
		"HTTP":                          {params: jwt.GetTokenParams{URL: "HTTP://localhost:3000"}, plain: "plain"},
		"no scheme":                     {params: jwt.GetTokenParams{URL: "app.example.com"}},
		"AUTH_URL, https":               {auth: "https://app.example.com/auth"},
		"AUTH_URL, http":                {auth: "http://localhost:3000", plain: "plain"},
		"NEXTAUTH_URL, https":           {next: "https://app.example.com"},
		"NEXTAUTH_URL, http":            {next: "http://localhost:3000", plain: "plain"},
		"AUTH_URL before NEXTAUTH_URL":  {auth: "http://localhost:3000", next: "https://app.example.com", plain: "plain"},
		"URL before AUTH_URL":           {params: jwt.GetTokenParams{URL: "https://app.example.com"}, auth: "http://localhost:3000"},
		"SecureCookie before https":     {params: jwt.GetTokenParams{URL: "https://app.example.com", SecureCookie: new(false)}, plain: "plain"},
		"SecureCookie before http":      {params: jwt.GetTokenParams{SecureCookie: new(true)}, auth: "http://localhost:3000"},
		"CookieName before all of them": {params: jwt.GetTokenParams{CookieName: jwt.CookieName, URL: "https://app.example.com"}, plain: "plain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AUTH_URL", c.auth)
			t.Setenv("NEXTAUTH_URL", c.next)
			header := http.Header{}
			for cookie, who := range map[string]string{jwt.CookieName: "plain", jwt.SecureCookieName: "secure"} {
				params := jwt.EncodeParams{Token: jwt.Claims{"sub": who}, Secrets: []string{secret}, Salt: cookie}
				header.Add("Cookie", cookie+"="+must(jwt.Encode(params))(t))
			}
			p := c.params
			p.Header, p.Secrets = header, []string{secret}
			name := jwt.SecureCookieName
			if c.plain != "" {
				name = jwt.CookieName
			}
			claims := must(jwt.GetToken(t.Context(), p))(t)
			assert.Equal(t, cmp.Or(c.plain, "secure"), claims.String("sub"), "the cookie of the claims")
			assert.Contains(t, header["Cookie"], name+"="+must(jwt.GetRawToken(p))(t), "the raw token")
		})
	}
}

func TestGetTokenDecodeAndLogger(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	var got jwt.DecodeParams
	header := http.Header{"Cookie": {"a=1", "sid=tok-canary"}}
	claims, err := jwt.GetToken(t.Context(), jwt.GetTokenParams{
		Header: header, CookieName: "sid", Secrets: []string{"secret-canary"},
		Decode: func(_ context.Context, p jwt.DecodeParams) (jwt.Claims, error) {
			got = p
			return nil, errors.New("no")
		},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	assert.Truef(t, claims == nil && err == nil, "got %v, %v, want nothing", claims, err)
	assert.Truef(t, got.Token == "tok-canary" && got.Salt == "sid", "Decode got token %q, salt %q", got.Token, got.Salt)
	assert.Truef(t, strings.Contains(log.String(), "token refused") && !strings.Contains(log.String(), "canary"),
		"got log %q", log.String())
}

func TestLogsHoldNoSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := slog.New(slog.NewJSONHandler(&log, nil))
	secrets := []string{"canary"}
	l.Info("x", "p", jwt.EncodeParams{Secrets: secrets, Token: jwt.Claims{"canary": "canary"}, Salt: "here"})
	l.Info("x", "p", jwt.DecodeParams{Secrets: secrets, Token: "canary", Salt: "here"})
	l.Info("x", "p", jwt.GetTokenParams{Secrets: secrets, CookieName: "here", Header: http.Header{"Cookie": {"canary"}}})
	s := log.String()
	assert.Truef(t, !strings.Contains(s, "canary") && strings.Count(s, "here") == 3, "got log %s", s)
}

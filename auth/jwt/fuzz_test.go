package jwt_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/require"
)

// FuzzDecode gives Decode tokens that were not made with its secret: it must
// not panic, and must never return claims.
func FuzzDecode(f *testing.F) {
	for _, row := range rows[tokenRow](f, "jwt.json") {
		if len(row.Token) < 4000 {
			f.Add(row.Token, row.Salt)
		}
	}
	keys := new(jwt.Keys)
	f.Fuzz(func(t *testing.T, token, salt string) {
		for _, cache := range []*jwt.Keys{nil, keys} {
			claims, err := jwt.Decode(jwt.DecodeParams{
				Token: token, Salt: salt, Secrets: []string{"made none of them", "nor this"}, Keys: cache,
			})
			require.Nilf(t, claims, "got claims %v from a token that was not made with a secret of ours", claims)
			require.Equalf(t, token == "", err == nil, "got error %v for a token of %d characters", err, len(token))
		}
	})
}

// FuzzRoundTrip checks that Decode returns the claims that Encode was given,
// and that no other text is accepted as the same token.
func FuzzRoundTrip(f *testing.F) {
	f.Add(`{"sub":"1"}`, "s", "c", 3, byte('A'))
	f.Add(`{"a":[1,2.5e-7,null,true,{"b":"\u2028<&>"}],"":""}`, "ü", "", 200, byte('='))
	f.Fuzz(func(t *testing.T, payload, secret, salt string, at int, with byte) {
		var claims jwt.Claims
		if json.Unmarshal([]byte(payload), &claims) != nil || secret == "" || len(salt) > 900 {
			return
		}
		token := must(jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: []string{secret}, Salt: salt}))(t)
		got := must(jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{"other", secret}, Salt: salt}))(t)
		want := jwt.Claims{"iat": got["iat"], "exp": got["exp"], "jti": got["jti"]}
		for k, v := range claims {
			if _, ok := want[k]; !ok {
				want[k] = v
			}
		}
		require.Equal(t, want, got)
		altered := []byte(token)
		altered[uint(at)%uint(len(altered))] = with
		if string(altered) == token {
			return
		}
		got, err := jwt.Decode(jwt.DecodeParams{Token: string(altered), Secrets: []string{secret}, Salt: salt})
		require.Errorf(t, err, "an altered token gave %v", got)
	})
}

// FuzzGetToken gives request headers to GetToken.
func FuzzGetToken(f *testing.F) {
	for _, row := range rows[getTokenRow](f, "get_token.json") {
		f.Add(row.Headers["cookie"], row.Headers["authorization"], row.Params.CookieName)
	}
	keys := new(jwt.Keys)
	f.Fuzz(func(t *testing.T, cookie, authorization, name string) {
		params := jwt.GetTokenParams{
			Header:     http.Header{"Cookie": {cookie}, "Authorization": {authorization}},
			CookieName: name, Secrets: []string{"made none of them"}, Keys: keys,
		}
		if len(name) > 900 {
			return
		}
		claims, err := jwt.GetToken(t.Context(), params)
		require.Truef(t, claims == nil && err == nil, "got %v, %v, want nothing", claims, err)
		raw := must(jwt.GetRawToken(params))(t)
		require.True(t, len(raw) <= len(cookie)+len(authorization), "the token is longer than what carries it")
	})
}

// FuzzReadChunks gives Cookie headers to ReadChunks, and checks that a value
// that was split is read again, with any other cookies around its chunks.
func FuzzReadChunks(f *testing.F) {
	f.Add("a=1; sid=old; sid-other=x; sid.x=1", "value", "sid")
	f.Add("sid.0=%41; sid.00=b; sid.1=", strings.Repeat("v", 9000), "sid")
	f.Fuzz(func(t *testing.T, header, value, name string) {
		cookies := jwt.ParseCookies(header)
		_, names := jwt.ReadChunks(cookies, name)
		for _, n := range names {
			require.Truef(t, n == name || strings.HasPrefix(n, name+"."), "the cookie %q was read for %q", n, name)
		}
		foreign := slices.DeleteFunc(slices.Clone(cookies), func(c jwt.Cookie) bool {
			return c.Value == "" || slices.Contains(names, c.Name)
		})
		got, _ := jwt.ReadChunks(append(foreign, jwt.SplitChunks(name, value)...), name)
		require.Equalf(t, value, got, "got %d characters back, want %d", len(got), len(value))
	})
}

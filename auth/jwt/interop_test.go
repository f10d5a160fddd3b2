package jwt_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/authjs"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type call struct {
	Call   string         `json:"call"`
	Params map[string]any `json:"params"`
}

type answer struct {
	Result any
	Error  string
}

var interopPayloads = map[string]jwt.Claims{
	"session": {"name": "Zoë 山田 👩‍🚀", "email": "ada@example.com", "picture": nil, "sub": "user-1"},
	"empty":   {},
	"kinds":   {"t": true, "f": false, "n": nil, "i": -7.0, "d": 3.141592653589793, "s": 1e-7, "b": 1e21, "l": []any{"<&>\u2028", map[string]any{"x": 1.0}}},
	"chunked": {"blob": strings.Repeat("long ", 2000)},
}

func TestAuthJSReadsOurs(t *testing.T) {
	t.Parallel()
	type sent struct {
		name  string
		salt  string
		token string
		want  jwt.Claims
	}
	var all []sent
	var calls []call
	for name, payload := range interopPayloads {
		for _, salt := range []string{jwt.CookieName, jwt.SecureCookieName, "", "sålt"} {
			params := jwt.EncodeParams{Token: payload, Secrets: []string{secret}, Salt: salt, MaxAge: time.Hour}
			token := must(jwt.Encode(params))(t)
			want := must(jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{secret}, Salt: salt}))(t)
			all = append(all, sent{name, salt, token, want}, sent{name, salt, token, want}, sent{name, salt, token, want})
			calls = append(calls,
				call{"decode", map[string]any{"token": token, "secret": secret, "salt": salt}},
				call{"decode", map[string]any{"token": token, "secret": []string{"newer", secret}, "salt": salt}},
				call{"getToken", map[string]any{"headers": map[string]string{"cookie": cookieHeader("c", token)}, "cookieName": "c", "secret": secret, "salt": salt}})
		}
	}
	var answers []answer
	authjs.Call(t, "jwt.mjs", calls, &answers)
	require.Equalf(t, len(calls), len(answers), "got %d answers to %d calls", len(answers), len(calls))
	for i, got := range answers {
		assert.Truef(t, got.Error == "" && reflect.DeepEqual(got.Result, map[string]any(all[i].want)),
			"%s, salt %q, %s: got %.200v, %s, want %.200v", all[i].name, all[i].salt, calls[i].Call, got.Result, got.Error, all[i].want)
	}
}

func TestWeReadAuthJS(t *testing.T) {
	t.Parallel()
	var names, salts []string
	var calls []call
	for name, payload := range interopPayloads {
		for _, salt := range []string{jwt.CookieName, jwt.SecureCookieName, "", "sålt"} {
			names, salts = append(names, name), append(salts, salt)
			calls = append(calls, call{"encode", map[string]any{"token": payload, "secret": []string{secret, "older"}, "salt": salt, "maxAge": 3600}})
		}
	}
	var answers []answer
	authjs.Call(t, "jwt.mjs", calls, &answers)
	require.Equalf(t, len(calls), len(answers), "got %d answers to %d calls", len(answers), len(calls))
	for i, got := range answers {
		token, ok := got.Result.(string)
		require.Truef(t, ok, "Auth.js made no token: %v, %s", got.Result, got.Error)
		params := jwt.DecodeParams{Token: token, Secrets: []string{"newer", secret}, Salt: salts[i]}
		claims, err := jwt.Decode(params)
		require.NoErrorf(t, err, "%s, salt %q", names[i], salts[i])
		for k, want := range interopPayloads[names[i]] {
			assert.Equalf(t, want, claims[k], "%s, salt %q: got %s", names[i], salts[i], k)
		}
		age := claims["exp"].(float64) - claims["iat"].(float64)
		assert.Truef(t, age == 3600, "%s: got a lifetime of %v, want 3600", names[i], age)
		found, err := jwt.GetToken(t.Context(), jwt.GetTokenParams{
			Header:     http.Header{"Cookie": {cookieHeader("c", token)}},
			CookieName: "c", Salt: salts[i], Secrets: []string{secret},
		})
		assert.Falsef(t, salts[i] != "" && (err != nil || !reflect.DeepEqual(found, claims)),
			"%s, salt %q: GetToken got %.200v, %v", names[i], salts[i], found, err)
	}
}

// cookieHeader returns the Cookie header of a browser that holds the value,
// with the last chunk first.
func cookieHeader(name, value string) string {
	pairs := []string{"other=1"}
	for _, c := range jwt.SplitChunks(name, value) {
		pairs = append([]string{c.Name + "=" + c.Value}, pairs...)
	}
	return strings.Join(pairs, "; ")
}

package jwt_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// The vectors of testdata were recorded from @auth/core 0.41.3.

// list is a JSON member that may be one text or a list of texts.
type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

func rows[T any](t testing.TB, name string) []T {
	t.Helper()
	data := must(os.ReadFile("testdata/" + name))(t)
	var file struct{ Rows []T }
	require.NoError(t, json.Unmarshal(data, &file), name)
	require.NotEmptyf(t, file.Rows, "%s has no rows", name)
	return file.Rows
}

func at(seconds float64) func() time.Time {
	return func() time.Time { return time.UnixMilli(int64(seconds * 1000)) }
}

type tokenRow struct {
	Name, Group, Quirk string
	Secret             list
	Salt               string
	Now                float64
	Token              string
	Decode             any
	Input              jwt.Claims
	MaxAge             float64
	EncodeSecret       list
	EncodeSalt         *string
}

// decided gives, for each row that the recording marks as a quirk, the outcome
// that we chose and the reason.
var decided = map[string]struct{ outcome, why string }{
	"maxage-30-days-after-2038":              {"error", "the recorded token carries an exp that overflowed 32 bits; TestEncodeAfter2038 shows that ours does not"},
	"rotation-array-with-empty-string-first": {"error", "an empty secret is a mistake in the configuration; to skip it would hide that"},
	"header-zip-def-compressed":              {"error", "compression before encryption leaks length, and inflating costs memory; nobody writes it"},
	"claims-utf8-bom":                        {"error", "RFC 8259 section 8.1: JSON text has no byte order mark; nobody writes it"},
	"claims-big-integer":                     {"claims", "a number is a float64, as in the original"},
	"tag-with-padding-char":                  {"error", "RFC 7515 section 2: no padding; one token has one spelling"},
	"standard-base64-alphabet":               {"error", "refused for the alphabet itself, not by accident"},
	"non-canonical-trailing-bits":            {"error", "one token has one spelling"},
}

func TestGoldenDecode(t *testing.T) {
	t.Parallel()
	keys := new(jwt.Keys)
	for _, row := range rows[tokenRow](t, "jwt.json") {
		t.Run(row.Name, func(t *testing.T) {
			want := row.Decode
			if row.Quirk != "" {
				d, ok := decided[row.Name]
				require.Truef(t, ok, "no decision about the quirk: %s", row.Quirk)
				if d.outcome == "error" {
					if _, accepted := row.Decode.(map[string]any); accepted {
						explained(t, "A token has one spelling")
					}
					want = "error: " + d.why
				}
			}
			for _, cache := range []*jwt.Keys{nil, keys, keys} {
				got, err := jwt.Decode(jwt.DecodeParams{
					Token: row.Token, Secrets: row.Secret, Salt: row.Salt, Keys: cache, Now: at(row.Now),
				})
				switch want := want.(type) {
				case map[string]any:
					require.NoErrorf(t, err, "want claims %v", want)
					require.Equal(t, want, map[string]any(got))
				case string:
					require.Nilf(t, got, "got claims %v, want %s", got, want)
					require.Equalf(t, err != nil, want != "null", "got error %v, want %s", err, want)
				default:
					t.Fatalf("bad row: decode is %T", want)
				}
			}
		})
	}
}

// TestGoldenEncode encodes the recorded inputs again and reads the result both
// with Decode and, independently, with go-jose.
func TestGoldenEncode(t *testing.T) {
	t.Parallel()
	n := 0
	for _, row := range rows[tokenRow](t, "jwt.json") {
		claims, ok := row.Decode.(map[string]any)
		if row.Group != "encode" || !ok {
			continue
		}
		n++
		t.Run(row.Name, func(t *testing.T) {
			input := maps.Clone(row.Input)
			token := must(jwt.Encode(jwt.EncodeParams{
				Token: input, Secrets: row.Secret, Salt: row.Salt,
				MaxAge: time.Duration(row.MaxAge * float64(time.Second)), Now: at(row.Now),
			}))(t)
			assert.Equal(t, row.Input, input, "Encode changed its argument")
			assert.Len(t, token, len(row.Token))
			assert.Equal(t, strings.SplitN(row.Token, ".", 2)[0], strings.SplitN(token, ".", 2)[0], "header")
			got := must(jwt.Decode(jwt.DecodeParams{Token: token, Secrets: row.Secret, Salt: row.Salt, Now: at(row.Now)}))(t)
			assert.Truef(t, got.String("jti") != claims["jti"] && len(got.String("jti")) == 36,
				"got jti %v, want a new UUID", got["jti"])
			got["jti"] = claims["jti"]
			assert.Equal(t, claims, map[string]any(got))
		})
	}
	assert.GreaterOrEqual(t, n, 30, "rows to encode")
}

func TestEncodeAfter2038(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC) }
	token := must(jwt.Encode(jwt.EncodeParams{Secrets: []string{"s"}, Salt: "c", Now: now}))(t)
	claims := must(jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{"s"}, Salt: "c", Now: now}))(t)
	exp, _ := claims.Time("exp")
	assert.Truef(t, exp.Equal(now().Add(jwt.DefaultMaxAge)), "got exp %v, want 30 days after %v", exp, now())
}

type keyRow struct {
	Secret, Salt string
	CBC          derivedKey `json:"A256CBC-HS512"`
	GCM          derivedKey `json:"A256GCM"`
}

type derivedKey struct{ KeyHex, Kid string }

func (d derivedKey) bytes(t testing.TB) []byte {
	t.Helper()
	return must(hex.DecodeString(d.KeyHex))(t)
}

// TestGoldenKeys checks the key derivation: go-jose, with the recorded key,
// reads what Encode wrote, and Decode reads what go-jose wrote.
func TestGoldenKeys(t *testing.T) {
	t.Parallel()
	for _, row := range rows[keyRow](t, "jwt_keys.json") {
		t.Run(row.Salt, func(t *testing.T) {
			token := must(jwt.Encode(jwt.EncodeParams{Token: jwt.Claims{"sub": "1"}, Secrets: []string{row.Secret}, Salt: row.Salt}))(t)
			object := must(jose.ParseEncryptedCompact(token, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256CBC_HS512}))(t)
			assert.Equal(t, row.CBC.Kid, object.Header.KeyID, "got kid")
			payload, err := object.Decrypt(row.CBC.bytes(t))
			assert.Truef(t, err == nil && strings.Contains(string(payload), `"sub":"1"`), "go-jose read %q, %v", payload, err)
			for enc, key := range map[jose.ContentEncryption]derivedKey{jose.A256CBC_HS512: row.CBC, jose.A256GCM: row.GCM} {
				theirs := joseEncrypt(t, enc, key.bytes(t), key.Kid, `{"sub":"1"}`)
				claims, err := jwt.Decode(jwt.DecodeParams{Token: theirs, Secrets: []string{row.Secret}, Salt: row.Salt})
				assert.Truef(t, err == nil && claims.String("sub") == "1",
					"%s: got %v, %v from a token of go-jose", enc, claims, err)
			}
		})
	}
}

func joseEncrypt(t testing.TB, enc jose.ContentEncryption, key []byte, kid, payload string) string {
	t.Helper()
	encrypter := must(jose.NewEncrypter(enc, jose.Recipient{Algorithm: jose.DIRECT, Key: key, KeyID: kid}, nil))(t)
	object := must(encrypter.Encrypt([]byte(payload)))(t)
	return must(object.CompactSerialize())(t)
}

type getTokenRow struct {
	Name    string
	Now     float64
	Headers map[string]string
	Params  struct {
		Secret       list
		Salt         string
		CookieName   string
		SecureCookie bool
		Raw          bool
	}
	Result any
}

// fixedGetToken names the rows of get_token.json from which we depart, with the
// row whose result we return instead, and the heading in docs/differences.md.
var fixedGetToken = map[string]struct{ like, entry string }{
	"prefix-collision":            {"cookie", "Cookie names are exact"},
	"bearer-lowercase-scheme":     {"bearer", "Media types and schemes have no case"},
	"duplicate-cookie-first-wins": {"nothing", "Two different session cookies sign nobody in"},
}

// explained fails if docs/differences.md has no entry of that name.
func explained(t *testing.T, entry string) {
	t.Helper()
	page := must(os.ReadFile(filepath.Join("..", "..", "docs", "differences.md")))(t)
	assert.Containsf(t, string(page), "\n### "+entry+"\n", "docs/differences.md has no heading %q", entry)
}

func TestGoldenGetToken(t *testing.T) {
	t.Parallel()
	all := rows[getTokenRow](t, "get_token.json")
	for _, row := range all {
		t.Run(row.Name, func(t *testing.T) {
			header := http.Header{}
			for k, v := range row.Headers {
				header.Set(k, v)
			}
			params := jwt.GetTokenParams{
				Header: header, Secrets: row.Params.Secret, Salt: row.Params.Salt,
				CookieName: row.Params.CookieName, SecureCookie: &row.Params.SecureCookie, Now: at(row.Now),
			}
			want := row.Result
			if fix, ok := fixedGetToken[row.Name]; ok {
				explained(t, fix.entry)
				i := slices.IndexFunc(all, func(r getTokenRow) bool { return r.Name == fix.like })
				want = all[i].Result
			}
			if row.Params.Raw {
				got, err := jwt.GetRawToken(params)
				require.Truef(t, err == nil && got == want, "got %q, %v, want %q", got, err, want)
				return
			}
			got, err := jwt.GetToken(context.Background(), params)
			switch want := want.(type) {
			case map[string]any:
				delete(want, "jti")
				delete(got, "jti")
				require.Truef(t, err == nil && reflect.DeepEqual(map[string]any(got), want), "got %v, %v, want %v", got, err, want)
			case string:
				wantErr := strings.HasPrefix(want, "error")
				require.Truef(t, got == nil && wantErr == (err != nil), "got %v, %v, want %s", got, err, want)
			case nil:
				t.Fatal("bad row: no result")
			}
		})
	}
}

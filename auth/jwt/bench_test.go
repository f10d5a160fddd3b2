package jwt_test

import (
	"encoding/json"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

var benchClaims = jwt.Claims{
	"name": "Ada Lovelace", "email": "ada@example.com", "picture": "https://example.com/ada.png", "sub": "user-1",
}

func BenchmarkEncode(b *testing.B) {
	p := jwt.EncodeParams{Token: benchClaims, Secrets: []string{secret}, Salt: jwt.CookieName, Keys: new(jwt.Keys)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jwt.Encode(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	keys := new(jwt.Keys)
	params := jwt.EncodeParams{Token: benchClaims, Secrets: []string{secret}, Salt: jwt.CookieName, Keys: keys}
	token := must(jwt.Encode(params))(b)
	for name, cache := range map[string]*jwt.Keys{"cached": keys, "uncached": nil} {
		b.Run(name, func(b *testing.B) {
			p := jwt.DecodeParams{Token: token, Secrets: []string{secret}, Salt: jwt.CookieName, Keys: cache}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jwt.Decode(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBaseline measures one decryption and one encryption of the same
// claims with go-jose. The keys are derived beforehand. A session read is
// compared with it.
func BenchmarkBaseline(b *testing.B) {
	row := rows[keyRow](b, "jwt_keys.json")[0]
	key := row.CBC.bytes(b)
	encrypter := must(jose.NewEncrypter(jose.A256CBC_HS512, jose.Recipient{Algorithm: jose.DIRECT, Key: key, KeyID: row.CBC.Kid}, nil))(b)
	payload := must(json.Marshal(benchClaims))(b)
	token := joseEncrypt(b, jose.A256CBC_HS512, key, row.CBC.Kid, string(payload))
	b.Run("decrypt", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			object, err := jose.ParseEncryptedCompact(token, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256CBC_HS512})
			if err != nil {
				b.Fatal(err)
			}
			plain, err := object.Decrypt(key)
			if err != nil {
				b.Fatal(err)
			}
			var claims map[string]any
			if err := json.Unmarshal(plain, &claims); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encrypt", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			payload, err := json.Marshal(benchClaims)
			if err != nil {
				b.Fatal(err)
			}
			object, err := encrypter.Encrypt(payload)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := object.CompactSerialize(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

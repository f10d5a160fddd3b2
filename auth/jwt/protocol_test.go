package jwt_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// protocolPage returns docs/protocol.md.
func protocolPage(t *testing.T) string {
	t.Helper()
	page := must(os.ReadFile("../../docs/protocol.md"))(t)
	return string(page)
}

// TestKeysOfTheProtocolPage: Encode and Decode use the keys and the key IDs that
// docs/protocol.md shows.
func TestKeysOfTheProtocolPage(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| (64|32) \\| (key|kid) `([^`]+)` \\|$").FindAllStringSubmatch(protocolPage(t), -1)
	require.Truef(t, len(rows) >= 6, "the page shows %d keys and key IDs, want 6 or more", len(rows))
	encryption := map[string]jose.ContentEncryption{"64": jose.A256CBC_HS512, "32": jose.A256GCM}
	keys, kids := map[[3]string][]byte{}, map[[3]string]string{}
	for _, row := range rows {
		id := [3]string{row[1], row[2], row[3]}
		if row[4] == "kid" {
			kids[id] = row[5]
			continue
		}
		var err error
		keys[id], err = hex.DecodeString(row[5])
		require.NoError(t, err)
	}
	for id, key := range keys {
		theirs := joseEncrypt(t, encryption[id[2]], key, kids[id], `{"sub":"1"}`)
		claims, err := jwt.Decode(jwt.DecodeParams{Token: theirs, Secrets: []string{id[0]}, Salt: id[1]})
		assert.Truef(t, err == nil && claims.String("sub") == "1",
			"%v: got %v, %v from a token that the key of the page encrypts", id, claims, err)
	}
	for id, kid := range kids {
		var got string
		if id[2] == "64" {
			token := must(jwt.Encode(jwt.EncodeParams{Token: jwt.Claims{"sub": "1"}, Secrets: []string{id[0]}, Salt: id[1]}))(t)
			object := must(jose.ParseEncryptedCompact(token, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256CBC_HS512}))(t)
			got = object.Header.KeyID
		} else {
			// Tokens with A256GCM are read and not made: the ID chooses the secret.
			got = kidThatIsRead(t, id, kid)
		}
		assert.Equalf(t, kid, got, "%v: got kid %s, the page shows %s", id, got, kid)
	}
}

// kidThatIsRead returns kid if Decode reads a token of A256GCM whose kid names
// the second of two secrets.
func kidThatIsRead(t *testing.T, id [3]string, kid string) string {
	t.Helper()
	key := must(hkdf.Key(sha256.New, []byte(id[0]), []byte(id[1]), "Auth.js Generated Encryption Key ("+id[1]+")", 32))(t)
	token := joseEncrypt(t, jose.A256GCM, key, kid, `{"sub":"1"}`)
	if _, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: []string{"another", id[0]}, Salt: id[1]}); err == nil {
		return kid
	}
	return "none that is read"
}

// TestTokenOfTheProtocolPage: Decode reads the token of docs/protocol.md, with the
// claims that the page shows.
func TestTokenOfTheProtocolPage(t *testing.T) {
	t.Parallel()
	m := regexp.MustCompile("(?s)A token with secret `([^`]+)`, salt `([^`]+)` and the claims `([^`]+)`:\n\n```\n(\\S+)\n```").FindStringSubmatch(protocolPage(t))
	require.NotNil(t, m, "the page shows no token")
	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte(m[3]), &want))
	claims := must(jwt.Decode(jwt.DecodeParams{Token: m[4], Secrets: []string{m[1]}, Salt: m[2], Now: func() time.Time { return time.Unix(1700000100, 0) }}))(t)
	raw := must(json.Marshal(claims))(t)
	var got map[string]any
	require.NoError(t, json.Unmarshal(raw, &got))
	assert.Equalf(t, want, got, "got the claims %v, the page shows %v", got, want)
}

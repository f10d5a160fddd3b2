package golden_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
)

// idpOptions says how the identity provider of a scenario differs from the
// usual one.
type idpOptions struct {
	IDToken any
}

// signingKey is the key of the identity provider.
var signingKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// transport answers requests to the identity provider as recorded.
type transport struct {
	r           *replay
	customFetch bool
}

func (t transport) RoundTrip(hr *http.Request) (*http.Response, error) {
	r := t.r
	var body []byte
	if hr.Body != nil {
		var err error
		if body, err = io.ReadAll(hr.Body); err != nil {
			return nil, err
		}
	}
	if t.customFetch {
		r.rec.line("provider.customFetch " + hr.URL.Path)
	}
	if hr.URL.Host != "idp.example.com" {
		r.rec.line("net.failed " + hr.URL.String())
		return nil, fmt.Errorf("%s does not exist", hr.URL.Host)
	}
	r.rec.idpCall(hr, body)
	if hr.URL.Path == "/jwks" {
		return answer(hr, http.StatusOK, "application/json", keySet())
	}
	for i, c := range r.idpQueue {
		u, err := url.Parse(c.URL)
		if err != nil || c.Method != hr.Method || u.Path != hr.URL.Path {
			continue
		}
		r.idpQueue = append(r.idpQueue[:i:i], r.idpQueue[i+1:]...)
		return answer(hr, c.Response.Status, c.Response.ContentType, r.answerBody(c.Response.Body))
	}
	if strings.HasSuffix(hr.URL.Path, "/.well-known/openid-configuration") {
		return answer(hr, http.StatusOK, "application/json", metadata("https://"+hr.URL.Host+strings.TrimSuffix(hr.URL.Path, "/.well-known/openid-configuration")))
	}
	return answer(hr, http.StatusInternalServerError, "text/plain", "no such request was recorded")
}

func answer(hr *http.Request, status int, contentType string, body any) (*http.Response, error) {
	b, ok := body.(string)
	if !ok {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		b = string(encoded)
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(bytes.NewReader([]byte(b))),
		ContentLength: int64(len(b)), Request: hr,
	}, nil
}

// metadata returns the discovery document.
func metadata(issuer string) any {
	return map[string]any{
		"issuer": issuer, "authorization_endpoint": "https://idp.example.com/authorize", "token_endpoint": "https://idp.example.com/token",
		"userinfo_endpoint": "https://idp.example.com/userinfo", "jwks_uri": "https://idp.example.com/jwks",
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	}
}

func keySet() any {
	key, err := signingKey()
	if err != nil {
		return err.Error()
	}
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "idp-1", Algorithm: "RS256", Use: "sig"}}}
}

// answerBody expands a recorded body. It signs an ID token again, with the
// recorded payload and our own nonce.
func (r *replay) answerBody(body any) any {
	if m, ok := body.(map[string]any); ok {
		if name, ok := m["id_token"].(string); ok && strings.HasPrefix(name, "{{idToken") {
			name = strings.Trim(name, "{}")
			token, err := r.signIDToken(r.values.recorded[name])
			if err != nil {
				return err.Error()
			}
			r.values.own[name] = token
		}
	}
	return r.values.expandAll(body)
}

func (r *replay) signIDToken(b binding) (string, error) {
	options, _ := r.scenario.IDP.IDToken.(map[string]any)
	payload, err := json.Marshal(r.values.expandAll(b.Payload))
	if err != nil {
		return "", err
	}
	rsaKey, err := signingKey()
	if err != nil {
		return "", err
	}
	key := jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: rsaKey, KeyID: "idp-1"}}
	if options["alg"] == "HS256" {
		key = jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("mock-client-secret", 2))}
	}
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	token, err := signed.CompactSerialize()
	if options["breakSignature"] == true {
		i := strings.LastIndexByte(token, '.') + 10
		flipped := byte('A')
		if token[i] == 'A' {
			flipped = 'B'
		}
		token = token[:i] + string(flipped) + token[i+1:]
	}
	return token, err
}

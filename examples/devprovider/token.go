package devprovider

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// token exchanges a code for tokens. RFC 6749 section 4.1.3, RFC 7636 section
// 4.6.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, code string) { answer(w, status, map[string]string{"error": code}) }
	id, secret, _ := r.BasicAuth()
	if id != ID || subtle.ConstantTimeCompare([]byte(secret), []byte(p.clientSecret)) != 1 {
		w.Header().Set("WWW-Authenticate", `Basic realm="devprovider"`)
		refuse(http.StatusUnauthorized, "invalid_client")
		return
	}
	if err := r.ParseForm(); err != nil {
		refuse(http.StatusBadRequest, "invalid_request")
		return
	}
	form := r.PostForm
	for _, name := range []string{"grant_type", "code", "redirect_uri", "code_verifier"} {
		if len(form[name]) != 1 {
			refuse(http.StatusBadRequest, "invalid_request")
			return
		}
	}
	if form.Get("grant_type") != "authorization_code" {
		refuse(http.StatusBadRequest, "unsupported_grant_type")
		return
	}
	g := p.spend(form.Get("code"), form.Get("redirect_uri"), form.Get("code_verifier"))
	if g == nil {
		refuse(http.StatusBadRequest, "invalid_grant")
		return
	}
	idToken, err := p.sign(g)
	if err != nil {
		log.Print("devprovider: ", err)
		refuse(http.StatusInternalServerError, "server_error")
		return
	}
	answer(w, http.StatusOK, map[string]any{
		"access_token": g.token, "token_type": "Bearer", "expires_in": int(tokenLifetime / time.Second),
		"scope": strings.Join(g.scopes, " "), "id_token": idToken,
	})
}

// spend returns the grant of a code, with an access token, or nil if the code
// is not valid. A code can be tried once. If it is sent a second time, its
// access token is revoked (RFC 6749 section 4.1.2).
func (p *Provider) spend(code, redirectURI, verifier string) *grant {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.codes[code]
	if g == nil {
		return nil
	}
	if g.token != "" {
		delete(p.tokens, g.token)
		return nil
	}
	g.token, g.issued = rand.Text(), time.Now()
	hash := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(hash[:])
	if time.Since(g.at) >= codeLifetime || redirectURI != p.redirectURI || subtle.ConstantTimeCompare([]byte(challenge), []byte(g.challenge)) != 1 {
		return nil
	}
	p.tokens[g.token] = g
	return g
}

// sign makes the ID token. OpenID Connect Core 1.0 sections 2 and 3.1.3.6.
func (p *Provider) sign(g *grant) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: p.key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(g.token))
	claims := map[string]any{
		"iss": p.issuer, "aud": ID, "iat": g.issued.Unix(), "exp": g.issued.Add(tokenLifetime).Unix(), "auth_time": g.at.Unix(),
		"at_hash": base64.RawURLEncoding.EncodeToString(hash[:sha256.Size/2]),
	}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	maps.Copy(claims, g.claims())
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// claims returns the claims about the person that the scopes allow. OpenID
// Connect Core 1.0 section 5.4.
func (g *grant) claims() map[string]any {
	c := map[string]any{"sub": g.person.ID}
	tell := func(scope, name, value string) {
		if value != "" && slices.Contains(g.scopes, scope) {
			c[name] = value
		}
	}
	tell("profile", "name", g.person.Name)
	tell("profile", "picture", g.person.Picture)
	tell("email", "email", g.person.Email)
	if c["email"] != nil {
		c["email_verified"] = true
	}
	return c
}

// userInfo returns the claims about the person of an access token. OpenID
// Connect Core 1.0 section 5.3.
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	g := p.tokens[token]
	p.mu.Unlock()
	if g == nil || time.Since(g.issued) >= tokenLifetime {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return
	}
	answer(w, http.StatusOK, g.claims())
}

package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// UserInfo requests the claims about the user from the userinfo endpoint
// (OpenID Connect Core 1.0 section 5.3). A signed response is verified with v,
// which may be nil for plain OAuth. If algorithm is not empty, the response
// must be signed with that algorithm.
func UserInfo(ctx context.Context, client *http.Client, endpoint, accessToken string, v *Verifier, algorithm string) (map[string]any, error) {
	accept := "application/json, application/jwt"
	if algorithm != "" {
		accept = "application/jwt"
	}
	answer, err := get(ctx, client, endpoint, accept, accessToken)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	if answer.status < 200 || answer.status > 299 {
		return nil, refusedBy("userinfo", answer.status)
	}
	if answer.header.Get("WWW-Authenticate") != "" {
		return nil, errors.New("userinfo: the provider requires another authentication scheme")
	}
	if answer.mediaType() == "application/jwt" {
		if v == nil {
			return nil, errors.New("userinfo: the response is signed, but no issuer is configured to verify it")
		}
		claims, err := v.userInfo(ctx, string(answer.body), algorithm)
		if err != nil {
			return nil, fmt.Errorf("userinfo: %w", err)
		}
		return claims, nil
	}
	if algorithm != "" {
		return nil, errors.New("userinfo: the response is not signed")
	}
	members, err := jsonObject(answer.body)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	return members, nil
}

package providers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/url"
	"regexp"

	"github.com/gatehouse-go/gatehouse/auth"
)

var shopName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9-]*$`)

// shopifySignature checks, before the code is exchanged, that Shopify signed
// the authorization response and that the response is about the configured
// shop.
// https://shopify.dev/docs/apps/build/authentication-authorization/access-tokens/authorization-code-grant
func shopifySignature(c *completion) error {
	shop, secret := c.vars["shop"], c.provider.ClientSecret
	if shop != "" && !shopName.MatchString(shop) {
		return errors.New("WithShop is not the name of a shop, such as example in example.myshopify.com")
	}
	if u := &c.provider.UserInfo; u.Request == nil {
		u.Request = shopifyUser
	}
	t := &c.provider.Token
	if t.Request != nil {
		return nil
	}
	exchange := c.row.exchange.compile(c.expand(c.row.token), c.vars)
	t.Request = func(ctx context.Context, p auth.TokenRequest) (*auth.TokenSet, error) {
		if err := checkShopify(p.Params, shop, secret); err != nil {
			return nil, err
		}
		return exchange(ctx, p)
	}
	return c.needSecret()
}

// shopifyUser takes the profile from the token response.
func shopifyUser(_ context.Context, p auth.UserInfoRequest) (auth.Profile, error) {
	profile, _ := p.Tokens.Extra["associated_user"].(map[string]any)
	if profile == nil {
		return nil, errors.New("the token response contains no profile")
	}
	return profile, nil
}

func checkShopify(params url.Values, shop, secret string) error {
	if params.Get("shop") != shop+".myshopify.com" || len(params["shop"]) != 1 {
		return errors.New("the response comes from another shop")
	}
	given, err := hex.DecodeString(params.Get("hmac"))
	if err != nil || len(params["hmac"]) != 1 {
		return errors.New("the response is not signed")
	}
	signed := maps.Clone(params)
	signed.Del("hmac")
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(signed.Encode()))
	if !hmac.Equal(mac.Sum(nil), given) {
		return errors.New("the signature of the response is not valid")
	}
	return nil
}

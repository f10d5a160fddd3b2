package providers

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// assertionGrant exchanges the code of Azure DevOps. The code is an assertion,
// and so is the client secret (RFC 7523 section 2.1).
func assertionGrant(c *completion) error {
	secret := c.provider.ClientSecret
	if c.provider.Token.Prepare == nil {
		c.provider.Token.Prepare = func(r *http.Request, form url.Values) error {
			code, redirect := form.Get("code"), form.Get("redirect_uri")
			clear(form)
			r.Header.Del("Authorization")
			form.Set("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
			form.Set("assertion", code)
			form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
			form.Set("client_assertion", secret)
			form.Set("redirect_uri", redirect)
			return nil
		}
	}
	return nil
}

// githubEmails asks GitHub for the list of addresses, which says which of them
// are verified. If the profile has no public address, the primary address is
// taken if it is verified. The member email_verified of the profile is set from
// the list. For an Enterprise Server it also derives the URL of the API.
func githubEmails(c *completion) error {
	base := c.vars["baseURL"]
	c.vars["apiURL"] = base + "/api/v3"
	if base == "https://github.com" {
		c.vars["apiURL"] = "https://api.github.com"
	}
	u := &c.provider.UserInfo
	if u.Request != nil {
		return nil
	}
	u.URL = cmp.Or(u.URL, c.vars["apiURL"]+"/user")
	endpoint := u.URL
	user, err := request{}.compile(endpoint, u.Params, c.vars)
	u.Request = func(ctx context.Context, p auth.UserInfoRequest) (auth.Profile, error) {
		profile, err := user(ctx, p)
		if err != nil {
			return nil, err
		}
		delete(profile, "email_verified")
		// Without the scope user:email this is refused, and nothing is known.
		list, err := (request{}).send(ctx, p.Client, strings.TrimSuffix(endpoint, "/")+"/emails", p.Tokens.AccessToken, nil)
		if err != nil {
			return profile, nil //nolint:nilerr // the address is then an unproven one
		}
		if profile.String("email") == "" {
			if email := primaryEmail(list); email != "" {
				profile["email"] = email
			}
		}
		if verified, ok := listedEmail(list, profile.String("email")); ok {
			profile["email_verified"] = verified
		}
		return profile, nil
	}
	return err
}

// primaryEmail returns the primary address of a list, if it is verified.
func primaryEmail(list any) string {
	all, _ := list.([]any)
	for _, v := range all {
		m, _ := v.(map[string]any)
		if m["primary"] == true && m["verified"] == true {
			return text(m["email"])
		}
	}
	return ""
}

// listedEmail returns whether a list calls an address verified, and whether the
// list has the address.
func listedEmail(list any, email string) (verified, ok bool) {
	all, _ := list.([]any)
	for _, v := range all {
		m, _ := v.(map[string]any)
		if email != "" && sameAddress(text(m["email"]), email) {
			verified, ok = m["verified"].(bool)
			return verified, ok
		}
	}
	return false, false
}

// pinterestKey keys accounts on the username, if WithDangerousUsernameKey is
// given.
func pinterestKey(c *completion) error {
	if c.vars["usernameKey"] == "" || c.provider.Profile != nil {
		return nil
	}
	byUsername := c.row.profile
	byUsername.id = "username"
	var err error
	c.provider.Profile, err = byUsername.compile(c.vars, nil)
	return err
}

// wechatVariant chooses between the two kinds of WeChat application.
func wechatVariant(c *completion) error {
	switch platform := c.vars["platform"]; platform {
	case "OfficialAccount":
		c.vars["flow"], c.vars["scope"] = "oauth2/authorize", "snsapi_userinfo"
		if a := &c.provider.Authorization; a.Request == nil {
			// The page of official accounts insists on this fragment.
			a.Request = func(_ context.Context, prepared *url.URL) (*url.URL, error) {
				prepared.Fragment = "wechat_redirect"
				return prepared, nil
			}
		}
	case "WebsiteApp":
		c.vars["flow"], c.vars["scope"] = "qrconnect", "snsapi_login"
	default:
		return fmt.Errorf("WithPlatform is %q, want OfficialAccount or WebsiteApp", platform)
	}
	return nil
}

// describeWeChat sets the scope of official accounts, the default.
func describeWeChat(i *Info) { i.Scope = "snsapi_userinfo" }

// larkRegion chooses between the two clouds of Lark. Their token endpoints have
// different versions.
func larkRegion(c *completion) error {
	switch region := c.vars["region"]; region {
	case "CN":
		c.vars["cloud"], c.vars["tokenURL"] = "feishu.cn", "https://accounts.feishu.cn/oauth/v3/token"
	case "Global":
		c.vars["cloud"], c.vars["tokenURL"] = "larksuite.com", "https://open.larksuite.com/open-apis/authen/v2/oauth/token"
	default:
		return fmt.Errorf("WithRegion is %q, want CN or Global", region)
	}
	return nil
}

// lineSignature: LINE signs ID tokens with the client secret.
// https://developers.line.biz/en/docs/line-login/verify-id-token/
func lineSignature(c *completion) error {
	alg := &c.provider.Client.IDTokenSignedResponseAlg
	*alg = cmp.Or(*alg, "HS256")
	return nil
}

// bankIDNorwaySignature: the userinfo response is a signed token.
func bankIDNorwaySignature(c *completion) error {
	alg := &c.provider.Client.UserInfoSignedResponseAlg
	*alg = cmp.Or(*alg, "RS256")
	return nil
}

// slackPKCE uses PKCE if WithPKCE is given.
func slackPKCE(c *completion) error {
	if p := c.provider; len(p.Checks) == 0 && c.vars["pkce"] != "" {
		p.Checks = append(c.row.checks(), auth.CheckPKCE)
	}
	return nil
}

// tiktokClientKey sends the client ID as client_key, the name that TikTok uses.
func tiktokClientKey(c *completion) error {
	id, t := c.provider.ClientID, &c.provider.Token
	if t.Prepare == nil && id != "" {
		t.Prepare = func(_ *http.Request, form url.Values) error {
			form.Set("client_key", id)
			return nil
		}
	}
	return nil
}

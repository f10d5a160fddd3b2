package providers

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// assertionGrant exchanges the code of Azure DevOps, which is an assertion, as
// the client secret is (RFC 7523 section 2.1).
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
// are verified. Where the profile has no public address, the primary one counts
// if it is verified. What the list says of the address becomes the member
// email_verified of the profile. It also finds the API of an own server.
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
	if u.URL == "" {
		u.URL = c.vars["apiURL"] + "/user"
	}
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

// primaryEmail is the primary address of a list, if it is verified.
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

// listedEmail is what a list says of an address, if it has it.
func listedEmail(list any, email string) (verified, ok bool) {
	all, _ := list.([]any)
	for _, v := range all {
		m, _ := v.(map[string]any)
		if email != "" && strings.EqualFold(text(m["email"]), email) {
			verified, ok = m["verified"].(bool)
			return verified, ok
		}
	}
	return false, false
}

// pinterestKey keys accounts on the username, if an option says so.
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

// larkRegion chooses between the two clouds of Lark, whose token endpoints are of
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

// photoSizes checks the size of the picture of Microsoft Entra ID.
func photoSizes(c *completion) error {
	switch size := c.vars["photoSize"]; size {
	case "0", "48", "64", "96", "120", "240", "360", "432", "504", "648":
		return nil
	default:
		return fmt.Errorf("WithPhotoSize is %s, which is none of the sizes", size)
	}
}

// maxPhoto is the size in bytes of the largest picture that is kept, since it
// becomes part of the session.
const maxPhoto = 32 << 10

// graphPhoto asks Microsoft Graph for the picture and makes a data URI of it. A
// failure means no picture.
func graphPhoto(e *evidence) any {
	size := e.vars["photoSize"]
	if size == "0" || e.client == nil || e.tokens == nil || e.tokens.AccessToken == "" {
		return nil
	}
	r, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "https://graph.microsoft.com/v1.0/me/photos/"+size+"x"+size+"/$value", nil)
	if err != nil {
		return nil
	}
	r.Header.Set("Authorization", "Bearer "+e.tokens.AccessToken)
	status, body, err := do(e.client, r)
	if err != nil || status != http.StatusOK || len(body) == 0 || len(body) > maxPhoto || http.DetectContentType(body) != "image/jpeg" {
		return nil
	}
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(body)
}

// discordAvatar is the URL of a picture, or of one of the default pictures.
func discordAvatar(e *evidence) any {
	id, hash := text(e.profile["id"]), text(e.profile["avatar"])
	if id == "" {
		return nil
	}
	if hash != "" {
		kind := "png"
		if strings.HasPrefix(hash, "a_") {
			kind = "gif"
		}
		return "https://cdn.discordapp.com/avatars/" + url.PathEscape(id) + "/" + url.PathEscape(hash) + "." + kind
	}
	number := int64(-1)
	if d := text(e.profile["discriminator"]); d == "0" || d == "" {
		if n, ok := new(big.Int).SetString(id, 10); ok && n.Sign() >= 0 {
			number = new(big.Int).Mod(n.Rsh(n, 22), big.NewInt(6)).Int64()
		}
	} else if n, err := strconv.ParseUint(d, 10, 32); err == nil {
		number = int64(n % 5) //nolint:gosec // below five
	}
	if number < 0 {
		return nil
	}
	return fmt.Sprintf("https://cdn.discordapp.com/embed/avatars/%d.png", number)
}

// bungiePicture joins host and path, which may begin with a slash.
func bungiePicture(e *evidence) any {
	x, err := parse("Response.bungieNetUser.profilePicturePath")
	if err != nil {
		return nil
	}
	if path := text(x(e)); path != "" {
		return "https://www.bungie.net/" + strings.TrimPrefix(path, "/")
	}
	return nil
}

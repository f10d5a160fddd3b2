package providers

import (
	"encoding/base64"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// photoSizes checks WithPhotoSize, the size of the picture of Microsoft Entra
// ID.
func photoSizes(c *completion) error {
	switch size := c.vars["photoSize"]; size {
	case "0", "48", "64", "96", "120", "240", "360", "432", "504", "648":
		return nil
	default:
		return fmt.Errorf("WithPhotoSize is %s, want 0, 48, 64, 96, 120, 240, 360, 432, 504 or 648", size)
	}
}

// maxPhoto is the size in bytes of the largest picture that is accepted. It is
// small because the picture becomes part of the session.
const maxPhoto = 32 << 10

// graphPhoto gets the picture from Microsoft Graph and returns it as a data
// URI. After a failure there is no picture.
func graphPhoto(e *evidence) string {
	size := e.vars["photoSize"]
	if size == "0" || e.client == nil || e.tokens == nil || e.tokens.AccessToken == "" {
		return ""
	}
	r, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "https://graph.microsoft.com/v1.0/me/photos/"+size+"x"+size+"/$value", nil)
	if err != nil {
		return ""
	}
	r.Header.Set("Authorization", "Bearer "+e.tokens.AccessToken)
	status, body, err := do(e.client, r)
	if err != nil || status != http.StatusOK || len(body) == 0 || len(body) > maxPhoto || http.DetectContentType(body) != "image/jpeg" {
		return ""
	}
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(body)
}

// discordAvatar returns the URL of the user's picture, or of one of the default
// pictures.
func discordAvatar(e *evidence) string {
	id, hash := text(e.profile["id"]), text(e.profile["avatar"])
	if id == "" {
		return ""
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
		return ""
	}
	return fmt.Sprintf("https://cdn.discordapp.com/embed/avatars/%d.png", number)
}

// bungiePicture joins the host and the path, which may begin with a slash.
func bungiePicture(e *evidence) string {
	path := text(member(e.profile, "Response", "bungieNetUser", "profilePicturePath"))
	if path == "" {
		return ""
	}
	return "https://www.bungie.net/" + strings.TrimPrefix(path, "/")
}

// azureDevOpsAvatar returns the picture in the profile as a data URI.
func azureDevOpsAvatar(e *evidence) string {
	return around("data:image/jpeg;base64,", member(e.profile, "coreAttributes", "Avatar", "value", "value"), "")
}

// eventbritePicture returns the URL of the original picture.
func eventbritePicture(e *evidence) string {
	id := e.profile["image_id"]
	if !truthy(id) {
		return ""
	}
	return around("https://img.evbuc.com/https%3A%2F%2Fcdn.evbuc.com%2Fimages%2F", id, "%2F1%2Foriginal.jpg")
}

func eveOnlinePortrait(e *evidence) string {
	return around("https://image.eveonline.com/Character/", e.profile["CharacterID"], "_128.jpg")
}

// foursquarePhoto puts the size between the two halves of the URL.
func foursquarePhoto(e *evidence) string {
	photo := member(e.profile, "response", "user", "photo")
	prefix, suffix := text(member(photo, "prefix")), text(member(photo, "suffix"))
	if prefix == "" || suffix == "" {
		return ""
	}
	return prefix + "original" + suffix
}

// nextcloudAvatar returns the URL of the picture at the instance.
func nextcloudAvatar(e *evidence) string {
	if e.vars["issuer"] == "" {
		return ""
	}
	return around(e.vars["issuer"]+"/avatar/", e.profile["id"], "/512")
}

// yandexAvatar returns the URL of the picture. It is empty for the picture of
// users who have none.
func yandexAvatar(e *evidence) string {
	id := e.profile["default_avatar_id"]
	if truthy(e.profile["is_avatar_empty"]) || !truthy(id) {
		return ""
	}
	return around("https://avatars.yandex.net/get-yapic/", id, "/islands-200")
}

// around returns a text or a number between two texts, or "" if the value is
// empty.
func around(before string, v any, after string) string {
	s := text(v)
	if s == "" {
		return ""
	}
	return before + s + after
}

package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

const (
	steamLogin = "https://steamcommunity.com/openid/login"
	// steamCode takes the place of the OAuth code. It is not secret: the proof
	// is the assertion, which Steam verifies.
	steamCode     = "openid"
	openID        = "http://specs.openid.net/auth/2.0"
	openIDChooses = openID + "/identifier_select"
)

// steamID is the form of the identifier of a person at Steam.
var steamID = regexp.MustCompile(`^https://steamcommunity\.com/openid/id/([0-9]{17,25})$`)

// steamFlow maps OpenID Authentication 2.0 without associations to the steps of
// OAuth. The return address carries state and a code, and the exchange of the
// code verifies the assertion. There is no access token; the verified
// identifier takes its place. The client secret is the Web API key, with which
// the profile is read. https://openid.net/specs/openid-authentication-2_0.html
func steamFlow(c *completion) error {
	p := c.provider
	p.ClientID = cmp.Or(p.ClientID, "steam") // Steam identifies the site by its address
	if p.Authorization.Request == nil {
		p.Authorization.Request = steamRequest
	}
	if p.Token.Request == nil {
		p.Token.Request = steamVerify
	}
	if p.Account == nil {
		p.Account = func(auth.TokenSet) *auth.TokenSet { return nil }
	}
	return c.needSecret()
}

// describeSteam leaves out the client ID, which Steam does not have.
func describeSteam(i *Info) { i.Environment = []string{"AUTH_STEAM_SECRET"} }

// steamRequest adds the request for authentication (section 9.1).
func steamRequest(_ context.Context, prepared *url.URL) (*url.URL, error) {
	q := prepared.Query()
	site, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		return nil, errors.New("redirect_uri is not a URL")
	}
	q.Del("scope")
	for name, value := range map[string]string{
		"ns": openID, "mode": "checkid_setup", "claimed_id": openIDChooses, "identity": openIDChooses,
		"realm":     site.Scheme + "://" + site.Host,
		"return_to": q.Get("redirect_uri") + "?" + steamReturn(q.Get("state")).Encode(),
	} {
		q.Set("openid."+name, value)
	}
	prepared.RawQuery = q.Encode()
	return prepared, nil
}

// steamReturn returns the parameters of the return address.
func steamReturn(state string) url.Values {
	return url.Values{"code": {steamCode}, "state": {state}}
}

// steamVerify checks an assertion, and asks Steam to check its signature
// (section 11). Steam confirms an assertion once, so it can't be used again.
func steamVerify(ctx context.Context, p auth.TokenRequest) (*auth.TokenSet, error) {
	id, err := steamAssertion(p)
	if err != nil {
		return nil, fmt.Errorf("the assertion of Steam: %w", err)
	}
	form := url.Values{}
	for name, values := range p.Params {
		if strings.HasPrefix(name, "openid.") {
			form[name] = values
		}
	}
	form.Set("openid.mode", "check_authentication")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, steamLogin, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Referer", "https://steamcommunity.com/") // without it Steam answers 403
	status, body, err := do(p.Client, r)
	if err != nil {
		return nil, fmt.Errorf("verification by Steam: %w", err)
	}
	if status != http.StatusOK || !slices.Contains(strings.Split(string(body), "\n"), "is_valid:true") {
		return nil, fmt.Errorf("verification by Steam: refused, status %d", status)
	}
	return &auth.TokenSet{AccessToken: p.Params.Get("openid.claimed_id"), TokenType: "bearer", Extra: map[string]any{"steamid": id}}, nil
}

// steamAssertion checks the members of an assertion, and returns the number of
// the person that it names.
func steamAssertion(p auth.TokenRequest) (string, error) {
	q := p.Params
	for name, values := range q {
		if strings.HasPrefix(name, "openid.") && len(values) != 1 {
			return "", fmt.Errorf("%.40q occurs more than once", name)
		}
	}
	signed := strings.Split(q.Get("openid.signed"), ",")
	for _, name := range []string{"op_endpoint", "claimed_id", "identity", "return_to", "response_nonce", "assoc_handle"} {
		if !slices.Contains(signed, name) || q.Get("openid."+name) == "" {
			return "", fmt.Errorf("%s is not signed", name)
		}
	}
	returnTo, err := url.Parse(q.Get("openid.return_to"))
	if err != nil {
		return "", errors.New("return_to is not a URL")
	}
	back := returnTo.Query()
	returnTo.RawQuery = ""
	id := steamID.FindStringSubmatch(q.Get("openid.claimed_id"))
	switch {
	case q.Get("openid.ns") != openID || q.Get("openid.mode") != "id_res":
		return "", errors.New("it is not a positive assertion")
	case q.Get("openid.op_endpoint") != steamLogin:
		return "", errors.New("it comes from another provider")
	case returnTo.String() != p.RedirectURI || back.Encode() != steamReturn(q.Get("state")).Encode():
		return "", errors.New("it was made for another return address or sign-in")
	case id == nil || q.Get("openid.identity") != q.Get("openid.claimed_id"):
		return "", errors.New("claimed_id is not the identifier of a person at Steam")
	}
	return id[1], nil
}

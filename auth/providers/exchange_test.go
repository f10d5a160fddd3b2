package providers_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answerParams returns the authorization response, signed if the provider signs
// it.
func (v *visit) answerParams() url.Values {
	q := url.Values{"code": {"code-1"}, "state": {v.params.Get("state")}}
	if v.f.Iss != "" {
		q.Set("iss", v.f.Iss)
	}
	switch v.f.ID {
	case "shopify":
		q.Set("shop", "acme.myshopify.com")
		q.Set("host", "YWRtaW4")
		q.Set("timestamp", "1700000000")
		signShopify(q)
	case "steam":
		q = assertion(v.params.Get("openid.return_to"))
	}
	return q
}

// signShopify signs a response as Shopify does, over the other parameters in
// order.
func signShopify(q url.Values) {
	q.Del("hmac")
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, q.Encode())
	q.Set("hmac", hex.EncodeToString(mac.Sum(nil)))
}

// assertion returns the parameters with which Steam sends the browser back.
func assertion(returnTo string) url.Values {
	q := url.Values{}
	if u, err := url.Parse(returnTo); err == nil {
		q = u.Query()
	}
	for name, value := range map[string]string{
		"ns": "http://specs.openid.net/auth/2.0", "mode": "id_res", "op_endpoint": "https://steamcommunity.com/openid/login",
		"claimed_id": "https://steamcommunity.com/openid/id/76561197960435530", "identity": "https://steamcommunity.com/openid/id/76561197960435530",
		"return_to": returnTo, "response_nonce": "2026-01-01T00:00:00Zabc", "assoc_handle": "1234567890",
		"signed": "signed,op_endpoint,claimed_id,identity,return_to,response_nonce,assoc_handle", "sig": "c2ln",
	} {
		q.Set("openid."+name, value)
	}
	return q
}

// exchangeAnswer compares a token request that is not a form with the facts,
// and answers it.
func (v *visit) exchangeAnswer(r *http.Request) (*http.Response, error) {
	t, x := v.t, v.f.Exchange
	assert.Truef(t, r.Method == x.Method && r.Header.Get("Authorization") == "",
		"the token request is %s with Authorization %q, want %s without", r.Method, r.Header.Get("Authorization"), x.Method)
	v.checkQuery(r, x.Query, "")
	switch {
	case x.JSON != nil:
		var got map[string]string
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&got))
		assert.Equal(t, "application/json", r.Header.Get("Content-Type"), "the token request")
		v.checkVerifier(got["code_verifier"])
		delete(got, "code_verifier")
		assert.Equalf(t, x.JSON, got, "the token request is\n%v, want\n%v", got, x.JSON)
	case r.Method == http.MethodPost:
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		want := url.Values{}
		for name, values := range v.answerParams() {
			if strings.HasPrefix(name, "openid.") {
				want[name] = values
			}
		}
		want.Set("openid.mode", "check_authentication")
		assert.Equalf(t, want, r.PostForm, "the request for verification is\n%v, want\n%v", r.PostForm, want)
	}
	if x.Text != "" {
		return answer(r, http.StatusOK, "text/plain", x.Text)
	}
	members := map[string]any{}
	maps.Copy(members, x.Answer)
	if x.Profile != "" {
		members[x.Profile] = v.profile()
	}
	return answer(r, http.StatusOK, "application/json", members)
}

// completed returns a provider of the catalogue with all fields filled in.
func completed(t *testing.T, id string, opts ...providers.Option) *auth.OAuth {
	t.Helper()
	p := must(providers.ByID(id, append([]providers.Option{providers.WithClient("client-1", secret)}, opts...)...))(t)
	o, ok := p.(*auth.OAuth)
	require.Truef(t, ok, "%s is a %T", id, p)
	require.NoError(t, o.Complete(o))
	return o
}

// canned answers every request with the same response, and counts the requests.
type canned struct {
	status int
	body   string
	asked  atomic.Int32
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	return answer(r, c.status, "application/json", c.body)
}

// TestExchangeFailures: a wrong response of the provider is an error. The error
// names the fault, and contains no secret.
func TestExchangeFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, id, body, want string
		status               int
	}{
		{"no JSON", "lark", `<html>`, "not a JSON object", 200},
		{"a list", "lark", `[]`, "not a JSON object", 200},
		{"standard error", "lark", `{"code":20003,"error":"invalid_grant","error_description":"the code code-1 is used"}`, "invalid_grant", 400},
		{"no token", "lark", `{"code":20014,"msg":"no"}`, "access_token is missing", 200},
		{"token of another type", "lark", `{"access_token":{"token":"x"}}`, "access_token is missing", 200},
		{"error of its own", "dingtalk", `{"code":"invalidParameter","message":"code code-1 of ` + secret + `"}`, "invalid_request", 400},
		{"text", "deezer", `wrong code`, "not a JSON object", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := completed(t, c.id)
			tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{
				Provider: *p, Client: &http.Client{Transport: &canned{status: c.status, body: c.body}}, Code: "code-1", RedirectURI: "https://app.example/cb",
			})
			require.Truef(t, err != nil && strings.Contains(err.Error(), c.want),
				"got %v, %v, want an error with %q", tokens, err, c.want)
			assert.Truef(t, !strings.Contains(err.Error(), "code-1") && !strings.Contains(err.Error(), secret),
				"the error tells a secret: %v", err)
		})
	}
}

// TestDeezerForm: Deezer may send a form although the request asks for JSON.
func TestDeezerForm(t *testing.T) {
	t.Parallel()
	p := completed(t, "deezer")
	tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{Provider: *p, Client: &http.Client{Transport: &canned{status: 200, body: "access_token=a&expires=3600"}}})
	assert.Truef(t, err == nil && tokens.AccessToken == "a" && tokens.ExpiresIn.Seconds() == 3600,
		"got %+v, %v", tokens, err)
}

func TestLarkRegion(t *testing.T) {
	t.Parallel()
	p := completed(t, "lark", providers.WithRegion("Global"))
	assert.Equal(t, "https://accounts.larksuite.com/open-apis/authen/v1/authorize", p.Authorization.URL)
	assert.Equal(t, "https://open.larksuite.com/open-apis/authen/v2/oauth/token", p.Token.URL)
}

// TestShopifySignature: a response that Shopify did not sign, or that is about
// another shop, is refused before the code is sent.
func TestShopifySignature(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(url.Values){
		"another code":     func(q url.Values) { q.Set("code", "other") },
		"another state":    func(q url.Values) { q.Set("state", "other") },
		"added parameter":  func(q url.Values) { q.Set("x", "y") },
		"no signature":     func(q url.Values) { q.Del("hmac") },
		"empty signature":  func(q url.Values) { q.Set("hmac", "") },
		"no hexadecimal":   func(q url.Values) { q.Set("hmac", "zz") },
		"two signatures":   func(q url.Values) { q.Add("hmac", q.Get("hmac")) },
		"another shop":     func(q url.Values) { q.Set("shop", "evil.myshopify.com"); signShopify(q) },
		"shop as a prefix": func(q url.Values) { q.Set("shop", "acme.myshopify.com.evil.example"); signShopify(q) },
		"two shops":        func(q url.Values) { q.Add("shop", "evil.myshopify.com"); signShopify(q) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := completed(t, "shopify", providers.WithShop("acme"))
			q := url.Values{"code": {"code-1"}, "state": {"state-1"}, "shop": {"acme.myshopify.com"}, "timestamp": {"1700000000"}}
			signShopify(q)
			service := &canned{status: 200, body: `{"access_token":"a"}`}
			ask := func() error {
				_, err := p.Token.Request(t.Context(), auth.TokenRequest{Provider: *p, Client: &http.Client{Transport: service}, Code: q.Get("code"), Params: q})
				return err
			}
			err := ask()
			require.Truef(t, err == nil && service.asked.Load() == 1, "the right answer is refused: %v", err)
			change(q)
			assert.Error(t, ask())
			assert.EqualValues(t, 1, service.asked.Load(), "the number of requests")
		})
	}
}

// TestShopifyWithoutPerson: a token of the shop alone signs nobody in.
func TestShopifyWithoutPerson(t *testing.T) {
	t.Parallel()
	p := completed(t, "shopify", providers.WithShop("acme"))
	profile, err := p.UserInfo.Request(t.Context(), auth.UserInfoRequest{Tokens: auth.TokenSet{AccessToken: "a"}})
	assert.Errorf(t, err, "the profile is %v", profile)
}

// TestSteamAssertions: an assertion signs a person in only if Steam made it for
// this sign-in and confirms it.
func TestSteamAssertions(t *testing.T) {
	t.Parallel()
	const site, returnTo = "https://app.example/auth/callback/steam", "https://app.example/auth/callback/steam?code=openid&state=state-1"
	set := func(name, value string) func(url.Values) { return func(q url.Values) { q.Set(name, value) } }
	named := func(id string) func(url.Values) {
		return func(q url.Values) { q.Set("openid.claimed_id", id); q.Set("openid.identity", id) }
	}
	for _, c := range []struct {
		name   string
		change func(url.Values)
		answer string
		asked  int32
	}{
		{"denied by Steam", func(url.Values) {}, "ns:http://specs.openid.net/auth/2.0\nis_valid:false\n", 1},
		{"nonsense from Steam", func(url.Values) {}, "<html>is_valid:true</html>", 1},
		{"cancelled", set("openid.mode", "cancel"), "", 0},
		{"of OpenID 1", set("openid.ns", "http://openid.net/signon/1.1"), "", 0},
		{"of another provider", set("openid.op_endpoint", "https://evil.example/openid"), "", 0},
		{"for another site", set("openid.return_to", "https://evil.example/auth/callback/steam?code=openid&state=state-1"), "", 0},
		{"for another sign-in", set("openid.return_to", site+"?code=openid&state=state-2"), "", 0},
		{"in another sign-in", set("state", "state-2"), "", 0},
		{"for another path", set("openid.return_to", "https://app.example/other?code=openid&state=state-1"), "", 0},
		{"identifier of another host", named("https://steamcommunity.com.evil.example/openid/id/76561197960435530"), "", 0},
		{"identifier with more", named("https://steamcommunity.com/openid/id/76561197960435530/x"), "", 0},
		{"identifier in two lines", named("https://steamcommunity.com/openid/id/76561197960435530\nx"), "", 0},
		{"identifier after another", named("https://evil.example/https://steamcommunity.com/openid/id/76561197960435530"), "", 0},
		{"identifier without TLS", named("http://steamcommunity.com/openid/id/76561197960435530"), "", 0},
		{"identifier that is too short", named("https://steamcommunity.com/openid/id/1"), "", 0},
		{"two identities", set("openid.identity", "https://steamcommunity.com/openid/id/76561197960435531"), "", 0},
		{"identifier not signed", set("openid.signed", "op_endpoint,identity,return_to,response_nonce,assoc_handle"), "", 0},
		{"address not signed", set("openid.signed", "op_endpoint,claimed_id,identity,response_nonce,assoc_handle"), "", 0},
		{"no nonce", func(q url.Values) { q.Del("openid.response_nonce") }, "", 0},
		{"doubled identifier", func(q url.Values) {
			q.Add("openid.claimed_id", "https://steamcommunity.com/openid/id/76561197960435531")
		}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := completed(t, "steam")
			q := assertion(returnTo)
			c.change(q)
			service := &canned{status: 200, body: c.answer}
			tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{
				Provider: *p, Client: &http.Client{Transport: service}, Code: q.Get("code"), RedirectURI: site, Params: q,
			})
			assert.Truef(t, err != nil && service.asked.Load() == c.asked,
				"got %+v, %v after %d requests, want an error after %d", tokens, err, service.asked.Load(), c.asked)
		})
	}
}

// TestSteamKey: no error contains the Web API key, which is in the query of the
// profile request.
func TestSteamKey(t *testing.T) {
	t.Parallel()
	p := completed(t, "steam")
	for _, service := range []*canned{{status: 403, body: "Forbidden"}, {status: 200, body: `{"response":{"players":[]}}`}} {
		_, err := p.UserInfo.Request(t.Context(), auth.UserInfoRequest{
			Provider: *p, Client: &http.Client{Transport: service}, Tokens: auth.TokenSet{AccessToken: "a", Extra: map[string]any{"steamid": "76561197960435530"}},
		})
		assert.Truef(t, err != nil && !strings.Contains(err.Error(), secret), "the error is %v", err)
	}
}

// company is a WeCom server: its tokens are numbered, and only the latest is
// valid.
type company struct {
	t      *testing.T
	issued atomic.Int32
	// lifetime is the lifetime of a token in seconds; answers are the responses
	// to the other requests.
	lifetime int
	answers  map[string]string
}

func (c *company) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := c.answers[r.URL.Path]
	switch {
	case r.URL.Path == "/cgi-bin/gettoken":
		b, err := json.Marshal(map[string]any{"errcode": 0, "access_token": "token-" + string('0'+c.issued.Add(1)), "expires_in": c.lifetime})
		body = string(b)
		if err != nil {
			return nil, err
		}
	case !ok:
		c.t.Errorf("unexpected request for %s", r.URL.Path)
	}
	return answer(r, http.StatusOK, "application/json", body)
}

func TestWeCom(t *testing.T) {
	t.Parallel()
	const found, member = "/cgi-bin/auth/getuserinfo", "/cgi-bin/user/get"
	for _, c := range []struct {
		name     string
		lifetime int
		answers  map[string]string
		want     string // of the error
		issued   int32  // tokens in two sign-ins
	}{
		{"member", 7200, map[string]string{found: `{"errcode":0,"userid":"ada"}`, member: `{"errcode":0,"userid":"ada"}`}, "", 1},
		{"token that ends at once", 60, map[string]string{found: `{"errcode":0,"userid":"ada"}`, member: `{"errcode":0,"userid":"ada"}`}, "", 2},
		{"stranger", 7200, map[string]string{found: `{"errcode":0,"openid":"o"}`}, "not a member", 1},
		{"another member", 7200, map[string]string{found: `{"errcode":0,"userid":"ada"}`, member: `{"errcode":0,"userid":"eve"}`}, "another member", 1},
		{"void code", 7200, map[string]string{found: `{"errcode":40029,"errmsg":"invalid code"}`}, "errcode 40029", 1},
		{"void token", 7200, map[string]string{found: `{"errcode":40014,"errmsg":"invalid access_token"}`}, "errcode 40014", 2},
		{"not visible", 7200, map[string]string{found: `{"errcode":0,"userid":"ada"}`, member: `{"errcode":60011,"errmsg":"no privilege"}`}, "errcode 60011", 1},
		{"no errcode", 7200, map[string]string{found: `{"userid":"ada"}`}, "no errcode", 1},
		{"no JSON", 7200, map[string]string{found: `<html>`}, "not a JSON object", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := completed(t, "wecom", providers.WithAgentID("1000002"))
			service := &company{t: t, lifetime: c.lifetime, answers: c.answers}
			client := &http.Client{Transport: service}
			for range 2 {
				tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{Provider: *p, Client: client, Code: "code-1"})
				require.NoError(t, err)
				assert.Nil(t, p.Account(*tokens), "the token of the company is stored with the account")
				profile, err := p.UserInfo.Request(t.Context(), auth.UserInfoRequest{Provider: *p, Client: client, Tokens: *tokens, Params: url.Values{"code": {"code-1"}}})
				switch {
				case c.want == "" && (err != nil || profile.String("userid") != "ada"):
					t.Errorf("got %v, %v", profile, err)
				case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("got %v, %v, want an error with %q", profile, err, c.want)
				case err != nil && (strings.Contains(err.Error(), "token-") || strings.Contains(err.Error(), "code-1")):
					t.Errorf("the error tells a secret: %v", err)
				}
			}
			assert.Equal(t, c.issued, service.issued.Load(), "the number of tokens that were asked for")
		})
	}
}

// TestExchangeLifetime: a lifetime that can't be read is not known, and ends
// nothing.
func TestExchangeLifetime(t *testing.T) {
	t.Parallel()
	p := completed(t, "lark")
	for given, want := range map[string]time.Duration{
		"7200": 2 * time.Hour, `"7200"`: 2 * time.Hour, "1e300": 0, `"NaN"`: 0, "-1": 0, "null": 0, `""`: 0, "true": 0, "[60]": 0,
	} {
		tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{
			Provider: *p, Client: &http.Client{Transport: &canned{status: 200, body: `{"access_token":"a","expires_in":` + given + `}`}}, Code: "code-1",
		})
		assert.Truef(t, err == nil && tokens.ExpiresIn == want,
			"expires_in %s: got %v, %v, want %v", given, tokens, err, want)
	}
}

// TestWeComAtOnce: concurrent sign-ins share one token.
func TestWeComAtOnce(t *testing.T) {
	t.Parallel()
	p := completed(t, "wecom", providers.WithAgentID("1000002"))
	service := &company{t: t, lifetime: 7200}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{Provider: *p, Client: &http.Client{Transport: service}, Code: "code-1"})
			assert.Truef(t, err == nil && tokens.AccessToken == "token-1", "got %v, %v", tokens, err)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, service.issued.Load(), "the number of tokens that were asked for")
}

// TestSecretOfOwnRequests: New reports a missing client secret also for a token
// request that is not standard.
func TestSecretOfOwnRequests(t *testing.T) {
	t.Parallel()
	for id, opts := range map[string][]providers.Option{
		"deezer": nil, "dingtalk": nil, "lark": nil, "shopify": {providers.WithShop("acme")}, "steam": nil, "wecom": {providers.WithAgentID("1")},
	} {
		p := must(providers.ByID(id, append(opts, providers.WithClient("client-1", ""))...))(t)
		assert.ErrorContains(t, configure(p), "AUTH_"+strings.ToUpper(id)+"_SECRET", id)
	}
}

// TestSteamIDIsNotNeeded: the configuration needs no client ID, because Steam
// identifies a site by its address.
func TestSteamIDIsNotNeeded(t *testing.T) {
	t.Parallel()
	assert.NoError(t, configure(providers.Steam(providers.WithClient("", secret))))
}

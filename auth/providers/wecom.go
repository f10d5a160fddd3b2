package providers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
)

const (
	wecomAPI = "https://qyapi.weixin.qq.com/cgi-bin/"
	// wecomMargin is the time before its expiry from which a token is not used.
	wecomMargin = 5 * time.Minute
)

// wecomToken is the access token of the company, which all sign-ins share. It
// is requested rarely, because WeCom refuses clients that request it often.
type wecomToken struct {
	id, secret string

	mu      sync.Mutex
	value   string
	expires time.Time
}

// wecomFlow does the steps of WeCom in place of OAuth: the code names a member
// of the company, and the company's token reads that member's profile. That
// token is not stored with the account.
// https://developer.work.weixin.qq.com/document/path/98152
func wecomFlow(c *completion) error {
	p := c.provider
	token := &wecomToken{id: p.ClientID, secret: p.ClientSecret}
	if p.Token.Request == nil {
		p.Token.Request = func(ctx context.Context, r auth.TokenRequest) (*auth.TokenSet, error) {
			value, err := token.get(ctx, r.Client)
			if err != nil {
				return nil, err
			}
			return &auth.TokenSet{AccessToken: value, TokenType: "bearer"}, nil
		}
	}
	if p.UserInfo.Request == nil {
		p.UserInfo.Request = func(ctx context.Context, r auth.UserInfoRequest) (auth.Profile, error) {
			return token.member(ctx, r.Client, r.Tokens.AccessToken, r.Params.Get("code"))
		}
	}
	if p.Account == nil {
		p.Account = func(auth.TokenSet) *auth.TokenSet { return nil }
	}
	return c.needSecret()
}

// get returns the token, or requests a new one if the last has expired.
func (t *wecomToken) get(ctx context.Context, client *http.Client) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value != "" && time.Now().Before(t.expires) {
		return t.value, nil
	}
	m, err := wecomCall(ctx, client, "gettoken", url.Values{"corpid": {t.id}, "corpsecret": {t.secret}})
	if err != nil {
		return "", err
	}
	answer, err := tokenSet(m)
	if err != nil {
		return "", err
	}
	t.value, t.expires = answer.AccessToken, time.Now().Add(answer.ExpiresIn-wecomMargin)
	return t.value, nil
}

// forget drops a token that WeCom has refused.
func (t *wecomToken) forget(value string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.value == value {
		t.value = ""
	}
}

// member returns the profile of the member of the company that a code names.
func (t *wecomToken) member(ctx context.Context, client *http.Client, token, code string) (auth.Profile, error) {
	m, err := wecomCall(ctx, client, "auth/getuserinfo", url.Values{"access_token": {token}, "code": {code}})
	var refused wecomError
	if errors.As(err, &refused) && (refused == 40014 || refused == 42001) { // the token is not valid, or has expired
		t.forget(token)
	}
	if err != nil {
		return nil, err
	}
	id := text(m["userid"])
	if id == "" {
		return nil, errors.New("userinfo: the person is not a member of the company")
	}
	profile, err := wecomCall(ctx, client, "user/get", url.Values{"access_token": {token}, "userid": {id}})
	if err != nil {
		return nil, err
	}
	if text(profile["userid"]) != id {
		return nil, errors.New("userinfo: the response is about another member")
	}
	return profile, nil
}

// wecomError is an error number; the WeCom documentation lists them as return
// codes.
type wecomError int64

func (e wecomError) Error() string { return fmt.Sprintf("errcode %d", int64(e)) }

// wecomCall makes a GET request. WeCom sends its errors with status 200.
func wecomCall(ctx context.Context, client *http.Client, name string, params url.Values) (map[string]any, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, wecomAPI+name+"?"+params.Encode(), nil)
	if err != nil {
		return nil, errors.New("the endpoint is not a URL")
	}
	r.Header.Set("Accept", "application/json")
	status, body, err := do(client, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", name, status)
	}
	v, err := decode(body)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s: the response is not a JSON object", name)
	}
	code, err := strconv.ParseInt(text(m["errcode"]), 10, 64)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the response has no errcode", name)
	case code != 0:
		return nil, fmt.Errorf("%s: %w", name, wecomError(code))
	}
	return m, nil
}

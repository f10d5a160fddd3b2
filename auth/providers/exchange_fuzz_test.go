package providers

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzTokenAnswer: a token response is read as tokens, or is an error that does
// not contain the code.
func FuzzTokenAnswer(f *testing.F) {
	f.Add(200, []byte(`{"accessToken":"a","expireIn":7200,"refreshToken":"r"}`))
	f.Add(200, []byte(`{"access_token":"a","expires_in":"3600","scope":["x","y"]}`))
	f.Add(200, []byte(`access_token=a&expires=3600`))
	f.Add(400, []byte(`{"code":"x","message":"the code code-of-a-sign-in is used"}`))
	f.Add(200, []byte(`{"errcode":40029,"errmsg":"invalid code"}`))
	f.Add(200, []byte(`{"access_token":1,"expires_in":-1e999,"error":{}}`))
	x := &exchange{names: map[string]string{"accessToken": "access_token", "expireIn": "expires_in"}}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		tokens, err := x.answer(status, body, "code-of-a-sign-in")
		switch {
		case err != nil && strings.Contains(err.Error(), "code-of-a-sign-in"):
			t.Errorf("the error tells the code: %v", err)
		case err == nil && (tokens.AccessToken == "" || tokens.ExpiresIn < 0):
			t.Errorf("the tokens are %+v", tokens)
		}
		answer, err := conform(&http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))})
		require.NoError(t, err)
		conformed, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		assert.Truef(t, err == nil && int64(len(conformed)) == answer.ContentLength,
			"%d bytes, Content-Length %d (%v)", len(conformed), answer.ContentLength, err)
	})
}

// FuzzSteamAssertion: an accepted assertion names the person in its claimed ID,
// and returns to the address of this site.
func FuzzSteamAssertion(f *testing.F) {
	const returnTo = "https://app.example/auth/callback/steam"
	good := url.Values{
		"code": {steamCode}, "state": {"s"}, "openid.ns": {openID}, "openid.mode": {"id_res"}, "openid.op_endpoint": {steamLogin},
		"openid.claimed_id": {"https://steamcommunity.com/openid/id/76561197960435530"}, "openid.identity": {"https://steamcommunity.com/openid/id/76561197960435530"},
		"openid.return_to": {returnTo + "?code=openid&state=s"}, "openid.response_nonce": {"n"}, "openid.assoc_handle": {"1"},
		"openid.signed": {"op_endpoint,claimed_id,identity,return_to,response_nonce,assoc_handle"}, "openid.sig": {"x"},
	}
	f.Add(good.Encode())
	good.Set("openid.return_to", returnTo+"?code=openid&state=s&state=t")
	f.Add(good.Encode())
	good.Set("openid.claimed_id", "https://steamcommunity.com/openid/id/76561197960435530%0a")
	f.Add(good.Encode())
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		id, err := steamAssertion(auth.TokenRequest{Params: q, RedirectURI: returnTo})
		if err != nil {
			return
		}
		assert.Truef(t, q.Get("openid.claimed_id") == "https://steamcommunity.com/openid/id/"+id && strings.HasPrefix(q.Get("openid.return_to"), returnTo+"?"),
			"%s is accepted as %s", query, id)
	})
}

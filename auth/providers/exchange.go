package providers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
)

// exchange is a token request that is not the form of RFC 6749 section 4.1.3.
// It is a JSON object or a GET, with the provider's own names.
type exchange struct {
	// get puts the parameters into the query; otherwise they are a JSON object.
	get bool
	// params are templates. Beside the options they can name code, redirectURI
	// and codeVerifier. A parameter whose template names an absent value is
	// left out.
	params map[string]string
	// names maps the provider's names of the response members to the standard
	// ones.
	names map[string]string
}

// compile makes the function for TokenEndpoint.Request.
func (x *exchange) compile(endpoint string, vars map[string]string) func(context.Context, auth.TokenRequest) (*auth.TokenSet, error) {
	return func(ctx context.Context, p auth.TokenRequest) (*auth.TokenSet, error) {
		known := maps.Clone(vars)
		known["code"], known["redirectURI"], known["codeVerifier"] = p.Code, p.RedirectURI, p.CodeVerifier
		params := map[string]string{}
		for name, template := range x.params {
			if s, ok := expand(template, known); ok {
				params[name] = s
			}
		}
		r, err := x.request(ctx, endpoint, params)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Accept", "application/json")
		status, body, err := do(p.Client, r)
		if err != nil {
			return nil, fmt.Errorf("token request: %w", err)
		}
		tokens, err := x.answer(status, body, p.Code, p.CodeVerifier, vars["clientSecret"])
		if err != nil {
			return nil, fmt.Errorf("token request: status %d: %w", status, err)
		}
		return tokens, nil
	}
}

func (x *exchange) request(ctx context.Context, endpoint string, params map[string]string) (*http.Request, error) {
	bad := errors.New("token request: the endpoint is not a URL")
	if x.get {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
		if err != nil {
			return nil, bad
		}
		q := r.URL.Query()
		for name, value := range params {
			q.Set(name, value)
		}
		r.URL.RawQuery = q.Encode()
		return r, nil
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(encoded))
	if err != nil {
		return nil, bad
	}
	r.Header.Set("Content-Type", "application/json")
	return r, nil
}

// answer reads the response to a token request. Its errors leave out the
// secrets.
func (x *exchange) answer(status int, body []byte, secrets ...string) (*auth.TokenSet, error) {
	m := formObject(body)
	if v, err := decode(body); err == nil {
		m, _ = v.(map[string]any)
	}
	if m == nil {
		return nil, errors.New("the response is not a JSON object")
	}
	for theirs, standard := range x.names {
		if v, ok := m[theirs]; ok {
			delete(m, theirs)
			m[standard] = v
		}
	}
	conformMembers(m, status)
	if code := text(m["error"]); code != "" {
		return nil, oauth.NewProviderError(code, text(m["error_description"]), secrets...)
	}
	return tokenSet(m)
}

// formObject reads a response in the form encoding, or returns nil if it is
// none.
func formObject(body []byte) map[string]any {
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("access_token") {
		return nil
	}
	m := map[string]any{}
	for name := range form {
		m[name] = form.Get(name)
	}
	return m
}

// tokenSet takes the standard members of a response; the others become Extra.
func tokenSet(m map[string]any) (*auth.TokenSet, error) {
	take := func(name string) string {
		s := text(m[name])
		delete(m, name)
		return s
	}
	t := &auth.TokenSet{
		AccessToken: take("access_token"), RefreshToken: take("refresh_token"), IDToken: take("id_token"),
		TokenType: take("token_type"), Scope: take("scope"),
	}
	if t.AccessToken == "" {
		return nil, errors.New("access_token is missing or is not a string")
	}
	t.ExpiresIn, _ = oauth.Lifetime(m["expires_in"])
	delete(m, "expires_in")
	t.Extra = m
	return t, nil
}

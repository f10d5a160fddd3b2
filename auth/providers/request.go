package providers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// request describes how a userinfo request differs from a GET with a bearer
// token.
type request struct {
	method string
	header map[string]string
	body   string // JSON
	// tokenIn says where the access token is sent: query:NAME, header:NAME,
	// scheme:NAME for a word other than Bearer, or none if it is not sent or is
	// part of the URL. Empty means a bearer token.
	tokenIn string
	// root is the path of the profile in the response.
	root string
}

func (r request) isZero() bool {
	return r.method == "" && len(r.header) == 0 && r.body == "" && r.tokenIn == "" && r.root == ""
}

// compile makes the function that becomes UserInfoEndpoint.Request. The
// endpoint and the parameters are templates in which the options have been
// replaced.
func (r request) compile(endpoint string, params url.Values, vars map[string]string) (func(context.Context, auth.UserInfoRequest) (auth.Profile, error), error) {
	root := path(func(e *evidence) any { return e.profile })
	if r.root != "" {
		var err error
		if root, err = parsePath(r.root); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, p auth.UserInfoRequest) (auth.Profile, error) {
		location, ok := expandTokens(endpoint, &p.Tokens, url.PathEscape)
		if !ok {
			return nil, errors.New("userinfo: the token response lacks a value that the URL needs")
		}
		u, err := url.Parse(location)
		if err != nil {
			return nil, errors.New("userinfo: the endpoint is not a URL")
		}
		q := u.Query()
		for name := range params {
			if s, ok := expandTokens(params.Get(name), &p.Tokens, unescaped); ok && s != "" {
				q.Set(name, s)
			}
		}
		if name, ok := strings.CutPrefix(r.tokenIn, "query:"); ok {
			q.Set(name, p.Tokens.AccessToken)
		}
		u.RawQuery = q.Encode()
		answer, err := r.send(ctx, p.Client, u.String(), p.Tokens.AccessToken, vars)
		if err != nil {
			return nil, fmt.Errorf("userinfo: %w", err)
		}
		members, _ := answer.(map[string]any)
		profile, _ := root(&evidence{profile: members}).(map[string]any)
		if profile == nil {
			return nil, errors.New("userinfo: the response contains no profile")
		}
		return profile, nil
	}, nil
}

// unescaped returns a value unchanged, for a value that is escaped later.
func unescaped(s string) string { return s }

// send makes the request and decodes the JSON of the response.
func (r request) send(ctx context.Context, client *http.Client, endpoint, token string, vars map[string]string) (any, error) {
	hr, err := http.NewRequestWithContext(ctx, cmp.Or(r.method, http.MethodGet), endpoint, strings.NewReader(r.body))
	if err != nil {
		return nil, errors.New("the endpoint is not a URL")
	}
	hr.Header.Set("Accept", "application/json")
	if r.body != "" {
		hr.Header.Set("Content-Type", "application/json")
	}
	for name, template := range r.header {
		if s, ok := expand(template, vars); ok {
			hr.Header.Set(name, s)
		}
	}
	switch place, name, _ := strings.Cut(r.tokenIn, ":"); place {
	case "":
		hr.Header.Set("Authorization", "Bearer "+token)
	case "header":
		hr.Header.Set(name, token)
	case "scheme":
		hr.Header.Set("Authorization", name+" "+token)
	}
	status, body, err := do(client, hr)
	if err != nil {
		return nil, err
	}
	if status < 200 || status > 299 {
		return nil, fmt.Errorf("status %d", status)
	}
	return decode(body)
}

// do sends a request and reads the response. Its errors leave out the URL,
// which may contain a token.
func do(client *http.Client, r *http.Request) (status int, body []byte, err error) {
	answer, err := client.Do(r)
	var u *url.Error
	switch {
	case errors.As(err, &u):
		return 0, nil, fmt.Errorf("%s: %w", r.URL.Host, u.Err)
	case err != nil:
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// decode reads JSON and keeps numbers exact.
func decode(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil || d.More() {
		return nil, errors.New("the response is not JSON")
	}
	return v, nil
}

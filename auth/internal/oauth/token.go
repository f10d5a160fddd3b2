package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// Exchange exchanges a code for tokens (RFC 6749 section 4.1.3).
type Exchange struct {
	Endpoint     string
	Client       *http.Client
	Auth         ClientAuth
	Code         string
	RedirectURI  string
	CodeVerifier string // empty without PKCE
	// Prepare, if not nil, changes the request before it is sent.
	Prepare func(r *http.Request, form url.Values) error
	// Conform, if not nil, makes a standard response from the provider's.
	Conform func(*http.Response) (*http.Response, error)
}

// ProviderError is an error response of a provider (RFC 6749 sections 4.1.2.1
// and 5.2). Both texts come from the provider.
type ProviderError struct {
	Code        string
	Description string
}

// maxText is the largest length in bytes of each text of a ProviderError.
const maxText = 300

// NewProviderError cuts the texts, and removes secrets that a provider repeats
// in them.
func NewProviderError(code, description string, secrets ...string) *ProviderError {
	clean := func(s string) string {
		for _, secret := range secrets {
			if secret != "" {
				s = strings.ReplaceAll(s, secret, "[redacted]")
			}
		}
		return s[:min(len(s), maxText)]
	}
	return &ProviderError{Code: clean(code), Description: clean(description)}
}

// Mistake is an error that anybody can cause who brings an answer: with a made-up
// code, or with the answer of another sign-in.
type Mistake struct{ error }

// Unwrap returns the error.
func (m Mistake) Unwrap() error { return m.error }

// refusesSite reports whether the provider refuses the client that the site is,
// and does not refuse the code. Anybody can make up a code, and
// providers have many errors for it. The standard errors are those of RFC 6749
// sections 4.1.2.1 and 5.2; the others are those of GitHub and Slack.
func (e *ProviderError) refusesSite() bool {
	switch e.Code {
	case "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
		"incorrect_client_credentials", "redirect_uri_mismatch", "application_suspended", "invalid_client_id", "bad_client_secret", "bad_redirect_uri":
		return true
	}
	return false
}

func (e *ProviderError) Error() string {
	if e.Description == "" {
		return fmt.Sprintf("the provider answered %q", e.Code)
	}
	return fmt.Sprintf("the provider answered %q: %q", e.Code, e.Description)
}

// Do makes the exchange and returns the members of the response, with numbers
// as json.Number and without those that are absent. access_token and token_type
// are texts that are not empty. token_type is bearer or dpop, in any case.
// expires_in, if present, is a Lifetime.
func (x Exchange) Do(ctx context.Context) (map[string]any, error) {
	style := oauth2.AuthStyleInParams
	secret := x.Auth.Secret
	options := []oauth2.AuthCodeOption{}
	switch x.Auth.Method {
	case "", SecretBasic:
		style = oauth2.AuthStyleInHeader
	case SecretPost:
		if secret == "" {
			return nil, errors.New("client_secret_post needs a client secret")
		}
	case NoAuth:
		secret = ""
	case SecretJWT, PrivateKeyJWT:
		assertion, err := x.Auth.assertion(x.Endpoint)
		if err != nil {
			return nil, err
		}
		secret = ""
		options = append(options,
			oauth2.SetAuthURLParam("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
			oauth2.SetAuthURLParam("client_assertion", assertion))
	default:
		return nil, fmt.Errorf("unknown client authentication %q", x.Auth.Method)
	}
	if x.CodeVerifier != "" {
		options = append(options, oauth2.VerifierOption(x.CodeVerifier))
	}
	answer := &tokenTransport{exchange: &x, next: x.Client.Transport}
	client := *x.Client
	client.Transport = answer
	config := oauth2.Config{
		ClientID: x.Auth.ClientID, ClientSecret: secret, RedirectURL: x.RedirectURI,
		Endpoint: oauth2.Endpoint{TokenURL: x.Endpoint, AuthStyle: style},
	}
	_, err := config.Exchange(context.WithValue(ctx, oauth2.HTTPClient, &client), x.Code, options...)
	failed, _ := errors.AsType[*url.Error](err)
	switch {
	case failed != nil && (failed.Timeout() || errors.Is(failed, context.DeadlineExceeded)):
		return nil, outage(safe(err))
	case answer.err != nil:
		return nil, answer.err
	case answer.members != nil:
		return answer.members, nil
	default:
		return nil, safe(err)
	}
}

// tokenTransport sends the token request and checks the response before
// x/oauth2 reads it, because x/oauth2 accepts more than the standard allows.
// x/oauth2 gets only the members that it must read.
type tokenTransport struct {
	exchange *Exchange
	next     http.RoundTripper
	members  map[string]any
	err      error
}

func (t *tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.roundTrip(r)
	t.err = err
	return answer, err
}

func (t *tokenTransport) roundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	if prepare := t.exchange.Prepare; prepare != nil {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		form, err := url.ParseQuery(string(raw))
		if err != nil {
			return nil, errors.New("the form of the token request can't be read")
		}
		if err := prepare(r, form); err != nil {
			return nil, err
		}
		body := form.Encode()
		r.ContentLength = int64(len(body))
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
	}
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, outage(err)
	}
	if conform := t.exchange.Conform; conform != nil {
		if answer, err = conform(answer); err != nil {
			return nil, err
		}
		if answer == nil {
			return nil, errors.New("the hook for the token response returned no response")
		}
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil {
		return nil, outage(err)
	}
	if t.members, err = judge(answer, body, t.exchange.Code, t.exchange.CodeVerifier, t.exchange.Auth.Secret); err != nil {
		return nil, err
	}
	used, err := json.Marshal(map[string]any{"access_token": t.members["access_token"], "token_type": t.members["token_type"]})
	if err != nil {
		return nil, err
	}
	answer.Header.Set("Content-Type", "application/json")
	answer.Body = io.NopCloser(bytes.NewReader(used))
	return answer, nil
}

// judge checks the response to a token request. Its errors leave out the
// secrets.
func judge(answer *http.Response, body []byte, secrets ...string) (map[string]any, error) {
	members, err := jsonObject(body)
	if answer.StatusCode != http.StatusOK {
		if err == nil && answer.StatusCode >= 400 && answer.StatusCode < 500 {
			if e := providerError(members, secrets); e != nil {
				return nil, refusal(e, answer.StatusCode, fmt.Errorf("token request: status %d: %w", answer.StatusCode, e))
			}
		}
		return nil, refusal(nil, answer.StatusCode, refusedBy("token request", answer.StatusCode))
	}
	if answer.Header.Get("WWW-Authenticate") != "" {
		return nil, errors.New("token request: the provider requires another authentication scheme")
	}
	if err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	if e := providerError(members, secrets); e != nil {
		return nil, refusal(e, answer.StatusCode, fmt.Errorf("token request: %w", e))
	}
	if err := conform(members); err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	return members, nil
}

// refusal makes an error a Mistake if the response refuses the code, or if it may
// fail because of the code. A response with status 400 does, unless it says that
// it refuses the site; so does one whose error is invalid_grant.
func refusal(e *ProviderError, status int, err error) error {
	switch {
	case e != nil && e.busy():
		return Mistake{Unavailable{err}}
	case e != nil && e.Code == "invalid_grant", e == nil && unavailable(status):
		return Mistake{err}
	case e != nil && (e.refusesSite() || status == http.StatusUnauthorized), e == nil && status != http.StatusBadRequest:
		return err
	}
	return Mistake{err}
}

// busy reports whether the provider says that it can't answer now.
func (e *ProviderError) busy() bool {
	return e.Code == "server_error" || e.Code == "temporarily_unavailable"
}

// conform checks the members of a successful response (RFC 6749 section 5.1)
// and removes those that are absent. Only access_token and token_type are
// required. A scope that is a list becomes a text. expires_in stays only if it
// is a lifetime.
func conform(members map[string]any) error {
	maps.DeleteFunc(members, func(name string, _ any) bool { return absent(members, name) })
	if _, listed := members["scope"].([]any); listed {
		words, err := texts(members, "scope")
		if err != nil {
			return err
		}
		members["scope"] = strings.Join(words, " ")
	}
	for _, name := range []string{"access_token", "token_type", "refresh_token", "id_token", "scope"} {
		if _, err := text(members, name); err != nil {
			return err
		}
	}
	if _, err := required(members, "access_token"); err != nil {
		return err
	}
	kind, err := required(members, "token_type")
	if err != nil {
		return err
	}
	if kind = strings.ToLower(kind); kind != "bearer" && kind != "dpop" {
		return errors.New("the token type is neither bearer nor dpop")
	}
	if _, ok := Lifetime(members["expires_in"]); !ok {
		delete(members, "expires_in")
	}
	return nil
}

func providerError(members map[string]any, secrets []string) *ProviderError {
	code, ok := members["error"].(string)
	if !ok || code == "" {
		return nil
	}
	description, _ := members["error_description"].(string)
	return NewProviderError(code, description, secrets...)
}

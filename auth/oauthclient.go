package auth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// oauthClient is an OAuth provider, prepared for use: the endpoints that the
// configuration gives, the checks, and the cached metadata and keys.
type oauthClient struct {
	provider *OAuth
	http     *http.Client
	// authorization, token and userInfo are the configured endpoints with their
	// parameters; empty means discovery.
	authorization, token, userInfo string
	// issuer is the source of metadata and keys; verifier checks what is signed
	// with these keys. Both are nil for a provider without an issuer.
	issuer   *oauth.Issuer
	verifier *oauth.Verifier
	// all are the clients of all providers of the site, by ID.
	all map[string]*oauthClient
	// foreignIssuer is done once the log says that the provider names an issuer
	// that is not configured.
	foreignIssuer sync.Once
	// checks are the checks of the flow.
	checks began.Provider
	// formPost says that the answer comes as a POST from the provider's site.
	formPost bool
	// proxy is the redirect_uri of the redirect proxy, proxyOrigin its origin.
	proxy, proxyOrigin string
}

// newOAuthClient prepares a provider whose configuration has been checked.
func newOAuthClient(c *Config, p *OAuth, s *shared) *oauthClient {
	o := &oauthClient{
		provider:      p,
		http:          oauth.Distant(p.HTTPClient, p.Issuer, p.WellKnown, p.JWKS, p.Authorization.URL, p.Token.URL, p.UserInfo.URL),
		authorization: endpoint(p.Authorization.URL, p.Authorization.Params),
		token:         endpoint(p.Token.URL, p.Token.Params),
		userInfo:      endpoint(p.UserInfo.URL, p.UserInfo.Params),
	}
	if p.Issuer != "" || p.WellKnown != "" {
		o.issuer = s.issuer(c, p, o.http)
		o.verifier = &oauth.Verifier{
			Issuer: o.issuer, ClientID: p.ClientID, ClientSecret: p.ClientSecret, Algorithm: p.Client.IDTokenSignedResponseAlg,
			MaxAge: p.Client.DefaultMaxAge, RequireAuthTime: p.Client.RequireAuthTime, Now: c.Clock,
		}
	}
	o.formPost = p.Authorization.Params.Get("response_mode") == "form_post" || strings.Contains(o.authorization, "response_mode=form_post")
	proxy := cmp.Or(p.RedirectProxyURL, c.RedirectProxyURL)
	if proxy != "" {
		if u, err := url.Parse(proxy); err == nil && !o.formPost {
			o.proxy, o.proxyOrigin = strings.TrimSuffix(proxy, "/")+"/callback/"+p.ID, wire.OriginOf(u)
		}
	}
	o.checks = began.Provider{ID: p.ID, Server: serverName(p)}
	wanted := p.Checks
	if len(wanted) == 0 {
		wanted = []Check{CheckPKCE, CheckState}
	}
	for _, check := range []Check{CheckState, CheckPKCE, CheckNonce} {
		if slices.Contains(wanted, check) || check == CheckState && proxy != "" {
			o.checks.Checks = append(o.checks.Checks, began.Check(check))
		}
	}
	return o
}

// serverName is a text that differs between authorization servers, and between
// clients at one server. It leaves out the parameters of endpoints, because
// they may change while somebody signs in.
func serverName(p *OAuth) string {
	text := "\x00" + p.ClientID
	for _, raw := range []string{p.Issuer, p.WellKnown, p.Authorization.URL, p.Token.URL} {
		where, _, _ := strings.Cut(raw, "?")
		text += "\x00" + where
	}
	return text
}

// endpoint is a URL with parameters set in its query, or empty.
func endpoint(raw string, params url.Values) string {
	if raw == "" || len(params) == 0 {
		return raw
	}
	base, query, _ := strings.Cut(raw, "?")
	q := wire.ParseQuery(query)
	for _, name := range slices.Sorted(maps.Keys(params)) {
		q.Set(name, params[name]...)
	}
	return base + "?" + q.Encode()
}

// redirectURI is the URL to which the provider sends the browser back.
func (e *engine) redirectURI(r *request, o *oauthClient) string {
	if o.proxy != "" && o.proxyOrigin != r.origin {
		return o.proxy
	}
	return e.providerURL(r, ActionCallback, o.provider.ID)
}

// authorizationEndpoint returns the configured or the discovered endpoint, with
// the configured parameters. If the metadata is needed, it checks the other
// endpoints that the sign-in will need, too.
func (o *oauthClient) authorizationEndpoint(ctx context.Context) (string, error) {
	if o.authorization != "" {
		return o.authorization, nil
	}
	m, err := o.metadata(ctx)
	if err != nil {
		return "", err
	}
	p := o.provider
	needed := map[string]bool{
		oauth.TokenEndpoint:    o.token == "" && p.Token.Request == nil,
		oauth.UserInfoEndpoint: o.userInfo == "" && p.UserInfo.Request == nil && (p.kind() == TypeOAuth || p.UserInfoOnly),
		oauth.KeysEndpoint:     p.kind() == TypeOIDC && p.JWKS == "" && p.Client.IDTokenSignedResponseAlg != "HS256",
	}
	for name, need := range needed {
		if need {
			if _, err := m.Endpoint(name); err != nil {
				return "", err
			}
		}
	}
	return o.orDiscovered(ctx, "", oauth.AuthorizationEndpoint, p.Authorization.Params)
}

// orDiscovered returns the configured endpoint or, if it is empty, that of the
// metadata with the parameters.
func (o *oauthClient) orDiscovered(ctx context.Context, configured, name string, params url.Values) (string, error) {
	if configured != "" {
		return configured, nil
	}
	m, err := o.metadata(ctx)
	if err != nil {
		return "", err
	}
	found, err := m.Endpoint(name)
	if err != nil {
		return "", err
	}
	if found == "" {
		return "", fmt.Errorf("the metadata has no %s", name)
	}
	return endpoint(found, params), nil
}

func (o *oauthClient) metadata(ctx context.Context) (*oauth.Metadata, error) {
	if o.issuer == nil {
		return nil, errors.New("an endpoint is not configured, and no issuer is configured to discover it")
	}
	return o.issuer.Metadata(ctx)
}

// usesMetadata reports whether the flow needs the provider's metadata.
func (o *oauthClient) usesMetadata() bool {
	return o.authorization == "" || o.token == "" || o.provider.Issuer == "" || o.provider.kind() == TypeOIDC && o.issuer.NeedsMetadata()
}

// clientAuth is how the client authenticates at the token endpoint.
func (p *OAuth) clientAuth(now func() time.Time) oauth.ClientAuth {
	return oauth.ClientAuth{
		Method: string(p.Client.TokenEndpointAuthMethod), ClientID: p.ClientID, Secret: p.ClientSecret, Key: p.Client.PrivateKey,
		KeyID: p.Client.KeyID, Algorithm: p.Client.TokenEndpointAuthSigningAlg, Issuer: p.Issuer, Now: now,
	}
}

// checkEndpoints reports what is wrong with the URLs of a provider.
func (p *OAuth) checkEndpoints() []error {
	var problems []error
	for _, x := range []struct{ name, url string }{
		{"Issuer", p.Issuer}, {"WellKnown", p.WellKnown}, {"JWKS", p.JWKS}, {"Authorization.URL", p.Authorization.URL},
		{"Token.URL", p.Token.URL}, {"UserInfo.URL", p.UserInfo.URL}, {"RedirectProxyURL", p.RedirectProxyURL},
	} {
		if x.url == "" {
			continue
		}
		u, err := url.Parse(x.url)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s is not a URL", x.name))
		} else if err := oauth.CheckURL(u); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", x.name, err))
		}
	}
	return problems
}

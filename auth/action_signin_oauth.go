package auth

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// signInOAuth starts a sign-in with an OAuth or OpenID Connect provider: its
// result sends the browser to the provider and sets the cookies of the checks.
// See docs/protocol.md, "OAuth and OpenID Connect".
func (e *engine) signInOAuth(ctx context.Context, r *request, p *OAuth) (*Result, error) {
	if err := e.limit(ctx, r, Attempt{Provider: p.ID, Type: p.kind()}); err != nil {
		return nil, err
	}
	result, err := e.authorizationRequest(ctx, r, e.oauth[p.ID])
	if err != nil {
		return nil, &Error{Type: ErrOAuthSignIn, Message: "provider " + p.ID, Cause: outageOf(err)}
	}
	return result, nil
}

// protected are the parameters that identify the client, the answer or the
// sign-in. The client that starts a sign-in can't set them.
var protected = []string{
	"client_id", "client_secret", "redirect_uri", "response_type", "response_mode", "state", "nonce", "code_challenge",
	"code_challenge_method", "request", "request_uri", "code", "csrfToken",
}

// isProtected reports whether a parameter is protected. Some providers read
// other names as a protected one: PHP takes client.id and client_id[] for
// client_id. These are protected, too.
func isProtected(name string) bool {
	name, _, _ = strings.Cut(name, "[")
	name = strings.NewReplacer(".", "_", " ", "_").Replace(strings.TrimSpace(name))
	return slices.ContainsFunc(protected, func(p string) bool { return strings.EqualFold(p, name) })
}

// given returns the parameters of the caller that are not protected, in order,
// each with all its values: some, such as resource (RFC 8707), may occur several
// times. Of max_age only the last value counts.
func given(parameters wire.Query) iter.Seq2[string, []string] {
	values := map[string][]string{}
	for _, p := range parameters {
		values[p.Name] = append(values[p.Name], p.Value)
	}
	return func(yield func(string, []string) bool) {
		for _, p := range parameters {
			all := values[p.Name]
			delete(values, p.Name)
			if p.Name == "max_age" && len(all) > 1 {
				all = all[len(all)-1:]
			}
			if all != nil && !isProtected(p.Name) && !yield(p.Name, all) {
				return
			}
		}
	}
}

func (e *engine) authorizationRequest(ctx context.Context, r *request, o *oauthClient) (*Result, error) {
	endpoint, err := o.authorizationEndpoint(ctx)
	if err != nil {
		return nil, err
	}
	base, query, _ := strings.Cut(endpoint, "?")
	params := wire.ParseQuery(query)
	configured := params
	redirectURI := e.redirectURI(r, o)
	if redirectURI == o.proxy {
		e.debug(ctx, "using redirect proxy", slog.String("provider", o.provider.ID), slog.String("redirect_uri", redirectURI))
	}
	for _, d := range [][2]string{{"response_type", "code"}, {"client_id", o.provider.ClientID}, {"redirect_uri", redirectURI}} {
		params.Set(d[0], d[1])
	}
	// A response_type in the configured URL is kept, for example a list of types.
	// The client ID and the redirect URI are always set by this package.
	if kind, ok := configured.Get("response_type"); ok {
		params.Set("response_type", kind)
	}
	for name, values := range given(r.parameters) {
		params.Set(name, values...)
	}
	if limit := int64(o.provider.Client.DefaultMaxAge / time.Second); limit > 0 {
		given, _ := params.Get("max_age")
		if n, err := strconv.ParseInt(given, 10, 64); err != nil || n < 0 || n > limit {
			params.Set("max_age", strconv.FormatInt(limit, 10))
		}
	}
	current, err := e.currentUser(ctx, e.browser(ctx, r))
	if err != nil {
		return nil, err
	}
	start := began.Start{Provider: o.checks, Relay: relay(e.providerURL(r, ActionCallback, o.provider.ID), redirectURI), CallbackURL: r.callbackURL, User: current.id()}
	if r.foreign {
		start.User = ""
	}
	if given, ok := params.Get("max_age"); ok && o.provider.kind() == TypeOIDC {
		if n, err := strconv.ParseInt(given, 10, 32); err == nil && n >= 0 {
			start.MaxAge = &n
		}
	}
	checks, cookies, err := e.begun(r).BeginSignIn(start)
	if err != nil {
		return nil, err
	}
	for _, p := range checks {
		params.Set(p.Name, p.Value)
	}
	if _, ok := params.Get("scope"); !ok && (o.provider.kind() == TypeOIDC || o.authorization != "") {
		params.Set("scope", "openid profile email")
	}
	location := base + "?" + params.Encode()
	if prepare := o.provider.Authorization.Request; prepare != nil {
		if location, err = preparedLocation(ctx, prepare, location); err != nil {
			return nil, err
		}
	}
	e.debug(ctx, "authorization url is ready", slog.String("provider", o.provider.ID), slog.String("endpoint", base), slog.Any("names", params.Names()))
	return &Result{Location: location, Cookies: cookies}, nil
}

// preparedLocation lets the provider's hook change the URL, except for the
// parameters that are protected.
func preparedLocation(ctx context.Context, prepare func(context.Context, *url.URL) (*url.URL, error), location string) (string, error) {
	before, err := url.Parse(location)
	if err != nil {
		return "", errors.New("the authorization endpoint is not a URL")
	}
	after, err := guard(ctx, prepare, before)
	if err != nil {
		return "", err
	}
	if after == nil {
		return "", errors.New("Authorization.Request returned no URL")
	}
	_, query, _ := strings.Cut(location, "?")
	was, is := wire.ParseQuery(query), after.Query()
	for _, name := range protected {
		if v, ok := was.Get(name); ok && !slices.Equal(is[name], []string{v}) {
			return "", errors.New("Authorization.Request changed " + name)
		}
	}
	return after.String(), nil
}

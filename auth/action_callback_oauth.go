package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// callbackOAuth ends a sign-in with an OAuth or OpenID Connect provider: it
// verifies the answer that the browser brings, gets tokens and profile, and
// hands them to authorizeSignIn, login and finishSignIn. See docs/protocol.md, "OAuth and OpenID Connect".
func (e *engine) callbackOAuth(ctx context.Context, r *request, p *OAuth) (*Result, error) {
	o := e.oauth[p.ID]
	params, err := r.answer(o)
	if err != nil {
		return nil, err
	}
	if result, err := e.proxied(r, o, params); result != nil || err != nil {
		return result, err
	}
	if hop := e.hop(r, o, params); hop != nil {
		return hop, nil
	}
	r.attempt = "oauth " + p.ID + " " + cmp.Or(params.Get("state"), params.Get("code"))
	// The answer is spent now: the sign-in must be finished even if the client goes
	// away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTimeout)
	defer cancel()
	checks, err := e.openChecks(r, o, params)
	if err != nil {
		return nil, err
	}
	e.debug(ctx, "authorization result", slog.String("provider", p.ID), names(params))
	if err := o.checkAnswer(ctx, params); err != nil {
		if errors.Is(err, ErrOAuthCallback) {
			e.debug(ctx, "OAuthCallbackError", slog.String("provider", p.ID), slog.Any("error", err))
		}
		return nil, err
	}
	tokens, profile, err := e.exchange(ctx, r, o, checks, params)
	if err != nil {
		return nil, err
	}
	id, err := e.identify(ctx, o, profile, tokens)
	if err != nil {
		e.debug(ctx, "getProfile error details", slog.String("provider", p.ID), names(profile))
		e.logError(ctx, err)
		e.signInFailed(ctx, r, err)
		if errors.Is(err, errNoProfileID) {
			return redirectTo(wire.WithQuery(e.signInURL(r), "error=Configuration")), nil
		}
		return redirectTo(e.signInURL(r)), nil
	}
	user, approvedAs := id.user, ""
	if err := e.lookUp(ctx, id); err != nil {
		return nil, err
	}
	switch {
	case id.owner != nil:
		user, approvedAs = userFromRecord(id.owner), id.owner.ID
		id.account.UserID = user.ID
	case e.store == nil: // everybody owns their account
		id.account.UserID = user.ID
	}
	id.begun = checks.By
	r.answeredBy = params.Get("iss")
	return e.complete(ctx, r, *id, approvedAs, SignInParams{User: user, Account: id.account, Profile: profile})
}

// answer returns the parameters of the authorization answer: those of the form
// that the provider's page posts, or those of the query. A parameter that is
// given twice is refused (RFC 6749 section 3.1).
func (r *request) answer(o *oauthClient) (url.Values, error) {
	params := r.query
	if o.formPost && r.method == http.MethodPost {
		var err error
		if params, err = url.ParseQuery(string(r.body.Raw)); err != nil {
			return nil, &Error{Type: ErrCallbackRoute, Message: "the response of the provider can't be parsed", client: true}
		}
	}
	for _, name := range []string{"code", "state", "error", "iss", "response", "id_token", "token"} {
		if len(params[name]) > 1 {
			return nil, &Error{Type: ErrCallbackRoute, Message: "the response of the provider contains " + name + " twice", client: true}
		}
	}
	return params, nil
}

// checkAnswer checks the authorization answer (RFC 6749 section 4.1.2, RFC
// 9207).
func (o *oauthClient) checkAnswer(ctx context.Context, params url.Values) error {
	refuse := func(message string) error {
		return &Error{Type: ErrCallbackRoute, Message: "provider " + o.provider.ID + ": " + message, client: true}
	}
	if params.Get("response") != "" {
		return refuse("the answer is a JWT, which was not asked for")
	}
	issuer, announced, err := o.answerIssuer(ctx)
	if err != nil {
		return &Error{Type: ErrCallbackRoute, Message: "provider " + o.provider.ID, Cause: outageOf(err)}
	}
	if err := o.checkIssuer(issuer, announced, params.Get("iss")); err != nil {
		return refuse(err.Error())
	}
	if code := params.Get("error"); code != "" {
		return &Error{Type: ErrOAuthCallback, Message: "provider " + o.provider.ID,
			Cause: oauth.NewProviderError(code, params.Get("error_description"), params.Get("code"), params.Get("state"))}
	}
	if params.Get("id_token") != "" || params.Get("token") != "" {
		return refuse("the answer has tokens, which were not asked for")
	}
	if params.Get("code") == "" {
		return refuse("the answer has no code")
	}
	return nil
}

// answerIssuer returns the issuer that the answer must come from, or "" if the
// provider has none, and whether the answer must name it.
func (o *oauthClient) answerIssuer(ctx context.Context) (issuer string, announced bool, err error) {
	if o.issuer == nil {
		return "", false, nil
	}
	if !o.usesMetadata() {
		return o.issuer.Stated(), false, nil
	}
	m, err := o.metadata(ctx)
	if err != nil {
		return "", false, err
	}
	announced, err = m.IssuerInAnswer()
	return m.Issuer, announced, err
}

// checkIssuer checks that the answer comes from the provider that was asked, so
// that the code of one provider is not sent to another (RFC 9207). If the
// provider has no issuer, nothing is compared: a provider may begin to name one
// on any day. The issuer of another provider of the site is refused all the
// same.
func (o *oauthClient) checkIssuer(want string, announced bool, given string) error {
	switch {
	case given == "" && announced:
		return errors.New("the response names no issuer: iss is missing")
	case given == "":
		return nil
	case o.issuer != nil && !o.issuer.Accepts(want, given):
		return errors.New("iss: the response names another issuer")
	case o.issuer != nil:
		return nil
	}
	for _, other := range o.all {
		if other.issuer != nil && other.issuer.Is(given) {
			return fmt.Errorf("iss: the response names the issuer of provider %s", other.provider.ID)
		}
	}
	return nil
}

// noteIssuer says in the log, once, that the provider names an issuer that no
// setting compares. It is called after a sign-in has succeeded.
func (o *oauthClient) noteIssuer(ctx context.Context, log *slog.Logger, given string) {
	if o.issuer != nil || given == "" {
		return
	}
	o.foreignIssuer.Do(func() {
		log.WarnContext(ctx, "auth: the answers of the provider name an issuer, which is not compared because the provider has no Issuer",
			slog.String("provider", o.provider.ID), slog.String("iss", given[:min(len(given), maxShownIssuer)]))
	})
}

// maxShownIssuer is the length in bytes up to which the log shows an issuer.
const maxShownIssuer = 300

// openChecks finds the sign-in that an answer belongs to, and compares its state
// with the state parameter.
func (e *engine) openChecks(r *request, o *oauthClient, params url.Values) (*began.SignIn, error) {
	checks, deleted, err := e.begun(r).OpenSignIn(&o.checks, params.Get("state"))
	r.pending = append(r.pending, deleted...)
	if err != nil {
		return nil, ours(err)
	}
	switch {
	case checks.CallbackURL != "":
		r.callbackURL = checks.CallbackURL
	case checks.LostURL:
		r.callbackURL = e.config.home(r.origin)
	}
	deleted, err = checks.CheckState(params.Get("state"))
	r.pending = append(r.pending, deleted...)
	return checks, ours(err)
}

// exchange turns the code into tokens and a profile.
func (e *engine) exchange(ctx context.Context, r *request, o *oauthClient, checks *began.SignIn, params url.Values) (TokenSet, Profile, error) {
	fail := func(err error) (TokenSet, Profile, error) { return TokenSet{}, nil, err }
	take := func(check began.Check) (string, error) {
		if !o.checks.Has(check) {
			return "", nil
		}
		value, deleted, err := checks.Take(check)
		r.pending = append(r.pending, deleted...)
		return value, ours(err)
	}
	verifier, err := take(began.PKCE)
	if err != nil {
		return fail(err)
	}
	tokens, err := e.requestTokens(ctx, r, o, params, verifier)
	if err != nil {
		return fail(err)
	}
	nonce, err := take(began.Nonce)
	if err != nil {
		return fail(err)
	}
	profile, err := profileOf(ctx, o, params, tokens, oauth.Expected{Nonce: nonce, AccessToken: tokens.AccessToken, FreshSince: checks.FreshSince})
	if err != nil {
		return fail(err)
	}
	return tokens, profile, nil
}

func (e *engine) requestTokens(ctx context.Context, r *request, o *oauthClient, params url.Values, verifier string) (TokenSet, error) {
	p := o.provider
	redirectURI := e.redirectURI(r, o)
	if request := p.Token.Request; request != nil {
		tokens, err := guard(ctx, request, shown(TokenRequest{
			Provider: *p, Client: o.http, Code: params.Get("code"), RedirectURI: redirectURI, CodeVerifier: verifier, Params: params,
		}))
		switch {
		case err != nil:
			return TokenSet{}, oauth.Outage(err)
		case tokens == nil || tokens.AccessToken == "":
			return TokenSet{}, errors.New("Token.Request returned no access token")
		}
		return withExpiry(*tokens, e.config.Clock()), nil
	}
	endpoint, err := o.orDiscovered(ctx, o.token, oauth.TokenEndpoint, p.Token.Params)
	if err != nil {
		return TokenSet{}, err
	}
	client := p.clientAuth(e.config.Clock)
	if o.issuer != nil && (p.Client.TokenEndpointAuthMethod == ClientSecretJWT || p.Client.TokenEndpointAuthMethod == PrivateKeyJWT) {
		if client.Issuer, err = o.issuer.Identifier(ctx); err != nil {
			return TokenSet{}, err
		}
	}
	members, err := oauth.Exchange{
		Endpoint: endpoint, Client: o.http, Auth: client, Code: params.Get("code"), RedirectURI: redirectURI, CodeVerifier: verifier,
		Prepare: p.Token.Prepare, Conform: p.Token.Conform,
	}.Do(ctx)
	if err != nil {
		return TokenSet{}, err
	}
	tokens, err := tokenSet(members)
	if err != nil {
		return TokenSet{}, err
	}
	return withExpiry(tokens, e.config.Clock()), nil
}

// profileOf returns the claims about the person who signs in. See
// docs/protocol.md, "OAuth and OpenID Connect".
func profileOf(ctx context.Context, o *oauthClient, params url.Values, tokens TokenSet, want oauth.Expected) (Profile, error) {
	p := o.provider
	var claims map[string]any
	if tokens.IDToken != "" && o.verifier != nil {
		var err error
		if claims, err = o.verifier.IDToken(ctx, tokens.IDToken, want); err != nil {
			return nil, err
		}
	}
	if p.kind() == TypeOIDC {
		if claims == nil {
			return nil, errors.New("the provider returned no ID token")
		}
		if !p.UserInfoOnly {
			withPostedUser(o, params, claims)
			return claims, nil
		}
	}
	if request := p.UserInfo.Request; request != nil {
		profile, err := guard(ctx, request, shown(UserInfoRequest{Provider: *p, Client: o.http, Tokens: tokens, Params: params, Claims: maps.Clone(Profile(claims))}))
		if err == nil && profile == nil {
			err = errors.New("UserInfo.Request returned no profile")
		}
		if err != nil {
			return nil, oauth.Outage(err)
		}
		return profile, samePerson(p, claims, profile)
	}
	endpoint, err := o.orDiscovered(ctx, o.userInfo, oauth.UserInfoEndpoint, p.UserInfo.Params)
	if err != nil {
		return nil, err
	}
	profile, err := oauth.UserInfo(ctx, o.http, endpoint, tokens.AccessToken, o.verifier, p.Client.UserInfoSignedResponseAlg)
	if err != nil {
		return nil, err
	}
	return profile, samePerson(p, claims, profile)
}

// samePerson checks that a userinfo answer is about the person in the ID token
// (OpenID Connect Core 1.0 section 5.3.2). With plain OAuth, the ID token does
// not decide who signs in, so an answer without sub is accepted.
func samePerson(p *OAuth, claims map[string]any, profile Profile) error {
	sub := profile.String("sub")
	switch {
	case claims == nil, sub == "" && profile["sub"] == nil && p.kind() == TypeOAuth, identifies(sub) && sub == claims["sub"]:
		return nil
	case sub == "":
		return errors.New("userinfo: sub is missing, so the response may be about another person than the ID token; a UserInfo.Request must return sub, which it finds in Claims")
	}
	return errors.New("userinfo: sub differs from the ID token's, so the response is about another person")
}

// withPostedUser adds the field user of a posted answer to the claims. Apple
// sends the person's name there at the first sign-in.
func withPostedUser(o *oauthClient, params url.Values, claims map[string]any) {
	raw := params.Get("user")
	if !o.formPost || raw == "" || claims["user"] != nil {
		return
	}
	var user map[string]any
	if json.Unmarshal([]byte(raw), &user) == nil && user != nil {
		claims["user"] = user
	}
}

// signInURL is the URL of the page where the person can start over.
func (e *engine) signInURL(r *request) string {
	if page := e.config.Pages.SignIn; page != "" {
		return r.absolute(page)
	}
	return e.url(r, ActionSignIn)
}

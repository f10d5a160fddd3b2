package golden_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// configured makes our configuration from a recorded one (README of the
// recording, section 8). All its functions write to the recorder.
func (r *replay) configured() (auth.Config, error) {
	c := auth.Config{
		Logger: slog.New(logHandler(r.rec.log)),
		Clock:  func() time.Time { return r.now },
	}
	for _, name := range slices.Sorted(maps.Keys(r.config)) {
		raw := r.config[name]
		if string(raw) == "null" {
			continue
		}
		set, ok := options[name]
		if !ok {
			return c, fmt.Errorf("unknown option %s", name)
		}
		if err := set(r, &c, raw); err != nil {
			return c, fmt.Errorf("option %s: %w", name, err)
		}
	}
	r.fillCallbacks(&c)
	if env := r.env; env != nil {
		auth.SetEnvDefaults(func(name string) string { return env[name] }, &c, false)
	}
	if c.Session.Strategy == auth.StrategyJWT || c.Session.Strategy == "" && c.Adapter == nil {
		// Auth.js replaces a token each time it reads one.
		c.Session.UpdateAge = new(time.Duration)
		r.applied["A session token is replaced once per UpdateAge"] = true
	}
	for _, s := range c.Secret {
		if !slices.Contains(r.values.secrets, s) {
			r.values.secrets = append(r.values.secrets, s)
		}
	}
	return c, nil
}

// options maps each member of the recorded configuration to a function that
// sets our option.
var options = map[string]func(r *replay, c *auth.Config, raw json.RawMessage) error{
	"secret": func(_ *replay, c *auth.Config, raw json.RawMessage) error {
		var one string
		if json.Unmarshal(raw, &one) == nil {
			if one != "" {
				c.Secret = []string{one}
			}
			return nil
		}
		return json.Unmarshal(raw, &c.Secret)
	},
	"basePath":  func(_ *replay, c *auth.Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.BasePath) },
	"trustHost": func(_ *replay, c *auth.Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.TrustHost) },
	"redirectProxyUrl": func(_ *replay, c *auth.Config, raw json.RawMessage) error {
		return json.Unmarshal(raw, &c.RedirectProxyURL)
	},
	"useSecureCookies": func(_ *replay, c *auth.Config, raw json.RawMessage) error {
		return json.Unmarshal(raw, &c.UseSecureCookies)
	},
	"pages": func(_ *replay, c *auth.Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.Pages) },
	"theme": func(_ *replay, c *auth.Config, raw json.RawMessage) error { return json.Unmarshal(raw, &c.Theme) },
	"experimental": func(_ *replay, c *auth.Config, raw json.RawMessage) error {
		return json.Unmarshal(raw, &c.Experimental)
	},
	"env": func(r *replay, _ *auth.Config, raw json.RawMessage) error { return json.Unmarshal(raw, &r.env) },
	"raw": func(r *replay, _ *auth.Config, raw json.RawMessage) error { return json.Unmarshal(raw, &r.raw) },
	"skipCSRFCheck": func(_ *replay, c *auth.Config, raw json.RawMessage) error {
		if string(raw) == "true" {
			c.SkipCSRFCheck = auth.SkipCSRFCheck
		}
		return nil
	},
	"session": func(r *replay, c *auth.Config, raw json.RawMessage) error {
		var s struct {
			Strategy             auth.Strategy
			MaxAge               float64
			UpdateAge            *float64
			GenerateSessionToken *struct{ Return string }
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		c.Session = auth.SessionConfig{Strategy: s.Strategy, MaxAge: seconds(s.MaxAge)}
		if s.UpdateAge != nil {
			c.Session.UpdateAge = new(seconds(*s.UpdateAge))
		}
		if g := s.GenerateSessionToken; g != nil {
			token := r.values.expand(g.Return)
			r.values.match(g.Return, token)
			c.Session.GenerateSessionToken = func(context.Context) (string, error) { return token, nil }
		}
		return nil
	},
	"jwt":       func(_ *replay, c *auth.Config, raw json.RawMessage) error { return setCodec(c, raw) },
	"cookies":   func(_ *replay, c *auth.Config, raw json.RawMessage) error { return setCookies(c, raw) },
	"adapter":   func(r *replay, c *auth.Config, raw json.RawMessage) error { return r.setAdapter(c, raw) },
	"providers": func(r *replay, c *auth.Config, raw json.RawMessage) error { return r.setProviders(c, raw) },
	"callbacks": func(r *replay, c *auth.Config, raw json.RawMessage) error { return r.setCallbacks(c, raw) },
	"events": func(r *replay, _ *auth.Config, raw json.RawMessage) error {
		var e struct{ ThrowOn []string }
		err := json.Unmarshal(raw, &e)
		r.failingEvents = e.ThrowOn
		return err
	},
}

func setCodec(c *auth.Config, raw json.RawMessage) error {
	var j struct{ Codec string }
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	switch j.Codec {
	case "base64json":
		c.JWT.Encode = func(_ context.Context, p jwt.EncodeParams) (string, error) {
			b, err := inOrder(p.Token, "name", "email", "picture", "sub")
			return base64.RawURLEncoding.EncodeToString(b), err
		}
		c.JWT.Decode = func(_ context.Context, p jwt.DecodeParams) (auth.Claims, error) {
			b, err := base64.RawURLEncoding.DecodeString(p.Token)
			if err != nil {
				return nil, err
			}
			var claims auth.Claims
			return claims, json.Unmarshal(b, &claims)
		}
	case "decode-null":
		c.JWT.Encode = func(_ context.Context, p jwt.EncodeParams) (string, error) { return jwt.Encode(p) }
		c.JWT.Decode = func(context.Context, jwt.DecodeParams) (auth.Claims, error) { return nil, nil }
	default:
		return fmt.Errorf("unknown codec %q", j.Codec)
	}
	return nil
}

// inOrder writes a JSON object with these members first, in this order, as
// Auth.js does.
func inOrder(claims auth.Claims, first ...string) ([]byte, error) {
	rest := maps.Clone(claims)
	b := []byte("{")
	add := func(name string) error {
		v, err := json.Marshal(claims[name])
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		b = append(b, v...)
		delete(rest, name)
		return err
	}
	for _, name := range first {
		if _, ok := claims[name]; ok {
			if err := add(name); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		if err := add(name); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

func setCookies(c *auth.Config, raw json.RawMessage) error {
	var cookies map[string]struct {
		Name    string
		Options struct {
			HTTPOnly, Secure *bool
			SameSite         any
			Domain, Path     string
			MaxAge           float64
			Partitioned      bool
			Priority         string
		}
	}
	if err := json.Unmarshal(raw, &cookies); err != nil {
		return err
	}
	fields := map[string]*auth.CookieConfig{
		"sessionToken": &c.Cookies.SessionToken, "callbackUrl": &c.Cookies.CallbackURL, "csrfToken": &c.Cookies.CSRFToken,
		"pkceCodeVerifier": &c.Cookies.PKCECodeVerifier, "state": &c.Cookies.State, "nonce": &c.Cookies.Nonce,
		"webauthnChallenge": &c.Cookies.WebAuthnChallenge,
	}
	sameSite := map[any]http.SameSite{
		nil: 0, "lax": http.SameSiteLaxMode, "strict": http.SameSiteStrictMode, "none": http.SameSiteNoneMode,
		true: http.SameSiteStrictMode, false: http.SameSiteDefaultMode,
	}
	for name, cookie := range cookies {
		field, ok := fields[name]
		if !ok {
			return fmt.Errorf("unknown cookie %s", name)
		}
		o := cookie.Options
		*field = auth.CookieConfig{
			Name: cookie.Name, HTTPOnly: o.HTTPOnly, Secure: o.Secure, SameSite: sameSite[o.SameSite],
			Domain: o.Domain, Path: o.Path, MaxAge: seconds(o.MaxAge), Partitioned: o.Partitioned, Priority: capital(o.Priority),
		}
	}
	return nil
}

func (r *replay) setAdapter(c *auth.Config, raw json.RawMessage) error {
	var a struct {
		Kind                 string
		Omit                 []string
		ThrowOn              map[string]string
		UseVerificationToken string
	}
	if err := json.Unmarshal(raw, &a); err != nil {
		return err
	}
	if a.Kind != "memory" {
		return fmt.Errorf("unknown adapter %q", a.Kind)
	}
	r.store.used, r.store.omit, r.store.throwOn = true, a.Omit, a.ThrowOn
	r.store.byTokenOnly = a.UseVerificationToken == "by-token-only"
	var err error
	c.Adapter, err = adapter.Partial(r.store)
	return err
}

// recordedProvider is a provider in the recorded configuration.
type recordedProvider struct {
	ID, Name string
	Type     auth.ProviderType
	// Builtin is the ID of a provider of the catalogue, which Options change.
	Builtin string
	Options *recordedProvider

	// credentials
	Credentials ordered
	Authorize   *recordedFunction
	// email
	From                      string
	MaxAge                    float64
	Secret                    string
	SendVerificationRequest   *recordedFunction
	NormalizeIdentifier       *recordedFunction
	GenerateVerificationToken *struct{ Return string }
	// oauth, oidc
	Issuer, ClientID, ClientSecret string
	Authorization, Token, UserInfo recordedEndpoint
	Checks                         []auth.Check
	Client                         struct {
		TokenEndpointAuthMethod auth.ClientAuth `json:"token_endpoint_auth_method"`
	}
	Profile, Account                  *recordedFunction
	IDToken                           *bool
	AllowDangerousEmailAccountLinking bool
	RedirectProxyURL                  string
	CustomFetch                       bool
	// webauthn
	EnableConditionalUI bool
	FormFields          *ordered
}

// recordedFunction describes a function of the application.
type recordedFunction struct {
	Kind, Error, Message, Code string
	User                       map[string]any
	Fields                     []string
}

// err returns the error that the function throws.
func (f *recordedFunction) err() error {
	if f.Error == "" || f.Error == "Error" {
		return errors.New(cmp.Or(f.Message, "failed"))
	}
	return &auth.Error{Type: auth.ErrorType(f.Error), Message: f.Message, Code: f.Code}
}

// recordedEndpoint is an endpoint: a URL or an object.
type recordedEndpoint struct {
	URL     string
	Params  url.Values
	Request *recordedFunction
}

func (e *recordedEndpoint) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &e.URL) == nil {
		return nil
	}
	var o struct {
		URL     string
		Params  map[string]any
		Request *recordedFunction
	}
	if err := json.Unmarshal(data, &o); err != nil {
		return err
	}
	e.URL, e.Request, e.Params = o.URL, o.Request, url.Values{}
	for name, v := range o.Params {
		s, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				return err
			}
			s = string(b)
		}
		e.Params.Set(name, s)
	}
	return nil
}

func (r *replay) setProviders(c *auth.Config, raw json.RawMessage) error {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, members := range list {
		if overrides, ok := members["wrapOptions"]; ok {
			if err := json.Unmarshal(overrides, &members); err != nil {
				return err
			}
		}
		whole, err := json.Marshal(members)
		if err != nil {
			return err
		}
		var p recordedProvider
		if err := json.Unmarshal(whole, &p); err != nil {
			return err
		}
		made, err := r.provider(p)
		if err != nil {
			return err
		}
		c.Providers = append(c.Providers, made)
	}
	return nil
}

func (r *replay) provider(p recordedProvider) (auth.Provider, error) {
	switch {
	case p.Builtin != "":
		return r.builtin(p)
	case p.Type == auth.TypeCredentials:
		return r.credentials(p)
	case p.Type == auth.TypeEmail:
		return r.emailProvider(p), nil
	case p.Type == auth.TypeOAuth || p.Type == auth.TypeOIDC:
		return r.oauth(p), nil
	case p.Type == auth.TypeWebAuthn:
		w := &auth.WebAuthn{ID: p.ID, Name: p.Name, EnableConditionalUI: p.EnableConditionalUI, Ceremonies: noCeremonies{}}
		if p.FormFields != nil {
			var err error
			w.FormFields, err = fields(*p.FormFields)
			return w, err
		}
		return w, nil
	}
	return nil, fmt.Errorf("unknown provider type %q", p.Type)
}

// noCeremonies is used in configurations that New refuses.
type noCeremonies struct{ auth.WebAuthnCeremonies }

func (r *replay) credentials(p recordedProvider) (auth.Provider, error) {
	c := &auth.Credentials{ID: p.ID, Name: p.Name}
	var err error
	if c.Fields, err = fields(p.Credentials); err != nil {
		return nil, err
	}
	if f := p.Authorize; f != nil {
		c.Authorize = func(_ context.Context, form auth.Form, hr *http.Request) (*auth.User, error) {
			r.rec.provider("authorize", plain(form), map[string]any{"method": hr.Method, "url": requestURL(hr)})
			switch f.Kind {
			case "match":
				if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
					return nil, nil
				}
				user := map[string]any{"id": "cred-1", "name": "Ada Lovelace", "email": "ada@example.com", "image": "https://example.com/ada.png"}
				maps.Copy(user, f.User)
				return userOf(user), nil
			case "return":
				return userOf(f.User), nil
			case "throw":
				return nil, f.err()
			case "echo-request":
				body, err := io.ReadAll(hr.Body)
				return &auth.User{ID: "cred-1", Name: hr.Method + " " + requestURL(hr), Email: string(body)}, err
			}
			return nil, fmt.Errorf("unknown authorize %q", f.Kind)
		}
	}
	return c, nil
}

// userOf makes the user that a function of the application returned.
func userOf(row map[string]any) *auth.User {
	u := &auth.User{ID: text(row, "id"), Email: text(row, "email"), Name: text(row, "name"), Image: text(row, "image")}
	for k, v := range row {
		if v == nil || !slices.Contains([]string{"id", "email", "name", "image"}, k) {
			if u.Extra == nil {
				u.Extra = map[string]any{}
			}
			u.Extra[k] = v
		}
	}
	return u
}

func fields(o ordered) ([]auth.Field, error) {
	list := []auth.Field{}
	for _, m := range o {
		var attributes map[string]any
		if err := json.Unmarshal(m.value, &attributes); err != nil {
			return nil, err
		}
		f := auth.Field{Name: m.name, Attributes: map[string]string{}}
		for k, v := range attributes {
			s := fmt.Sprint(v)
			switch k {
			case "label":
				f.Label = s
			case "type":
				f.Type = s
			case "placeholder":
				f.Placeholder = s
			default:
				if v == true {
					s = ""
				}
				f.Attributes[k] = s
			}
		}
		list = append(list, f)
	}
	return list, nil
}

func (r *replay) emailProvider(p recordedProvider) auth.Provider {
	e := &auth.Email{ID: p.ID, Name: p.Name, From: p.From, MaxAge: seconds(p.MaxAge)}
	if p.Secret != "" {
		e.Secret = []string{p.Secret}
	}
	e.SendVerificationRequest = func(_ context.Context, v auth.VerificationRequest) error {
		r.rec.email(map[string]any{
			"identifier": v.Identifier, "token": v.Token, "url": v.URL, "expires": date(v.Expires),
			"provider": map[string]any{
				"id": v.Provider.ID, "type": "email", "name": v.Provider.Name, "from": v.Provider.From,
				"maxAge": v.Provider.MaxAge.Seconds(),
			},
			"theme": map[string]any{
				"colorScheme": string(v.Theme.ColorScheme), "logo": v.Theme.Logo,
				"brandColor": v.Theme.BrandColor, "buttonText": v.Theme.ButtonText,
			},
			"request": map[string]any{"method": v.Request.Method, "url": requestURL(v.Request)},
		})
		if f := p.SendVerificationRequest; f != nil {
			return f.err()
		}
		return nil
	}
	if f := p.NormalizeIdentifier; f != nil {
		e.NormalizeIdentifier = func(s string) (string, error) {
			r.rec.provider("normalizeIdentifier", s)
			if f.Kind == "throw" {
				return "", f.err()
			}
			local, domain, _ := strings.Cut(strings.ToLower(s), "@")
			local, _, _ = strings.Cut(local, "+")
			return local + "@" + domain, nil
		}
	}
	if g := p.GenerateVerificationToken; g != nil {
		e.GenerateVerificationToken = func(context.Context) (string, error) { return g.Return, nil }
	}
	return e
}

const defaultChecks = "The default checks are pkce and state"

func (r *replay) oauth(p recordedProvider) auth.Provider {
	if p.Checks == nil {
		// The recorded default. Our default has state in addition; another test
		// checks it.
		p.Checks = []auth.Check{auth.CheckPKCE}
		if r.scenario.usesOAuth() {
			r.applied[defaultChecks] = true
		}
	}
	o := &auth.OAuth{
		ID: p.ID, Name: p.Name, Type: p.Type, Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: p.ClientSecret,
		Authorization: auth.AuthorizationEndpoint{URL: p.Authorization.URL, Params: p.Authorization.Params},
		Token:         auth.TokenEndpoint{URL: p.Token.URL, Params: p.Token.Params},
		UserInfo:      auth.UserInfoEndpoint{URL: p.UserInfo.URL, Params: p.UserInfo.Params},
		Checks:        p.Checks, Client: auth.ClientMetadata{TokenEndpointAuthMethod: p.Client.TokenEndpointAuthMethod},
		UserInfoOnly:                      p.IDToken != nil && !*p.IDToken,
		AllowDangerousEmailAccountLinking: p.AllowDangerousEmailAccountLinking,
		RedirectProxyURL:                  p.RedirectProxyURL,
		HTTPClient: &http.Client{
			Transport:     transport{r, p.CustomFetch},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	if f := p.UserInfo.Request; f != nil {
		o.UserInfo.Request = func(_ context.Context, q auth.UserInfoRequest) (auth.Profile, error) {
			r.rec.provider("userinfo.request", map[string]any{"tokens": tokensJSON(&q.Tokens)})
			return nil, nil
		}
	}
	if f := p.Profile; f != nil {
		o.Profile = func(_ context.Context, profile auth.Profile, tokens auth.TokenSet) (*auth.User, error) {
			r.rec.provider("profile", plain(profile), tokensJSON(&tokens))
			if f.Kind == "throw" {
				return nil, f.err()
			}
			return userOf(f.User), nil
		}
	}
	if f := p.Account; f != nil {
		o.Account = func(tokens auth.TokenSet) *auth.TokenSet {
			r.rec.provider("account", tokensJSON(&tokens))
			if f.Kind != "keep" {
				return nil
			}
			kept := auth.TokenSet{Extra: map[string]any{}}
			for _, name := range f.Fields {
				switch name {
				case "access_token":
					kept.AccessToken = tokens.AccessToken
				case "id_token":
					kept.IDToken = tokens.IDToken
				default:
					kept.Extra[name] = tokens.Extra[name]
				}
			}
			return &kept
		}
	}
	return o
}

// builtin makes a provider of the catalogue.
func (r *replay) builtin(p recordedProvider) (auth.Provider, error) {
	o := cmp.Or(p.Options, &recordedProvider{})
	if o.Checks == nil {
		o.Checks = []auth.Check{auth.CheckPKCE}
		r.applied[defaultChecks] = true
	}
	opts := []providers.Option{
		providers.WithClient(o.ClientID, o.ClientSecret), providers.WithOptions(func(p *auth.OAuth) { p.Checks = o.Checks }),
	}
	for name, values := range o.Authorization.Params {
		opts = append(opts, providers.WithParam(name, values[0]))
	}
	return providers.ByID(p.Builtin, opts...)
}

// recordedCallback describes the result of a callback of the recorded
// configuration.
type recordedCallback struct {
	always            *bool // true or false in place of an object
	Kind              string
	Return            json.RawMessage
	Throw             *recordedFunction
	Request, Callback *recordedCallback // by-phase
	Origins           []string
	Suffix            string
	Claims, Fields    map[string]any
	Size              int
}

func (c *recordedCallback) UnmarshalJSON(data []byte) error {
	var always bool
	if json.Unmarshal(data, &always) == nil {
		c.always = &always
		return nil
	}
	type plainCallback recordedCallback
	return json.Unmarshal(data, (*plainCallback)(c))
}

func (r *replay) setCallbacks(c *auth.Config, raw json.RawMessage) error {
	r.callbacks = map[string]*recordedCallback{}
	if err := json.Unmarshal(raw, &r.callbacks); err != nil {
		return err
	}
	if f := r.callbacks["redirect"]; f != nil {
		c.Callbacks.Redirect = func(_ context.Context, p auth.RedirectParams) (string, error) {
			r.rec.callback("redirect", map[string]any{"url": p.URL, "baseUrl": p.BaseURL})
			return f.redirect(p)
		}
	}
	return nil
}

func (c *recordedCallback) redirect(p auth.RedirectParams) (string, error) {
	switch {
	case c.Throw != nil:
		return "", c.Throw.err()
	case c.Return != nil:
		var s string
		return s, json.Unmarshal(c.Return, &s)
	}
	base, err := url.Parse(p.BaseURL)
	if err != nil {
		return "", err
	}
	u, err := base.Parse(p.URL)
	if err != nil {
		return p.BaseURL, nil //nolint:nilerr // a URL that can't be parsed is replaced
	}
	origin := u.Scheme + "://" + u.Host
	switch c.Kind {
	case "allow-origins":
		if strings.HasPrefix(p.URL, "/") || slices.Contains(c.Origins, origin) {
			return u.String(), nil
		}
		return p.BaseURL, nil
	case "append":
		switch {
		case strings.HasPrefix(p.URL, "/"):
			return p.BaseURL + p.URL + c.Suffix, nil
		case origin == p.BaseURL:
			return p.URL + c.Suffix, nil
		}
		return p.BaseURL + c.Suffix, nil
	}
	return "", fmt.Errorf("unknown redirect callback %q", c.Kind)
}

// fillCallbacks sets callbacks and events that write to the recorder. They do
// what the scenario says, or what the defaults do. The default redirect
// callback is our own, so that it is tested too.
func (r *replay) fillCallbacks(c *auth.Config) {
	c.Callbacks.SignIn = func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
		args := map[string]any{"user": userJSON(p.User), "account": accountJSON(p.Account)}
		if p.Profile != nil {
			args["profile"] = plain(p.Profile)
		}
		if p.Credentials != nil {
			args["credentials"] = plain(p.Credentials)
		}
		if p.VerificationRequest {
			args["email"] = map[string]any{"verificationRequest": true}
		}
		r.rec.callback("signIn", args)
		f := r.callbacks["signIn"]
		if f != nil && f.Kind == "by-phase" {
			if f = f.Callback; p.VerificationRequest {
				f = r.callbacks["signIn"].Request
			}
		}
		switch {
		case f == nil || f.always != nil && *f.always:
			return auth.Allow(), nil
		case f.Throw != nil:
			return auth.Deny(), f.Throw.err()
		case f.always != nil || string(f.Return) == "null":
			return auth.Deny(), nil
		}
		var to string
		err := json.Unmarshal(f.Return, &to)
		return auth.DenyTo(to), err
	}
	c.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
		if p.User == nil && r.outsideSession() {
			return p.Token, nil
		}
		args := map[string]any{"token": claimsJSON(p.Token), "user": userJSON(p.User), "account": accountJSON(p.Account), "session": rawJSON(p.Session)}
		if p.Profile != nil {
			args["profile"] = plain(p.Profile)
		}
		if p.Trigger != auth.TriggerNone {
			args["trigger"] = string(p.Trigger)
		}
		if p.IsNewUser { //nolint:staticcheck // deprecated, and recorded
			args["isNewUser"] = true
		}
		r.rec.callback("jwt", args)
		if f := r.callbacks["jwt"]; f != nil {
			return f.jwt(p)
		}
		return p.Token, nil
	}
	c.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
		if r.outsideSession() {
			return p.Session, nil
		}
		args := map[string]any{"session": sessionJSON(p.Session), "token": claimsJSON(p.Token), "user": userJSON(p.User), "newSession": rawJSON(p.NewSession)}
		if p.Session.UserID != "" {
			object(args["session"])["userId"] = p.Session.UserID
		}
		if p.Trigger != auth.TriggerNone {
			args["trigger"] = string(p.Trigger)
		}
		r.rec.callback("session", args)
		if f := r.callbacks["session"]; f != nil {
			return f.session(p)
		}
		return p.Session, nil
	}
	r.fillEvents(c)
}

// outsideSession reports whether the step is not for the session route. There,
// Auth.js does not call the callbacks of a session.
func (r *replay) outsideSession() bool {
	action, _ := r.path(&r.scenario.Steps[r.step])
	if action == "session" {
		return false
	}
	r.applied["A user whom a callback hides is not signed in"] = true
	return true
}

func (c *recordedCallback) jwt(p auth.JWTParams) (auth.Claims, error) {
	switch {
	case c.Throw != nil:
		return nil, c.Throw.err()
	case c.Return != nil:
		var claims auth.Claims
		return claims, json.Unmarshal(c.Return, &claims)
	}
	token := maps.Clone(p.Token)
	switch c.Kind {
	case "add", "add-on-sign-in":
		if c.Kind == "add" || p.User != nil {
			maps.Copy(token, c.Claims)
		}
	case "merge-session-on-update":
		if session, ok := rawJSON(p.Session).(map[string]any); ok && p.Trigger == auth.TriggerUpdate {
			maps.Copy(token, session)
		}
	case "keep-account":
		if p.Account != nil {
			token["provider"] = p.Account.Provider
			if p.Account.AccessToken != "" {
				token["accessToken"] = p.Account.AccessToken
			}
		}
	case "blob-on-sign-in":
		if p.User != nil {
			token["blob"] = strings.Repeat("x", c.Size)
		}
	case "blob-on-update":
		if session, ok := rawJSON(p.Session).(map[string]any); ok && p.Trigger == auth.TriggerUpdate {
			size, _ := session["size"].(float64)
			token["blob"] = strings.Repeat("y", int(size))
		}
	default:
		return nil, fmt.Errorf("unknown jwt callback %q", c.Kind)
	}
	return token, nil
}

func (c *recordedCallback) session(p auth.SessionParams) (*auth.Session, error) {
	switch {
	case c.Throw != nil:
		return nil, c.Throw.err()
	case c.Return != nil:
		var extra map[string]any
		if err := json.Unmarshal(c.Return, &extra); err != nil || extra == nil {
			return nil, err
		}
		return &auth.Session{Extra: extra}, nil
	}
	s := *p.Session
	switch c.Kind {
	case "whole":
	case "user-id":
		u := *s.User
		u.ID = p.Token.String("sub")
		if p.User != nil {
			u.ID = p.User.ID
		}
		s.User = &u
	case "add":
		s.Extra = map[string]any{}
		maps.Copy(s.Extra, p.Session.Extra)
		maps.Copy(s.Extra, c.Fields)
	default:
		return nil, fmt.Errorf("unknown session callback %q", c.Kind)
	}
	return &s, nil
}

func (r *replay) fillEvents(c *auth.Config) {
	done := func(name string, message map[string]any) error {
		r.rec.event(name, message)
		if slices.Contains(r.failingEvents, name) {
			return errors.New(name + " handler failed")
		}
		return nil
	}
	c.Events = auth.Events{
		CreateUser: func(_ context.Context, e auth.CreateUserEvent) error {
			return done("createUser", map[string]any{"user": userJSON(e.User)})
		},
		UpdateUser: func(_ context.Context, e auth.UpdateUserEvent) error {
			return done("updateUser", map[string]any{"user": userJSON(e.User)})
		},
		LinkAccount: func(_ context.Context, e auth.LinkAccountEvent) error {
			return done("linkAccount", map[string]any{"user": userJSON(e.User), "account": accountJSON(e.Account), "profile": userJSON(e.Profile)})
		},
		SignIn: func(_ context.Context, e auth.SignInEvent) error {
			message := map[string]any{"user": userJSON(e.User), "account": accountJSON(e.Account)}
			if e.Profile != nil {
				message["profile"] = plain(e.Profile)
			}
			if e.IsNewUser {
				message["isNewUser"] = true
			}
			return done("signIn", message)
		},
		SignOut: func(_ context.Context, e auth.SignOutEvent) error {
			message := map[string]any{"token": claimsJSON(e.Token)}
			if e.Session != nil {
				message["session"] = sessionRow(*e.Session)
			}
			return done("signOut", message)
		},
		Session: func(_ context.Context, e auth.SessionEvent) error {
			return done("session", map[string]any{"session": sessionJSON(e.Session), "token": claimsJSON(e.Token)})
		},
	}
}

// capital returns s with its first letter in upper case.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

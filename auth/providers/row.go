package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/envname"
	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
)

// row is one OAuth or OpenID Connect provider. Endpoints, parameters and scope
// are templates. A parameter is left out if its template names an option
// without a value.
type row struct {
	id, name string
	// constructor is the name of the function; note is for the reader of its
	// comment.
	constructor, note string
	kind              auth.ProviderType // empty means oauth

	// issuer is the issuer of a provider that has only one; others have an
	// option issuer. An OAuth provider has an issuer for the parameter iss of
	// its authorization responses (RFC 9207), which is compared if it is
	// present.
	issuer string
	// issuerSuffix is the end of the issuer that the option may leave out.
	issuerSuffix string
	wellKnown    string

	authorization, token, userInfo string
	// params are parameters of the authorization request.
	params                    map[string]string
	tokenQuery, userInfoQuery map[string]string
	request                   request
	// exchange says how the code is exchanged if not by a form.
	exchange *exchange

	// scope is sent by default; if it is empty, the core uses its own default.
	scope string
	// emptyScope sends an empty scope parameter, noScope sends none.
	emptyScope, noScope bool

	// without are the checks that the provider does not allow.
	without      []auth.Check
	clientAuth   auth.ClientAuth
	userInfoOnly bool
	// lenient says that token responses depart from RFC 6749; see conform.
	lenient bool

	// profile says where the fields of the user are; zero means the standard
	// claims.
	profile mapping
	// noEmail says that standard claims have no address with the scope of the row.
	noEmail bool
	// verified is the path to the member of the profile that says whether the
	// address is verified. proof reads the profile where a path is not enough.
	// Without either, the standard claims are used.
	verified string
	proof    func(auth.Profile) auth.EmailProof

	options []option
	// hook sets what the table can't express, before the rest is filled in.
	hook func(*completion) error
	// describe changes the Info where it can't be derived from the table.
	describe func(*Info)
	// color is the color of the button.
	color string
}

// option is a setting that a provider takes beside client ID and secret.
type option struct {
	name     string
	required bool
	// fallback is the default; it may name other options in braces.
	fallback string
}

// provider makes the provider of a row. Its function Complete fills in the
// values that depend on the environment.
func (r *row) provider(opts []Option) *auth.OAuth {
	s := collect(opts)
	p := &auth.OAuth{
		ID: r.id, Name: r.name, Type: cmp.Or(r.kind, auth.TypeOAuth), Style: auth.Style{BrandColor: r.color},
		ClientID: s.clientID, ClientSecret: s.clientSecret, Issuer: s.named["issuer"], HTTPClient: s.client,
	}
	// An option that decides the issuer has precedence over the environment.
	for _, o := range r.options {
		if o.name == "issuer" && p.Issuer == "" && strings.Contains(o.fallback, "{") {
			if issuer, ok := expand(o.fallback, s.named); ok {
				p.Issuer = issuer
			}
		}
	}
	p.Complete = func(p *auth.OAuth) error { return r.complete(p, s) }
	for _, change := range s.oauth {
		change(p)
	}
	return p
}

// completion is a provider that is being filled in.
type completion struct {
	row      *row
	provider *auth.OAuth
	settings *settings
	vars     map[string]string
}

// complete fills in what the application left empty.
func (r *row) complete(p *auth.OAuth, s *settings) error {
	problems := r.refused(s)
	p.NoEmail = p.NoEmail || p.Profile == nil && (r.noEmail || r.profile.lacksEmail())
	c := &completion{row: r, provider: p, settings: s, vars: map[string]string{"clientID": p.ClientID, "clientSecret": p.ClientSecret}}
	for _, o := range r.options {
		if o.name != "issuer" {
			problems = append(problems, c.setOption(o, s.named[o.name]))
		}
	}
	for _, o := range r.options {
		if o.name == "issuer" {
			problems = append(problems, c.setOption(o, p.Issuer))
			p.Issuer = cmp.Or(p.Issuer, c.vars["issuer"])
		}
	}
	if r.issuerSuffix != "" && p.Issuer != "" {
		p.Issuer = strings.TrimSuffix(strings.TrimSuffix(p.Issuer, "/"), r.issuerSuffix) + r.issuerSuffix
	}
	c.vars["issuer"] = strings.TrimSuffix(p.Issuer, "/")
	if r.hook != nil {
		problems = append(problems, r.hook(c))
	}
	p.Issuer, p.WellKnown = cmp.Or(p.Issuer, c.expand(r.issuer)), cmp.Or(p.WellKnown, c.expand(r.wellKnown))
	c.authorization()
	problems = append(problems, c.token(), c.userInfo(), c.profile())
	c.client()
	return errors.Join(problems...)
}

// refused lists the options that the provider does not take.
func (r *row) refused(s *settings) []error {
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		if !r.takes(name) {
			problems = append(problems, fmt.Errorf("%s does not apply to this provider", how(name)))
		}
	}
	if s.apple != nil && !r.takes("appleKey") {
		problems = append(problems, errors.New("WithAppleKey does not apply to this provider"))
	}
	if len(s.mail) > 0 {
		problems = append(problems, errors.New("WithMailOptions and WithMessage apply to mail providers only"))
	}
	return problems
}

// takes reports whether the provider takes an option.
func (r *row) takes(name string) bool {
	return slices.ContainsFunc(r.options, func(o option) bool { return o.name == name })
}

func (c *completion) setOption(o option, given string) error {
	value := cmp.Or(given, c.expand(o.fallback))
	if value == "" && o.required {
		hint := how(o.name)
		if o.name == "issuer" {
			hint += " or AUTH_" + variable(cmp.Or(c.provider.EnvID, c.provider.ID)) + "_ISSUER"
		}
		return fmt.Errorf("the option %s is missing; set it with %s", o.name, hint)
	}
	c.vars[o.name] = value
	return nil
}

// variable returns the part of an environment variable's name that is made from
// an ID.
func variable(id string) string { return envname.Of(id)[0] }

func (c *completion) authorization() {
	r, a := c.row, &c.provider.Authorization
	a.URL = cmp.Or(a.URL, c.expand(r.authorization))
	scope := url.Values{}
	switch {
	case r.scope != "":
		scope.Set("scope", c.expand(r.scope))
	case r.emptyScope || r.noScope:
		scope.Set("scope", "")
	}
	a.Params = merged(a.Params, c.settings.params, c.values(r.params), scope)
	if r.noScope && a.Request == nil {
		a.Request = withoutEmptyScope
	}
}

// withoutEmptyScope removes the scope, for which the core would send its
// default.
func withoutEmptyScope(_ context.Context, prepared *url.URL) (*url.URL, error) {
	if q := prepared.Query(); q.Get("scope") == "" {
		q.Del("scope")
		prepared.RawQuery = q.Encode()
	}
	return prepared, nil
}

func (c *completion) token() error {
	r, t := c.row, &c.provider.Token
	t.URL = cmp.Or(t.URL, c.expand(r.token))
	if r.exchange != nil && t.Request == nil {
		t.Request = r.exchange.compile(t.URL, c.vars)
		return c.needSecret()
	}
	t.Params = merged(t.Params, c.values(r.tokenQuery))
	if r.lenient && t.Conform == nil {
		t.Conform = conform
	}
	return nil
}

// needSecret reports a missing client secret for a provider whose token request
// is made here: New checks it only for the standard request.
func (c *completion) needSecret() error {
	if c.provider.ClientSecret != "" {
		return nil
	}
	return fmt.Errorf("ClientSecret is missing; set it or the environment variable AUTH_%s_SECRET", variable(cmp.Or(c.provider.EnvID, c.provider.ID)))
}

func (c *completion) userInfo() error {
	r, u := c.row, &c.provider.UserInfo
	if u.Request != nil {
		return nil
	}
	endpoint, params := cmp.Or(u.URL, c.expand(r.userInfo)), merged(u.Params, c.values(r.userInfoQuery))
	if endpoint != "" && (!r.request.isZero() || strings.Contains(endpoint, "{"+inToken)) {
		var err error
		u.Request, err = r.request.compile(endpoint, params, c.vars)
		return err
	}
	u.URL, u.Params = endpoint, params
	return nil
}

func (c *completion) profile() error {
	p := c.provider
	if p.EmailVerified == nil {
		p.EmailVerified = c.row.emailVerified()
	}
	if p.Profile != nil || c.row.profile.isZero() {
		return nil
	}
	var err error
	p.Profile, err = c.row.profile.compile(c.vars, oauth.Transport(p.HTTPClient))
	return err
}

// client fills in the checks of the flow and the authentication of the client.
func (c *completion) client() {
	r, p := c.row, c.provider
	if len(p.Checks) == 0 {
		p.Checks = r.checks()
	}
	p.Client.TokenEndpointAuthMethod = cmp.Or(p.Client.TokenEndpointAuthMethod, r.clientAuth)
	p.UserInfoOnly = p.UserInfoOnly || r.userInfoOnly
}

func (r *row) checks() []auth.Check {
	checks := []auth.Check{auth.CheckState, auth.CheckPKCE}
	if r.kind == auth.TypeOIDC {
		checks = append(checks, auth.CheckNonce)
	}
	return slices.DeleteFunc(checks, func(c auth.Check) bool { return slices.Contains(r.without, c) })
}

// expand replaces the options in a template. The result is empty if an option
// has no value.
func (c *completion) expand(template string) string {
	s, _ := expand(template, c.vars)
	return s
}

// values expands the templates of parameters.
func (c *completion) values(params map[string]string) url.Values {
	v := url.Values{}
	for name, template := range params {
		if s, ok := expand(template, c.vars); ok {
			v.Set(name, s)
		}
	}
	return v
}

// merged joins parameters. Of parameters with one name it takes the first.
func merged(all ...url.Values) url.Values {
	m := url.Values{}
	for _, values := range all {
		for name, v := range values {
			if !m.Has(name) {
				m[name] = v
			}
		}
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

package auth

import (
	"cmp"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/envname"
)

// Env returns the value of a variable; os.Getenv is an example. An empty value
// means that the variable is not set.
type Env func(name string) string

// inferred returns the configuration, with missing values taken from the
// environment of the process. It differs from SetEnvDefaults in two ways: the
// platform does not decide whether the host is trusted, and an AUTH_URL without
// a path means the default base path, not the root of the site.
func inferred(c Config) Config {
	c.BasePath = cmp.Or(c.BasePath, pathOf(c.URL))
	if u, err := url.Parse(siteURL(os.Getenv)); err == nil && c.BasePath == "" && strings.Trim(u.Path, "/") == "" {
		c.BasePath = defaultBasePath
	}
	setEnvDefaults(os.Getenv, &c, true)
	return c
}

// SetEnvDefaults fills the values that config lacks from the environment, as
// integrations do before they call Auth or Raw. docs/protocol.md lists the
// variables.
//
//   - URL from AUTH_URL, else NEXTAUTH_URL, so that no request decides on the
//     origin
//   - BasePath from the path of that URL, else /auth
//   - Secret from AUTH_SECRET_3, AUTH_SECRET_2, AUTH_SECRET_1 and AUTH_SECRET,
//     in this order; if AUTH_SECRET is not set, NEXTAUTH_SECRET takes its place
//   - RedirectProxyURL from AUTH_REDIRECT_PROXY_URL
//   - TrustHost: the boolean AUTH_TRUST_HOST; else true on the platforms that set
//     VERCEL or CF_PAGES, which check the Host header, and where NODE_ENV is set
//     to something other than production, such as development
//   - client ID, secret and issuer of OAuth providers from AUTH_<ID>_ID,
//     AUTH_<ID>_SECRET and AUTH_<ID>_ISSUER, and APIKey of e-mail providers from
//     AUTH_<ID>_KEY, where <ID> is the provider's ID in upper snake case:
//     MY_IDP for my-idp, my.idp and myIdp. If such a variable is not set, the
//     name of Auth.js is read, which for the last two has MY.IDP and MYIDP. A
//     provider that gets a value is replaced by a copy.
//
// A warning is logged if AUTH_URL is set although BasePath is set, unless
// suppressBasePathWarning is true.
func SetEnvDefaults(env Env, config *Config, suppressBasePathWarning bool) {
	setEnvDefaults(env, config, suppressBasePathWarning)
	if config.TrustHost == nil {
		mode := env("NODE_ENV")
		config.TrustHost = new(env("VERCEL") != "" || env("CF_PAGES") != "" || mode != "" && mode != "production")
	}
}

// siteURL is the URL of the site. NextAuth.js 4 has another name for it.
func siteURL(env Env) string { return cmp.Or(env("AUTH_URL"), env("NEXTAUTH_URL")) }

func setEnvDefaults(env Env, config *Config, suppressBasePathWarning bool) {
	site := siteURL(env)
	if site != "" {
		if config.BasePath != "" {
			if !suppressBasePathWarning {
				config.withDefaults().Logger.Warn("auth: env-url-basepath-redundant: BasePath is set, so the path of AUTH_URL is ignored")
			}
		} else if u, err := url.Parse(site); err == nil && u.Scheme != "" && u.Host != "" {
			config.BasePath = cmp.Or(u.EscapedPath(), "/")
		}
	}
	config.BasePath = cmp.Or(config.BasePath, pathOf(config.URL), defaultBasePath)
	if len(config.Secret) == 0 {
		for _, s := range []string{env("AUTH_SECRET_3"), env("AUTH_SECRET_2"), env("AUTH_SECRET_1"), cmp.Or(env("AUTH_SECRET"), env("NEXTAUTH_SECRET"))} {
			if s != "" {
				config.Secret = append(config.Secret, s)
			}
		}
	}
	if config.RedirectProxyURL == "" {
		config.RedirectProxyURL = env("AUTH_REDIRECT_PROXY_URL")
	}
	if config.URL == "" {
		config.URL = site
		config.urlPathIgnored = cleanBasePath(pathOf(site)) != cleanBasePath(config.BasePath)
	}
	if v := env("AUTH_TRUST_HOST"); config.TrustHost == nil && v != "" {
		config.TrustHost = new(isTrue(v))
	}
	providers := make([]Provider, len(config.Providers))
	for i, p := range config.Providers {
		providers[i] = providerFromEnv(env, p)
	}
	config.Providers = providers
}

// pathOf is the path of a URL, or empty if that is the root.
func pathOf(site string) string {
	u, err := url.Parse(site)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return ""
	}
	return u.Path
}

// isTrue reads a boolean variable; all values that are not clearly false are
// true.
func isTrue(v string) bool {
	b, err := strconv.ParseBool(strings.ToLower(v))
	return err != nil && !strings.EqualFold(v, "no") && !strings.EqualFold(v, "off") || b
}

func providerFromEnv(env Env, p Provider) Provider {
	variable := func(id, suffix string) string {
		for _, name := range envname.Of(id) {
			if v := env("AUTH_" + name + "_" + suffix); v != "" {
				return v
			}
		}
		return ""
	}
	switch p := p.(type) {
	case *OAuth:
		if p == nil {
			return p
		}
		filled := *p
		id := cmp.Or(p.EnvID, p.ID)
		for field, suffix := range map[*string]string{&filled.ClientID: "ID", &filled.ClientSecret: "SECRET", &filled.Issuer: "ISSUER"} {
			if *field == "" {
				*field = variable(id, suffix)
			}
		}
		return &filled
	case *Email:
		if p == nil || p.APIKey != "" {
			return p
		}
		filled := *p
		filled.APIKey = variable(p.id(), "KEY")
		return &filled
	}
	return p
}

// CreateActionURL returns the URL of an action as a server sees it. It is below
// AUTH_URL (or NEXTAUTH_URL) if that is set. Otherwise it is below the host
// that the headers name, X-Forwarded-Host before Host; the scheme is
// X-Forwarded-Proto, else protocol, else https. Of several values in a header, the
// one that the outermost trusted proxy wrote counts, as in ForwardedURL. The caller
// must be sure that the headers come from a trusted proxy. Of config, only BasePath,
// Logger, TrustedProxyCount and TrustedProxies are used. A host that is missing or
// malformed is an error.
func CreateActionURL(action Action, protocol string, header http.Header, env Env, config Config) (*url.URL, error) {
	var u *url.URL
	if site := siteURL(env); site != "" {
		var err error
		if u, err = url.Parse(site); err != nil || u.Host == "" {
			return nil, &Error{Type: ErrAuth, Message: "AUTH_URL is not a URL"}
		}
		if config.BasePath != "" && config.BasePath != "/" && u.Path != "" && u.Path != "/" {
			if u.Path != config.BasePath {
				config.withDefaults().Logger.Warn("auth: env-url-basepath-mismatch: BasePath is used; the path of AUTH_URL is ignored")
			}
			u.Path, u.RawPath = "", ""
		}
	} else {
		n := config.TrustedProxyCount
		if n <= 0 && len(config.TrustedProxies) > 0 {
			n = config.hopsOf(header)
		}
		host, err := forwarded(header, "X-Forwarded-Host", n)
		if err != nil {
			return nil, err
		}
		host = cmp.Or(host, header.Get("Host"))
		proto, err := forwarded(header, "X-Forwarded-Proto", n)
		if err != nil {
			return nil, err
		}
		protocol = cmp.Or(strings.TrimSuffix(cmp.Or(proto, protocol), ":"), "https")
		if u, err = url.Parse(protocol + "://" + host); err != nil || u.Host == "" || u.Host != host || strings.ContainsAny(host, ", ") {
			return nil, &Error{Type: ErrAuth, Message: "the request has no valid host"}
		}
	}
	u.RawQuery, u.Fragment = "", ""
	return u.JoinPath(strings.Trim(config.BasePath, "/"), string(action)), nil
}

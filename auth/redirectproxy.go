package auth

import (
	"cmp"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// A deployment such as the preview of a change has a URL that is not registered
// with any provider. It sends the browser to the provider with the callback URL
// of another deployment: the redirect proxy. The state, which all these
// deployments can decrypt, contains the URL to which the proxy sends the
// browser on. See docs/protocol.md.

// relay returns the URL to which the redirect proxy sends the browser on, or ""
// if the provider sends the browser back to this site. Own is the callback URL
// of the site.
func relay(own, redirectURI string) string {
	if own == redirectURI {
		return ""
	}
	// A proxy relays to https only. Behind a server that ends TLS, the request
	// does not show whether the site has https.
	if rest, plain := strings.CutPrefix(own, "http://"); plain && !wire.IsLoopback(own) {
		own = "https://" + rest
	}
	return own
}

// proxied sends the browser on to the deployment that the sign-in was started
// from, if this one is only its redirect proxy. It never does so if Config.URL
// is not set, because then the request itself says what the origin of the site
// is.
func (e *engine) proxied(r *request, o *oauthClient, params url.Values) (*Result, error) {
	state := params.Get("state")
	// A state without a dot is a random value: the sign-in was started here.
	if o.proxy == "" || o.proxyOrigin != e.site.origin || !strings.Contains(state, ".") {
		return nil, nil
	}
	e.debug(r.http.Context(), "DECODE_STATE", slog.String("provider", o.provider.ID))
	relay, err := e.sealer.RelayOf(state)
	if err != nil {
		return nil, ours(err)
	}
	target, err := url.Parse(relay)
	if err != nil || target.Host == "" {
		return nil, invalidCheck("state", "it does not tell where to send the browser")
	}
	if wire.OriginOf(target) == e.site.origin {
		return nil, nil
	}
	if err := mayRelay(o.provider.ID, e.config.RedirectProxyOrigins, target); err != nil {
		return nil, err
	}
	query := cmp.Or(r.http.URL.RawQuery, params.Encode())
	e.debug(r.http.Context(), "Proxy redirecting to", slog.String("url", target.String()))
	return redirectTo(target.String() + "?" + wire.ParseQuery(query).Encode()), nil
}

// mayRelay returns an error if the answer of a provider may not be sent on to a
// URL. The URL must be the callback URL of the same provider, at an origin on
// the list. Otherwise the answer of an honest provider could be handed to
// another provider, which would then learn the code (RFC 9700 section 4.4).
func mayRelay(provider string, allowed []string, target *url.URL) error {
	if target.User != nil || target.RawQuery != "" || target.Fragment != "" || !strings.HasSuffix(target.EscapedPath(), "/callback/"+provider) {
		return invalidCheck("state", "the sign-in was started with another provider")
	}
	origin := wire.OriginOf(target)
	if slices.ContainsFunc(allowed, func(pattern string) bool { return originFits(pattern, origin) }) {
		return nil
	}
	return invalidCheck("state", "the deployment "+origin+" is not in RedirectProxyOrigins")
}

// proxyOrigin matches an entry of Config.RedirectProxyOrigins: a host, whose
// first label may be *, and an optional port.
var proxyOrigin = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?(:[0-9]{1,5})?$`)

// originFits reports whether an https origin matches an entry of
// Config.RedirectProxyOrigins.
func originFits(pattern, origin string) bool {
	host, ok := strings.CutPrefix(origin, "https://")
	if !ok {
		return false
	}
	pattern = proxyPattern(pattern)
	if rest, wild := strings.CutPrefix(pattern, "*"); wild {
		label, ok := strings.CutSuffix(host, rest)
		return ok && label != "" && !strings.ContainsAny(label, ".:")
	}
	return host == pattern
}

// proxyPattern is an entry in lower case, without the scheme https and its
// default port.
func proxyPattern(entry string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(entry), "https://"), ":443")
}

// checkRedirectProxy lists what is wrong with the settings of a redirect proxy.
func (c *Config) checkRedirectProxy(problem reporter) {
	if c.RedirectProxyURL != "" {
		if u, err := url.Parse(c.RedirectProxyURL); err != nil || u.Host == "" {
			problem(ErrAuth, "Config.RedirectProxyURL is not a URL")
		}
	}
	for _, entry := range c.RedirectProxyOrigins {
		pattern := proxyPattern(entry)
		host, wild := strings.CutPrefix(pattern, "*.")
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		switch {
		case !proxyOrigin.MatchString(pattern):
			problem(ErrAuth, "Config.RedirectProxyOrigins: %q is not an https origin such as https://app.example.com or https://*.preview.example.com", entry)
		case wild && !strings.Contains(host, "."):
			problem(ErrAuth, "Config.RedirectProxyOrigins: %q covers a whole top-level domain", entry)
		}
	}
	if len(c.RedirectProxyOrigins) > 0 && c.URL == "" {
		problem(ErrAuth, "Config.RedirectProxyOrigins needs Config.URL (AUTH_URL): a redirect proxy must know its own origin")
	}
}

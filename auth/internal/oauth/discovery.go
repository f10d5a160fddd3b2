package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"
)

// Metadata is a provider's metadata (RFC 8414, OpenID Connect Discovery 1.0
// section 3). A member is read when it is used, so what a flow does not need
// can't end it.
type Metadata struct {
	// Issuer is the issuer that the metadata states.
	Issuer string

	members map[string]any
	// onLoopback says that the endpoints may be on this machine.
	onLoopback bool
}

// The members of the metadata that are endpoints.
const (
	AuthorizationEndpoint = "authorization_endpoint"
	TokenEndpoint         = "token_endpoint"
	UserInfoEndpoint      = "userinfo_endpoint"
	KeysEndpoint          = "jwks_uri"
)

// Endpoint returns a member that is the URL of an endpoint, or "" if it is
// absent.
func (m *Metadata) Endpoint(name string) (string, error) {
	endpoint, err := text(m.members, name)
	if err != nil {
		return "", fmt.Errorf("discovery: %w", err)
	}
	if endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("discovery: %s is not a URL", name)
	}
	if local(u.Hostname()) && !m.onLoopback {
		return "", fmt.Errorf("discovery: %s has a loopback or link-local address, but the issuer has not", name)
	}
	if err := CheckURL(u); err != nil {
		return "", fmt.Errorf("discovery: %s: %w", name, err)
	}
	return endpoint, nil
}

// IssuerInAnswer reports whether authorization responses carry iss (RFC 9207).
func (m *Metadata) IssuerInAnswer() (bool, error) {
	announced, err := flag(m.members, "authorization_response_iss_parameter_supported")
	if err != nil {
		return false, fmt.Errorf("discovery: %w", err)
	}
	return announced, nil
}

// algorithms returns the first of the lists that is present, or nil if none is.
func (m *Metadata) algorithms(lists ...string) ([]string, error) {
	for _, name := range lists {
		if listed, err := texts(m.members, name); err != nil || listed != nil {
			return listed, err
		}
	}
	return nil, nil
}

// cacheFor is how long metadata and keys are cached. An unknown key makes the
// keys be fetched earlier.
const cacheFor = time.Hour

// Issuer is the source of the metadata and keys of one provider. Both are
// fetched at the first need, once for any number of concurrent callers, and are
// cached for an hour. A failure is not cached.
type Issuer struct {
	// URL is the issuer identifier; empty means the one in the metadata.
	URL string
	// WellKnown is the URL of the metadata; empty means URL +
	// /.well-known/openid-configuration.
	WellKnown string
	// JWKS is the URL of the keys; empty means the one in the metadata.
	JWKS   string
	Client *http.Client
	// Now is the clock.
	Now func() time.Time

	fetches singleflight.Group

	mu       sync.Mutex
	metadata *Metadata
	expires  time.Time
	keys     oidc.KeySet
	// keysExpire is the time at which keys from JWKS are dropped. Keys from the
	// URL in the metadata are dropped together with the metadata.
	keysExpire time.Time
}

// Metadata returns the provider's metadata.
func (i *Issuer) Metadata(ctx context.Context) (*Metadata, error) {
	if m := i.cached(); m != nil {
		return m, nil
	}
	// The request serves all waiting callers: it goes on if one of them is
	// cancelled.
	shared := context.WithoutCancel(ctx)
	select {
	case result := <-i.fetches.DoChan("", func() (any, error) { return i.fetch(shared) }):
		m, _ := result.Val.(*Metadata)
		return m, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// cached returns the metadata if it was fetched within the last hour, or nil.
func (i *Issuer) cached() *Metadata {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.metadata == nil || !i.Now().Before(i.expires) {
		return nil
	}
	return i.metadata
}

func (i *Issuer) fetch(ctx context.Context) (*Metadata, error) {
	if m := i.cached(); m != nil { // another caller fetched it meanwhile
		return m, nil
	}
	m, err := i.discover(ctx)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.metadata, i.keys, i.expires = m, nil, i.Now().Add(cacheFor)
	return m, nil
}

func (i *Issuer) discover(ctx context.Context) (*Metadata, error) {
	endpoint := cmp.Or(i.WellKnown, strings.TrimSuffix(i.URL, "/")+"/.well-known/openid-configuration")
	answer, err := get(ctx, i.Client, endpoint, "application/json", "")
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	if answer.status != http.StatusOK {
		return nil, refusedBy("discovery", answer.status)
	}
	m := &Metadata{onLoopback: i.onLoopback()}
	if m.members, err = jsonObject(answer.body); err != nil {
		return nil, errors.New("discovery: the response is not a JSON object of metadata")
	}
	if m.Issuer, err = text(m.members, "issuer"); err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	switch u, err := url.Parse(m.Issuer); {
	case i.isFor(m.Issuer):
	case i.URL != "":
		return nil, fmt.Errorf("discovery: the metadata names the issuer %q, want %q", m.Issuer, i.URL)
	case err != nil || CheckURL(u) != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("discovery: the metadata names the issuer %q, which is not an https URL without query and fragment", m.Issuer)
	}
	return m, nil
}

// expected is the issuer that follows from the configuration, or "".
func (i *Issuer) expected() string { return cmp.Or(i.URL, IssuerOf(i.WellKnown)) }

// IssuerOf returns the issuer whose metadata is at the URL (OpenID Connect
// Discovery section 4, RFC 8414 section 3), or "" if the URL does not show the
// issuer.
func IssuerOf(wellKnown string) string {
	origin, name, ok := strings.Cut(wellKnown, "/.well-known/")
	if !ok || strings.ContainsAny(wellKnown, "?#") {
		return ""
	}
	if _, path, ok := strings.Cut(name, "/"); ok {
		return origin + "/" + path
	}
	return origin
}

// NeedsMetadata reports whether a signature or an issuer can't be checked
// without the metadata.
func (i *Issuer) NeedsMetadata() bool { return i.JWKS == "" || i.URL == "" }

// Identifier returns the issuer identifier. It reads the metadata if the
// configuration does not have it.
func (i *Issuer) Identifier(ctx context.Context) (string, error) {
	if i.URL != "" {
		return i.URL, nil
	}
	m, err := i.Metadata(ctx)
	switch {
	case err != nil:
		return "", err
	case strings.Contains(m.Issuer, placeholder):
		return i.expected(), nil
	}
	return m.Issuer, nil
}

// Is reports whether an issuer identifier is that of this issuer, as far as it
// is known without a request.
func (i *Issuer) Is(issuer string) bool {
	if m := i.cached(); m != nil && i.Accepts(m.Issuer, issuer) {
		return true
	}
	return i.Accepts(i.Stated(), issuer) || i.isFor(issuer)
}

// isFor reports whether metadata of the issuer belongs to the configured one.
func (i *Issuer) isFor(issuer string) bool {
	if issuer == "" {
		return false
	}
	if strings.Contains(issuer, placeholder) {
		_, ok := word(issuer, i.expected())
		return ok
	}
	return issuer == i.URL || sameURL(issuer, i.URL) || named(i.URL, issuer)
}

// sameURL compares as URLs, so that an origin with and without a final slash is
// the same.
func sameURL(a, b string) bool {
	u, err := url.Parse(a)
	if err != nil {
		return false
	}
	v, err := url.Parse(b)
	if err != nil {
		return false
	}
	path := func(u *url.URL) string { return cmp.Or(u.EscapedPath(), "/") }
	return u.Scheme == v.Scheme && strings.EqualFold(u.Host, v.Host) && path(u) == path(v) && u.RawQuery == v.RawQuery && u.Fragment == v.Fragment
}

// keySet returns the keys of the provider.
func (i *Issuer) keySet(ctx context.Context) (oidc.KeySet, error) {
	endpoint := i.JWKS
	if endpoint == "" {
		m, err := i.Metadata(ctx)
		if err != nil {
			return nil, err
		}
		if endpoint, err = m.Endpoint(KeysEndpoint); err != nil {
			return nil, err
		}
		if endpoint == "" {
			return nil, errors.New("the metadata has no jwks_uri, so signatures can't be verified")
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.keys == nil || i.JWKS != "" && !i.Now().Before(i.keysExpire) {
		i.keys = &keySet{endpoint: endpoint, client: i.Client}
		i.keysExpire = i.Now().Add(cacheFor)
	}
	return i.keys, nil
}

// onLoopback reports whether the configuration itself names this machine. The
// metadata may name it only in that case. Otherwise a remote issuer could make
// this program send requests to services that are reachable only from here.
func (i *Issuer) onLoopback() bool {
	return slices.ContainsFunc([]string{i.URL, i.WellKnown}, func(configured string) bool {
		u, err := url.Parse(configured)
		return err == nil && loopback(u.Hostname())
	})
}

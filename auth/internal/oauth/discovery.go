package oauth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/sync/singleflight"
)

// Metadata is the part of a provider's metadata that is used (RFC 8414, OpenID
// Connect Discovery 1.0 section 3).
type Metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	UserInfoEndpoint      string   `json:"userinfo_endpoint"`
	JWKS                  string   `json:"jwks_uri"`
	IDTokenAlgorithms     []string `json:"id_token_signing_alg_values_supported"`
	UserInfoAlgorithms    []string `json:"userinfo_signing_alg_values_supported"`
	// IssuerInAnswer says that authorization responses carry iss (RFC 9207).
	IssuerInAnswer bool `json:"authorization_response_iss_parameter_supported"`
}

// cacheFor is how long metadata and keys are cached. An unknown key makes the
// keys be fetched earlier.
const cacheFor = time.Hour

// Issuer is the source of the metadata and keys of one provider. Both are
// fetched at the first need, once for any number of concurrent callers, and are
// cached for an hour. A failure is not cached.
type Issuer struct {
	// URL is the issuer identifier.
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
	endpoint := i.WellKnown
	if endpoint == "" {
		endpoint = strings.TrimSuffix(i.URL, "/") + "/.well-known/openid-configuration"
	}
	answer, err := get(ctx, i.Client, endpoint, "application/json", "")
	if err != nil {
		return nil, fmt.Errorf("discovery: %w", err)
	}
	if answer.status != http.StatusOK {
		return nil, fmt.Errorf("discovery: status %d", answer.status)
	}
	var m Metadata
	if err := json.Unmarshal(answer.body, &m); err != nil || !bytes.HasPrefix(bytes.TrimSpace(answer.body), []byte("{")) {
		return nil, errors.New("discovery: the response is not a JSON object of metadata")
	}
	if !i.isFor(m.Issuer) {
		return nil, fmt.Errorf("discovery: the metadata names the issuer %q, want %q", m.Issuer, i.URL)
	}
	for name, endpoint := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint, "token_endpoint": m.TokenEndpoint, "userinfo_endpoint": m.UserInfoEndpoint, "jwks_uri": m.JWKS,
	} {
		if endpoint == "" {
			continue
		}
		u, err := url.Parse(endpoint)
		if err != nil {
			return nil, fmt.Errorf("discovery: %s is not a URL", name)
		}
		if local(u.Hostname()) && !i.onLoopback() {
			return nil, fmt.Errorf("discovery: %s has a loopback or link-local address, but the issuer has not", name)
		}
		if err := CheckURL(u); err != nil {
			return nil, fmt.Errorf("discovery: %s: %w", name, err)
		}
	}
	return &m, nil
}

// isFor reports whether metadata of the issuer belongs to the configured one.
func (i *Issuer) isFor(issuer string) bool {
	if issuer == "" {
		return false
	}
	if strings.Contains(issuer, placeholder) {
		_, ok := word(issuer, i.URL)
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
	path := func(u *url.URL) string {
		if u.EscapedPath() == "" {
			return "/"
		}
		return u.EscapedPath()
	}
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
		if endpoint = m.JWKS; endpoint == "" {
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
	for _, configured := range []string{i.URL, i.WellKnown} {
		if u, err := url.Parse(configured); err == nil && loopback(u.Hostname()) {
			return true
		}
	}
	return false
}

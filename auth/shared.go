package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/internal/oauth"
	"github.com/gatehouse-go/gatehouse/auth/internal/recent"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// shared holds what is made once and used by the engines of several requests:
// Auth and Raw make an engine for each request.
type shared struct {
	// keys are derived from the secrets.
	keys *jwt.Keys
	// logins holds the accounts that are signing in.
	logins keyedLock
	// deliveries are the answers of sign-ins that are being worked on.
	deliveries deliveries

	mu sync.Mutex
	// issuers hold the metadata and keys of providers.
	issuers recent.Map[issuerKey, *oauth.Issuer]
}

func newShared() *shared {
	return &shared{
		keys: new(jwt.Keys), issuers: recent.Map[issuerKey, *oauth.Issuer]{Max: maxIssuers},
	}
}

// unshared makes the shared part of a Handler, which is made once.
func unshared(*Config, string) *shared { return newShared() }

// issuerKey identifies the source of metadata and keys.
type issuerKey struct {
	url, wellKnown, jwks string
	client               *http.Client
}

const (
	// maxShared is how many pairs of secret and origin are remembered, and
	// maxIssuers how many issuers of each.
	maxShared  = 1000
	maxIssuers = 200
)

// issuer returns the issuer of a provider, the same for each configuration.
func (s *shared) issuer(c *Config, p *OAuth, client *http.Client) *oauth.Issuer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.issuers.Get(issuerKey{p.Issuer, p.WellKnown, p.JWKS, p.HTTPClient}, func() *oauth.Issuer {
		return &oauth.Issuer{URL: p.Issuer, WellKnown: p.WellKnown, JWKS: p.JWKS, Client: client, Now: c.Clock}
	})
}

// sharedKey identifies the configurations that use the same shared: those with
// the same secrets and the same origin. The other fields of a configuration
// include functions, which can't be compared.
type sharedKey struct {
	secret [sha256.Size]byte
	origin string
	// random is Config.Random, if it is not the default: it may repeat values.
	random io.Reader
}

// process holds what the calls of Auth and Raw in this process share.
var process = struct {
	mu   sync.Mutex
	made recent.Map[sharedKey, *shared]
}{made: recent.Map[sharedKey, *shared]{Max: maxShared}}

// sharedWith returns the shared that earlier engines with the same secrets and
// origin used. The origin comes from Config.URL, so a request can't cause a new
// one to be made.
func sharedWith(c *Config, origin string) *shared {
	secrets, err := json.Marshal([][]string{c.Secret, c.JWT.Secret})
	if err != nil || len(c.Secret) == 0 {
		return newShared()
	}
	key := sharedKey{secret: sha256.Sum256(secrets), origin: origin}
	if c.Random != rand.Reader {
		if !reflect.ValueOf(c.Random).Comparable() {
			return newShared()
		}
		key.random = c.Random
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	return process.made.Get(key, newShared)
}

// keyedLock is a lock for each key. One caller at a time holds a key. The zero
// value is ready for use.
type keyedLock struct {
	mu   sync.Mutex
	held map[string]*heldKey
}

type heldKey struct {
	// turn is a channel of capacity one, which is full while the key is held.
	turn chan struct{}
	// interested is the number of callers that hold the key or wait for it.
	interested int
}

// acquire waits until it holds the key, or until the context ends. The caller
// holds the key until it calls release.
func (l *keyedLock) acquire(ctx context.Context, key string) (release func(), err error) {
	l.mu.Lock()
	if l.held == nil {
		l.held = make(map[string]*heldKey)
	}
	k := l.held[key]
	if k == nil {
		k = &heldKey{turn: make(chan struct{}, 1)}
		l.held[key] = k
	}
	k.interested++
	l.mu.Unlock()

	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.interested--; k.interested == 0 {
			delete(l.held, key)
		}
	}
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

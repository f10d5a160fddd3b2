package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

// keySet holds the keys of a provider (RFC 7517 section 5). They are fetched at
// the first need, and again if none of them verifies a signature, such as after
// a rotation. Any number of concurrent callers cause one fetch. A key of an
// unknown kind does not affect the other keys; in the key set of go-oidc it
// does.
type keySet struct {
	endpoint string
	client   *http.Client

	fetches singleflight.Group

	mu   sync.Mutex
	keys []jose.JSONWebKey
	// fetched counts the successful fetches.
	fetched int
}

var errSignature = errors.New("failed to verify signature")

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	algorithms := make([]jose.SignatureAlgorithm, len(asymmetric))
	for i, a := range asymmetric {
		algorithms[i] = jose.SignatureAlgorithm(a)
	}
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, errors.New("malformed jwt")
	}
	keys, seen := k.cached()
	if payload, ok := verify(signed, keys); ok {
		return payload, nil
	}
	if keys, err = k.fetch(ctx, seen); err != nil {
		return nil, fmt.Errorf("fetching keys: %w", err)
	}
	if payload, ok := verify(signed, keys); ok {
		return payload, nil
	}
	return nil, errSignature
}

// maxTried is the largest number of a provider's keys that are tried with one
// signature. A key set has a few keys; thousands of matching keys would occupy
// a processor for seconds.
const maxTried = 32

// verify tries the keys that may have made the signature: the keys with its key
// ID and algorithm, and the keys that do not state a key ID or an algorithm.
func verify(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) ([]byte, bool) {
	is := func(given, want string) bool { return given == "" || want == "" || given == want }
	header, tried := signed.Signatures[0].Header, 0
	for _, key := range keys {
		if !is(key.KeyID, header.KeyID) || !is(key.Algorithm, header.Algorithm) {
			continue
		}
		if tried++; tried > maxTried {
			break
		}
		if payload, err := signed.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

func (k *keySet) cached() ([]jose.JSONWebKey, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys, k.fetched
}

// fetch returns keys that are newer than those that the caller has tried.
func (k *keySet) fetch(ctx context.Context, seen int) ([]jose.JSONWebKey, error) {
	shared := context.WithoutCancel(ctx)
	select {
	case result := <-k.fetches.DoChan("", func() (any, error) {
		if keys, fetched := k.cached(); fetched > seen {
			return keys, nil
		}
		keys, err := k.get(shared)
		if err != nil {
			return nil, err
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.keys, k.fetched = keys, k.fetched+1
		return keys, nil
	}):
		keys, _ := result.Val.([]jose.JSONWebKey)
		return keys, result.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (k *keySet) get(ctx context.Context) ([]jose.JSONWebKey, error) {
	answer, err := get(ctx, k.client, k.endpoint, "application/jwk-set+json, application/json", "")
	if err != nil {
		return nil, err
	}
	if answer.status != http.StatusOK {
		return nil, fmt.Errorf("status %d", answer.status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(answer.body, &set); err != nil {
		return nil, errors.New("the response is not a key set")
	}
	var keys []jose.JSONWebKey
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && key.Use != "enc" {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

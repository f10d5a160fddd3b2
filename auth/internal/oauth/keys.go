package oauth

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

// keySet holds the keys of a provider (RFC 7517 section 5). They are fetched at
// the first need, and again if none of them verifies a signature, such as after
// a rotation. Any number of concurrent callers cause one fetch. A key of an
// unknown kind does not affect the other keys; in the key set of go-oidc it
// does. If no key verifies a signature, the error names the keys that
// could not be used, or says that the provider has no such key.
type keySet struct {
	endpoint string
	client   *http.Client

	fetches singleflight.Group

	mu   sync.Mutex
	keys publicKeys
	// fetched counts the successful fetches.
	fetched int
}

// publicKeys are the keys of a set, and the reasons why others were dropped.
type publicKeys struct {
	usable  []jose.JSONWebKey
	dropped []droppedKey
}

// droppedKey is a key that can't be used.
type droppedKey struct {
	// id is the key ID; position is the place in the set, from 1.
	id       string
	position int
	reason   error
}

func (d droppedKey) String() string {
	name := fmt.Sprintf("number %d", d.position)
	if d.id != "" {
		name = shown(d.id)
	}
	return fmt.Sprintf("%s (%v)", name, d.reason)
}

// shown quotes a text of the provider, cut to a length for the log.
func shown(s string) string { return strconv.Quote(s[:min(len(s), 100)]) }

// failure says why no key verifies a signature. It names the keys that can't be
// used, first the one that the token names.
func (k publicKeys) failure(header jose.Header) error {
	if len(k.dropped) > 0 {
		first := slices.Clone(k.dropped)
		slices.SortStableFunc(first, func(a, b droppedKey) int { return rank(a, header.KeyID) - rank(b, header.KeyID) })
		return fmt.Errorf("%w; keys of the provider that can't be used: %s", errSignature, list(first[:min(len(first), maxNamed)]))
	}
	for _, key := range k.usable {
		switch {
		case key.KeyID != "" && key.KeyID != header.KeyID:
		case key.Algorithm != "" && key.Algorithm != header.Algorithm:
			return fmt.Errorf("%w; the key %s is for %s, and the token is signed with %s", errSignature, shown(key.KeyID), shown(key.Algorithm), header.Algorithm)
		default:
			return errSignature
		}
	}
	return fmt.Errorf("%w; the provider has no key %s", errSignature, shown(header.KeyID))
}

// rank is 0 for the key that a token names, and 1 for the others.
func rank(key droppedKey, id string) int {
	if key.id != "" && key.id == id {
		return 0
	}
	return 1
}

// maxNamed is the largest number of keys that an error names.
const maxNamed = 8

func list(keys []droppedKey) string {
	var names []string
	for _, key := range keys {
		names = append(names, key.String())
	}
	return strings.Join(names, ", ")
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
	if payload, ok := verify(signed, keys.usable); ok {
		return payload, nil
	}
	if keys, err = k.fetch(ctx, seen); err != nil {
		return nil, fmt.Errorf("fetching keys: %w", err)
	}
	if payload, ok := verify(signed, keys.usable); ok {
		return payload, nil
	}
	return nil, keys.failure(signed.Signatures[0].Header)
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

func (k *keySet) cached() (publicKeys, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.keys, k.fetched
}

// fetch returns keys that are newer than those that the caller has tried.
func (k *keySet) fetch(ctx context.Context, seen int) (publicKeys, error) {
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
		keys, _ := result.Val.(publicKeys)
		return keys, result.Err
	case <-ctx.Done():
		return publicKeys{}, ctx.Err()
	}
}

func (k *keySet) get(ctx context.Context) (publicKeys, error) {
	var keys publicKeys
	answer, err := get(ctx, k.client, k.endpoint, "application/jwk-set+json, application/json", "")
	if err != nil {
		return keys, err
	}
	if answer.status != http.StatusOK {
		return keys, refusedBy("keys", answer.status)
	}
	set, err := jsonObject(answer.body)
	if err != nil {
		return keys, errors.New("the response is not a key set")
	}
	all, ok := set["keys"].([]any)
	if !ok && set["keys"] != nil {
		return keys, errors.New("keys is not a list")
	}
	for i, v := range all {
		m, _ := v.(map[string]any)
		key, err := publicKey(m)
		if err != nil {
			keys.dropped = append(keys.dropped, droppedKey{label(m, "kid"), i + 1, err})
			continue
		}
		keys.usable = append(keys.usable, key)
	}
	return keys, nil
}

// The members of a key that are used, by its type (RFC 7518 sections 6.2.1 and
// 6.3.1, RFC 8037 section 2).
var keyMembers = map[string][]string{"RSA": {"n", "e"}, "EC": {"x", "y"}, "OKP": {"x"}}

// coordinateSize is the length in bytes of a coordinate on each curve.
var coordinateSize = map[string]int{"P-256": 32, "P-384": 48, "P-521": 66}

// publicKey reads a key (RFC 7517 section 4). It reads only the members that
// are used. The others, such as a certificate that does not conform to the
// rules of crypto/x509, do not affect the key.
func publicKey(m map[string]any) (jose.JSONWebKey, error) {
	var key jose.JSONWebKey
	if m == nil {
		return key, errors.New("it is not a JSON object")
	}
	if label(m, "use") == "enc" {
		return key, errors.New("use is enc")
	}
	kind, err := required(m, "kty")
	if err != nil {
		return key, err
	}
	numbers, ok := keyMembers[kind]
	if !ok {
		return key, fmt.Errorf("kty is %q", kind[:min(len(kind), 20)])
	}
	used := map[string]string{"kty": kind, "kid": label(m, "kid"), "alg": label(m, "alg"), "use": label(m, "use")}
	if kind != "RSA" {
		if used["crv"], err = required(m, "crv"); err != nil {
			return key, err
		}
	}
	for _, name := range numbers {
		given, err := required(m, name)
		if err != nil {
			return key, err
		}
		number, err := base64.RawURLEncoding.DecodeString(urlAlphabet(given))
		if err != nil {
			return key, fmt.Errorf("%s is not in base64url", name)
		}
		if size := coordinateSize[used["crv"]]; kind == "EC" && size > 0 {
			if number = bytes.TrimLeft(number, "\x00"); len(number) < size {
				number = append(make([]byte, size-len(number)), number...)
			}
		}
		used[name] = base64.RawURLEncoding.EncodeToString(number)
	}
	raw, err := json.Marshal(used)
	if err != nil {
		return key, err
	}
	err = key.UnmarshalJSON(raw)
	return key, err
}

// label returns a member that names something: a text, a number as text, or ""
// for any other value.
func label(m map[string]any, name string) string {
	switch v := m[name].(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// urlAlphabet turns base64 in either alphabet, with or without padding, into
// base64url without padding. Both spell the same bytes.
func urlAlphabet(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '+':
			return '-'
		case '/':
			return '_'
		case ' ', '\t', '\r', '\n':
			return -1
		}
		return r
	}, s)
	return strings.TrimRight(s, "=")
}

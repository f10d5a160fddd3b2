package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// A ledger is a hash in the target. For each copied record it holds a digest of
// the source's record at that time. So each record is copied once, a change of
// the source is noticed, and changes of the new site are kept.
type ledger struct {
	client goredis.UniversalClient
	key    string
}

// An entry says that the copy of a record has begun or is complete. When the
// copy is complete, the entry has the digest.
type entry struct {
	// Digest is the digest of the source's record; "" while it is being copied.
	Digest string `json:"d,omitempty"`
	// Key has the parts of the key of an account or a verification token, which
	// can't be separated in the key of the source.
	Key []string `json:"k,omitempty"`
}

func field(k kind, key string) string { return fmt.Sprintf("%d %s", k, key) }

// parseField is the inverse of field.
func parseField(f string) (kind, string) {
	var k kind
	number, key, _ := strings.Cut(f, " ")
	_, _ = fmt.Sscan(number, &k)
	return k, key
}

// digest returns a hash of a record of the source.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}

// read returns the entries of the keys; an entry is nil if it is absent.
func (l ledger) read(ctx context.Context, k kind, keys []string) ([]*entry, error) {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = field(k, key)
	}
	values, err := l.client.HMGet(ctx, l.key, names...).Result()
	if err != nil {
		return nil, err
	}
	entries := make([]*entry, len(keys))
	for i, v := range values {
		if text, there := v.(string); there {
			if entries[i], err = parseEntry(text); err != nil {
				return nil, err
			}
		}
	}
	return entries, nil
}

func parseEntry(text string) (*entry, error) {
	e := &entry{}
	if err := json.Unmarshal([]byte(text), e); err != nil {
		return nil, fmt.Errorf("an entry of the list of copied records can't be read: %w", err)
	}
	return e, nil
}

// write enters records in the ledger.
func (l ledger) write(ctx context.Context, k kind, records []record, done bool) error {
	var pairs []any
	for _, r := range records {
		e := entry{Key: r.parts}
		if done {
			e.Digest = r.digest
		}
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		pairs = append(pairs, field(k, r.key), text)
	}
	if len(pairs) == 0 {
		return nil
	}
	return l.client.HSet(ctx, l.key, pairs...).Err()
}

// each calls f for the entries, some at a time.
func (l ledger) each(ctx context.Context, f func(entries map[string]entry) error) error {
	for cursor := uint64(0); ; {
		page, next, err := l.client.HScan(ctx, l.key, cursor, "", pageSize).Result()
		if err != nil {
			return err
		}
		entries := map[string]entry{}
		for i := 0; i+1 < len(page); i += 2 {
			e, err := parseEntry(page[i+1])
			if err != nil {
				return err
			}
			entries[page[i]] = *e
		}
		if err := f(entries); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// forget removes entries.
func (l ledger) forget(ctx context.Context, fields ...string) error {
	if len(fields) == 0 {
		return nil
	}
	return l.client.HDel(ctx, l.key, fields...).Err()
}

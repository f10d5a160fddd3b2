// Package sessions has the clauses about stores of opaque sessions, which the contract
// of adapters does not have: a store keeps bytes.
package sessions

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/sessionstore"
)

// Checks are the checks of the clauses.
var Checks = []kit.Check{
	{ID: "STORE-01", Words: "bytes-come-back-as-committed", Test: func(c *kit.Context) {
		s := store(c)
		for _, data := range payloads() {
			token := c.Secret("store")
			commit(c, s, token, data)
			found(c, s, "what was committed", token, data)
			other := append([]byte("other "), data...)
			commit(c, s, token, other)
			found(c, s, "what was committed over other bytes", token, other)
		}
	}},
	{ID: "STORE-02", Words: "the-store-keeps-its-own-copy", Test: func(c *kit.Context) {
		s := store(c)
		token, given := c.Secret("store"), []byte("bytes of the caller")
		want := slices.Clone(given)
		commit(c, s, token, given)
		clear(given)
		found(c, s, "after a change of the bytes that Commit was given", token, want)
		got, _, err := s.Find(c.Ctx, token)
		if err != nil {
			c.Fatalf("Find: %v", err)
		}
		clear(got)
		found(c, s, "after a change of the bytes that Find returned", token, want)
		clear(append(got, " behind them"...))
		found(c, s, "after an append to the bytes that Find returned", token, want)
	}},
	{ID: "STORE-03", Words: "a-deleted-session-has-no-bytes", Test: func(c *kit.Context) {
		s := store(c)
		token := c.Secret("store")
		for range 2 {
			commit(c, s, token, []byte("bytes"))
			found(c, s, "what was committed", token, []byte("bytes"))
			if err := s.Delete(c.Ctx, token); err != nil {
				c.Fatalf("Delete: %v", err)
			}
			data, ok, err := s.Find(c.Ctx, token)
			if ok || len(data) > 0 || err != nil {
				c.Errorf("Find after Delete: %d bytes, found %v, error %v; want no bytes, false and no error", len(data), ok, err)
			}
		}
	}},
	{ID: "STORE-04", Words: "an-iteration-has-each-session", Test: func(c *kit.Context) {
		s := store(c)
		list, ok := s.(sessionstore.Iterator)
		if !ok {
			c.NotApplicable("the store does not iterate")
		}
		want := map[string][]byte{}
		for range 150 {
			token := c.Secret("store")
			want[token] = []byte("bytes of " + token)
			commit(c, s, token, want[token])
		}
		for i, token := range kit.SortedKeys(want) {
			if i%3 == 0 {
				if err := s.Delete(c.Ctx, token); err != nil {
					c.Fatalf("Delete: %v", err)
				}
				want[token] = nil
			}
		}
		all, err := list.All(c.Ctx)
		if err != nil {
			c.Fatalf("All: %v", err)
		}
		for _, token := range kit.SortedKeys(want) {
			if got, listed := all[token]; listed != (want[token] != nil) || !bytes.Equal(got, want[token]) {
				c.Errorf("All: of the session %q: listed %v, %s; want %s", token, listed, show(got), show(want[token]))
				return
			}
		}
	}},
}

// store is the store under the adapter of the clause.
func store(c *kit.Context) sessionstore.Store { return sessionstore.Of(c.Raw).Store }

// payloads are bytes that some stores change: none, text that is not UTF-8, each byte, and a mebibyte.
func payloads() [][]byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return [][]byte{
		{}, {0}, []byte("\xff\xfe\xc3\x28"), []byte(" \r\n\t"), []byte(`"{}'`), every, bytes.Repeat(every, 4096),
	}
}

func commit(c *kit.Context, s sessionstore.Store, token string, data []byte) {
	if err := s.Commit(c.Ctx, token, data, c.Instant(time.Hour)); err != nil {
		c.Fatalf("Commit of %s: %v", show(data), err)
	}
}

func found(c *kit.Context, s sessionstore.Store, what, token string, want []byte) {
	got, ok, err := s.Find(c.Ctx, token)
	if err != nil || !ok || !bytes.Equal(got, want) {
		c.Errorf("%s: Find: %s, found %v, error %v; want %s", what, show(got), ok, err, show(want))
	}
}

// show is the beginning of bytes.
func show(data []byte) string {
	if len(data) > 24 {
		return fmt.Sprintf("%q… (%d bytes)", data[:24], len(data))
	}
	return fmt.Sprintf("%q", data)
}

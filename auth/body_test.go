package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// countingBody counts the bytes that are read of a body.
type countingBody struct {
	io.Reader
	read int
}

func (b *countingBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += n
	return n, err
}

func (*countingBody) Close() error { return nil }

// TestAnonymousMegabyteCostsNothing: a body is read only after the origin is
// trusted, and only up to a limit. 100 concurrent requests with the worst
// bodies that are accepted allocate less than 50 MB in all.
func TestAnonymousMegabyteCostsNothing(t *testing.T) {
	// Not parallel: it measures the memory of the process.
	const limit = 64 << 10
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	b := newBrowser(t, h)
	token := b.csrf()
	cookie := ""
	for _, c := range b.cookies {
		cookie += c.Name + "=" + c.Value + "; "
	}
	fill := func(unit string, size int) string { return strings.Repeat(unit, size/len(unit)) }
	numbered := func(format string, size int) string {
		var s strings.Builder
		for i := 0; s.Len() < size-20; i++ {
			fmt.Fprintf(&s, format, i)
		}
		return s.String()
	}
	withToken := `{"csrfToken":"` + token + `","x":`
	for _, c := range []struct{ name, kind, body string }{
		{"a megabyte of JSON", "application/json", `{"a":[` + fill("[],", 1<<20) + `[]]}`},
		{"arrays", "application/json", withToken + `[` + fill("[],", limit-200) + `[]]}`},
		{"objects", "application/json", withToken + `[` + fill("{},", limit-200) + `{}]}`},
		{"numbers", "application/json", withToken + `[` + fill("1,", limit-200) + `1]}`},
		{"nesting", "application/json", withToken + fill("[", 9000) + fill("]", 9000) + `}`},
		{"members", "application/json", withToken + `1` + numbered(`,"%d":1`, limit-200) + `}`},
		{"one text", "application/json", withToken + `"` + fill("x", limit-200) + `"}`},
		{"escapes", "application/json", withToken + `"` + fill(`\u0041`, limit-200) + `"}`},
		{"fields", "application/x-www-form-urlencoded", "csrfToken=" + token + numbered("&%x=", limit-100)},
		{"one field", "application/x-www-form-urlencoded", "csrfToken=" + token + "&x=" + fill("%41", limit-200)},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := []byte(c.body)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() {
					r := httptest.NewRequest(http.MethodPost, origin+"/auth/callback/credentials", bytes.NewReader(raw))
					r.Header.Set("Content-Type", c.kind)
					r.Header.Set("Cookie", cookie)
					h.ServeHTTP(httptest.NewRecorder(), r)
				})
			}
			all.Wait()
			runtime.ReadMemStats(&after)
			got := (after.TotalAlloc - before.TotalAlloc) >> 20
			t.Logf("100 requests asked for %d MB", got)
			assert.Less(t, got, uint64(50), "MB that 100 requests asked for")
		})
	}
}

// TestBodiesAreReadLate: a body is not read before the origin is trusted, and
// not beyond the limit of the configuration.
func TestBodiesAreReadLate(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.DiscardHandler)
	for _, c := range []struct {
		name   string
		config auth.Config
		size   int
		stated bool // whether the request states the length of the body
		status int
		read   int // the largest number of bytes
	}{
		{"foreign host", auth.Config{TrustHost: new(false)}, 1000, true, 500, 0},
		{"stated size beyond the bound", auth.Config{URL: origin}, 64<<10 + 1, true, 413, 0},
		{"size beyond the bound", auth.Config{URL: origin}, 1 << 20, false, 413, 64<<10 + 1},
		{"size at the bound", auth.Config{URL: origin}, 64 << 10, false, 302, 64 << 10},
		{"bound of the configuration", auth.Config{URL: origin, MaxBodySize: 100}, 101, false, 413, 101},
		{"wider bound", auth.Config{URL: origin, MaxBodySize: 1 << 20}, 1 << 20, true, 302, 1 << 20},
	} {
		c.config.Secret, c.config.Logger = []string{secret}, quiet
		h := must(auth.New(c.config))(t)
		body := &countingBody{Reader: strings.NewReader(`{"csrfToken":"` + strings.Repeat("x", c.size-16) + `"}`)}
		r := httptest.NewRequest(http.MethodPost, origin+"/auth/signout", body)
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = -1
		if c.stated {
			r.ContentLength = int64(c.size)
		}
		w := serve(h, r)
		assert.Truef(t, w.Code == c.status && body.read <= c.read,
			"%s: status %d after %d bytes, want %d after at most %d", c.name, w.Code, body.read, c.status, c.read)
	}
}

// TestHonestBodies: the fields of legitimate clients arrive as they were sent,
// in a form or in JSON, in any order, with any escapes and spaces.
func TestHonestBodies(t *testing.T) {
	t.Parallel()
	var form auth.Form
	var raw []byte
	p := &auth.Credentials{Authorize: func(_ context.Context, f auth.Form, r *http.Request) (*auth.User, error) {
		form = f
		var err error
		raw, err = io.ReadAll(r.Body)
		return &auth.User{ID: "1"}, err
	}}
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{p}}))
	token := b.csrf()
	for _, c := range []struct{ body, want string }{
		{`{"csrfToken":"T","username":"ada","n":1,"deep":{"a":[1,{"b":null}]}}`, `{"csrfToken":"T","deep":{"a":[1,{"b":null}]},"n":1,"username":"ada"}`},
		{" \n{ \"a\" : \"x\\\"}],{\" ,\t\"csrfToken\" :\r\n\"T\" } ", `{"a":"x\"}],{","csrfToken":"T"}`},
		{`{"csrfToken":"x","csrfToken":"T"}`, `{"csrfToken":"T"}`},
		{`{"t":true,"f":false,"0":-1.5e3,"e":"","csrfToken":"T"}`, `{"0":-1500,"csrfToken":"T","e":"","f":false,"t":true}`},
		{`{"csrfToken":"T","":1}`, `{"":1,"csrfToken":"T"}`},
	} {
		form = nil
		sent := strings.ReplaceAll(c.body, `"T"`, `"`+token+`"`)
		b.do(http.MethodPost, "/auth/callback/credentials", strings.NewReader(sent), http.Header{"Content-Type": {"application/json"}}).wantLocation(t, origin)
		got, err := json.Marshal(form)
		if want := strings.ReplaceAll(c.want, `"T"`, `"`+token+`"`); err != nil || string(got) != want || string(raw) != sent {
			t.Errorf("%s becomes %s, want %s (%v); the body is %q", sent, got, want, err, raw)
		}
	}
}

package client_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/client"
)

func serve(method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	client.Handler().ServeHTTP(w, r)
	return w
}

// TestModuleIsSmall: under 4 KB on the wire, passkeys aside, which are loaded
// when one is used.
func TestModuleIsSmall(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(z, client.Module)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes compressed", b.Len())
	if b.Len() >= 4096 {
		t.Errorf("%d bytes compressed, want fewer than 4096", b.Len())
	}
	if regexp.MustCompile(`\beval\(|new Function|innerHTML|document\.write`).MatchString(client.Module) {
		t.Error("the module has what a strict content security policy forbids")
	}
}

// TestBelowAPath: on a site below a path the module is served below that path, and
// nothing else is.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{
		"/app" + client.Path(): 200, "/app" + client.Prefix + "gatehouse.js": 200, "/a/b" + client.Prefix + "passkey.js": 200,
		client.Prefix + "x.js": 404, client.Prefix + "../gatehouse.js": 404, "/app/gatehouse.js": 404, "/app": 404,
	} {
		if w := serve(http.MethodGet, path); w.Code != status {
			t.Errorf("%s: status %d, want %d", path, w.Code, status)
		}
	}
}

// TestPathIsImmutable: the path with the hash may be kept for a year, the plain
// one is asked for again.
func TestPathIsImmutable(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`^/gatehouse/gatehouse-[0-9a-f]{16}\.js$`).MatchString(client.Path()) {
		t.Fatalf("the path is %s", client.Path())
	}
	hashed, plain := serve(http.MethodGet, client.Path()), serve(http.MethodGet, client.Prefix+"gatehouse.js")
	for _, w := range []*httptest.ResponseRecorder{hashed, plain} {
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("got %d, %v", w.Code, w.Header())
		}
	}
	if hashed.Body.String() != plain.Body.String() {
		t.Error("the two differ")
	}
	if got := hashed.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("with the hash: Cache-Control is %s", got)
	}
	if got := plain.Header().Get("Cache-Control"); got != "no-cache" {
		t.Errorf("without: Cache-Control is %s", got)
	}
	if w := serve(http.MethodGet, client.Prefix+"gatehouse.js", "If-None-Match", plain.Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("asked again: status %d, want 304", w.Code)
	}
	passkey := regexp.MustCompile(`import\("\./(passkey-[0-9a-f]{16}\.js)"\)`).FindStringSubmatch(hashed.Body.String())
	if passkey == nil {
		t.Fatal("the module does not import the passkey script by its hash")
	}
	if w := serve(http.MethodGet, client.Prefix+passkey[1]); w.Code != http.StatusOK || w.Body.String() != client.Passkey {
		t.Errorf("the passkey script: status %d", w.Code)
	}
	for _, path := range []string{"gatehouse-0000000000000000.js", "", "module", "../client/doc.go"} {
		if w := serve(http.MethodGet, client.Prefix+path); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", path, w.Code)
		}
	}
	if w := serve(http.MethodPost, client.Path()); w.Code != http.StatusNotFound {
		t.Errorf("POST: status %d, want 404", w.Code)
	}
	if w := serve(http.MethodGet, client.Prefix+"gatehouse.d.ts"); w.Body.String() != client.Types {
		t.Error("the types are not served")
	}
}

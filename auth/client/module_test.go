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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.NoError(t, err)
	_, _ = io.WriteString(z, client.Module)
	require.NoError(t, z.Close())
	t.Logf("%d bytes compressed", b.Len())
	assert.Truef(t, b.Len() < 4096, "%d bytes compressed, want fewer than 4096", b.Len())
	assert.False(t, regexp.MustCompile(`\beval\(|new Function|innerHTML|document\.write`).MatchString(client.Module),
		"the module has what a strict content security policy forbids")
}

// TestBelowAPath: on a site below a path the module is served below that path, and
// nothing else is.
func TestBelowAPath(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{
		"/app" + client.Path(): 200, "/app" + client.Prefix + "gatehouse.js": 200, "/a/b" + client.Prefix + "passkey.js": 200,
		client.Prefix + "x.js": 404, client.Prefix + "../gatehouse.js": 404, "/app/gatehouse.js": 404, "/app": 404,
	} {
		assert.Equalf(t, status, serve(http.MethodGet, path).Code, "%s: status", path)
	}
}

// TestPathIsImmutable: the path with the hash may be kept for a year, the plain
// one is asked for again.
func TestPathIsImmutable(t *testing.T) {
	t.Parallel()
	require.Truef(t, regexp.MustCompile(`^/gatehouse/gatehouse-[0-9a-f]{16}\.js$`).MatchString(client.Path()),
		"the path is %s", client.Path())
	hashed, plain := serve(http.MethodGet, client.Path()), serve(http.MethodGet, client.Prefix+"gatehouse.js")
	for _, w := range []*httptest.ResponseRecorder{hashed, plain} {
		assert.Truef(t, w.Code == http.StatusOK && strings.HasPrefix(w.Header().Get("Content-Type"), "text/javascript") && w.Header().Get("X-Content-Type-Options") == "nosniff",
			"got %d, %v", w.Code, w.Header())
	}
	assert.Equal(t, plain.Body.String(), hashed.Body.String(), "the two differ")
	assert.Contains(t, hashed.Header().Get("Cache-Control"), "immutable", "with the hash: Cache-Control")
	assert.Equal(t, "no-cache", plain.Header().Get("Cache-Control"), "without: Cache-Control")
	w := serve(http.MethodGet, client.Prefix+"gatehouse.js", "If-None-Match", plain.Header().Get("ETag"))
	assert.Equal(t, http.StatusNotModified, w.Code, "asked again: status")
	passkey := regexp.MustCompile(`import\("\./(passkey-[0-9a-f]{16}\.js)"\)`).FindStringSubmatch(hashed.Body.String())
	require.NotNil(t, passkey, "the module does not import the passkey script by its hash")
	w = serve(http.MethodGet, client.Prefix+passkey[1])
	assert.Truef(t, w.Code == http.StatusOK && w.Body.String() == client.Passkey, "the passkey script: status %d", w.Code)
	for _, path := range []string{"gatehouse-0000000000000000.js", "", "module", "../client/doc.go"} {
		assert.Equalf(t, http.StatusNotFound, serve(http.MethodGet, client.Prefix+path).Code, "%s: status", path)
	}
	assert.Equal(t, http.StatusNotFound, serve(http.MethodPost, client.Path()).Code, "POST: status")
	assert.Equal(t, client.Types, serve(http.MethodGet, client.Prefix+"gatehouse.d.ts").Body.String(),
		"the types are not served")
}

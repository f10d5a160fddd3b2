package auth_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shares reports whether a shared cache may store a response (RFC 9111 section
// 3), by what the headers say and not by its own guess.
func shares(h http.Header) bool {
	all := strings.ToLower(strings.Join(h["Cache-Control"], ","))
	for name := range h {
		if lower := strings.ToLower(name); lower != "cache-control" && (strings.HasSuffix(lower, "-cache-control") || lower == "surrogate-control") {
			return true
		}
	}
	words := strings.FieldsFunc(all, func(r rune) bool { return r == ',' || r == ' ' })
	return !slices.Contains(words, "private") && !slices.Contains(words, "no-store") || slices.Contains(words, "public") || strings.Contains(all, "s-maxage")
}

// publicly are handlers that want their response in shared caches.
var publicly = map[string]func(w http.ResponseWriter){
	"public":           func(w http.ResponseWriter) { w.Header().Set("Cache-Control", "public, max-age=60") },
	"s-maxage":         func(w http.ResponseWriter) { w.Header().Set("Cache-Control", "S-MaxAge=60, must-revalidate") },
	"two lines":        func(w http.ResponseWriter) { w.Header()["Cache-Control"] = []string{"no-cache", "PUBLIC"} },
	"private field":    func(w http.ResponseWriter) { w.Header().Set("Cache-Control", `private="Set-Cookie"`) },
	"for a CDN":        func(w http.ResponseWriter) { w.Header().Set("Cdn-Cache-Control", "max-age=60") },
	"for a surrogate":  func(w http.ResponseWriter) { w.Header().Set("Surrogate-Control", "max-age=60") },
	"Expires":          func(w http.ResponseWriter) { w.Header().Set("Expires", "Fri, 01 Jan 2100 00:00:00 GMT") },
	"nothing":          func(http.ResponseWriter) {},
	"Vary for another": func(w http.ResponseWriter) { w.Header().Set("Vary", "Accept") },
}

// TestSessionsStayOutOfSharedCaches: whatever a handler says about caching, what
// it answers with a session, and the cookies that renew the session, are for one
// browser. Set before or after the session is read, in every way to write.
func TestSessionsStayOutOfSharedCaches(t *testing.T) {
	write := map[string]func(w http.ResponseWriter){
		"write":  func(w http.ResponseWriter) { _, _ = io.WriteString(w, "x") },
		"status": func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"hints": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Cache-Control", "public")
			w.WriteHeader(http.StatusOK)
		},
		"flush":   func(w http.ResponseWriter) { w.(http.Flusher).Flush() }, //nolint:forcetypeassert // the server flushes
		"copy":    func(w http.ResponseWriter) { _, _ = io.Copy(w, strings.NewReader("x")) },
		"nothing": func(http.ResponseWriter) {},
	}
	clock := newClock()
	h := newHandler(t, auth.Config{Clock: clock.Now, Providers: []auth.Provider{password()}})
	for how, public := range publicly {
		for way, finish := range write {
			for _, after := range []bool{false, true} {
				inner := h.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					if after {
						public(w)
					}
					finish(w)
				}))
				outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !after {
						public(w)
					}
					if strings.HasPrefix(r.URL.Path, "/auth/") {
						h.ServeHTTP(w, r)
						return
					}
					inner.ServeHTTP(w, r)
				})
				server := httptest.NewServer(outer) // net/http writes the header by itself if nobody does
				b := newBrowser(t, outer)
				r := b.password("ada", "lovelace")
				assert.Falsef(t, r.Header.Get("Cache-Control") != "" && shares(r.Header),
					"%s: the cookie of a sign-in is shared: %v", how, r.Header)
				for range 2 { // the first one renews the cookie
					clock.advance(25 * time.Hour)
					r := must(http.NewRequest(http.MethodGet, server.URL+"/private", nil))(t)
					b.addCookies(r)
					response, err := http.DefaultClient.Do(r)
					require.NoError(t, err)
					_ = response.Body.Close()
					assert.Truef(t, response.StatusCode < 300 && !shares(response.Header) && strings.Contains(strings.Join(response.Header["Vary"], ","), "Cookie"),
						"%s, %s, after: %v: status %d, %v", how, way, after, response.StatusCode, response.Header)
				}
				server.Close()
			}
		}
	}
}

// TestPublicPagesStayPublic: behind Load, a page that does not ask for the
// session stays in shared caches; one that greets nobody varies by the cookie;
// no-store stays.
func TestPublicPagesStayPublic(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/auth/") {
			h.ServeHTTP(w, r)
			return
		}
		r = must(h.Load(w, r))(t)
		auth.Private(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "public, max-age=60")
			switch r.URL.Path {
			case "/greeting":
				_, _ = auth.FromContext(r.Context())
			case "/secret":
				_, _ = auth.FromContext(r.Context())
				w.Header().Set("Cache-Control", "no-store")
			}
			_, _ = io.WriteString(w, "x")
		})).ServeHTTP(w, r)
	})
	ada, nobody := newBrowser(t, site), newBrowser(t, site)
	ada.signIn()
	for path, want := range map[string][2]string{
		"/logo": {"public, max-age=60", "public, max-age=60"}, "/greeting": {"private, max-age=60", "public, max-age=60"}, "/secret": {"no-store", "no-store"},
	} {
		for i, b := range []*browser{ada, nobody} {
			r := b.get(path)
			assert.Equal(t, want[i], r.Header.Get("Cache-Control"), path)
			vary := r.Header.Get("Vary")
			assert.Falsef(t, b == ada && vary == "" != (path == "/logo"), "%s: Vary is %q", path, vary)
		}
	}
}

// TestPrivateKeepsWhatTheServerCan: the ResponseWriter behind Require flushes,
// hijacks and pushes if that of the server does.
func TestPrivateKeepsWhatTheServerCan(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(auth.Private(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, flushes := w.(http.Flusher)
			_, hijacks := w.(http.Hijacker)
			_, pushes := w.(http.Pusher)
			assert.Truef(t, flushes && hijacks != http2 && pushes == http2 && http.NewResponseController(w).SetWriteDeadline(time.Time{}) == nil,
				"%s: flushes %v, hijacks %v, pushes %v", r.Proto, flushes, hijacks, pushes)
		})))
		server.EnableHTTP2 = http2
		server.StartTLS()
		response, err := server.Client().Get(server.URL)
		require.NoError(t, err)
		_ = response.Body.Close()
		server.Close()
	}
}

// TestHeadersAfterRefresh: a handler that reads the session itself, without
// Private, and then says that its response may be shared: a cache that keeps RFC
// 9111 counts the more restrictive of the directives, and stores nothing.
func TestHeadersAfterRefresh(t *testing.T) {
	t.Parallel()
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	b := newBrowser(t, h)
	b.signIn()
	for name, read := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"Load":    func(w http.ResponseWriter, r *http.Request) error { _, err := h.Load(w, r); return err },
		"Refresh": func(w http.ResponseWriter, r *http.Request) error { _, err := h.Refresh(w, r); return err },
		"UpdateSession": func(w http.ResponseWriter, r *http.Request) error {
			_, err := h.UpdateSession(w, r, "x")
			return err
		},
	} {
		for kind, set := range publicly {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				assert.NoError(t, read(w, r))
				set(w)
				w.Header().Del("Vary")
				_, _ = io.WriteString(w, "x")
			}))
			r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/page", nil))(t)
			b.addCookies(r)
			res, err := server.Client().Do(r)
			require.NoError(t, err)
			_ = res.Body.Close()
			server.Close()
			assert.Truef(t, slices.Contains(res.Header.Values("Cache-Control"), "private") && slices.Contains(res.Header.Values("Vary"), "Cookie"),
				"%s, %s: the headers are %v", name, kind, res.Header)
		}
	}
}

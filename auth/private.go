package auth

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
)

// A response that sets a cookie of a person, or that was made with a session, is
// for one browser. A shared cache must not store it, whatever the handler of the
// application says (RFC 9111 section 5.2.2.7). Handlers set headers after the
// session was read, so the headers are made right when they are written.

// KeepPrivate makes the caching headers of a response fit the session in the
// context of its request. If the response sets cookies, or if the session of a
// person was read from the context, no shared cache may store the response:
// public and the directives for shared caches are removed from Cache-Control,
// which gets private, and so are the headers that only such caches read. Vary
// then names Cookie, also if there was no session. Other responses stay as they
// are.
//
// Require and the hooks of package frameworks do that; call it if your framework
// does not write responses through their ResponseWriter.
func KeepPrivate(ctx context.Context, h http.Header) {
	l, _ := ctx.Value(loadedKey{}).(*loaded)
	if l == nil {
		return
	}
	unguard(h)
	read := l.read.Load()
	switch {
	case len(h["Set-Cookie"]) > 0 || read && !l.nobody():
		forbidSharing(h)
	case read:
		varyByCookie(h)
	}
}

// guardPrivate lets no shared cache store a response whose handler replaces the
// headers later. A header with a name in lower case is one more line of the
// response, which Set and Del do not find, and of contradicting directives the
// more restrictive one counts (RFC 9111 section 4.2.1).
func guardPrivate(h http.Header) {
	h["cache-control"] = []string{"private"}
	h["vary"] = []string{"Cookie"}
}

// unguard removes the lines of guardPrivate.
func unguard(h http.Header) {
	for _, name := range []string{"cache-control", "vary"} {
		delete(h, name)
	}
}

// forbidSharing lets no shared cache store a response.
func forbidSharing(h http.Header) {
	unguard(h)
	varyByCookie(h)
	var kept []string
	private := false
	for _, line := range h["Cache-Control"] {
		for directive := range strings.SplitSeq(line, ",") {
			directive = strings.TrimSpace(directive)
			name, fields, _ := strings.Cut(strings.ToLower(directive), "=")
			switch name = strings.TrimSpace(name); name {
			case "", "public", "s-maxage", "proxy-revalidate", "must-understand":
			case "private":
				private = private || fields == ""
			case "no-store":
				private, kept = true, append(kept, directive)
			default:
				kept = append(kept, directive)
			}
		}
	}
	if !private || !slices.ContainsFunc(kept, func(d string) bool { return strings.EqualFold(d, "no-store") }) {
		kept = append([]string{"private"}, kept...)
	}
	for name := range h { // RFC 9213, and the headers of products before it
		lower := strings.ToLower(name)
		if lower == "surrogate-control" || lower == "x-accel-expires" || strings.HasSuffix(lower, "-cache-control") {
			delete(h, name)
		}
	}
	h["Cache-Control"] = []string{strings.Join(kept, ", ")}
}

// varyByCookie makes Vary name Cookie.
func varyByCookie(h http.Header) {
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.TrimSpace(name); name == "*" || strings.EqualFold(name, "Cookie") {
				return
			}
		}
	}
	h["Vary"] = append(slices.Clone(h["Vary"]), "Cookie")
}

// mayBeShared reports whether the headers of a response, which somebody set
// before it is answered, let a cache store it.
func mayBeShared(h http.Header) bool {
	for name := range h {
		lower := strings.ToLower(name)
		if lower == "expires" || lower == "surrogate-control" || lower == "x-accel-expires" || strings.HasSuffix(lower, "cache-control") {
			return true
		}
	}
	return false
}

// Private calls KeepPrivate for the responses of next, when their headers are
// written. Its requests must have been loaded, see Handler.Load. If somebody is
// signed in, next gets another ResponseWriter, which flushes, hijacks and pushes
// if that of the server does.
func Private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, _ := r.Context().Value(loadedKey{}).(*loaded)
		if l == nil || l.nobody() && len(w.Header()["Set-Cookie"]) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		p := &privateWriter{ResponseWriter: w, ctx: r.Context()}
		next.ServeHTTP(p.as(w), r)
		if !p.written { // the server writes the header now
			KeepPrivate(p.ctx, w.Header())
		}
	})
}

// as returns p with the abilities of the ResponseWriter of the server.
func (p *privateWriter) as(w http.ResponseWriter) http.ResponseWriter {
	f, flushes := w.(http.Flusher)
	h, hijacks := w.(http.Hijacker)
	u, pushes := w.(http.Pusher)
	flush := privateFlusher{p, f}
	switch {
	case !flushes:
		return p
	case hijacks && pushes:
		return struct {
			privateFlusher
			http.Hijacker
			http.Pusher
		}{flush, h, u}
	case hijacks:
		return struct {
			privateFlusher
			http.Hijacker
		}{flush, h}
	case pushes:
		return struct {
			privateFlusher
			http.Pusher
		}{flush, u}
	}
	return flush
}

// privateWriter is the ResponseWriter of Private.
type privateWriter struct {
	http.ResponseWriter
	ctx     context.Context //nolint:containedctx // it is that of the request
	written bool
}

// Unwrap is for http.ResponseController.
func (p *privateWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *privateWriter) begin() {
	if !p.written {
		p.written = true
		KeepPrivate(p.ctx, p.Header())
	}
}

// WriteHeader makes the header right before it is written. Another header
// follows that of an interim response.
func (p *privateWriter) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		p.begin()
	}
	p.ResponseWriter.WriteHeader(status)
}

// Write writes the header before the body.
func (p *privateWriter) Write(b []byte) (int, error) {
	p.begin()
	return p.ResponseWriter.Write(b)
}

// ReadFrom lets the server send a file by itself.
func (p *privateWriter) ReadFrom(from io.Reader) (int64, error) {
	p.begin()
	return io.Copy(p.ResponseWriter, from)
}

// privateFlusher is a privateWriter that flushes.
type privateFlusher struct {
	*privateWriter
	flusher http.Flusher
}

// Flush writes the header, if that was not done, and what was written.
func (p privateFlusher) Flush() {
	p.begin()
	p.flusher.Flush()
}

package client

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Module is the source of gatehouse.js, an ES module that signs in and out from
// scripts of a page and tells them who is signed in. It imports passkey.js,
// which must stand beside it, when a passkey is used.
//
//go:embed gatehouse.js
var Module string

// Types is the source of gatehouse.d.ts, the types of the module.
//
//go:embed gatehouse.d.ts
var Types string

// Prefix is the path that Handler is mounted on. On a site below a path it stands
// after that path: /app/gatehouse/ for a site below /app.
const Prefix = "/gatehouse/"

// Path is the path of the module with the hash of its content in it, for
// script and import elements: what it names never changes, so that browsers
// keep it for a year. On a site below a path put that path before it. The same module without hash, Prefix + "gatehouse.js", is
// asked for again each time.
func Path() string { return files()["module"].path }

type file struct {
	path, kind, etag string
	content          string
	// immutable says that the path tells the content.
	immutable bool
}

// files are what Handler serves, by path, and the module once more by the key
// module.
var files = sync.OnceValue(func() map[string]file {
	const script = "text/javascript; charset=utf-8"
	all := map[string]file{}
	add := func(name, kind, content string) file {
		hash := sha256.Sum256([]byte(content))
		tag := hex.EncodeToString(hash[:8])
		stem, extension, _ := strings.Cut(name, ".")
		f := file{Prefix + name, kind, `"` + tag + `"`, content, false}
		all[f.path] = f
		f.path, f.immutable = Prefix+stem+"-"+tag+"."+extension, true
		all[f.path] = f
		return f
	}
	passkey := add("passkey.js", script, Passkey)
	// The module asks for the passkey script by the path that never changes.
	linked := strings.ReplaceAll(Module, `"./passkey.js"`, `"./`+strings.TrimPrefix(passkey.path, Prefix)+`"`)
	all["module"] = add("gatehouse.js", script, linked)
	add("gatehouse.d.ts", "application/typescript; charset=utf-8", Types)
	return all
})

// Handler serves the module, its types and the passkey script below Prefix:
//
//	mux.Handle("GET "+client.Prefix, client.Handler())
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := files()[r.URL.Path[max(0, strings.LastIndex(r.URL.Path, Prefix)):]]
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", f.kind)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("ETag", f.etag)
		h.Set("Cache-Control", "no-cache")
		if f.immutable {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(f.content))
	})
}

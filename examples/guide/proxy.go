package guide

import "net/http"

// behindProxy trusts the proxy's headers about a request. Only the proxy may
// reach the server, and it must set both headers itself.
func behindProxy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Forwarded-Host")
		next.ServeHTTP(w, r)
	})
}

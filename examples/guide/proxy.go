package guide

import (
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

// behindProxy trusts the proxy's headers about a request. Only the proxy may
// reach the server, and it must set both headers, or append to them.
func behindProxy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := auth.ForwardedURL(r, auth.Config{TrustedProxyCount: 1}) // the same as for auth.New
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host = u.Scheme, u.Host
		next.ServeHTTP(w, r)
	})
}

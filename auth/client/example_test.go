package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gatehouse-go/gatehouse/auth/client"
)

// A page imports the module by a path that browsers may keep for a year.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle(client.Prefix, client.Handler())
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `<script type="module">import { signIn } from %q</script>`, client.Path())
	})

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, client.Path(), nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"), w.Header().Get("Cache-Control"))
	// Output: 200 text/javascript; charset=utf-8 public, max-age=31536000, immutable
}

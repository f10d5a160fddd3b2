// Command program uses the published modules together. It compiles and
// runs, but no user signs in.
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	_ "github.com/gatehouse-go/gatehouse/adapters/mongo"
	_ "github.com/gatehouse-go/gatehouse/adapters/mysql"
	_ "github.com/gatehouse-go/gatehouse/adapters/postgres"
	_ "github.com/gatehouse-go/gatehouse/adapters/redis"
	_ "github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	_ "github.com/gatehouse-go/gatehouse/auth/webauthn"
)

func main() {
	for _, name := range []string{"AUTH_GITHUB_ID", "AUTH_GITHUB_SECRET"} {
		if err := os.Setenv(name, "none"); err != nil {
			log.Fatal(err)
		}
	}
	handler, err := auth.New(auth.Config{
		URL:       "http://localhost:3000",
		Secret:    []string{strings.Repeat("s", 32)},
		Adapter:   memory.New(),
		Providers: []auth.Provider{providers.GitHub()},
	})
	if err != nil {
		log.Fatal(err)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://localhost:3000/auth/session", nil))
	if body := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || body != "null" {
		log.Fatalf("GET session: %d %s", w.Code, body)
	}
	fmt.Println("ok")
}

package stress_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	people  = 20
	signIns = 200
)

// TestSignIns makes 200 concurrent first sign-ins of 20 people with an OAuth provider, at two handlers, which represent two
// processes. No sign-in is refused, and at the end there are 20 users with one account each.
func TestSignIns(t *testing.T) {
	each(t, wiringstest.Servers(t, stores.Options{Fast: true}), func(t *testing.T, _ wirings.Wiring, o *wirings.Opened) {
		store := &counted{Adapter: o.Harness.New(t)}
		sites := []http.Handler{newSite(t, store, newIDP(t)), newSite(t, store, newIDP(t))}
		var refused atomic.Int64
		var wg sync.WaitGroup
		gate := make(chan struct{})
		for i := range signIns {
			wg.Go(func() {
				<-gate
				if end := signIn(t, sites[i/people%len(sites)], fmt.Sprintf("person-%d", i%people)); end != siteURL {
					refused.Add(1)
					t.Errorf("sign-in %d ends at %s", i, end)
				}
			})
		}
		close(gate)
		wg.Wait()
		users := map[string]bool{}
		for i := range people {
			u, err := store.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "idp", ProviderAccountID: fmt.Sprintf("person-%d", i)})
			require.Truef(t, err == nil && u != nil, "person %d: user %v, %v", i, u, err)
			users[u.ID] = true
		}
		t.Logf("%d sign-ins, %d refused, %d users, %d accounts", signIns, refused.Load(), store.users.Load(), store.accounts.Load())
		assert.Truef(t, len(users) == people && store.users.Load() == people && store.accounts.Load() == people,
			"%d people have %d users; %d users and %d accounts were stored", people, len(users), store.users.Load(), store.accounts.Load())
	})
}

// counted counts the users and accounts in the store.
type counted struct {
	adapter.Adapter
	users, accounts atomic.Int64
}

func (c *counted) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	created, err := c.Adapter.CreateUser(ctx, u)
	if err == nil {
		c.users.Add(1)
	}
	return created, err
}

func (c *counted) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	deleted, err := c.Adapter.DeleteUser(ctx, id)
	if err == nil && deleted != nil {
		c.users.Add(-1)
	}
	return deleted, err
}

func (c *counted) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	linked, err := c.Adapter.LinkAccount(ctx, a)
	if err == nil {
		c.accounts.Add(1)
	}
	return linked, err
}

// CreateUserWithAccount is declared, because a wrapper hides the optional methods that it does not declare. Every bundled
// adapter has this method.
func (c *counted) CreateUserWithAccount(ctx context.Context, u adapter.User, a adapter.Account, k *adapter.Authenticator) (*adapter.User, error) {
	signUps, ok := adapter.Capability[adapter.SignUps](c.Adapter)
	if !ok {
		return nil, adapter.ErrUnsupported
	}
	created, err := signUps.CreateUserWithAccount(ctx, u, a, k)
	if err == nil {
		c.users.Add(1)
		c.accounts.Add(1)
	}
	return created, err
}

// newIDP is a provider on loopback, whose codes and access tokens are the names of people.
func newIDP(t *testing.T) *auth.OAuth {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": r.PostFormValue("code"), "token_type": "bearer"})
	})
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) {
		person := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": person, "name": person, "email": person + "@example.com"})
	})
	idp := httptest.NewServer(mux)
	t.Cleanup(idp.Close)
	return &auth.OAuth{
		ID: "idp", ClientID: "client", ClientSecret: "secret", Authorization: auth.AuthorizationEndpoint{URL: idp.URL + "/authorize"},
		Token: auth.TokenEndpoint{URL: idp.URL + "/token"}, UserInfo: auth.UserInfoEndpoint{URL: idp.URL + "/userinfo"},
	}
}

// signIn signs a person in with a new browser, and returns the last URL of the browser.
func signIn(t *testing.T, site http.Handler, person string) string {
	t.Helper()
	b := newTab(t, site)
	to, err := url.Parse(b.submit("/auth/signin/idp").Header().Get("Location"))
	if !assert.NoError(t, err) {
		return ""
	}
	answer := url.Values{"code": {person}, "state": {to.Query().Get("state")}}
	return b.do(http.MethodGet, "/auth/callback/idp?"+answer.Encode(), "").Header().Get("Location")
}

package redis_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// bytesPerUser is the largest memory for a user who has signed in with a
// provider: a user with all fields, an account without tokens, and a session.
const bytesPerUser = 1100

// TestMemory adds up the memory that the server reports for each key.
func TestMemory(t *testing.T) {
	const people = 200
	e := standalone.env(t)
	prefix := e.Prefix[len(e.Prefix)-len("gatehouse"):] // as long as the default
	signIn(t, standalone.adapter(t, e.Admin, prefix), 0, people)
	kinds := map[string]int64{}
	var total atomic.Int64
	err := redistest.EachKeys(t.Context(), e.Admin, "*"+prefix+"[:}]*", func(ctx context.Context, c goredis.Cmdable, keys []string) error {
		for _, key := range keys {
			n, err := c.MemoryUsage(ctx, key).Result()
			if err != nil {
				return err
			}
			total.Add(n)
			if err := c.Unlink(ctx, key).Err(); err != nil {
				return err
			}
			kinds[regexp.MustCompile(`:(\w+)`).FindStringSubmatch(key)[1]] += n
		}
		return nil
	})
	require.NoError(t, err)
	for kind, n := range kinds {
		t.Logf("%s: %d bytes", kind, n/people)
	}
	t.Logf("in all: %d bytes", total.Load()/people)
	assert.Truef(t, total.Load()/people <= bytesPerUser,
		"a signed-in user takes %d bytes, want at most %d", total.Load()/people, bytesPerUser)
}

// signIn stores the records of users who sign in with a provider for the
// first time.
func signIn(t testing.TB, a adapter.Adapter, from, to int) {
	t.Helper()
	ctx := t.Context()
	for i := from; i < to; i++ {
		email := fmt.Sprintf("somebody.%07d@example.com", i)
		u := must(a.CreateUser(ctx, adapter.User{
			Name: new("Somebody Else"), Email: email, EmailVerified: new(time.Now()), Image: new("https://images.example.com/" + strconv.Itoa(i) + ".jpg"),
		}))(t)
		must(a.LinkAccount(ctx, adapter.Account{UserID: u.ID, Type: adapter.AccountOIDC, Provider: "google", ProviderAccountID: fmt.Sprintf("1055678449491%08d", i)}))(t)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprintf("2f1c5a60-7a4e-4c9f-9d3b-%012d", i), UserID: u.ID, Expires: time.Now().Add(30 * 24 * time.Hour)}))(t)
	}
}

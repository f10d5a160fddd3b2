package adaptertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// keys name the records that a snapshot looks at. Verification tokens are not among
// them: to look at one is to use it up.
type keys struct {
	users       []string
	emails      []string
	accounts    []adapter.AccountKey
	sessions    []string
	credentials []string
}

// lookup is what one lookup found.
type lookup struct {
	lookup string
	record any
}

// snapshot makes every lookup that the adapter has of the keys, and of the owners
// that it meets.
func (c *clauseContext) snapshot(ctx context.Context, a adapter.Adapter, k keys) ([]lookup, error) {
	var seen []lookup
	var failed error
	look := func(method string, arg any, call func() (any, error)) {
		if c.lacks(method) || failed != nil {
			return
		}
		record, err := call()
		if err != nil {
			failed = fmt.Errorf("%s(%s): %w", method, diff.Show(arg), err)
			return
		}
		seen = append(seen, lookup{fmt.Sprintf("%s(%s)", method, diff.Show(arg)), record})
	}
	for _, id := range k.users {
		look("GetUser", id, func() (any, error) { return a.GetUser(ctx, id) })
		look("ListAuthenticatorsByUserID", id, func() (any, error) { return a.ListAuthenticatorsByUserID(ctx, id) })
	}
	for _, email := range k.emails {
		look("GetUserByEmail", email, func() (any, error) { return a.GetUserByEmail(ctx, email) })
	}
	for _, key := range k.accounts {
		look("GetAccount", key, func() (any, error) { return a.GetAccount(ctx, key.ProviderAccountID, key.Provider) })
		look("GetUserByAccount", key, func() (any, error) { return a.GetUserByAccount(ctx, key) })
	}
	for _, token := range k.sessions {
		look("GetSessionAndUser", token, func() (any, error) { return a.GetSessionAndUser(ctx, token) })
	}
	for _, id := range k.credentials {
		look("GetAuthenticator", id, func() (any, error) { return a.GetAuthenticator(ctx, id) })
	}
	return seen, failed
}

// differences compares two snapshots of the same keys and says where they differ.
func (c *clauseContext) differences(got, want []lookup) []string {
	var out []string
	for i, w := range want {
		g := got[i].record
		if list, ok := w.record.([]adapter.Authenticator); ok {
			if !c.equalLists(g.([]adapter.Authenticator), list) {
				out = append(out, fmt.Sprintf("%s got %s, want %s", w.lookup, diff.Show(g), diff.Show(w.record)))
			}
			continue
		}
		if d := diff.Records(g, w.record, c.harness().precision()); d != "" {
			out = append(out, w.lookup+" "+d)
		}
	}
	return out
}

// equalLists compares lists of authenticators as multisets.
func (c *clauseContext) equalLists(got, want []adapter.Authenticator) bool {
	rest := slices.Clone(got)
	for _, w := range want {
		i := slices.IndexFunc(rest, func(g adapter.Authenticator) bool { return diff.Records(g, w, c.harness().precision()) == "" })
		if i < 0 {
			return false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return len(rest) == 0
}

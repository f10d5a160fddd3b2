package adaptertest

import (
	"context"
	"fmt"
	"slices"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// keys name the records that a snapshot reads. They do not include verification
// tokens, because a lookup uses a token up.
type keys struct {
	users       []string
	emails      []string
	accounts    []adapter.AccountKey
	sessions    []string
	credentials []string
}

// add adds the key of a record.
func (k *keys) add(r Record) {
	switch r.Kind {
	case UserRecord:
		k.users = append(k.users, r.Key)
	case AccountRecord:
		k.accounts = append(k.accounts, r.Account)
	case SessionRecord:
		k.sessions = append(k.sessions, r.Key)
	case AuthenticatorRecord:
		k.credentials = append(k.credentials, r.Key)
	}
}

// lookup is the result of one lookup.
type lookup struct {
	method string
	args   []any
	when   string // after which call, if that is not the last one
	record any
}

func (l lookup) String() string {
	return fmt.Sprintf("%s(%s)%s", l.method, diff.Show(l.args...), l.when)
}

// snapshot makes every lookup that the adapter has, for the keys and for the
// owners of the found records.
func (c *clauseContext) snapshot(ctx context.Context, a adapter.Adapter, k keys) ([]lookup, error) {
	var seen []lookup
	var failed error
	look := func(method string, arg any, call func() (any, error)) {
		if !c.works(method) || failed != nil {
			return
		}
		record, err := call()
		if err != nil {
			failed = fmt.Errorf("%s(%s): %w", method, diff.Show(arg), err)
			return
		}
		seen = append(seen, lookup{method: method, args: []any{arg}, record: record})
	}
	for _, id := range k.users {
		look("GetUser", id, func() (any, error) { return a.GetUser(ctx, id) })
		look("ListAuthenticatorsByUserID", id, func() (any, error) { return a.ListAuthenticatorsByUserID(ctx, id) })
		look("ListAccountsByUserID", id, func() (any, error) { return optional[adapter.AccountLists](a).ListAccountsByUserID(ctx, id) })
		look("ListSessionsByUserID", id, func() (any, error) { return optional[adapter.SessionLists](a).ListSessionsByUserID(ctx, id) })
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
		if d := c.unlike(got[i].record, w.record); d != "" {
			out = append(out, w.String()+" "+d)
		}
	}
	return out
}

// unlike describes how a result differs from the wanted one. It compares a
// record field by field, and a list as a multiset.
func (c *clauseContext) unlike(got, want any) string {
	switch w := want.(type) {
	case []adapter.Authenticator:
		return unlikeLists(c, got, w)
	case *[]adapter.Authenticator:
		if g, ok := got.(*[]adapter.Authenticator); ok && g != nil && w != nil {
			return unlikeLists(c, *g, *w)
		}
	case []adapter.Account:
		return unlikeLists(c, got, w)
	case []adapter.Session:
		return unlikeLists(c, got, w)
	case *adapter.Authenticator:
		if g, ok := got.(*adapter.Authenticator); ok && g != nil && w != nil {
			want = new(asFarAsKept(*g, *w))
		}
	case adapter.Authenticator:
		if g, ok := got.(adapter.Authenticator); ok {
			want = asFarAsKept(g, w)
		}
	}
	return diff.Records(got, want, c.harness().precision())
}

// asFarAsKept returns the wanted authenticator without the fields that the
// store does not keep: it may leave the name and the two instants nil.
func asFarAsKept(got, want adapter.Authenticator) adapter.Authenticator {
	if got.Name == nil {
		want.Name = nil
	}
	if got.Created == nil {
		want.Created = nil
	}
	if got.LastUsed == nil {
		want.LastUsed = nil
	}
	return want
}

func unlikeLists[T any](c *clauseContext, got any, want []T) string {
	list, _ := got.([]T) // list is nil for no result
	places := map[string][]int{}
	for i, g := range list {
		places[listKey(g)] = append(places[listKey(g)], i)
	}
	expected := make([]bool, len(list))
	var missing, rest []T
	for _, w := range want {
		same := places[listKey(w)]
		n := slices.IndexFunc(same, func(i int) bool { return !expected[i] && c.unlike(list[i], w) == "" })
		if n < 0 {
			missing = append(missing, w)
			continue
		}
		expected[same[n]] = true
	}
	for i, g := range list {
		if !expected[i] {
			rest = append(rest, g)
		}
	}
	if len(missing) == 0 && len(rest) == 0 {
		return ""
	}
	return fmt.Sprintf("got %d records, want %d; missing: %s; not expected: %s", len(list), len(want), diff.Show(missing), diff.Show(rest))
}

// listKey is the key of a record of a list: records with different keys differ.
func listKey(record any) string {
	switch r := record.(type) {
	case adapter.Account:
		return r.Provider + "\x00" + r.ProviderAccountID
	case adapter.Session:
		return r.SessionToken
	case adapter.Authenticator:
		return r.CredentialID
	}
	return ""
}

// equalLists compares lists of authenticators as multisets.
func (c *clauseContext) equalLists(got, want []adapter.Authenticator) bool {
	return c.unlike(got, want) == ""
}

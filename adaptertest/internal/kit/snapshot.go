package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Keys name the records that a snapshot reads. They do not include verification
// tokens, because a lookup uses a token up.
type Keys struct {
	Users       []string
	Emails      []string
	Accounts    []adapter.AccountKey
	Sessions    []string
	Credentials []string
}

// Add adds the key of a record.
func (k *Keys) Add(r Record) {
	switch r.Kind {
	case UserRecord:
		k.Users = append(k.Users, r.Key)
	case AccountRecord:
		k.Accounts = append(k.Accounts, r.Account)
	case SessionRecord:
		k.Sessions = append(k.Sessions, r.Key)
	case AuthenticatorRecord:
		k.Credentials = append(k.Credentials, r.Key)
	}
}

// Lookup is the result of one lookup.
type Lookup struct {
	Method string
	Args   []any
	When   string // after which call, if that is not the last one
	Record any
	call   Call // makes it
}

func (l Lookup) String() string {
	return fmt.Sprintf("%s(%s)%s", l.Method, diff.Show(l.Args...), l.When)
}

// lookups returns every lookup that the adapter has, of the keys and of the owners of the found records.
func lookups(c *Context, k Keys) (all []Lookup) {
	look := func(arg any, calls ...Call) {
		for _, m := range c.Working(calls) {
			all = append(all, Lookup{Method: m.Method, Args: []any{arg}, call: m})
		}
	}
	for _, id := range k.Users {
		look(id, GetUser(id), ListAuthenticatorsByUserID(id), ListAccountsByUserID(id), ListSessionsByUserID(id), GetPassword(id))
	}
	for _, email := range k.Emails {
		look(email, GetUserByEmail(email))
	}
	for _, key := range k.Accounts {
		look(key, GetAccountByKey(key), GetUserByAccount(key))
	}
	for _, token := range k.Sessions {
		look(token, GetSessionAndUser(token))
	}
	for _, id := range k.Credentials {
		look(id, GetAuthenticator(id))
	}
	return all
}

// Snapshot makes every lookup that the adapter has, of the keys and of the owners of the found records.
func Snapshot(ctx context.Context, c *Context, a adapter.Adapter, k Keys) ([]Lookup, error) {
	var seen []Lookup
	for _, l := range lookups(c, k) {
		record, err := l.call.Do(ctx, a)
		c.Trace.Returned(err)
		if err != nil {
			return seen, fmt.Errorf("%s(%s): %w", l.Method, diff.Show(l.Args...), err)
		}
		l.Record = record
		seen = append(seen, l)
	}
	return seen, nil
}

// Differences compares two snapshots of the same keys and says where they differ.
func Differences(c *Context, got, want []Lookup) []string {
	var out []string
	for i, w := range want {
		if d := c.Unlike(got[i].Record, w.Record); d != "" {
			out = append(out, w.String()+" "+d)
		}
	}
	return out
}

// Unlike describes how a result differs from the wanted one. It compares a
// record field by field, and a list as a multiset.
func (c *Context) Unlike(got, want any) string {
	switch w := want.(type) {
	case []adapter.Authenticator:
		return unlikeLists(c, got, w)
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
	return diff.Records(got, want, c.Harness().Precision())
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

func unlikeLists[T any](c *Context, got any, want []T) string {
	list, _ := got.([]T) // list is nil for no result
	places := map[string][]int{}
	for i, g := range list {
		places[listKey(g)] = append(places[listKey(g)], i)
	}
	expected := make([]bool, len(list))
	var missing, rest []T
	for _, w := range want {
		same := places[listKey(w)]
		n := slices.IndexFunc(same, func(i int) bool { return !expected[i] && c.Unlike(list[i], w) == "" })
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
	return fmt.Sprintf("got %d records, want %d; missing: %s; not expected: %s", len(list), len(want),
		diff.Show(missing), diff.Show(rest))
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

// Searches for remains of deleted records.

// InStore looks for the record in the store without the adapter. known is false if the harness can't.
func InStore(c *Context, r Record) (there, known bool) {
	inspect := c.Harness().Inspect
	if inspect == nil {
		return false, false
	}
	there, err := inspect(c.Ctx, c.Raw, r)
	return Must(c, "Inspect", there, err), true
}

// ReallyGone looks for the record in the store without the adapter, if the harness can.
func ReallyGone(c *Context, what string, r Record) {
	if there, _ := InStore(c, r); there {
		c.Errorf("%s: the %s is still in the store", what, r.Kind)
	}
}

// NothingOf returns an error that names the records that are found under the keys.
func NothingOf(c *Context, look Keys) error {
	seen, err := Snapshot(c.Ctx, c, c.Raw, look)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !IsNothing(s.Record) {
			err = errors.Join(err, fmt.Errorf("%s got %s, want absent", s, diff.Show(s.Record)))
		}
	}
	return err
}

// Inherited creates a new user with the ID of a deleted one, and returns an error if records are found under the
// keys: records that were only hidden come back then.
func Inherited(c *Context, id string, look Keys) error {
	u, createErr := c.Raw.CreateUser(c.Ctx, UserNamed(c, id))
	if createErr != nil || u == nil || u.ID != id {
		return nil //nolint:nilerr // the store does not use an ID twice, or creation is broken
	}
	look.Users = nil
	err := NothingOf(c, look)
	if c.Works("ListAuthenticatorsByUserID") {
		if list, listErr := c.Raw.ListAuthenticatorsByUserID(c.Ctx, id); len(list) > 0 || listErr != nil {
			err = errors.Join(err, listErr, fmt.Errorf("the list of authenticators is %s", diff.Show(list)))
		}
	}
	_, deleteErr := c.Raw.DeleteUser(c.Ctx, id)
	if err != nil {
		err = fmt.Errorf("a new user with the same id inherits: %w", err)
	}
	return errors.Join(err, deleteErr)
}

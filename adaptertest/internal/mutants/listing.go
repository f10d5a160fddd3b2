package mutants

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// listingMutants list wrongly while other records of the owner come and go.
func listingMutants() []Mutant {
	token := func(s adapter.Session) string { return s.SessionToken }
	account := func(a adapter.Account) string { return a.Provider + " " + a.ProviderAccountID }
	credential := func(a adapter.Authenticator) string { return a.CredentialID }
	return []Mutant{
		{Name: "pages of sessions by position", Races: true, Fault: "ListSessionsByUserID reads pages of 25 by position: if a session before the page ends, one that stays is missing.", Fails: []string{"SLIST-01"},
			mem: func(m *mem) with {
				return with{optional: optional{listSessions: byPosition(m.ListSessionsByUserID, token)}}
			}},
		{Name: "pages of accounts by OFFSET", Races: true, Fault: "ListAccountsByUserID reads pages of 25 with OFFSET.", Fails: []string{"ALIST-01"},
			lite: func(l *lite) with {
				return with{optional: optional{listAccounts: byPosition(l.ListAccountsByUserID, account)}}
			}},
		{Name: "pages of passkeys by OFFSET", Races: true, Fault: "ListAuthenticatorsByUserID reads pages of 25 with OFFSET.", Fails: []string{"AUTHN-04"},
			lite: func(l *lite) with {
				return with{listAuthenticators: byPosition(l.ListAuthenticatorsByUserID, credential)}
			}},
		{Name: "list of passkeys meets a deleted one", Races: true, Fault: "ListAuthenticatorsByUserID reads the credential IDs, then each authenticator, and fails if one was deleted in between.", Fails: []string{"AUTHN-04"},
			mem: func(m *mem) with {
				return with{listAuthenticators: oneByOne(m.ListAuthenticatorsByUserID, m.GetAuthenticator, credential)}
			}},
		{Name: "list of sessions ends at a deleted one", Races: true, Fault: "ListSessionsByUserID reads the tokens, then each session, and ends at one that was deleted in between.", Fails: []string{"SLIST-01"},
			lite: func(l *lite) with {
				return with{optional: optional{listSessions: func(ctx context.Context, userID string) ([]adapter.Session, error) {
					index, err := l.ListSessionsByUserID(ctx, userID)
					for i, s := range index {
						found, err := l.GetSessionAndUser(ctx, s.SessionToken)
						if err != nil {
							return nil, err
						}
						if found == nil && s.Expires.After(time.Now()) {
							return index[:i], nil
						}
					}
					return index, err
				}}}
			}},
	}
}

// byPosition lists in pages, in the order of the keys.
func byPosition[T any](list func(context.Context, string) ([]T, error), key func(T) string) func(context.Context, string) ([]T, error) {
	const size = 25
	return func(ctx context.Context, userID string) ([]T, error) {
		for pages := []T{}; ; gap() {
			all, err := list(ctx, userID)
			if err != nil {
				return nil, err
			}
			slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
			rest := all[min(len(pages), len(all)):]
			pages = append(pages, rest[:min(size, len(rest))]...)
			if len(rest) <= size {
				return pages, nil
			}
		}
	}
}

// oneByOne lists by an index, and fails if a record of the index is absent.
func oneByOne[T any](index func(context.Context, string) ([]T, error), get func(context.Context, string) (*T, error), key func(T) string) func(context.Context, string) ([]T, error) {
	return func(ctx context.Context, userID string) ([]T, error) {
		all, err := index(ctx, userID)
		for i, r := range all {
			now, err := get(ctx, key(r))
			if err != nil {
				return nil, err
			}
			if now == nil {
				return nil, fmt.Errorf("the record %q is absent", key(r))
			}
			all[i] = *now
		}
		return all, err
	}
}

package adaptertest

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A list that is read while other records of the same owner come and go: a list in pages
// by position loses a record that stays, or has one twice, and a list that follows an
// index meets entries whose records are gone.

// listedKind is a kind of record that is listed by its owner.
type listedKind[T any] struct {
	list   func() []T
	key    func(T) string
	create func() T     // a new record of the owner
	again  func(T)      // stores a record once more after its removal
	remove func(T) bool // removes a record; it returns false if no method does
}

// listWhileOthersChange reads lists while every other record of the owner is removed
// and stored again, or, if no method removes one, while new records are stored. A record
// that stays must be in each list, once.
func listWhileOthersChange[T any](c *clauseContext, what string, k listedKind[T]) {
	all := make([]T, listedRecords)
	c.populate(len(all), func(i int) { all[i] = k.create() })
	c.settle()
	times := map[string]int{} // how often a record that stays is in the list
	var others []T
	for i, r := range all {
		if i%2 == 0 {
			times[k.key(r)] = 0
		} else {
			others = append(others, r)
		}
	}
	var changes atomic.Int64
	var over atomic.Bool
	change := func(n int) {
		var removed []T
		for i := range listedTogether {
			if r := others[(n*listedTogether+i)%len(others)]; k.remove(r) {
				removed = append(removed, r)
			} else {
				k.create()
			}
			changes.Add(1)
		}
		for _, r := range removed {
			k.again(r)
			changes.Add(1)
		}
	}
	lists := func() {
		defer over.Store(true)
		start := time.Now()
		goesOn := func(n int) bool {
			elapsed := time.Since(start)
			return n < fewestBeside && elapsed < 10*raceLimit || n < c.rounds(listsBeside) && elapsed < c.span(raceLimit)/c.haste
		}
		for n, last := 0, int64(0); goesOn(n); {
			list := k.list()
			if now := changes.Load(); now >= last+2 {
				n, last = n+1, now
			} else {
				runtime.Gosched()
			}
			for _, r := range list {
				if _, stays := times[k.key(r)]; stays {
					times[k.key(r)]++
				}
			}
			for key, n := range times {
				if n != 1 {
					c.Errorf("%s, while other records of the owner come and go: %q stays, and is there %d times", what, key, n)
					return
				}
				times[key] = 0
			}
			if over.Load() {
				return // the changes have ended the clause
			}
		}
	}
	c.parallel(2, func(i int) {
		if i == 0 {
			lists()
			return
		}
		defer over.Store(true)
		for n := 0; !over.Load(); n++ {
			change(n)
		}
	})
}

// listedSessions are the sessions of a new user.
func (c *clauseContext) listedSessions() listedKind[adapter.Session] {
	owner := c.user().ID
	return listedKind[adapter.Session]{
		list:   func() []adapter.Session { return of[[]adapter.Session](c, listSessions(owner)) },
		key:    func(s adapter.Session) string { return s.SessionToken },
		create: func() adapter.Session { return c.session(owner) },
		again:  func(s adapter.Session) { c.createSession(s) },
		remove: func(s adapter.Session) bool {
			return c.works("DeleteSession") && c.deleteSession(s.SessionToken) != nil
		},
	}
}

// listedAccounts are the accounts of a new user.
func (c *clauseContext) listedAccounts() listedKind[adapter.Account] {
	owner := c.user().ID
	return listedKind[adapter.Account]{
		list:   func() []adapter.Account { return of[[]adapter.Account](c, listAccounts(owner)) },
		key:    func(a adapter.Account) string { return a.Provider + " " + a.ProviderAccountID },
		create: func() adapter.Account { return c.account(owner) },
		again:  func(a adapter.Account) { c.linkAccount(a) },
		remove: func(a adapter.Account) bool { return c.works("UnlinkAccount") && c.unlinkAccount(a.Key()) != nil },
	}
}

// listedAuthenticators are the authenticators of a new user.
func (c *clauseContext) listedAuthenticators() listedKind[adapter.Authenticator] {
	owner := c.user().ID
	return listedKind[adapter.Authenticator]{
		list:   func() []adapter.Authenticator { return c.listAuthenticators(owner) },
		key:    func(a adapter.Authenticator) string { return a.CredentialID },
		create: func() adapter.Authenticator { return c.authenticator(owner) },
		again:  func(a adapter.Authenticator) { c.createAuthenticator(a) },
		remove: func(a adapter.Authenticator) bool {
			return c.works("DeleteAuthenticator") && of[*adapter.Authenticator](c, deleteAuthenticator(owner, a.CredentialID, false)) != nil
		},
	}
}

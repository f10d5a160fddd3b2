package records

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A list that is read while other records of the same owner come and go: a list in pages by position loses a
// record that stays, or has one twice, and a list that follows an index meets entries whose records are gone.

// listWhileOthersChange reads lists while every other record of a new owner is removed and stored again, or, if
// no method removes one, while new records are stored. A record that stays must be in each list, once.
func listWhileOthersChange(c *kit.Context, kind kit.Kind, list func(userID string) kit.Call) {
	owner := c.User().ID
	what := list(owner).Method
	create := func() *kit.Draft {
		d := kit.NewDraft(c, kind, owner)
		d.Store(c, c.Adapter)
		return d
	}
	remove := func(d *kit.Draft) bool {
		return c.Works(d.Remove().Method) && !kit.IsNilRecord(kit.Of[any](c, d.Remove()))
	}
	all := make([]*kit.Draft, kit.ListedRecords)
	kit.Populate(c, len(all), func(i int) { all[i] = create() })
	c.Settle()
	times := map[kit.Record]int{} // how often a record that stays is in the list
	var others []*kit.Draft
	for i, r := range all {
		if i%2 == 0 {
			times[r.Name()] = 0
		} else {
			others = append(others, r)
		}
	}
	var changes atomic.Int64
	var over atomic.Bool
	change := func(n int) {
		var removed []*kit.Draft
		for i := range kit.ListedTogether {
			if r := others[(n*kit.ListedTogether+i)%len(others)]; remove(r) {
				removed = append(removed, r)
			} else {
				create()
			}
			changes.Add(1)
		}
		for _, r := range removed {
			r.Store(c, c.Adapter)
			changes.Add(1)
		}
	}
	lists := func() {
		defer over.Store(true)
		start := time.Now()
		goesOn := func(n int) bool {
			elapsed := time.Since(start)
			return n < kit.FewestBeside && elapsed < 10*kit.RaceLimit || n < c.Rounds(kit.ListsBeside) && elapsed < c.Span(kit.RaceLimit)/c.Haste
		}
		for n, last := 0, int64(0); goesOn(n); {
			found := listed(kit.Of[any](c, list(owner)))
			if now := changes.Load(); now >= last+2 {
				n, last = n+1, now
			} else {
				runtime.Gosched()
			}
			for _, name := range found {
				if _, stays := times[name]; stays {
					times[name]++
				}
			}
			for name, n := range times {
				if n != 1 {
					key := name.Key
					if kind == kit.AccountRecord {
						key = name.Account.Provider + " " + name.Account.ProviderAccountID
					}
					c.Errorf("%s, while other records of the owner come and go: %q stays, and is there %d times", what, key, n)
					return
				}
				times[name] = 0
			}
			if over.Load() {
				return // the changes have ended the clause
			}
		}
	}
	c.Parallel(2, func(i int) {
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

// listed returns the names of the records in a list.
func listed(list any) []kit.Record {
	var k kit.Records
	switch list := list.(type) {
	case []adapter.Account:
		k.Accounts = list
	case []adapter.Session:
		k.Sessions = list
	case []adapter.Authenticator:
		k.Authenticators = list
	}
	return kit.Map(k.Drafts(), (*kit.Draft).Name)
}

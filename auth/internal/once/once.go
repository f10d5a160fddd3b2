// Package once remembers what must happen only once in this process: the use of
// a value that was sealed in a cookie, and the end of a session token.
//
// What it remembers belongs to a secret and an origin, not to a handler. All
// configurations with one of the secrets share it, so neither a second handler
// nor a rotation of secrets makes a value good again. The end of a session token
// belongs to the secret alone: the token is good at each origin that has the
// secret, so it must be over at each.
package once

import (
	"crypto/sha256"
	"io"
	"reflect"
	"sync"
	"time"
)

// key identifies what configurations share. Origin is empty for the ends of
// session tokens. Random is the source of random values, unless it is the
// default: it may repeat values.
type key struct {
	secret [sha256.Size]byte
	origin string
	random io.Reader
}

// page holds what is remembered under a key.
type page struct {
	// spent has the values that were used, by kind.
	spent    map[string]*spentList
	signOuts signOuts
}

// pages are all pages of this process, with one lock for all. A page is made when
// it has something to remember, and is dropped when nothing on it matters any
// more.
var pages = struct {
	mu   sync.Mutex
	made map[key]*page
}{made: map[key]*page{}}

// maxPages is the number of pages above which those are dropped on which nothing
// matters any more.
const maxPages = 1000

// Memory is what one configuration remembers and shares.
type Memory struct {
	// spent are the keys of the values that were used, and ended those of the
	// session tokens that were signed out.
	spent, ended []key
	// own holds the pages if they can't be shared.
	own map[key]*page
}

// Of returns the memory of configurations with one of the secrets and with the
// origin. Random is nil for the default source.
func Of(secrets []string, origin string, random io.Reader) *Memory {
	m := &Memory{}
	if random != nil && !reflect.ValueOf(random).Comparable() {
		m.own, random = map[key]*page{}, nil
	}
	for _, s := range secrets {
		sum := sha256.Sum256([]byte(s))
		m.spent = append(m.spent, key{sum, origin, random})
		m.ended = append(m.ended, key{sum, "", random})
	}
	return m
}

// each calls f with the page of each key, until f returns false. It makes the
// pages that are missing if create is set. No page is dropped meanwhile.
func (m *Memory) each(keys []key, create bool, now time.Time, f func(*page) bool) bool {
	pages.mu.Lock()
	defer pages.mu.Unlock()
	for _, k := range keys {
		if p := m.page(k, create, now); p != nil && !f(p) {
			return false
		}
	}
	return true
}

// page returns the page of a key, or nil. The caller holds the lock.
func (m *Memory) page(k key, create bool, now time.Time) *page {
	made := pages.made
	if m.own != nil {
		made = m.own
	}
	p := made[k]
	if p == nil && create {
		if len(made) >= maxPages {
			for k, p := range made {
				if p.idle(now) {
					delete(made, k)
				}
			}
		}
		p = &page{spent: map[string]*spentList{}}
		p.signOuts.users.Max, p.signOuts.renewed.Max = maxUsers, maxUsers
		made[k] = p
	}
	return p
}

// idle reports whether nothing on the page matters any more.
func (p *page) idle(now time.Time) bool {
	for _, l := range p.spent {
		l.forget(now)
		if len(l.seen) > 0 {
			return false
		}
	}
	return p.signOuts.users.Len() == 0 && p.signOuts.renewed.Len() == 0
}

// Spend reports whether a value of a kind may be used, which it may once. The
// value was sealed when something began; the zero time means that this is not
// known.
func (m *Memory) Spend(kind, value string, began, now time.Time) bool {
	if began.IsZero() {
		began = now
	}
	return m.each(m.spent, true, now, func(p *page) bool {
		l := p.spent[kind]
		if l == nil {
			l = &spentList{seen: map[[16]byte]bool{}}
			p.spent[kind] = l
		}
		return l.add(value, began, now)
	})
}

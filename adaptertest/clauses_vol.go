package adaptertest

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var volClauses = []check{
	{id: "VOL-01", words: "150-authenticators-are-listed", requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, run: func(c *clauseContext) {
		const n = 150
		owner, other := c.user().ID, c.user().ID
		want := make([]adapter.Authenticator, n)
		created, used := c.instant(-48*time.Hour), c.instant(-24*time.Hour)
		for i := range want { // an instant that many have does not tell where a page ends
			want[i] = c.newAuthenticator(owner)
			want[i].Counter, want[i].Created, want[i].LastUsed = int64(i), &created, &used
			if i%4 == 0 {
				want[i].Created, want[i].LastUsed = nil, nil
			}
		}
		large := c.newAuthenticator(other)
		large.CredentialPublicKey = strings.Repeat("Zm9v", 2048)
		if _, err := c.raw.CreateAuthenticator(c.ctx, large); err == nil { // else AUTHN-17 judges it
			for i := range want { // together more than a page of a mebibyte
				want[i].CredentialPublicKey = large.CredentialPublicKey
			}
		}
		c.populate(n, func(i int) {
			c.createAuthenticator(want[i])
			if i%10 == 0 {
				c.authenticator(other)
			}
		})
		c.sameAuthenticators("the list of 150 authenticators", c.listAuthenticators(owner), want)
	}},
	{id: "VOL-02", words: "1000-users-are-found", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		n := 1000
		if c.brief {
			n = 250
		}
		users := make([]*adapter.User, n)
		accounts := make([]adapter.Account, n)
		linked := c.works("GetUserByAccount")
		c.populate(n, func(i int) {
			users[i] = c.user()
			if linked {
				accounts[i] = c.account(users[i].ID)
			}
		})
		among := func(method string) string { return fmt.Sprintf("%s among %d", method, n) }
		c.lookUp(n, func(i int) {
			u := users[i]
			if c.works("GetUser") {
				c.same(among("GetUser"), c.getUser(u.ID), u)
			}
			if c.works("GetUserByEmail") {
				c.same(among("GetUserByEmail"), c.getUserByEmail(u.Email), u)
			}
			if linked {
				c.same(among("GetUserByAccount"), c.getUserByAccount(accounts[i].Key()), u)
				if c.works("GetAccount") {
					c.same(among("GetAccount"), c.getAccount(accounts[i].Key()), &accounts[i])
				}
			}
		})
	}},
	{id: "VOL-03", words: "300-sessions-are-independent", requires: []string{"CreateUser", "CreateSession"}, run: func(c *clauseContext) {
		const n = 300
		u := c.user()
		sessions := make([]adapter.Session, n)
		c.populate(n, func(i int) {
			sessions[i] = c.newSession(u.ID)
			sessions[i].Expires = c.instant(time.Duration(i+1) * time.Hour)
			c.createSession(sessions[i])
		})
		judge := func(gone func(i int) bool) {
			c.lookUp(n, func(i int) {
				got := c.getSession(sessions[i].SessionToken)
				if gone(i) {
					c.absent("GetSessionAndUser of a deleted session among 300", got, nil)
				} else {
					c.same("GetSessionAndUser among 300", got, &adapter.SessionAndUser{Session: sessions[i], User: *u})
				}
			})
		}
		judge(func(int) bool { return false })
		if !c.works("DeleteSession") {
			return
		}
		for i := 0; i < n; i += 3 {
			c.deleteSession(sessions[i].SessionToken)
		}
		judge(func(i int) bool { return i%3 == 0 })
	}},
	{id: "VOL-04", words: "lookups-do-not-slow-down", alone: true, run: lookupsDoNotSlowDown},
}

// lookUp calls f for each of n records. If the store scans, or in a run that is hurried or of
// less than one round, it calls f for a part of them, which is spread over all records.
func (c *clauseContext) lookUp(n int, f func(i int)) {
	stride := min(8, c.stride)
	if c.hurried {
		stride = max(stride, 4)
	}
	if why := c.harness().Declarations.Scans; why != "" {
		stride = 8 // VOL-03 deletes every third record, and this is no multiple of three
		c.Notef("one record in %d is looked up: %s", stride, why)
	}
	c.populate((n+stride-1)/stride, func(i int) { f(i * stride) })
}

package life

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var volClauses = []kit.Check{
	{ID: "VOL-01", Words: "150-authenticators-are-listed", Requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, Test: func(c *kit.Context) {
		const n = 150
		owner, other := c.User().ID, c.User().ID
		want := make([]adapter.Authenticator, n)
		created, used := c.Instant(-48*time.Hour), c.Instant(-24*time.Hour)
		for i := range want { // an instant that many have does not tell where a page ends
			want[i] = c.NewAuthenticator(owner)
			want[i].Counter, want[i].Created, want[i].LastUsed = int64(i), &created, &used
			if i%4 == 0 {
				want[i].Created, want[i].LastUsed = nil, nil
			}
		}
		large := c.NewAuthenticator(other)
		large.CredentialPublicKey = strings.Repeat("Zm9v", 2048)
		if _, err := c.Raw.CreateAuthenticator(c.Ctx, large); err == nil { // else AUTHN-17 judges it
			for i := range want { // together more than a page of a mebibyte
				want[i].CredentialPublicKey = large.CredentialPublicKey
			}
		}
		kit.Populate(c, n, func(i int) {
			c.CreateAuthenticator(want[i])
			if i%10 == 0 {
				c.Authenticator(other)
			}
		})
		c.Same("the list of 150 authenticators", c.ListAuthenticators(owner), want)
	}},
	{ID: "VOL-02", Words: "1000-users-are-found", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		n := 1000
		if c.Brief {
			n = 250
		}
		users := make([]*adapter.User, n)
		accounts := make([]adapter.Account, n)
		linked := c.Works("GetUserByAccount")
		kit.Populate(c, n, func(i int) {
			users[i] = c.User()
			if linked {
				accounts[i] = c.Account(users[i].ID)
			}
		})
		among := func(method string) string { return fmt.Sprintf("%s among %d", method, n) }
		lookUp(c, n, func(i int) {
			u := users[i]
			kit.Sees(c, among("GetUser"), kit.GetUser(u.ID), u)
			kit.Sees(c, among("GetUserByEmail"), kit.GetUserByEmail(u.Email), u)
			if linked {
				c.Same(among("GetUserByAccount"), c.GetUserByAccount(accounts[i].Key()), u)
				kit.Sees(c, among("GetAccount"), kit.GetAccountByKey(accounts[i].Key()), &accounts[i])
			}
		})
	}},
	{ID: "VOL-03", Words: "300-sessions-are-independent", Requires: []string{"CreateUser", "CreateSession"}, Test: func(c *kit.Context) {
		const n = 300
		u := c.User()
		sessions := make([]adapter.Session, n)
		kit.Populate(c, n, func(i int) {
			sessions[i] = kit.SessionUntil(c, u.ID, c.Instant(time.Duration(i+1)*time.Hour))
		})
		judge := func(gone func(i int) bool) {
			lookUp(c, n, func(i int) {
				got := c.GetSession(sessions[i].SessionToken)
				if gone(i) {
					c.Absent("GetSessionAndUser of a deleted session among 300", got, nil)
				} else {
					c.Same("GetSessionAndUser among 300", got, &adapter.SessionAndUser{Session: sessions[i], User: *u})
				}
			})
		}
		judge(func(int) bool { return false })
		if !c.Works("DeleteSession") {
			return
		}
		for i := 0; i < n; i += 3 {
			c.DeleteSession(sessions[i].SessionToken)
		}
		judge(func(i int) bool { return i%3 == 0 })
	}},
	{ID: "VOL-04", Words: "lookups-do-not-slow-down", Alone: true, Measures: true, Test: lookupsDoNotSlowDown},
}

// lookUp calls f for each of n records. If the store scans, or in a run that is hurried or of
// less than one round, it calls f for a part of them, which is spread over all records.
func lookUp(c *kit.Context, n int, f func(i int)) {
	stride := min(8, c.Stride)
	if c.Hurried {
		stride = max(stride, 4)
	}
	if why := c.Harness().Declarations.Scans; why != "" {
		stride = 8 // VOL-03 deletes every third record, and this is no multiple of three
		c.Notef("one record in %d is looked up: %s", stride, why)
	}
	kit.Populate(c, (n+stride-1)/stride, func(i int) { f(i * stride) })
}

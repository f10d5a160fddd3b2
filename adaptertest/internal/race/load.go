package race

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// MixedLoad lets clients make calls of all kinds for a while. Each client works on its own records, whose results
// must be the same as without the other clients, and on some records that all share. A wrong result is always a
// breach; an error is one if errors count.
func MixedLoad(c *kit.Context, handles []adapter.Adapter, clients int, d time.Duration, errorsCount bool) {
	c.Requires("CreateUser")
	shared := kit.NewFixture(c, handles[0])
	clients = min(clients, c.Most)
	start := time.Now()
	var passes, failures atomic.Int64
	c.Parallel(clients, func(client int) {
		a := handles[client%len(handles)]
		for pass := 0; (pass == 0 || time.Since(start) < d) && !c.Failed(); pass++ {
			err := errors.Join(Alone(c, a, start.Add(2*d)), together(c, a, shared, client+pass))
			passes.Add(1)
			if err != nil {
				failures.Add(1)
			}
			var wrong wrongError
			if err != nil && (errorsCount || errors.As(err, &wrong)) {
				c.Errorf("client %d of %d, pass %d: %v", client, clients, pass+1, err)
			}
		}
	})
	c.Notef("%d clients went through all methods %d times, %d times with an error", clients, passes.Load(), failures.Load())
}

// wrongError means that a call returned a wrong result. Other errors mean that a call failed.
type wrongError struct{ text string }

func (e wrongError) Error() string { return e.text }

// A pass is a sequence of calls through one handle. After an error, or at the given time, it makes no more calls.
type pass struct {
	c     *kit.Context
	ctx   context.Context
	a     adapter.Adapter
	until time.Time // zero for no limit
	err   error
}

func (p *pass) ended() bool { return p.err != nil || !p.until.IsZero() && time.Now().After(p.until) }

// makes makes a call of which only the error matters, if the adapter has the method.
func (p *pass) makes(k kit.Call) {
	if !p.ended() && p.c.Works(k.Method) {
		p.result(k)
	}
}

func (p *pass) result(k kit.Call) any {
	got, err := k.Do(p.ctx, p.a)
	if err != nil {
		p.err = fmt.Errorf("%s: %w", k.Method, err)
	}
	return got
}

// gets makes a call and compares the result, if the adapter has the method. A nil want means an absent record.
func (p *pass) gets(k kit.Call, want any) {
	if p.ended() || !p.c.Works(k.Method) {
		return
	}
	differs := p.unlike(k, want)
	for end := time.Now().Add(p.c.Harness().Declarations.EventualReads); differs != "" && time.Now().Before(end); {
		kit.Pause(p.c, time.Millisecond)
		differs = p.unlike(k, want)
	}
	if differs != "" {
		p.err = wrongError{k.Method + ": " + differs}
	}
}

func (p *pass) unlike(k kit.Call, want any) string {
	switch got := p.result(k); {
	case p.err != nil:
		return ""
	case want == nil && kit.IsNilRecord(got):
		return ""
	case want == nil:
		return "got " + diff.Show(got) + ", want nil"
	default:
		return p.c.Unlike(got, want)
	}
}

// Alone creates a user and calls every method for it, until the given time.
func Alone(c *kit.Context, a adapter.Adapter, until time.Time) error {
	user := kit.UserWithID(c)
	if c.Works("CreateUser") {
		u, err := a.CreateUser(c.Ctx, user)
		if err != nil || u == nil {
			return fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
		}
		user.ID = u.ID
	}
	account, session, token, authenticator := c.NewAccount(user.ID), c.NewSession(user.ID), c.NewToken(), c.NewAuthenticator(user.ID)
	p := &pass{c: c, ctx: c.Ctx, a: a, until: until}
	p.gets(kit.GetUser(user.ID), &user)
	if c.Works("UpdateUser") {
		update, old := kit.UserUpdate(c, user.ID, kit.UserFields), user.Email
		update.Apply(&user)
		p.gets(kit.UpdateUser(update), &user)
		p.gets(kit.GetUserByEmail(old), nil)
	}
	p.gets(kit.GetUserByEmail(user.Email), &user)
	p.makes(kit.LinkAccount(account))
	p.gets(kit.GetAccountByKey(account.Key()), &account)
	p.gets(kit.GetUserByAccount(account.Key()), &user)
	p.makes(kit.CreateSession(session))
	p.gets(kit.GetSessionAndUser(session.SessionToken), &adapter.SessionAndUser{Session: session, User: user})
	if c.Works("UpdateSession") {
		session.Expires = session.Expires.Add(time.Hour)
		p.makes(kit.ExtendSession(session.SessionToken, session.Expires))
		p.gets(kit.GetSessionAndUser(session.SessionToken), &adapter.SessionAndUser{Session: session, User: user})
	}
	p.makes(kit.CreateVerificationToken(token))
	p.gets(kit.UseVerificationToken(token.Key()), &token)
	p.gets(kit.UseVerificationToken(token.Key()), nil)
	p.gets(kit.CreateAuthenticator(authenticator), &authenticator)
	if c.Works("UpdateAuthenticatorCounter") {
		authenticator.Counter += 3
		p.gets(kit.UpdateAuthenticatorCounter(authenticator.CredentialID, authenticator.Counter), &authenticator)
	}
	p.gets(kit.GetAuthenticator(authenticator.CredentialID), &authenticator)
	if c.Works("CreateAuthenticator") {
		p.gets(kit.ListAuthenticatorsByUserID(user.ID), []adapter.Authenticator{authenticator})
	}
	p.makes(kit.UnlinkAccount(account.Key()))
	if c.Works("DeleteSession") {
		p.makes(kit.DeleteSession(session.SessionToken))
		p.gets(kit.GetSessionAndUser(session.SessionToken), nil)
	}
	if c.Works("DeleteUser") {
		p.makes(kit.DeleteUser(user.ID))
		p.gets(kit.GetUser(user.ID), nil)
	}
	return p.err
}

// together reads or changes records that other clients read and change. It looks
// at every field of a result, for the race detector.
func together(c *kit.Context, a adapter.Adapter, k *kit.Records, turn int) error {
	if turn%2 == 0 {
		var err error
		for _, m := range k.Reads() {
			if m.Method == "GetUserByEmail" || !c.Works(m.Method) {
				continue // the address changes during the load
			}
			record, readErr := m.Do(c.Ctx, a)
			_ = diff.Records(record, record, time.Nanosecond)
			switch {
			case readErr != nil:
				err = errors.Join(err, fmt.Errorf("%s: %w", m.Method, readErr))
			case kit.IsNilRecord(record) && c.Harness().Declarations.EventualReads == 0:
				err = errors.Join(err, wrongError{m.Method + " of what is there and being updated: absent"})
			}
		}
		return err
	}
	p := &pass{c: c, ctx: c.Ctx, a: a}
	p.makes(kit.UpdateUser(kit.UserUpdate(c, k.User.ID, []string{kit.UserFields[turn/2%len(kit.UserFields)]})))
	p.makes(kit.ExtendSession(k.Session.SessionToken, c.Instant(time.Hour)))
	p.makes(kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter+2))
	p.makes(kit.UpdateAccount(kit.AccountUpdate(c, k.Account.Key(),
		[]string{kit.AccountFields[turn/2%len(kit.AccountFields)]})))
	return p.err
}

// NormalCalls makes calls that must succeed within the limit.
func NormalCalls(c *kit.Context, a adapter.Adapter, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(c.Ctx, limit)
	defer cancel()
	p := &pass{c: c, ctx: ctx, a: a}
	if !c.Works("CreateUser") {
		t := c.NewToken()
		p.makes(kit.CreateVerificationToken(t))
		p.makes(kit.UseVerificationToken(t.Key()))
		return p.err
	}
	u, err := a.CreateUser(ctx, c.NewUser())
	if err != nil || u == nil {
		return fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
	}
	s := c.NewSession(u.ID)
	p.makes(kit.CreateSession(s))
	p.makes(kit.GetSessionAndUser(s.SessionToken))
	p.makes(kit.ListAuthenticatorsByUserID(u.ID))
	return p.err
}

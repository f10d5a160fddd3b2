package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mixedLoad lets clients make calls of all kinds for a while. Each client works
// on its own records, whose results must be the same as without the other
// clients, and on some records that all share. A wrong result is always a
// breach; an error is one if errors count.
func (c *clauseContext) mixedLoad(handles []adapter.Adapter, clients int, d time.Duration, errorsCount bool) {
	c.requires("CreateUser")
	shared := c.newFixture(handles[0])
	clients = min(clients, c.most)
	start := time.Now()
	var mu sync.Mutex
	passes, failures := 0, 0
	c.parallel(clients, func(client int) {
		a := handles[client%len(handles)]
		for pass := 0; (pass == 0 || time.Since(start) < d) && !c.failed(); pass++ {
			err := errors.Join(c.alone(a, start.Add(2*d)), c.shared(a, shared, client+pass))
			mu.Lock()
			passes++
			if err != nil {
				failures++
			}
			mu.Unlock()
			var wrong wrongError
			if err != nil && (errorsCount || errors.As(err, &wrong)) {
				c.Errorf("client %d of %d, pass %d: %v", client, clients, pass+1, err)
			}
		}
	})
	c.Notef("%d clients went through all methods %d times, %d times with an error", clients, passes, failures)
}

// wrongError means that a call returned a wrong result. Other errors mean that a
// call failed.
type wrongError struct{ text string }

func (e wrongError) Error() string { return e.text }

// A pass is a sequence of calls through one handle. After an error, or at the given
// time, it makes no more calls.
type pass struct {
	c     *clauseContext
	ctx   context.Context
	a     adapter.Adapter
	until time.Time // zero for no limit
	err   error
}

func (p *pass) ended() bool { return p.err != nil || !p.until.IsZero() && time.Now().After(p.until) }

// makes makes a call of which only the error matters, if the adapter has the method.
func (p *pass) makes(k call) {
	if !p.ended() && p.c.works(k.method) {
		p.result(k)
	}
}

func (p *pass) result(k call) any {
	got, err := k.do(p.ctx, p.a)
	if err != nil {
		p.err = fmt.Errorf("%s: %w", k.method, err)
	}
	return got
}

// gets makes a call and compares the result, if the adapter has the method. A nil want
// means an absent record.
func (p *pass) gets(k call, want any) {
	if p.ended() || !p.c.works(k.method) {
		return
	}
	differs := p.unlike(k, want)
	for end := time.Now().Add(p.c.harness().Declarations.EventualReads); differs != "" && time.Now().Before(end); {
		p.c.pause(time.Millisecond)
		differs = p.unlike(k, want)
	}
	if differs != "" {
		p.err = wrongError{k.method + ": " + differs}
	}
}

func (p *pass) unlike(k call, want any) string {
	switch got := p.result(k); {
	case p.err != nil:
		return ""
	case want == nil && isNilRecord(got):
		return ""
	case want == nil:
		return "got " + diff.Show(got) + ", want nil"
	default:
		return p.c.unlike(got, want)
	}
}

// alone creates a user and calls every method for it, until the given time.
func (c *clauseContext) alone(a adapter.Adapter, until time.Time) error {
	user := c.newUser()
	user.ID = c.id()
	if c.works("CreateUser") {
		u, err := a.CreateUser(c.ctx, user)
		if err != nil || u == nil {
			return fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
		}
		user.ID = u.ID
	}
	account, session, token, authenticator := c.newAccount(user.ID), c.newSession(user.ID), c.newToken(), c.newAuthenticator(user.ID)
	p := &pass{c: c, ctx: c.ctx, a: a, until: until}
	p.gets(getUser(user.ID), &user)
	if c.works("UpdateUser") {
		update, old := c.userUpdate(user.ID, userFields), user.Email
		update.Apply(&user)
		p.gets(updateUser(update), &user)
		p.gets(getUserByEmail(old), nil)
	}
	p.gets(getUserByEmail(user.Email), &user)
	p.makes(linkAccount(account))
	p.gets(getAccount(account.Key()), &account)
	p.gets(getUserByAccount(account.Key()), &user)
	p.makes(createSession(session))
	p.gets(getSession(session.SessionToken), &adapter.SessionAndUser{Session: session, User: user})
	if c.works("UpdateSession") {
		session.Expires = session.Expires.Add(time.Hour)
		p.makes(updateSession(adapter.SessionUpdate{SessionToken: session.SessionToken, Expires: adapter.To(session.Expires)}))
		p.gets(getSession(session.SessionToken), &adapter.SessionAndUser{Session: session, User: user})
	}
	p.makes(createToken(token))
	p.gets(useToken(token.Key()), &token)
	p.gets(useToken(token.Key()), nil)
	p.gets(createAuthenticator(authenticator), &authenticator)
	if c.works("UpdateAuthenticatorCounter") {
		authenticator.Counter += 3
		p.gets(updateCounter(authenticator.CredentialID, authenticator.Counter), &authenticator)
	}
	p.gets(getAuthenticator(authenticator.CredentialID), &authenticator)
	if c.works("CreateAuthenticator") {
		p.gets(listAuthenticators(user.ID), []adapter.Authenticator{authenticator})
	}
	p.makes(unlinkAccount(account.Key()))
	if c.works("DeleteSession") {
		p.makes(deleteSession(session.SessionToken))
		p.gets(getSession(session.SessionToken), nil)
	}
	if c.works("DeleteUser") {
		p.makes(deleteUser(user.ID))
		p.gets(getUser(user.ID), nil)
	}
	return p.err
}

// shared reads or changes records that other clients read and change. It looks
// at every field of a result, for the race detector.
func (c *clauseContext) shared(a adapter.Adapter, k *fixture, turn int) error {
	if turn%2 == 0 {
		var err error
		for _, m := range k.reads() {
			if m.method == "GetUserByEmail" || !c.works(m.method) {
				continue // the address changes during the load
			}
			record, readErr := m.do(c.ctx, a)
			_ = diff.Records(record, record, time.Nanosecond)
			switch {
			case readErr != nil:
				err = errors.Join(err, fmt.Errorf("%s: %w", m.method, readErr))
			case isNilRecord(record) && c.harness().Declarations.EventualReads == 0:
				err = errors.Join(err, wrongError{m.method + " of what is there and being updated: absent"})
			}
		}
		return err
	}
	p := &pass{c: c, ctx: c.ctx, a: a}
	p.makes(updateUser(c.userUpdate(k.user.ID, []string{userFields[turn/2%len(userFields)]})))
	p.makes(updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, Expires: adapter.To(c.instant(time.Hour))}))
	p.makes(updateCounter(k.authenticator.CredentialID, k.authenticator.Counter+2))
	p.makes(updateAccount(c.accountUpdate(k.account.Key(), []string{accountFields[turn/2%len(accountFields)]})))
	return p.err
}

// normalCalls makes calls that must succeed.
func (c *clauseContext) normalCalls(ctx context.Context, a adapter.Adapter) error {
	p := &pass{c: c, ctx: ctx, a: a}
	if !c.works("CreateUser") {
		t := c.newToken()
		p.makes(createToken(t))
		p.makes(useToken(t.Key()))
		return p.err
	}
	u, err := a.CreateUser(ctx, c.newUser())
	if err != nil || u == nil {
		return fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
	}
	s := c.newSession(u.ID)
	p.makes(createSession(s))
	p.makes(getSession(s.SessionToken))
	p.makes(listAuthenticators(u.ID))
	return p.err
}

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

// expect makes a call and compares the result. A nil want means an absent
// record.
func expect[T any](c *clauseContext, method string, want *T, call func() (*T, error)) error {
	if !c.works(method) {
		return nil
	}
	got, err := call()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	differs := c.unlike(got, want)
	for end := time.Now().Add(c.harness().Declarations.EventualReads); differs != "" && time.Now().Before(end); {
		c.pause(time.Millisecond)
		if got, err = call(); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		differs = c.unlike(got, want)
	}
	if differs != "" {
		return wrongError{method + ": " + differs}
	}
	return nil
}

// try makes a call of which only the error matters.
func try[T any](c *clauseContext, method string, call func() (T, error)) error {
	if !c.works(method) {
		return nil
	}
	if _, err := call(); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// alone creates a user and calls every method for it, until the given time.
func (c *clauseContext) alone(a adapter.Adapter, until time.Time) error {
	ctx := c.ctx
	user := c.newUser()
	user.ID = c.id()
	if c.works("CreateUser") {
		u, err := a.CreateUser(ctx, user)
		if err != nil || u == nil {
			return fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
		}
		user.ID = u.ID
	}
	account, session, token, authenticator := c.newAccount(user.ID), c.newSession(user.ID), c.newToken(), c.newAuthenticator(user.ID)
	update := c.userUpdate(user.ID, userFields)
	old := user.Email
	both := func() *adapter.SessionAndUser { return &adapter.SessionAndUser{Session: session, User: user} }
	steps := []func() error{
		func() error {
			return expect(c, "GetUser", &user, func() (*adapter.User, error) { return a.GetUser(ctx, user.ID) })
		},
		func() error {
			if c.works("UpdateUser") {
				update.Apply(&user)
			}
			return expect(c, "UpdateUser", &user, func() (*adapter.User, error) { return a.UpdateUser(ctx, update) })
		},
		func() error {
			return expect(c, "GetUserByEmail", &user, func() (*adapter.User, error) { return a.GetUserByEmail(ctx, user.Email) })
		},
		func() error {
			if !c.works("UpdateUser") {
				return nil
			}
			return expect(c, "GetUserByEmail", nil, func() (*adapter.User, error) { return a.GetUserByEmail(ctx, old) })
		},
		func() error {
			return try(c, "LinkAccount", func() (*adapter.Account, error) { return a.LinkAccount(ctx, account) })
		},
		func() error {
			return expect(c, "GetAccount", &account, func() (*adapter.Account, error) {
				return a.GetAccount(ctx, account.ProviderAccountID, account.Provider)
			})
		},
		func() error {
			return expect(c, "GetUserByAccount", &user, func() (*adapter.User, error) { return a.GetUserByAccount(ctx, account.Key()) })
		},
		func() error {
			return try(c, "CreateSession", func() (*adapter.Session, error) { return a.CreateSession(ctx, session) })
		},
		func() error {
			return expect(c, "GetSessionAndUser", both(), func() (*adapter.SessionAndUser, error) {
				return a.GetSessionAndUser(ctx, session.SessionToken)
			})
		},
		func() error {
			if c.works("UpdateSession") {
				session.Expires = session.Expires.Add(time.Hour)
			}
			return try(c, "UpdateSession", func() (*adapter.Session, error) {
				return a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: session.SessionToken, Expires: adapter.To(session.Expires)})
			})
		},
		func() error {
			return expect(c, "GetSessionAndUser", both(), func() (*adapter.SessionAndUser, error) {
				return a.GetSessionAndUser(ctx, session.SessionToken)
			})
		},
		func() error {
			return try(c, "CreateVerificationToken", func() (*adapter.VerificationToken, error) {
				return a.CreateVerificationToken(ctx, token)
			})
		},
		func() error {
			return expect(c, "UseVerificationToken", &token, func() (*adapter.VerificationToken, error) {
				return a.UseVerificationToken(ctx, token.Key())
			})
		},
		func() error {
			return expect(c, "UseVerificationToken", nil, func() (*adapter.VerificationToken, error) {
				return a.UseVerificationToken(ctx, token.Key())
			})
		},
		func() error {
			return expect(c, "CreateAuthenticator", &authenticator, func() (*adapter.Authenticator, error) {
				return a.CreateAuthenticator(ctx, authenticator)
			})
		},
		func() error {
			if c.works("UpdateAuthenticatorCounter") {
				authenticator.Counter += 3
			}
			return expect(c, "UpdateAuthenticatorCounter", &authenticator, func() (*adapter.Authenticator, error) {
				return a.UpdateAuthenticatorCounter(ctx, authenticator.CredentialID, authenticator.Counter)
			})
		},
		func() error {
			return expect(c, "GetAuthenticator", &authenticator, func() (*adapter.Authenticator, error) {
				return a.GetAuthenticator(ctx, authenticator.CredentialID)
			})
		},
		func() error {
			if !c.works("CreateAuthenticator") {
				return nil
			}
			return expect(c, "ListAuthenticatorsByUserID", &[]adapter.Authenticator{authenticator}, func() (*[]adapter.Authenticator, error) {
				list, err := a.ListAuthenticatorsByUserID(ctx, user.ID)
				return &list, err
			})
		},
		func() error {
			return try(c, "UnlinkAccount", func() (*adapter.Account, error) { return a.UnlinkAccount(ctx, account.Key()) })
		},
		func() error {
			return try(c, "DeleteSession", func() (*adapter.Session, error) { return a.DeleteSession(ctx, session.SessionToken) })
		},
		func() error {
			if !c.works("DeleteSession") {
				return nil
			}
			return expect(c, "GetSessionAndUser", nil, func() (*adapter.SessionAndUser, error) {
				return a.GetSessionAndUser(ctx, session.SessionToken)
			})
		},
		func() error {
			return try(c, "DeleteUser", func() (*adapter.User, error) { return a.DeleteUser(ctx, user.ID) })
		},
		func() error {
			if !c.works("DeleteUser") {
				return nil
			}
			return expect(c, "GetUser", nil, func() (*adapter.User, error) { return a.GetUser(ctx, user.ID) })
		},
	}
	for _, step := range steps {
		if time.Now().After(until) {
			return nil
		}
		if err := step(); err != nil {
			return err
		}
	}
	return nil
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
	return errors.Join(
		try(c, "UpdateUser", func() (*adapter.User, error) {
			return a.UpdateUser(c.ctx, c.userUpdate(k.user.ID, []string{userFields[turn/2%len(userFields)]}))
		}),
		try(c, "UpdateSession", func() (*adapter.Session, error) {
			return a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: k.session.SessionToken, Expires: adapter.To(c.instant(time.Hour))})
		}),
		try(c, "UpdateAuthenticatorCounter", func() (*adapter.Authenticator, error) {
			return a.UpdateAuthenticatorCounter(c.ctx, k.authenticator.CredentialID, k.authenticator.Counter+2)
		}),
	)
}

// normalCalls makes calls that must succeed.
func (c *clauseContext) normalCalls(ctx context.Context, a adapter.Adapter) error {
	if !c.works("CreateUser") {
		t := c.newToken()
		return errors.Join(
			try(c, "CreateVerificationToken", func() (*adapter.VerificationToken, error) { return a.CreateVerificationToken(ctx, t) }),
			try(c, "UseVerificationToken", func() (*adapter.VerificationToken, error) { return a.UseVerificationToken(ctx, t.Key()) }))
	}
	u, err := a.CreateUser(ctx, c.newUser())
	if err != nil || u == nil {
		return fmt.Errorf("CreateUser: got %s, error %w", diff.Show(u), err)
	}
	s := c.newSession(u.ID)
	return errors.Join(
		try(c, "CreateSession", func() (*adapter.Session, error) { return a.CreateSession(ctx, s) }),
		try(c, "GetSessionAndUser", func() (*adapter.SessionAndUser, error) { return a.GetSessionAndUser(ctx, s.SessionToken) }),
		try(c, "ListAuthenticatorsByUserID", func() ([]adapter.Authenticator, error) { return a.ListAuthenticatorsByUserID(ctx, u.ID) }))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// workers is the number of records that are written at once.
const workers = 16

type copier struct {
	source goredis.UniversalClient
	layout layout
	target *redis.Adapter
	ledger ledger
	now    time.Time
	report *report
	// unlisted has the users whose address leads to no user in the source, by
	// address.
	unlisted map[string][]record
}

// A record is a decoded record of the source.
type record struct {
	key    string
	parts  []string
	digest string
	// name is the name of the record in a report.
	name string
	// over: the record has expired.
	over bool
	// begun: an earlier run began to copy the record and did not finish. known: an
	// earlier run copied it.
	begun, known bool
	user         adapter.User
	account      adapter.Account
	session      adapter.Session
	token        adapter.VerificationToken
}

// errRefused is the reason why a record can't be copied.
type errRefused string

func (e errRefused) Error() string { return string(e) }

// copy copies the new and changed records of all kinds.
func (c *copier) copy(ctx context.Context) error {
	for k := range kinds {
		err := c.pages(ctx, k, func(keys []string) error {
			values, err := c.read(ctx, keys)
			if err != nil {
				return err
			}
			var records []record
			for i, v := range values {
				r, err := c.understand(k, keys[i], v)
				switch {
				case v.absent:
				case err != nil:
					c.report.refuse(k, r.name, err.Error())
				case r.over:
					c.report.count(k, "expired")
				default:
					records = append(records, r)
				}
			}
			if k == users {
				if records, err = c.addresses(ctx, records); err != nil {
					return err
				}
			}
			return c.page(ctx, k, records)
		})
		if err == nil && k == users {
			err = c.rest(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	return nil
}

// understand decodes a record.
func (c *copier) understand(k kind, key string, v value) (record, error) {
	end := key[len(c.layout.prefix(k)):]
	r := record{key: key, digest: digest(v.text), name: end}
	if k == sessions || k == tokens { // their keys are secrets
		r.name = end[:min(8, len(end)/2)] + "…"
	}
	if v.foreign {
		return r, errors.New("the value of the key is not a string")
	}
	var rest []string
	var err error
	switch k {
	case users:
		r.user, rest, err = parseUser(end, v.text)
	case accounts:
		r.account, rest, err = parseAccount(end, v.text)
		r.parts = []string{r.account.Provider, r.account.ProviderAccountID}
	case sessions:
		r.session, rest, err = parseSession(end, v.text)
		r.over = !r.session.Expires.After(c.now)
	case tokens:
		r.token, rest, err = parseToken(end, v.text)
		r.over = !r.token.Expires.After(c.now)
		r.parts = []string{r.token.Identifier, r.token.Token}
	}
	if err == nil {
		c.report.drop(k, rest)
	}
	return r, err
}

// addresses decides who has an address that several users name, as Auth.js
// does: the user to whom the address leads. Users whose address leads to no
// user are copied after all other users.
func (c *copier) addresses(ctx context.Context, all []record) ([]record, error) {
	index := func(email string) string { return c.layout.Base + c.layout.Email + email }
	var keys []string
	for _, r := range all {
		keys = append(keys, index(r.user.Email))
	}
	owners, err := c.read(ctx, keys)
	if err != nil {
		return nil, err
	}
	now := make([]record, 0, len(all))
	for i, r := range all {
		switch owner := owners[i].text; {
		case r.user.Email == "" || owner == r.user.ID:
			now = append(now, r)
		default:
			theirs, err := c.read(ctx, []string{c.layout.prefix(users) + owner})
			if err != nil {
				return nil, err
			}
			if other, _, err := parseUser(owner, theirs[0].text); owner == "" || err != nil || other.Email != r.user.Email {
				if c.unlisted == nil {
					c.unlisted = map[string][]record{}
				}
				c.unlisted[r.user.Email] = append(c.unlisted[r.user.Email], r)
				continue
			}
			now = append(now, c.withoutAddress(r, "the address leads to user "+owner))
		}
	}
	return now, nil
}

// withoutAddress removes the address of a user, and reports it.
func (c *copier) withoutAddress(r record, reason string) record {
	c.report.refuse(users, r.name, "copied without its address: "+reason)
	r.user.Email, r.user.EmailVerified = "", nil
	r.digest = digest(r.digest, "without")
	return r
}

// rest copies the users whose address leads to no user. Such a user keeps the
// address if no other user has it.
func (c *copier) rest(ctx context.Context) error {
	for _, same := range c.unlisted {
		// A key may come twice; then it is the same user.
		slices.SortFunc(same, func(a, b record) int { return strings.Compare(a.key, b.key) })
		same = slices.CompactFunc(same, func(a, b record) bool { return a.key == b.key })
		if len(same) > 1 {
			for i, r := range same {
				same[i] = c.withoutAddress(r, fmt.Sprintf("%d users name it and it leads to none of them", len(same)))
			}
		}
		if err := c.page(ctx, users, same); err != nil {
			return err
		}
	}
	return nil
}

// page writes the new and changed records of a kind. It enters them in the
// ledger before and after the copy.
func (c *copier) page(ctx context.Context, k kind, all []record) error {
	var keys []string
	for _, r := range all {
		keys = append(keys, r.key)
	}
	if len(keys) == 0 {
		return nil
	}
	entries, err := c.ledger.read(ctx, k, keys)
	if err != nil {
		return err
	}
	var todo, fresh []record
	for i, r := range all {
		e := entries[i]
		if e != nil && e.Digest == r.digest {
			c.report.count(k, "unchanged")
			continue
		}
		r.begun, r.known = e != nil && e.Digest == "", e != nil && e.Digest != ""
		todo = append(todo, r)
		if e == nil {
			fresh = append(fresh, r)
		}
	}
	if err := c.ledger.write(ctx, k, fresh, false); err != nil {
		return err
	}
	var (
		mu      sync.Mutex
		done    []record
		undone  []string
		failure error
		wg      sync.WaitGroup
		queue   = make(chan record)
	)
	for range min(workers, len(todo)) {
		wg.Go(func() {
			for r := range queue {
				err := c.write(ctx, k, r)
				var reason errRefused
				mu.Lock()
				switch {
				case err == nil:
					done = append(done, r)
				case errors.As(err, &reason):
					c.report.refuse(k, r.name, err.Error())
					if !r.known {
						undone = append(undone, field(k, r.key))
					}
				default:
					failure = errors.Join(failure, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, r := range todo {
		queue <- r
	}
	close(queue)
	wg.Wait()
	return errors.Join(failure, c.ledger.write(ctx, k, done, true), c.ledger.forget(ctx, undone...))
}

// write copies one record: it creates the copy, or applies the changes of the
// source.
func (c *copier) write(ctx context.Context, k kind, r record) error {
	write := [...]func(context.Context, record) error{c.writeUser, c.writeAccount, c.writeSession, c.writeToken}[k]
	err := write(ctx, r)
	if err == nil {
		outcome := "copied"
		if r.known {
			outcome = "changed"
		}
		c.report.count(k, outcome)
	}
	return err
}

// gone is the reason why a change of the source is not carried over.
const gone = errRefused("the source changed it and the new site has deleted it: it stays deleted")

func (c *copier) writeUser(ctx context.Context, r record) error {
	u := r.user
	if !r.known {
		_, err := c.target.CreateUser(ctx, u)
		if !errors.Is(err, adapter.ErrConflict) {
			return err
		}
		there, err := c.target.GetUser(ctx, u.ID)
		if err != nil {
			return err
		}
		if there == nil {
			return errRefused("another user of the new site has the address")
		}
		if !r.begun {
			return errRefused("the new site has a user with this ID that was not copied")
		}
	}
	_, err := c.target.UpdateUser(ctx, adapter.UserUpdate{ID: u.ID, Name: adapter.To(u.Name), Email: adapter.To(u.Email),
		EmailVerified: adapter.To(u.EmailVerified), Image: adapter.To(u.Image)})
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return gone
	case errors.Is(err, adapter.ErrConflict):
		return errRefused("another user of the new site has the address")
	}
	return err
}

const (
	noOwner   = errRefused("its user is not there")
	elsewhere = errRefused("it belongs to another user in the new site")
)

func (c *copier) writeAccount(ctx context.Context, r record) error {
	a := r.account
	there, err := c.target.GetAccount(ctx, a.ProviderAccountID, a.Provider)
	switch {
	case err != nil:
		return err
	case there == nil && r.known:
		return gone
	case there == nil:
		_, err := c.target.LinkAccount(ctx, a)
		if errors.Is(err, adapter.ErrNotFound) {
			return noOwner
		}
		if errors.Is(err, adapter.ErrConflict) { // created since the lookup above
			return elsewhere
		}
		return err
	case there.UserID != a.UserID || !r.known && !r.begun:
		return elsewhere
	}
	_, err = c.target.UpdateAccount(ctx, adapter.AccountUpdate{Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: adapter.To(a.AccessToken), RefreshToken: adapter.To(a.RefreshToken), IDToken: adapter.To(a.IDToken), Scope: adapter.To(a.Scope),
		TokenType: adapter.To(a.TokenType), SessionState: adapter.To(a.SessionState), ExpiresAt: adapter.To(a.ExpiresAt),
		AuthorizationDetails: adapter.To(a.AuthorizationDetails)})
	if errors.Is(err, adapter.ErrNotFound) {
		return gone
	}
	return err
}

func (c *copier) writeSession(ctx context.Context, r record) error {
	s := r.session
	if !r.known {
		_, err := c.target.CreateSession(ctx, s)
		switch {
		case errors.Is(err, adapter.ErrNotFound):
			return noOwner
		case !errors.Is(err, adapter.ErrConflict):
			return err
		case !r.begun:
			return errRefused("the new site has this session, and it was not copied")
		}
	}
	there, err := c.target.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(s.UserID), Expires: adapter.To(s.Expires)})
	if errors.Is(err, adapter.ErrNotFound) {
		return noOwner
	}
	if err == nil && there == nil {
		return gone
	}
	return err
}

// writeToken writes a token only once, because the copy may have been used
// since.
func (c *copier) writeToken(ctx context.Context, r record) error {
	if r.begun || r.known {
		return errRefused("an earlier run may have copied it, and it may be spent: ask for another mail")
	}
	_, err := c.target.CreateVerificationToken(ctx, r.token)
	return err
}

// mirror deletes copied records that the source no longer has.
func (c *copier) mirror(ctx context.Context) error {
	there := false
	if err := c.pages(ctx, users, func([]string) error { there = true; return nil }); err != nil {
		return err
	}
	if !there {
		return errors.New("mirror: the source has no users, so nothing was deleted: check that it is the right source")
	}
	return c.ledger.each(ctx, func(entries map[string]entry) error {
		var keys, names []string
		for name := range entries {
			_, key := parseField(name)
			names, keys = append(names, name), append(keys, key)
		}
		if len(keys) == 0 {
			return nil
		}
		values, err := c.read(ctx, keys)
		if err != nil {
			return err
		}
		for i, v := range values {
			if !v.absent {
				continue
			}
			k, key := parseField(names[i])
			if err := c.delete(ctx, k, key[min(len(key), len(c.layout.prefix(k))):], entries[names[i]].Key); err != nil {
				return err
			}
			if err := c.ledger.forget(ctx, names[i]); err != nil {
				return err
			}
			c.report.count(k, "deleted")
		}
		return nil
	})
}

// delete deletes a copy. It is no error if the new site has deleted the copy
// already.
func (c *copier) delete(ctx context.Context, k kind, end string, parts []string) error {
	var err error
	switch k {
	case users:
		_, err = c.target.DeleteUser(ctx, end)
	case accounts:
		_, err = c.target.UnlinkAccount(ctx, adapter.AccountKey{Provider: parts[0], ProviderAccountID: parts[1]})
	case sessions:
		_, err = c.target.DeleteSession(ctx, end)
	case tokens:
		_, err = c.target.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: parts[0], Token: parts[1]})
	}
	return err
}

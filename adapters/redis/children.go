package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Accounts, sessions and authenticators are children: records that name their
// owner and the owner's incarnation, and are registered with the owner so that
// they can be listed and removed. A child is there only if its owner is, in that
// incarnation.

// childFields come before the fields of the kind.
var childFields = []string{"nonce", "owner", "inc"}

// look is which fields are read of a child.
type look struct {
	fields []string // childFields and those of the kind
	args   []any    // of scriptFollow
}

func (k keys) look(fields ...string) look {
	l := look{fields: slices.Concat(childFields, fields), args: []any{k.start(kindUser)}}
	for _, f := range fields {
		l.args = append(l.args, f)
	}
	return l
}

// child is a child as stored, with its owner.
type child struct {
	key    string
	nonce  string
	owner  *userRecord
	values []any // of the fields asked for
}

// entry is how the child stands in the register of its owner.
func (c *child) entry() string { return c.owner.inc + ":" + entryName(c.nonce, c.key) }

func entryName(nonce, key string) string { return nonce + ":" + key }

// child reads a child and its owner, or nil if either is absent.
func (a *Adapter) child(ctx context.Context, key string, l look) (*child, error) {
	record, owner, err := a.follow(ctx, key, l)
	if err != nil {
		return nil, err
	}
	c := &child{key: key, values: record[len(childFields):]}
	var ok, hasOwner, hasInc bool
	var ownerID, inc string
	c.nonce, ok = text(record[0])
	ownerID, hasOwner = text(record[1])
	inc, hasInc = text(record[2])
	if !ok || !hasOwner || !hasInc {
		for _, v := range record {
			if v != nil {
				return nil, errors.New("a record in the store can't be read")
			}
		}
		return nil, nil
	}
	id, err := unescape(ownerID)
	if err != nil {
		return nil, err
	}
	if owner != nil {
		if c.owner, err = decodeUser(id, owner); err != nil {
			return nil, err
		}
		if c.owner != nil {
			var changed bool
			if c.owner, changed, err = a.settle(ctx, c.owner); err != nil {
				return nil, err
			}
			if changed {
				owner = nil
			}
		}
	}
	if owner == nil {
		if c.owner, err = a.user(ctx, id); err != nil {
			return nil, err
		}
	}
	if c.owner == nil || c.owner.inc != inc {
		return nil, nil
	}
	return c, nil
}

// follow reads a record, and the record of its owner where that takes no second
// round trip.
func (a *Adapter) follow(ctx context.Context, key string, l look) (record, owner []any, err error) {
	if !a.single {
		record, err = a.client.HMGet(ctx, key, l.fields...).Result()
		return record, nil, err
	}
	answer, err := scriptFollow.Run(ctx, a.client, []string{key}, l.args...).Slice()
	if err != nil {
		return nil, nil, err
	}
	if len(answer) > 0 {
		record, _ = answer[0].([]any)
	}
	if len(answer) > 1 {
		owner, _ = answer[1].([]any)
	}
	if len(record) != len(l.fields) {
		return nil, nil, errors.New("unexpected answer of a script")
	}
	return record, owner, nil
}

// createChild registers a child with its owner and writes it. It fails with
// ErrNotFound if there is no owner, with ErrConflict if the key is taken.
func (a *Adapter) createChild(ctx context.Context, kind kind, key, ownerID string, score, deadline string, fields []any) error {
	mark := nonce()
	inc, err := a.register(ctx, kind, key, ownerID, mark, score)
	if err != nil {
		return err
	}
	entry := inc + ":" + entryName(mark, key)
	orphan := ""
	for range attempts {
		args := append([]any{mark, orphan, deadline, "owner", escaped(ownerID), "inc", inc}, fields...)
		answer, err := a.once(ctx, scriptChildCreate, key, mark, args...).StringSlice()
		if err != nil {
			return err
		}
		if len(answer) == 1 {
			return a.confirmOwner(ctx, kind, key, ownerID, inc, mark, entry)
		}
		if len(answer) != 3 {
			return errors.New("unexpected answer of a script")
		}
		holds, err := a.holds(ctx, answer[1], answer[2])
		if err != nil {
			return err
		}
		if holds {
			return errors.Join(fmt.Errorf("the key is taken: %w", adapter.ErrConflict), a.forget(ctx, kind, ownerID, entry))
		}
		orphan = answer[0]
	}
	return errContention
}

// holds reports whether the user with the escaped ID exists in the incarnation.
func (a *Adapter) holds(ctx context.Context, escapedID, inc string) (bool, error) {
	if escapedID == "" {
		return false, nil
	}
	id, err := unescape(escapedID)
	if err != nil {
		return false, err
	}
	r, err := a.user(ctx, id)
	return r != nil && r.inc == inc, err
}

// register announces a child to its owner and returns the owner's incarnation.
func (a *Adapter) register(ctx context.Context, kind kind, key, ownerID, mark, score string) (string, error) {
	var prune string
	if kind == kindSession { // entries of sessions that are long over
		prune = strconv.FormatInt(time.Now().Add(-24*time.Hour).UnixMilli(), 10)
	}
	for range attempts {
		answer, err := scriptOwnRegister.Run(ctx, a.client, []string{a.keys.user(ownerID), a.keys.owned(ownerID, kind)},
			entryName(mark, key), score, prune).Result()
		if err != nil && !errors.Is(err, goredis.Nil) {
			return "", err
		}
		if inc, ok := text(answer); ok {
			return inc, nil
		}
		r, err := a.user(ctx, ownerID) // confirms a pending record that is a user
		if err != nil {
			return "", err
		}
		if r == nil {
			return "", fmt.Errorf("the user does not exist: %w", adapter.ErrNotFound)
		}
	}
	return "", errContention
}

// confirmOwner removes a child whose owner was deleted while it was written.
// The child was dead by then; this only cleans up.
func (a *Adapter) confirmOwner(ctx context.Context, kind kind, key, ownerID, inc, mark, entry string) error {
	there, err := a.client.HGet(ctx, a.keys.user(ownerID), "inc").Result()
	if err != nil && !errors.Is(err, goredis.Nil) {
		return err
	}
	if there == inc {
		return nil
	}
	if err := scriptChildDelete.Run(ctx, a.client, []string{key}, mark, inc).Err(); err != nil {
		return err
	}
	return errors.Join(fmt.Errorf("the user was deleted meanwhile: %w", adapter.ErrNotFound), a.forget(ctx, kind, ownerID, entry))
}

// forget removes an entry from a register.
func (a *Adapter) forget(ctx context.Context, kind kind, ownerID, entry string) error {
	err := scriptOwnForget.Run(ctx, a.client, []string{a.keys.user(ownerID), a.keys.owned(ownerID, kind)}, entry).Err()
	if errors.Is(err, goredis.Nil) {
		return nil
	}
	return err
}

// deleteChild deletes a child that was read. It reports whether this call did
// it, and reads the fields again: the child may have been updated since.
func (a *Adapter) deleteChild(ctx context.Context, kind kind, c *child, fields []string) (bool, error) {
	args := []any{c.nonce, "", "owner", "inc"}
	for _, f := range fields {
		args = append(args, f)
	}
	values, err := scriptChildDelete.Run(ctx, a.client, []string{c.key}, args...).Slice()
	if err != nil || len(values) == 0 {
		return false, err
	}
	escapedID, _ := text(values[0])
	id, err := unescape(escapedID)
	if err != nil {
		return true, err
	}
	if inc, _ := text(values[1]); id != c.owner.id || inc != c.owner.inc {
		c.owner = &userRecord{id: id, inc: inc}
	}
	c.values = values[2:]
	return true, a.forget(ctx, kind, c.owner.id, c.entry())
}

// removeOwned removes what a register of a deleted user lists, and then the
// entries, so that a removal which fails half-way can be repeated. A child that
// has another owner by now stays.
func (a *Adapter) removeOwned(ctx context.Context, ownerID string, kind kind, entries []any) error {
	for batch := range slices.Chunk(entries, 200) {
		pipe := a.client.Pipeline()
		for _, e := range batch {
			entry, _ := text(e)
			parts := strings.SplitN(entry, ":", 3)
			switch {
			case kind == kindEmail && len(parts) > 1:
				claim, email, _ := strings.Cut(entry, ":")
				scriptClaimReplace.Eval(ctx, pipe, []string{a.keys.email(email)}, claimValue(claim, ownerID), "")
			case len(parts) == 3:
				scriptChildDelete.Eval(ctx, pipe, []string{parts[2]}, parts[1], parts[0])
			default:
				return errors.New("a register can't be read")
			}
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		if err := a.client.ZRem(ctx, a.keys.owned(ownerID, kind), batch...).Err(); err != nil {
			return err
		}
	}
	return nil
}

// unescape reverses escape.
func unescape(s string) (string, error) {
	if !strings.Contains(s, "%") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", errors.New("the owner of a record can't be read")
		}
		c, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", errors.New("the owner of a record can't be read")
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String(), nil
}

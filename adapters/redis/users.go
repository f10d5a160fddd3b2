package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// pendingFor is how long a user record may wait for its address to be reserved.
// It bounds what a crash leaves behind, not how long a call may take: a record
// whose address is reserved is confirmed by whoever reads it.
const pendingFor = time.Hour

// userRecord is a user as stored.
type userRecord struct {
	id   string
	user adapter.User
	// inc is the incarnation: random, and never the same again under one ID.
	inc string
	// claim is what the key of the address must hold, with the ID, for the
	// address to be the user's.
	claim string
	// pending: the address is not known to be reserved.
	pending bool
	// nextClaim and nextEmail are the intent to change the address.
	nextClaim, nextEmail string
}

// userFields begin with what the user consists of; the others serve to change it.
var userFields = []string{"inc", "name", "email", "emailVerified", "image", "claim", "pending", "nextClaim", "nextEmail"}

// ofUser is how many of userFields the user consists of.
const ofUser = 5

// decodeUser reads the values of userFields, or of the first of them where no
// change is under way; the record is nil if there is none.
func decodeUser(id string, values []any) (*userRecord, error) {
	if len(values) != len(userFields) && len(values) != ofUser {
		return nil, errors.New("a user record can't be read")
	}
	r := &userRecord{id: id, user: adapter.User{ID: id}}
	var ok bool
	if r.inc, ok = text(values[0]); !ok {
		for _, v := range values[1:] {
			if v != nil {
				return nil, errors.New("a user record has no incarnation")
			}
		}
		return nil, nil
	}
	if s, ok := text(values[1]); ok {
		r.user.Name = &s
	}
	if r.user.Email, ok = text(values[2]); !ok {
		return nil, errors.New("a user record has no e-mail field")
	}
	if s, ok := text(values[3]); ok {
		t, err := parseTime(s)
		if err != nil {
			return nil, err
		}
		r.user.EmailVerified = &t
	}
	if s, ok := text(values[4]); ok {
		r.user.Image = &s
	}
	if len(values) == ofUser {
		return r, nil
	}
	r.claim, _ = text(values[5])
	_, r.pending = text(values[6])
	r.nextClaim, _ = text(values[7])
	r.nextEmail, _ = text(values[8])
	return r, nil
}

// user returns the record with the ID, every unfinished step of it settled, or
// nil.
func (a *Adapter) user(ctx context.Context, id string) (*userRecord, error) {
	if id == "" {
		return nil, nil
	}
	for range attempts {
		values, err := a.client.HMGet(ctx, a.keys.user(id), userFields...).Result()
		if err != nil {
			return nil, err
		}
		r, err := decodeUser(id, values)
		if err != nil || r == nil {
			return nil, err
		}
		r, changed, err := a.settle(ctx, r)
		if err != nil || !changed {
			return r, err
		}
	}
	return nil, errContention
}

// settle finishes what was decided and not carried out: a pending record whose
// address is reserved is confirmed, an intent whose address is reserved is
// carried out. If it changed something, the record must be read again. A pending
// record without a reservation is no user: nil.
func (a *Adapter) settle(ctx context.Context, r *userRecord) (_ *userRecord, changed bool, err error) {
	if r.pending {
		reserved, err := a.claimed(ctx, r.user.Email, claimValue(r.claim, r.id))
		if err != nil || !reserved {
			return nil, false, err
		}
		if err := a.once(ctx, scriptUserConfirm, a.keys.user(r.id), r.inc, r.inc).Err(); err != nil {
			return nil, false, err
		}
		return nil, true, nil
	}
	if r.nextClaim != "" {
		reserved, err := a.claimed(ctx, r.nextEmail, claimValue(r.nextClaim, r.id))
		if err != nil {
			return nil, false, err
		}
		if reserved {
			_, err := a.move(ctx, r.id, r.nextClaim)
			return nil, true, err
		}
	}
	return r, false, nil
}

// CreateUser implements adapter.Users.
func (a *Adapter) CreateUser(ctx context.Context, user adapter.User) (*adapter.User, error) {
	if user.ID == "" {
		user.ID = newID()
	}
	if err := a.createUser(ctx, user); err != nil {
		return nil, wrap("create user", err)
	}
	return copyUser(user), nil
}

func (a *Adapter) createUser(ctx context.Context, user adapter.User) error {
	key := a.keys.user(user.ID)
	inc := nonce()
	args := []any{"", "email", user.Email}
	if user.Email != "" {
		args = append(args, "claim", inc)
		args[0] = pendingFor.Milliseconds()
	}
	if user.Name != nil {
		args = append(args, "name", *user.Name)
	}
	if user.EmailVerified != nil {
		args = append(args, "emailVerified", formatTime(*user.EmailVerified))
	}
	if user.Image != nil {
		args = append(args, "image", *user.Image)
	}
	if err := a.writeUser(ctx, user.ID, inc, args); err != nil || user.Email == "" {
		return err
	}
	discard := func(err error) error {
		_, e := scriptUserDiscard.Run(ctx, a.client, []string{key}, inc).Result()
		return errors.Join(err, e)
	}
	if err := a.reserve(ctx, user.Email, inc, user.ID); err != nil {
		if errors.Is(err, adapter.ErrConflict) {
			return discard(err)
		}
		return err // the reservation may have been made: who reads the record settles it
	}
	confirmed, err := a.once(ctx, scriptUserConfirm, key, inc, inc).Int()
	if err != nil {
		return err
	}
	if confirmed == 0 { // another creation with this ID took the pending record away
		return errors.Join(fmt.Errorf("the id was claimed meanwhile: %w", adapter.ErrConflict),
			a.release(ctx, user.Email, claimValue(inc, user.ID)))
	}
	return nil
}

// writeUser writes the record unless the ID is taken. A pending record that has
// no reservation is no user and makes room.
func (a *Adapter) writeUser(ctx context.Context, id, inc string, args []any) error {
	key, args := a.keys.user(id), append([]any{inc}, args...)
	for range attempts {
		answer, err := a.once(ctx, scriptUserCreate, key, inc, args...).Text()
		if err != nil || answer == "ok" {
			return err
		}
		there, err := a.user(ctx, id)
		if err != nil {
			return err
		}
		if there != nil {
			return fmt.Errorf("the id is taken: %w", adapter.ErrConflict)
		}
		if err := scriptUserDiscard.Run(ctx, a.client, []string{key}, answer).Err(); err != nil {
			return err
		}
	}
	return errContention
}

// GetUser implements adapter.Users.
func (a *Adapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	r, err := a.user(ctx, id)
	if err != nil || r == nil {
		return nil, wrap("get user", err)
	}
	return &r.user, nil
}

// GetUserByEmail implements adapter.Users.
func (a *Adapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	if email == "" {
		return nil, nil
	}
	r, err := a.userByEmail(ctx, email)
	if err != nil || r == nil {
		return nil, wrap("get user by e-mail", err)
	}
	return &r.user, nil
}

func (a *Adapter) userByEmail(ctx context.Context, email string) (*userRecord, error) {
	for range attempts {
		value, err := a.client.Get(ctx, a.keys.email(email)).Result()
		if errors.Is(err, goredis.Nil) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		r, err := a.holder(ctx, email, value)
		if err != nil || r != nil {
			return r, err
		}
		// The claim is void. If another was made meanwhile, follow that one.
		again, err := a.client.Get(ctx, a.keys.email(email)).Result()
		if errors.Is(err, goredis.Nil) || err == nil && again == value {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errContention
}

// GetUserByAccount implements adapter.Users.
func (a *Adapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	if key.Provider == "" || key.ProviderAccountID == "" {
		return nil, nil
	}
	c, err := a.child(ctx, a.keys.account(key), a.owner)
	if err != nil || c == nil {
		return nil, wrap("get user by account", err)
	}
	return &c.owner.user, nil
}

// UpdateUser implements adapter.Users.
func (a *Adapter) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	r, err := a.updateUser(ctx, update)
	if err != nil {
		return nil, wrap("update user", err)
	}
	return &r.user, nil
}

func (a *Adapter) updateUser(ctx context.Context, update adapter.UserUpdate) (*userRecord, error) {
	var set, clear []any
	text := func(field string, c adapter.Change[*string]) {
		if v, ok := c.Get(); ok && v != nil {
			set = append(set, field, *v)
		} else if ok {
			clear = append(clear, field)
		}
	}
	text("name", update.Name)
	text("image", update.Image)
	if v, ok := update.EmailVerified.Get(); ok && v != nil {
		set = append(set, "emailVerified", formatTime(*v))
	} else if ok {
		clear = append(clear, "emailVerified")
	}
	email, moves := update.Email.Get()
	for range attempts {
		r, err := a.user(ctx, update.ID)
		if err != nil {
			return nil, err
		}
		if r == nil {
			return nil, fmt.Errorf("no user has the id: %w", adapter.ErrNotFound)
		}
		var updated *userRecord
		switch {
		case moves && email != r.user.Email && email != "":
			updated, err = a.moveTo(ctx, r, email, changes(set, clear))
		case moves && email != r.user.Email:
			updated, err = a.change(ctx, r, changes(append(set, "email", ""), append(clear, "claim")))
			if updated != nil && err == nil {
				err = a.release(ctx, r.user.Email, claimValue(r.claim, r.id))
			}
		case len(set)+len(clear) == 0:
			return r, nil
		default:
			updated, err = a.change(ctx, r, changes(set, clear))
		}
		if err != nil || updated != nil {
			return updated, err
		}
	}
	return nil, errContention
}

// changes are the arguments by which scripts set and clear fields.
func changes(set, clear []any) []any {
	return append(append([]any{len(set) / 2}, set...), clear...)
}

// change sets and clears fields. It returns the record as that left it, not as it
// is when others have changed it too, or nil if the record is gone.
func (a *Adapter) change(ctx context.Context, r *userRecord, changes []any) (*userRecord, error) {
	values, err := a.once(ctx, scriptUserUpdate, a.keys.user(r.id), nonce(), append([]any{r.inc}, changes...)...).Slice()
	if err != nil || len(values) == 0 {
		return nil, err
	}
	return decodeUser(r.id, values)
}

// DeleteUser implements adapter.Users.
func (a *Adapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	if id == "" {
		return nil, nil
	}
	u, err := a.deleteUser(ctx, id)
	if err != nil {
		return nil, wrap("delete user", err)
	}
	return u, nil
}

func (a *Adapter) deleteUser(ctx context.Context, id string) (*adapter.User, error) {
	registers := []kind{kindEmail, kindAccount, kindSession, kindAuthenticator}
	names := []string{a.keys.user(id)}
	for _, k := range registers {
		names = append(names, a.keys.owned(id, k))
	}
	for range attempts {
		r, err := a.user(ctx, id)
		if err != nil {
			return nil, err
		}
		args := []any{""}
		if r != nil {
			args[0] = r.inc
		}
		for _, f := range userFields {
			args = append(args, f)
		}
		answer, err := scriptUserDelete.Run(ctx, a.client, names, args...).Result()
		if err != nil {
			return nil, err
		}
		lists, ok := answer.([]any)
		if !ok || len(lists) != len(names) {
			if r == nil { // pending, and so no user: whoever creates it goes on
				return nil, nil
			}
			continue // the record changed hands since it was read
		}
		values, _ := lists[0].([]any)
		deleted, err := decodeUser(id, values)
		if err != nil {
			return nil, err
		}
		for i, k := range registers {
			entries, _ := lists[1+i].([]any)
			if err := a.removeOwned(ctx, id, k, entries); err != nil {
				return nil, err
			}
		}
		switch {
		case r == nil:
			return nil, nil
		case deleted == nil: // by an earlier round of this call, or by another
			return &r.user, nil
		default:
			return &deleted.user, nil
		}
	}
	return nil, errContention
}

func copyUser(u adapter.User) *adapter.User {
	if u.Name != nil {
		u.Name = new(*u.Name)
	}
	if u.EmailVerified != nil {
		u.EmailVerified = new(u.EmailVerified.UTC().Truncate(time.Microsecond))
	}
	if u.Image != nil {
		u.Image = new(*u.Image)
	}
	return &u
}

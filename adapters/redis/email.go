package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The key of an address holds a claim and the ID of the user who made it. The
// address is the user's if the user's record names the same claim. A claim is
// random and written into the record before it is written into the key, so a key
// whose claim no record names is void for good and may be replaced.

// claimValue is what the key of an address holds.
func claimValue(claim, id string) string { return claim + ":" + id }

// claimed reports whether the key of the address holds the value.
func (a *Adapter) claimed(ctx context.Context, email, value string) (bool, error) {
	there, err := a.client.Get(ctx, a.keys.email(email)).Result()
	if errors.Is(err, goredis.Nil) {
		return false, nil
	}
	return there == value, err
}

// holder returns the user whose claim the value is, or nil if the claim is void.
func (a *Adapter) holder(ctx context.Context, email, value string) (*userRecord, error) {
	claim, id, ok := strings.Cut(value, ":")
	if !ok {
		return nil, errors.New("the claim to an address can't be read")
	}
	r, err := a.user(ctx, id)
	if err != nil || r == nil || r.claim != claim || r.user.Email != email {
		return nil, err
	}
	return r, nil
}

// errOwn is the conflict of a user with another change of that user.
var errOwn = fmt.Errorf("the e-mail address is the user's already: %w", adapter.ErrConflict)

// reserve writes the claim of the user into the key of the address. If somebody
// holds the address the error matches ErrConflict, and errOwn if it is the user,
// and nothing was written.
func (a *Adapter) reserve(ctx context.Context, email, claim, id string) error {
	value := claimValue(claim, id)
	void := ""
	for range attempts {
		there, err := scriptClaimReplace.Run(ctx, a.client, []string{a.keys.email(email)}, void, value).Text()
		if err != nil || there == "ok" {
			return err
		}
		if there == "" { // a void claim was removed since
			void = ""
			continue
		}
		r, err := a.holder(ctx, email, there)
		if err != nil {
			return err
		}
		if r != nil && r.id == id {
			return errOwn
		}
		if r != nil {
			return fmt.Errorf("the e-mail address is taken: %w", adapter.ErrConflict)
		}
		void = there
	}
	return errContention
}

// release removes the value from the key of the address, if it is there.
func (a *Adapter) release(ctx context.Context, email, value string) error {
	return scriptClaimReplace.Run(ctx, a.client, []string{a.keys.email(email)}, value, "").Err()
}

// moveTo changes the address of the user, and whatever changes along: all or
// nothing. It returns the record as that left it, or nil if another change came
// between.
func (a *Adapter) moveTo(ctx context.Context, r *userRecord, email string, changes []any) (*userRecord, error) {
	claim := nonce()
	key := []string{a.keys.user(r.id)}
	intended, err := scriptUserIntend.Run(ctx, a.client, key, append([]any{r.inc, r.nextClaim, claim, email}, changes...)...).Bool()
	if err != nil || !intended {
		return nil, err
	}
	if err := a.reserve(ctx, email, claim, r.id); err != nil {
		if !errors.Is(err, adapter.ErrConflict) {
			return nil, err // the reservation may have been made: who reads the record settles it
		}
		abandoned := scriptUserAbandon.Run(ctx, a.client, key, claim).Err()
		if errors.Is(err, errOwn) { // the same change was made meanwhile
			return nil, abandoned
		}
		return nil, errors.Join(err, abandoned)
	}
	moved, err := a.move(ctx, r.id, claim)
	if err != nil || moved != nil {
		return moved, err
	}
	return nil, a.release(ctx, email, claimValue(claim, r.id))
}

// move carries out an intent whose address is reserved, and releases the old
// address. It returns the record as that left it, or nil if the intent was
// replaced by another.
func (a *Adapter) move(ctx context.Context, id, claim string) (*userRecord, error) {
	answer, err := a.once(ctx, scriptUserMove, a.keys.user(id), claim, claim).Slice()
	if err != nil || len(answer) == 0 {
		return nil, err
	}
	values, _ := answer[0].([]any)
	moved, err := decodeUser(id, values)
	if err != nil || len(answer) == 1 {
		return moved, err
	}
	if len(answer) != 3 {
		return nil, errors.New("unexpected answer of a script")
	}
	email, _ := text(answer[1])
	oldClaim, _ := text(answer[2])
	if email == "" {
		return moved, nil
	}
	return moved, a.release(ctx, email, claimValue(oldClaim, id))
}

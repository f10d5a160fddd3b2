package passwords

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Store keeps passwords, as adapter.Passwords has it.
type Store interface {
	Password(ctx context.Context, userID string) (*adapter.Password, error)
	SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error)
}

// Attempt is a password that is tried.
type Attempt struct {
	// UserID is empty if nobody has the address. Nobody is an ID that no user has.
	UserID, Nobody string
	// Browser is the name of a browser that signed the user in before, or empty.
	Browser func(userID, version string) string
	// Client is who takes a turn at hashing.
	Client, Password string
	// Lock holds the turn of the account in this process.
	Lock func() (release func(), err error)
}

// maxSwaps is how often a record is read again after somebody else changed it.
const maxSwaps = 64

var errContended = errors.New("the record of a password changes again and again")

// errHash says that a stored hash can't be read.
type errHash struct{ error }

func (e errHash) Unwrap() error { return e.error }

// IsHashError reports whether an error is about a stored hash.
func IsHashError(err error) bool {
	_, ok := errors.AsType[errHash](err)
	return ok
}

// Check tries a password. The result is the record as stored now, or nil if the
// password is not right or does not count. It is counted as wrong before it is
// compared, so that of many at once none is compared for nothing. A user who does
// not exist, or has no password, costs as many calls and the same hashing.
func Check(ctx context.Context, s Store, h Hasher, a Attempt) (*adapter.Password, error) {
	stored, browser, err := count(ctx, s, a)
	if err != nil {
		return nil, err
	}
	hash := ""
	if stored != nil {
		hash = stored.Hash
	}
	matches, rehash, err := h.Check(ctx, a.Client, hash, a.Password)
	switch {
	case err != nil && stored != nil:
		if _, busy := errors.AsType[*Busy](err); busy || ctx.Err() != nil { // it was not compared
			ctx := context.WithoutCancel(ctx)
			_, undone := change(ctx, s, *stored, func(st State) State { return st.counted(browser, -1) }, "")
			return nil, errors.Join(err, undone)
		}
		return nil, errHash{fmt.Errorf("the password of user %s: %w", a.UserID, err)}
	case err != nil:
		return nil, err
	case !matches || stored == nil:
		return nil, nil
	}
	return change(ctx, s, *stored, func(st State) State { return st.cleared(browser) }, rehash)
}

// count counts a wrong password. The result is the record to compare with, or nil
// if the attempt does not count.
func count(ctx context.Context, s Store, a Attempt) (stored *adapter.Password, browser string, err error) {
	release, err := a.Lock()
	if err != nil {
		return nil, "", err
	}
	defer release()
	id := cmp.Or(a.UserID, a.Nobody)
	for range maxSwaps {
		found, err := s.Password(ctx, id)
		if err != nil && a.UserID != "" {
			return nil, "", err
		}
		if found == nil {
			return nil, "", burn(ctx, s, a.Nobody)
		}
		state := StateOf(found)
		browser = a.Browser(a.UserID, state.Version)
		if state.Off(browser) {
			return nil, "", burn(ctx, s, a.Nobody)
		}
		counted, err := swap(ctx, s, *found, state.counted(browser, 1), "")
		if err != nil || counted != nil {
			return counted, browser, err
		}
	}
	return nil, "", errContended
}

// burn makes the call that counts, for nobody. A store may refuse the ID.
func burn(ctx context.Context, s Store, nobody string) error {
	from := adapter.Password{UserID: nobody, Hash: "$none"}
	to := from
	to.State = State{}.counted(strange, 1).text()
	_, _ = s.SwapPassword(ctx, from, to)
	return ctx.Err()
}

// change stores another state, and another hash unless it is empty. The result is
// nil if the password was changed or removed since it was read.
func change(
	ctx context.Context, s Store, read adapter.Password, to func(State) State, rehash string,
) (*adapter.Password, error) {
	version, hash, now := StateOf(&read).Version, read.Hash, &read
	for range maxSwaps {
		stored, err := swap(ctx, s, *now, to(StateOf(now)), rehash)
		if err != nil || stored != nil {
			return stored, err
		}
		if now, err = s.Password(ctx, read.UserID); err != nil || now == nil {
			return nil, err
		}
		if StateOf(now).Version != version || version == "" && now.Hash != hash && rehash == "" {
			return nil, nil
		}
		if now.Hash != hash { // another sign-in has stored a new hash of the same password
			hash, rehash = now.Hash, ""
		}
	}
	return nil, errContended
}

func swap(ctx context.Context, s Store, from adapter.Password, state State, hash string) (*adapter.Password, error) {
	to := adapter.Password{UserID: from.UserID, Hash: cmp.Or(hash, from.Hash), State: state.text()}
	return s.SwapPassword(ctx, from, to)
}

// Restore forgets all failures: the person has proven the address.
func Restore(ctx context.Context, s Store, userID string) error {
	found, err := s.Password(ctx, userID)
	if err != nil || found == nil || len(StateOf(found).Failures) == 0 {
		return err
	}
	_, err = change(ctx, s, *found, func(st State) State { st.Failures = nil; return st }, "")
	return err
}

// Replace stores another password in place of one that the person has shown. It
// reports false if that was changed or removed meanwhile.
func Replace(ctx context.Context, s Store, shown, to adapter.Password) (bool, error) {
	version, now := StateOf(&shown).Version, &shown
	for range maxSwaps {
		stored, err := s.SwapPassword(ctx, *now, to)
		if err != nil || stored != nil {
			return stored != nil, err
		}
		if now, err = s.Password(ctx, shown.UserID); err != nil || now == nil || StateOf(now).Version != version {
			return false, err
		}
	}
	return false, errContended
}

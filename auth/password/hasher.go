package password

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"unicode/utf8"
)

// MaxBytes is the length in bytes of the longest password that is hashed or
// checked.
const MaxBytes = 4096

// ErrTooLong is the error of a password of more than [MaxBytes] bytes.
var ErrTooLong = errors.New("password: the password has more than 4096 bytes")

// Options are the settings of a [Hasher]. The zero value is a good one.
type Options struct {
	// Argon2 are the settings of argon2id; the default is 19456 KiB, 2 passes and
	// one thread. Settings below those that OWASP's Password Storage Cheat Sheet
	// names are refused.
	Argon2 Argon2
	// Imported are the formats of hashes that people brought along. Each check
	// takes the work of each of them, so remove a format that no user has any
	// longer. A user whose hash is imported has one of argon2id after the next
	// sign-in.
	Imported []Format
	// AtOnce is how many passwords are hashed at once; the default is GOMAXPROCS.
	// The memory in use is at most AtOnce times that of the largest format.
	AtOnce int
	// Waiting is how many calls may wait for their turn; the default is 64 for each
	// one at once.
	Waiting int
	// DangerouslyFast accepts settings of argon2id that are too weak, for tests.
	DangerouslyFast bool
}

// Hasher hashes and checks passwords. It is safe for concurrent use; a server has
// one, because it limits how many passwords are hashed at once.
type Hasher struct {
	own     Argon2
	formats []Format // own first
	slots   *slots
}

// NewHasher returns a Hasher.
func NewHasher(o Options) (*Hasher, error) {
	o.Argon2 = cmp.Or(o.Argon2, Argon2{Memory: 19456, Time: 2, Parallelism: 1})
	if o.Argon2.weak() && !o.DangerouslyFast {
		return nil, fmt.Errorf("password: %d KiB and %d passes are less than OWASP names for argon2id, such as 19456 and 2",
			o.Argon2.Memory, o.Argon2.Time)
	}
	h := &Hasher{own: o.Argon2, formats: append([]Format{o.Argon2}, o.Imported...)}
	for _, f := range h.formats {
		if f == nil {
			return nil, errors.New("password: a format of Imported is nil")
		}
		if err := f.check(); err != nil {
			return nil, err
		}
	}
	if o.AtOnce < 1 {
		o.AtOnce = runtime.GOMAXPROCS(0)
	}
	if o.Waiting < 1 {
		o.Waiting = 64 * o.AtOnce
	}
	h.slots = newSlots(o.AtOnce, o.Waiting)
	return h, nil
}

// Hash returns the hash of a password as a PHC string of argon2id with a new salt.
// The password is hashed in NFC. The client is whom a turn is given to, such as
// the result of auth.Handler.ClientAddress. A *BusyError means that too many
// calls wait.
func (h *Hasher) Hash(ctx context.Context, client, password string) (hash string, err error) {
	if len(password) > MaxBytes {
		return "", ErrTooLong
	}
	if !utf8.ValidString(password) {
		return "", errors.New("password: the password is no valid UTF-8")
	}
	err = h.slots.do(ctx, client, func() { hash = h.encode(password) })
	return hash, err
}

// Checked is the result of a check.
type Checked struct {
	// Matches says that the password is the user's.
	Matches bool
	// Rehash is a new hash to store in place of the old one, or empty. It is made
	// after a match with an imported hash or with other settings of argon2id, unless
	// the hash did not cover the whole password.
	Rehash string
}

// Check compares a password with the stored hash of a user. The hash is empty for a
// user who is unknown or has no password; the same work is done then. A hash that
// can't be read matches nothing; the error then matches [ErrFormat]. A *BusyError
// means that too many calls wait; see [Hasher.Hash] for client.
func (h *Hasher) Check(ctx context.Context, client, stored, password string) (Checked, error) {
	if len(password) > MaxBytes {
		return Checked{}, ErrTooLong
	}
	var done Checked
	var failed error
	err := h.slots.do(ctx, client, func() { done, failed = h.check(stored, password) })
	if err == nil {
		err = failed
	}
	return done, err
}

// check does the work of each format once: that of the hash by comparing, the rest
// with nobody's hash.
func (h *Hasher) check(stored, password string) (done Checked, err error) {
	format, hash, err := h.read(stored)
	var whole, current bool
	for i, f := range h.formats {
		left := f.cost()
		if hash != nil && i == format {
			done.Matches, whole = hash.matches(password)
			left -= hash.cost()
			current = i == 0 && h.isOwn(hash)
		}
		f.burn(left)
	}
	if done.Matches && whole && !current && utf8.ValidString(password) {
		done.Rehash = h.encode(password)
	}
	return done, err
}

// encode makes a hash with a new salt.
func (h *Hasher) encode(password string) string {
	salt := make([]byte, argon2Salt)
	_, _ = rand.Read(salt) // it never fails
	return h.own.encode(normal(password), salt)
}

// isOwn says that a hash has the settings of new ones.
func (h *Hasher) isOwn(hash storedHash) bool {
	own, ok := hash.(*argon2Stored)
	return ok && own.id && own.Argon2 == h.own
}

// read finds the format of a hash and reads it.
func (h *Hasher) read(stored string) (int, storedHash, error) {
	if stored == "" {
		return 0, nil, nil
	}
	var refused error
	for i, f := range h.formats {
		hash, err := f.read(stored)
		switch {
		case err != nil:
			refused = err
		case hash != nil && hash.cost() <= f.cost():
			return i, hash, nil
		case hash != nil:
			refused = fmt.Errorf("%w: it costs %d, and %T allows %d", ErrFormat, hash.cost(), f, f.cost())
		}
	}
	if refused == nil {
		refused = fmt.Errorf("%w: no format in Options.Imported has its form", ErrFormat)
	}
	return 0, nil, refused
}

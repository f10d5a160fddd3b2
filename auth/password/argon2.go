package password

import (
	"cmp"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// Argon2 reads hashes of argon2id and argon2i in PHC strings, such as
// $argon2id$v=19$m=19456,t=2,p=1$salt$hash, over the password in NFC. The fields
// are those of the most expensive hash that is read; the cost is Memory times
// Time. A Hasher reads its own hashes without it.
type Argon2 struct {
	// Memory is in KiB.
	Memory uint32
	// Time is the number of passes.
	Time uint32
	// Parallelism is the number of threads.
	Parallelism uint8
}

// atLeastOWASP are the weakest settings that OWASP's Password Storage Cheat Sheet
// names for argon2id: pairs of memory in KiB and passes.
var atLeastOWASP = [][2]uint32{{47104, 1}, {19456, 2}, {12288, 3}, {9216, 4}, {7168, 5}}

// weak says that the settings are below each pair that OWASP names.
func (a Argon2) weak() bool {
	return !slices.ContainsFunc(atLeastOWASP, func(least [2]uint32) bool {
		return a.Memory >= least[0] && a.Time >= least[1] && a.Parallelism >= 1
	})
}

const (
	argon2Salt = 16 // bytes
	argon2Hash = 32 // bytes
)

// encode hashes the password and returns the PHC string.
func (a Argon2) encode(password, salt []byte) string {
	hash := argon2.IDKey(password, salt, a.Time, a.Memory, a.Parallelism, argon2Hash)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, a.Memory, a.Time, a.Parallelism,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(hash))
}

type argon2Stored struct {
	Argon2
	id         bool
	salt, hash []byte
	prepare    func(password string) []byte
}

func (a Argon2) read(stored string) (storedHash, error) { return readArgon2(stored, normal) }

func readArgon2(stored string, prepare func(string) []byte) (storedHash, error) {
	part := strings.Split(stored, "$")
	if len(part) != 6 || part[0] != "" || part[1] != "argon2id" && part[1] != "argon2i" {
		return nil, nil
	}
	if part[2] != "v=19" {
		return nil, fmt.Errorf("%w: only version 19 of argon2 is read", ErrFormat)
	}
	number, err := phcNumbers(part[3], "m", "t", "p")
	if err != nil {
		return nil, err
	}
	h := &argon2Stored{id: part[1] == "argon2id", prepare: prepare}
	if number["p"] < 1 || number["p"] > 255 || number["t"] < 1 || number["m"] < 8*number["p"] {
		return nil, fmt.Errorf("%w: parameters of argon2", ErrFormat)
	}
	h.Memory, h.Time, h.Parallelism = uint32(number["m"]), uint32(number["t"]), uint8(number["p"]) //nolint:gosec // phcNumbers gives 32 bits
	if h.salt, h.hash, err = saltAndHash(base64.RawStdEncoding, part[4], part[5]); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *argon2Stored) matches(password string) (match, whole bool) {
	key := argon2.Key
	if h.id {
		key = argon2.IDKey
	}
	made := key(h.prepare(password), h.salt, h.Time, h.Memory, h.Parallelism, uint32(len(h.hash))) //nolint:gosec // at most maxHash
	return subtle.ConstantTimeCompare(made, h.hash) == 1, true
}

func (a Argon2) cost() uint64 { return uint64(a.Memory) * uint64(a.Time) }

func (a Argon2) burn(cost uint64) {
	if memory := cost / uint64(max(a.Time, 1)); memory >= 8*uint64(a.Parallelism) {
		argon2.IDKey(nobody, nobody, a.Time, uint32(min(memory, uint64(a.Memory))), a.Parallelism, argon2Hash) //nolint:gosec // at most a.Memory
	}
}

func (a Argon2) check() error {
	if a.Time < 1 || a.Parallelism < 1 || a.Memory < 8*uint32(a.Parallelism) {
		return fmt.Errorf("password: Argon2 needs Memory, Time and Parallelism")
	}
	return nil
}

// DjangoArgon2 reads hashes of Django's Argon2PasswordHasher, such as
// argon2$argon2id$v=19$m=102400,t=2,p=8$salt$hash. The fields are those of
// [Argon2]; the default is what Django has: 102400, 2 and 8.
type DjangoArgon2 Argon2

func (d DjangoArgon2) argon2() Argon2 {
	return cmp.Or(Argon2(d), Argon2{Memory: 102400, Time: 2, Parallelism: 8})
}

func (d DjangoArgon2) read(stored string) (storedHash, error) {
	rest, ok := strings.CutPrefix(stored, "argon2$")
	if !ok {
		return nil, nil
	}
	return readArgon2("$"+rest, asTyped)
}

func (d DjangoArgon2) cost() uint64     { return d.argon2().cost() }
func (d DjangoArgon2) burn(cost uint64) { d.argon2().burn(cost) }
func (d DjangoArgon2) check() error     { return d.argon2().check() }

// phcNumbers reads the parameters of a PHC string, which are these and no others.
func phcNumbers(list string, names ...string) (map[string]uint64, error) {
	number := map[string]uint64{}
	for pair := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseUint(value, 10, 32)
		if _, twice := number[name]; err != nil || twice {
			return nil, fmt.Errorf("%w: parameters", ErrFormat)
		}
		number[name] = n
	}
	for _, name := range names {
		if _, ok := number[name]; !ok || len(number) != len(names) {
			return nil, fmt.Errorf("%w: the parameters are not %s", ErrFormat, strings.Join(names, ", "))
		}
	}
	return number, nil
}

package password

import (
	"cmp"
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // hashes that people bring along
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// PBKDF2 reads hashes of PBKDF2 with SHA-256 or SHA-512: those of passlib, such
// as $pbkdf2-sha256$29000$salt$hash, and PHC strings, such as
// $pbkdf2-sha256$i=600000$salt$hash.
type PBKDF2 struct {
	// Iterations is that of the most expensive hash; the default is 600000.
	Iterations int
}

// DjangoPBKDF2 reads hashes of Django's PBKDF2PasswordHasher, such as
// pbkdf2_sha256$1200000$salt$hash, and of PBKDF2SHA1PasswordHasher.
type DjangoPBKDF2 struct {
	// Iterations is that of the most expensive hash; the default is 1200000, as in
	// Django 6.0.
	Iterations int
}

type pbkdf2Stored struct {
	digest     func() hash.Hash
	iterations int
	salt, hash []byte
}

var pbkdf2Digests = map[string]func() hash.Hash{
	"pbkdf2-sha256": sha256.New, "pbkdf2-sha512": sha512.New, "pbkdf2_sha256": sha256.New, "pbkdf2_sha1": sha1.New,
}

func newPBKDF2(name, iterations string, salt, hash []byte) (storedHash, error) {
	n, err := strconv.ParseUint(iterations, 10, 31)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%w: iterations", ErrFormat)
	}
	return &pbkdf2Stored{digest: pbkdf2Digests[name], iterations: int(n), salt: salt, hash: hash}, nil //nolint:gosec // 31 bits
}

func (p PBKDF2) read(stored string) (storedHash, error) {
	part := strings.Split(stored, "$")
	if len(part) != 5 || part[0] != "" || part[1] != "pbkdf2-sha256" && part[1] != "pbkdf2-sha512" {
		return nil, nil
	}
	encoded := strings.NewReplacer(".", "+") // passlib's alphabet
	salt, hash, err := saltAndHash(base64.RawStdEncoding, encoded.Replace(part[3]), encoded.Replace(part[4]))
	if err != nil {
		return nil, err
	}
	iterations, _, _ := strings.Cut(strings.TrimPrefix(part[2], "i="), ",") // a length may follow
	return newPBKDF2(part[1], iterations, salt, hash)
}

func (d DjangoPBKDF2) read(stored string) (storedHash, error) {
	part := strings.Split(stored, "$")
	if len(part) != 4 || part[0] != "pbkdf2_sha256" && part[0] != "pbkdf2_sha1" {
		return nil, nil
	}
	_, hash, err := saltAndHash(base64.StdEncoding, "", part[3])
	if err != nil || len(part[2]) > maxSalt {
		return nil, fmt.Errorf("%w: its salt or hash is damaged", ErrFormat)
	}
	return newPBKDF2(part[0], part[1], []byte(part[2]), hash)
}

func (h *pbkdf2Stored) matches(password string) (match, whole bool) {
	made := pbkdf2Key(h.digest, password, h.salt, h.iterations, len(h.hash))
	return subtle.ConstantTimeCompare(made, h.hash) == 1, true
}

func pbkdf2Key(digest func() hash.Hash, password string, salt []byte, iterations, length int) []byte {
	key, err := pbkdf2.Key(digest, password, salt, iterations, length)
	if err != nil { // only where FIPS 140 forbids it
		panic("password: PBKDF2: " + err.Error())
	}
	return key
}

// cost counts the blocks of the derived key, each of which takes all iterations.
func (h *pbkdf2Stored) cost() uint64 {
	size := h.digest().Size()
	return uint64(h.iterations) * uint64((len(h.hash)+size-1)/size) //nolint:gosec // not negative
}

func burnPBKDF2(cost uint64) {
	if cost > 0 {
		pbkdf2Key(sha256.New, string(nobody), nobody, int(cost), sha256.Size) //nolint:gosec // at most 31 bits
	}
}

func checkPBKDF2(iterations int) error {
	if iterations < 0 || iterations > 10_000_000 {
		return fmt.Errorf("password: Iterations is %d, want 1 to 10000000", iterations)
	}
	return nil
}

func (p PBKDF2) cost() uint64           { return uint64(cmp.Or(p.Iterations, 600_000)) }   //nolint:gosec // check refuses negative ones
func (d DjangoPBKDF2) cost() uint64     { return uint64(cmp.Or(d.Iterations, 1_200_000)) } //nolint:gosec // check refuses negative ones
func (p PBKDF2) burn(cost uint64)       { burnPBKDF2(cost) }
func (d DjangoPBKDF2) burn(cost uint64) { burnPBKDF2(cost) }
func (p PBKDF2) check() error           { return checkPBKDF2(p.Iterations) }
func (d DjangoPBKDF2) check() error     { return checkPBKDF2(d.Iterations) }

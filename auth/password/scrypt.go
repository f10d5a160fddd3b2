package password

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"golang.org/x/crypto/scrypt"
	"golang.org/x/text/unicode/norm"
)

// scryptCost are the parameters of scrypt (RFC 7914 section 2).
type scryptCost struct{ n, r, p uint64 }

func (c scryptCost) cost() uint64 { return c.n * c.r * c.p }

// ok says that the parameters can be used. The cost is limited elsewhere.
func (c scryptCost) ok() bool {
	return bits.OnesCount64(c.n) == 1 && c.n > 1 && c.n <= 1<<24 && c.r >= 1 && c.r <= 64 && c.p >= 1 && c.p <= 64
}

// key derives a key.
func (c scryptCost) key(password, salt []byte, length int) []byte {
	key, err := scrypt.Key(password, salt, int(c.n), int(c.r), int(c.p), length) //nolint:gosec // ok limits them
	if err != nil {
		panic("password: parameters that were accepted: " + err.Error())
	}
	return key
}

// burn hashes with each power of two in the cost.
func (c scryptCost) burn(cost uint64) {
	times := cost / (c.r * c.p)
	for power := 1; power < 25; power++ {
		if times&(1<<power) != 0 {
			scryptCost{1 << power, c.r, c.p}.key(nobody, nobody, 32)
		}
	}
}

// Scrypt reads hashes of scrypt in PHC strings, as passlib makes them, such as
// $scrypt$ln=16,r=8,p=1$salt$hash. The fields are those of the most expensive
// hash; the cost is N times R times P.
type Scrypt struct {
	// N is the cost factor, a power of two; the default is 65536.
	N int
	// R is the block size; the default is 8.
	R int
	// P is the parallelisation; the default is 1.
	P int
}

func (s Scrypt) parameters(n uint64) scryptCost {
	c := scryptCost{uint64(s.N), uint64(s.R), uint64(s.P)} //nolint:gosec // negative ones are refused by check
	return scryptCost{cmp.Or(c.n, n), cmp.Or(c.r, 8), cmp.Or(c.p, 1)}
}

const (
	passlibN = 1 << 16
	djangoN  = 1 << 14
)

func (s Scrypt) cost() uint64     { return s.parameters(passlibN).cost() }
func (s Scrypt) burn(cost uint64) { s.parameters(passlibN).burn(cost) }
func (s Scrypt) check() error     { return s.parameters(passlibN).check() }

func (c scryptCost) check() error {
	if !c.ok() || c.cost() > 1<<27 {
		return fmt.Errorf("password: N, R or P of scrypt")
	}
	return nil
}

type scryptStored struct {
	scryptCost
	salt, hash []byte
	prepare    func(password string) []byte
}

func (h *scryptStored) matches(password string) (match, whole bool) {
	made := h.key(h.prepare(password), h.salt, len(h.hash))
	return subtle.ConstantTimeCompare(made, h.hash) == 1, true
}

// asTyped is the password without normalisation.
func asTyped(password string) []byte { return []byte(password) }

func (s Scrypt) read(stored string) (storedHash, error) {
	part := strings.Split(stored, "$")
	if len(part) != 5 || part[0] != "" || part[1] != "scrypt" {
		return nil, nil
	}
	number, err := phcNumbers(part[2], "ln", "r", "p")
	if err != nil {
		return nil, err
	}
	salt, hash, err := saltAndHash(base64.RawStdEncoding, part[3], part[4])
	if err != nil {
		return nil, err
	}
	return newScrypt(scryptCost{1 << min(number["ln"], 63), number["r"], number["p"]}, salt, hash, asTyped)
}

func newScrypt(c scryptCost, salt, hash []byte, prepare func(string) []byte) (storedHash, error) {
	if !c.ok() {
		return nil, fmt.Errorf("%w: parameters of scrypt", ErrFormat)
	}
	return &scryptStored{scryptCost: c, salt: salt, hash: hash, prepare: prepare}, nil
}

// DjangoScrypt reads hashes of Django's ScryptPasswordHasher, such as
// scrypt$16384$salt$8$1$hash. The fields are those of the most expensive hash.
type DjangoScrypt struct {
	// N is the cost factor, a power of two; the default is 16384.
	N int
	// R is the block size; the default is 8.
	R int
	// P is the parallelisation; the default is 5, as in Django 5.1 and later.
	P int
}

func (d DjangoScrypt) parameters() scryptCost {
	d.P = cmp.Or(d.P, 5)
	return Scrypt(d).parameters(djangoN)
}

func (d DjangoScrypt) cost() uint64     { return d.parameters().cost() }
func (d DjangoScrypt) burn(cost uint64) { d.parameters().burn(cost) }
func (d DjangoScrypt) check() error     { return d.parameters().check() }

func (d DjangoScrypt) read(stored string) (storedHash, error) {
	part := strings.Split(stored, "$")
	if len(part) != 6 || part[0] != "scrypt" {
		return nil, nil
	}
	var number [3]uint64
	for i, text := range []string{part[1], part[3], part[4]} {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%w: parameters of scrypt", ErrFormat)
		}
		number[i] = n
	}
	_, hash, err := saltAndHash(base64.StdEncoding, "", part[5])
	if err != nil || len(part[2]) > maxSalt {
		return nil, fmt.Errorf("%w: its salt or hash is damaged", ErrFormat)
	}
	return newScrypt(scryptCost{number[0], number[1], number[2]}, []byte(part[2]), hash, asTyped)
}

// BetterAuth reads the hashes of better-auth: salt:hash in hexadecimal digits, of
// scrypt with N 16384, R 16 and P 1 over the password in NFKC. The salt is its
// text.
type BetterAuth struct{}

var betterAuthCost = scryptCost{1 << 14, 16, 1}

func (BetterAuth) cost() uint64     { return betterAuthCost.cost() }
func (BetterAuth) burn(cost uint64) { betterAuthCost.burn(cost) }
func (BetterAuth) check() error     { return nil }

func (BetterAuth) read(stored string) (storedHash, error) {
	salt, text, ok := strings.Cut(stored, ":")
	if !ok || strings.Contains(text, ":") {
		return nil, nil
	}
	hash, err := hex.DecodeString(text)
	if _, saltErr := hex.DecodeString(salt); err != nil || saltErr != nil || len(hash) != 64 || len(salt) != 32 {
		return nil, fmt.Errorf("%w: its salt or hash is damaged", ErrFormat)
	}
	nfkc := func(password string) []byte { return norm.NFKC.Bytes([]byte(password)) }
	return newScrypt(betterAuthCost, []byte(salt), hash, nfkc)
}

// Firebase reads hashes of Firebase Authentication in the form
// firebase$salt$hash, with the texts passwordSalt and passwordHash of
// `firebase auth:export`: see [FirebaseHash]. The fields are the project's hash
// parameters, as its console shows them.
type Firebase struct {
	// SignerKey and SaltSeparator are in base64.
	SignerKey, SaltSeparator string
	// Rounds and MemCost are numbers, usually 8 and 14.
	Rounds, MemCost int
}

// FirebaseHash is the text to store for a user of `firebase auth:export`.
func FirebaseHash(passwordSalt, passwordHash string) string {
	return firebasePrefix + passwordSalt + "$" + passwordHash
}

const firebasePrefix = "firebase$"

func (f Firebase) parameters() scryptCost {
	return scryptCost{1 << min(max(f.MemCost, 0), 63), uint64(max(f.Rounds, 0)), 1} //nolint:gosec // not negative
}

func (f Firebase) cost() uint64     { return f.parameters().cost() }
func (f Firebase) burn(cost uint64) { f.parameters().burn(cost) }

func (f Firebase) check() error {
	key, err := base64.StdEncoding.DecodeString(f.SignerKey)
	if _, sepErr := base64.StdEncoding.DecodeString(f.SaltSeparator); err != nil || sepErr != nil || len(key) < 32 || len(key) > maxHash {
		return fmt.Errorf("password: SignerKey or SaltSeparator of Firebase is not base64")
	}
	return f.parameters().check()
}

type firebaseStored struct {
	scryptCost
	salt, hash, signer []byte
}

// anyBase64 is base64 of either alphabet, with or without padding, as exports of
// different tools have it.
func anyBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
}

func (f Firebase) read(stored string) (storedHash, error) {
	rest, ok := strings.CutPrefix(stored, firebasePrefix)
	if !ok {
		return nil, nil
	}
	salt, hash, _ := strings.Cut(rest, "$")
	saltBytes, err := anyBase64(salt)
	hashBytes, hashErr := anyBase64(hash)
	signer, keyErr := base64.StdEncoding.DecodeString(f.SignerKey)
	separator, sepErr := base64.StdEncoding.DecodeString(f.SaltSeparator)
	if err != nil || hashErr != nil || keyErr != nil || sepErr != nil || len(hashBytes) != len(signer) || len(saltBytes) > maxSalt {
		return nil, fmt.Errorf("%w: its salt or hash is damaged", ErrFormat)
	}
	return &firebaseStored{scryptCost: f.parameters(), salt: append(saltBytes, separator...), hash: hashBytes, signer: signer}, nil
}

// matches encrypts the signer key with a key that is made of the password, as
// Firebase's scrypt does.
func (h *firebaseStored) matches(password string) (match, whole bool) {
	block, err := aes.NewCipher(h.key([]byte(password), h.salt, 64)[:32])
	if err != nil {
		panic("password: a key of 32 bytes: " + err.Error())
	}
	made := make([]byte, len(h.signer))
	cipher.NewCTR(block, make([]byte, aes.BlockSize)).XORKeyStream(made, h.signer)
	return subtle.ConstantTimeCompare(made, h.hash) == 1, true
}

package password

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// bcryptBytes is how much of a password bcrypt reads.
const bcryptBytes = 72

// Bcrypt reads hashes of bcrypt, such as $2b$12$…, whose prefix is $2a$, $2b$ or
// $2y$. bcrypt reads 72 bytes: of a longer password the rest is not compared, as
// in the product that made the hash, and no new hash is made of it.
type Bcrypt struct {
	// Cost is that of the most expensive hash; the default is 12.
	Cost int
	// Pepper is put after each password, as Devise does.
	Pepper string
}

// Devise reads the hashes of Ruby's Devise. The pepper is config.pepper there.
func Devise(pepper string) Bcrypt { return Bcrypt{Pepper: pepper} }

type bcryptStored struct {
	hash   []byte
	power  int
	secret func(password string) (secret []byte, whole bool)
}

func (b Bcrypt) read(stored string) (storedHash, error) {
	return readBcrypt(stored, func(password string) ([]byte, bool) {
		return []byte(password + b.Pepper), len(password) <= bcryptBytes
	})
}

func readBcrypt(stored string, secret func(string) ([]byte, bool)) (storedHash, error) {
	if !strings.HasPrefix(stored, "$2a$") && !strings.HasPrefix(stored, "$2b$") && !strings.HasPrefix(stored, "$2y$") {
		return nil, nil
	}
	power, err := bcrypt.Cost([]byte(stored))
	if err != nil || len(stored) != 60 {
		return nil, fmt.Errorf("%w: it is no hash of bcrypt", ErrFormat)
	}
	return &bcryptStored{hash: []byte(stored), power: power, secret: secret}, nil
}

func (h *bcryptStored) matches(password string) (match, whole bool) {
	secret, whole := h.secret(password)
	return bcrypt.CompareHashAndPassword(h.hash, secret) == nil, whole
}

func (h *bcryptStored) cost() uint64 { return 1 << h.power }

func (b Bcrypt) power() int { return cmp.Or(b.Cost, 12) }

func (b Bcrypt) cost() uint64 { return 1 << b.power() }

// burn hashes with each power of two in the cost.
func (b Bcrypt) burn(cost uint64) {
	for power := bcrypt.MinCost; power <= bcrypt.MaxCost; power++ {
		if cost&(1<<power) != 0 {
			_, _ = bcrypt.GenerateFromPassword(nobody, power)
		}
	}
}

func (b Bcrypt) check() error {
	if b.power() < bcrypt.MinCost || b.power() > 20 {
		return fmt.Errorf("password: the cost of Bcrypt is %d, want 4 to 20", b.Cost)
	}
	return nil
}

// DjangoBcrypt reads hashes of Django's BCryptSHA256PasswordHasher, which begin
// with bcrypt_sha256$, and of BCryptPasswordHasher, which begin with bcrypt$.
type DjangoBcrypt struct {
	// Cost is that of the most expensive hash; the default is 12.
	Cost int
}

func (d DjangoBcrypt) read(stored string) (storedHash, error) {
	if hash, ok := strings.CutPrefix(stored, "bcrypt_sha256$"); ok {
		return readBcrypt(hash, func(password string) ([]byte, bool) {
			sum := sha256.Sum256([]byte(password))
			return []byte(hex.EncodeToString(sum[:])), true
		})
	}
	if hash, ok := strings.CutPrefix(stored, "bcrypt$"); ok {
		return Bcrypt{}.read(hash)
	}
	return nil, nil
}

func (d DjangoBcrypt) cost() uint64     { return Bcrypt{Cost: d.Cost}.cost() }
func (d DjangoBcrypt) burn(cost uint64) { Bcrypt{}.burn(cost) }
func (d DjangoBcrypt) check() error     { return Bcrypt{Cost: d.Cost}.check() }

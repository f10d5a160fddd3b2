package password

import (
	"encoding/base64"
	"errors"
	"fmt"

	"golang.org/x/text/unicode/norm"
)

// ErrFormat matches the errors about a stored hash that can't be read: its form
// is unknown, it is damaged, or it costs more than the [Format] that reads it
// allows. The errors do not quote the hash.
var ErrFormat = errors.New("password: the stored hash can't be read")

// Format reads hashes of passwords that another product made. The formats are in
// this package. Each says how much work its most expensive hash is, which is the
// work of each check; a hash that needs more is refused.
type Format interface {
	// read returns the hash in the text, or nil if the text has another format.
	read(stored string) (storedHash, error)
	// cost is the work of the most expensive hash, in a unit of the format's own.
	cost() uint64
	// burn does so much work. The rest below the least possible hash is left out.
	burn(cost uint64)
	// check says what is wrong with the settings.
	check() error
}

// storedHash is a hash that was read.
type storedHash interface {
	// matches compares a password with the hash. whole says that each byte of the
	// password counted.
	matches(password string) (match, whole bool)
	// cost is the work of matches, in the unit of the format.
	cost() uint64
}

// nobody is what is hashed where there is no hash to compare with.
var nobody = []byte("nobody has this password or salt")

// normal is the form in which passwords are hashed here: NFC (NIST SP 800-63B-4
// section 3.1.1.2).
func normal(password string) []byte { return norm.NFC.Bytes([]byte(password)) }

// maxHash and maxSalt are the greatest lengths in bytes of what is read.
const (
	maxHash = 128
	maxSalt = 256
	minHash = 16
)

// saltAndHash decodes the two values at the end of most forms.
func saltAndHash(encoding *base64.Encoding, salt, hash string) (saltBytes, hashBytes []byte, err error) {
	s, saltErr := encoding.Strict().DecodeString(salt)
	h, hashErr := encoding.Strict().DecodeString(hash)
	if saltErr != nil || hashErr != nil || len(h) < minHash || len(h) > maxHash || len(s) > maxSalt {
		return nil, nil, fmt.Errorf("%w: its salt or hash is damaged", ErrFormat)
	}
	return s, h, nil
}

package password

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// The hashes were made by Django 5.2, argon2-cffi, bcrypt and passlib for Python,
// better-auth 1.4, and are in the documentation of Firebase's scrypt.
const (
	decomposed = "pa\u0301ssword of \u00e5ngstr\u00f6m 1"
	composed   = "p\u00e1ssword of \u00e5ngstr\u00f6m 1"
)

var (
	fast         = Argon2{Memory: 512, Time: 1, Parallelism: 1}
	firebaseTest = Firebase{
		SignerKey:     "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==",
		SaltSeparator: "Bw==", Rounds: 8, MemCost: 14,
	}
)

// imported are the hashes in testdata/hashes.txt, in its order.
var imported = []struct {
	name, password string
	format         Format
}{
	{"Django, PBKDF2", decomposed, DjangoPBKDF2{1000}},
	{"Django, PBKDF2 with SHA-1", decomposed, DjangoPBKDF2{1000}},
	{"Django, argon2", decomposed, DjangoArgon2{1024, 2, 8}},
	{"Django, bcrypt of SHA-256", decomposed, DjangoBcrypt{4}},
	{"Django, bcrypt", decomposed, DjangoBcrypt{5}},
	{"Django, scrypt", decomposed, DjangoScrypt{}},
	{"bcrypt", decomposed, Bcrypt{Cost: 6}},
	{"Devise", decomposed, Bcrypt{Cost: 4, Pepper: "pepper of the site"}},
	{"argon2id, other settings", decomposed, Argon2{1024, 2, 2}},
	{"argon2i", composed, Argon2{1024, 4, 1}},
	{"scrypt", decomposed, Scrypt{N: 4096}},
	{"PBKDF2", decomposed, PBKDF2{1000}},
	{"PBKDF2 with SHA-512", decomposed, PBKDF2{2000}},
	{"better-auth", "pa\u0301ssword of \u00e5ngstr\u00f6m \ufb01 1", BetterAuth{}},
	{"Firebase", "user1password", firebaseTest},
}

// importedHash reads the hash of a name in testdata/hashes.txt.
func importedHash(t *testing.T, name string) string {
	t.Helper()
	list, err := os.ReadFile(filepath.Join("testdata", "hashes.txt"))
	require.NoError(t, err)
	for line := range strings.Lines(string(list)) {
		if hash, ok := strings.CutPrefix(line, name+"\t"); ok {
			return strings.TrimSuffix(hash, "\n")
		}
	}
	t.Fatalf("no hash of %s", name)
	return ""
}

func newTestHasher(t *testing.T, formats ...Format) *Hasher {
	t.Helper()
	h, err := NewHasher(Options{Argon2: fast, DangerouslyFast: true, Imported: formats})
	require.NoError(t, err)
	return h
}

// TestImportedHashes checks a hash of each format: the password signs in, gets a
// hash of ours, and any other password does not.
func TestImportedHashes(t *testing.T) {
	for _, test := range imported {
		t.Run(test.name, func(t *testing.T) {
			h, hash := newTestHasher(t, test.format), importedHash(t, test.name)
			done, err := h.Check(t.Context(), "", hash, test.password)
			require.Truef(t, err == nil && done.Matches && strings.HasPrefix(done.Rehash, "$argon2id$v=19$m=512,t=1,p=1$"),
				"the right password: %+v, %v", done, err)
			again, err := h.Check(t.Context(), "", done.Rehash, test.password)
			assert.Truef(t, err == nil && again.Matches && again.Rehash == "", "the new hash: %+v, %v", again, err)
			for _, wrong := range []string{"", test.password + " ", strings.ToUpper(test.password), test.password[1:], "\xff"} {
				done, err := h.Check(t.Context(), "", hash, wrong)
				assert.Truef(t, err == nil && done == (Checked{}), "password %q: %+v, %v", wrong, done, err)
			}
		})
	}
}

// TestDeviseAndFirebase checks what an import of these products calls.
func TestDeviseAndFirebase(t *testing.T) {
	done, err := newTestHasher(t, Devise("pepper of the site")).Check(t.Context(), "", importedHash(t, "Devise"), decomposed)
	assert.Truef(t, err == nil && done.Matches, "Devise: %+v, %v", done, err)
	stored := importedHash(t, "Firebase")
	_, exported, _ := strings.Cut(stored, "$")
	salt, hash, _ := strings.Cut(exported, "$")
	assert.Equal(t, stored, FirebaseHash(salt, hash), "FirebaseHash =")
}

// TestNormalization checks that a hash of ours and one of better-auth match both
// forms of an accented letter, and one of Django only the form that it was made of.
func TestNormalization(t *testing.T) {
	h := newTestHasher(t, DjangoPBKDF2{1000})
	own, err := h.Hash(t.Context(), "", decomposed)
	require.NoError(t, err)
	for hash, want := range map[string]bool{own: true, importedHash(t, imported[0].name): false} {
		done, err := h.Check(t.Context(), "", hash, composed)
		assert.Truef(t, err == nil && done.Matches == want, "%.15s…: %v, %v, want %v", hash, done.Matches, err, want)
	}
}

// TestTruncatedMatch checks that a password of which bcrypt read a part is never
// hashed anew: the rest was not compared.
func TestTruncatedMatch(t *testing.T) {
	typed := strings.Repeat("0123456789", 8)
	stored, err := bcrypt.GenerateFromPassword([]byte(typed[:72]), 4)
	require.NoError(t, err)
	h := newTestHasher(t, Bcrypt{Cost: 4})
	for _, password := range []string{typed, typed[:72] + "something else"} {
		done, err := h.Check(t.Context(), "", string(stored), password)
		assert.Truef(t, err == nil && done.Matches && done.Rehash == "", "a long password: %+v, %v", done, err)
	}
	done, err := h.Check(t.Context(), "", string(stored), typed[:72])
	assert.Truef(t, err == nil && done.Rehash != "", "72 bytes: %+v, %v", done, err)
}

// TestHostileHashes checks that a hash that costs more than it may, or is damaged,
// is an error that doesn't quote it, and costs no more than another.
func TestHostileHashes(t *testing.T) {
	formats := []Format{
		Bcrypt{Cost: 4}, Scrypt{N: 1024}, PBKDF2{1000}, DjangoPBKDF2{1000}, DjangoScrypt{N: 1024}, DjangoArgon2{1024, 2, 1}, DjangoBcrypt{4}, BetterAuth{}, firebaseTest,
	}
	for i, f := range formats {
		formats[i] = &counting{Format: f}
	}
	h := newTestHasher(t, formats...)
	const salt, sum = "c2FsdHNhbHRzYWx0c2E", "aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNo"
	for _, hash := range []string{
		"$argon2id$v=19$m=4194304,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=4294967295,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=1,p=0$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=0,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=0,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=99999999999,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=16$m=64,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=1$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=1,p=1,m=64$" + salt + "$" + sum,
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$",
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$QQ",
		"$argon2id$v=19$m=64,t=1,p=1$" + salt + "$" + strings.Repeat("A", 1<<20),
		"$argon2d$v=19$m=64,t=1,p=1$" + salt + "$" + sum,
		"$argon2id$",
		"$2b$31$wp0AP3ObyUqVYT855Jvi1uGMlJggn1/UEE.xKBV8tpn1FDNqh02A.",
		"$2b$05$wp0AP3ObyUqVYT855Jvi1uGMlJggn1/UEE.xKBV8tpn1FDNqh02A.",
		"$2b$04$short",
		"$2b$",
		"$2x$04$wp0AP3ObyUqVYT855Jvi1uGMlJggn1/UEE.xKBV8tpn1FDNqh02A.",
		"$2b$99$wp0AP3ObyUqVYT855Jvi1uGMlJggn1/UEE.xKBV8tpn1FDNqh02A.",
		"$scrypt$ln=63,r=8,p=1$" + salt + "$" + sum,
		"$scrypt$ln=200,r=8,p=1$" + salt + "$" + sum,
		"$scrypt$ln=10,r=1073741824,p=1$" + salt + "$" + sum,
		"$scrypt$ln=10,r=0,p=1$" + salt + "$" + sum,
		"$scrypt$ln=0,r=8,p=1$" + salt + "$" + sum,
		"scrypt$1000$s$8$1$" + sum + "AAA=",
		"scrypt$x$s$8$1$" + sum,
		"$pbkdf2-sha256$2000000000$" + salt + "$" + sum,
		"$pbkdf2-sha256$-1$" + salt + "$" + sum,
		"$pbkdf2-sha256$0$" + salt + "$" + sum,
		"$pbkdf2-sha256$600$" + salt + "$" + strings.Repeat("QUFB", 30),
		"pbkdf2_sha256$99999999999999999999$s$" + sum,
		"pbkdf2_sha256$1$s$!",
		"argon2$argon2id$v=19$m=4194304,t=1,p=1$" + salt + "$" + sum,
		"bcrypt_sha256$x",
		"bcrypt$$2b$31$wp0AP3ObyUqVYT855Jvi1uGMlJggn1/UEE.xKBV8tpn1FDNqh02A.",
		"firebase$",
		"firebase$$",
		"firebase$AA$AA", strings.Repeat("0", 32) + ":" + strings.Repeat("g", 128),
		":",
		"00:00",
		"!",
		"md5$salt$5f4dcc3b5aa765d61d8327deb882cf99",
		"plain text",
		"\x00",
		"\xff",
		" ",
		"$",
		strings.Repeat("$", 1<<20),
	} {
		done, err := h.Check(t.Context(), "", hash, "a password")
		if !errors.Is(err, ErrFormat) || done != (Checked{}) {
			t.Errorf("%.60q: %+v, %v, want ErrFormat", hash, done, err)
		} else if len(hash) > 20 && strings.Contains(err.Error(), hash[10:]) {
			t.Errorf("%.60q: the error quotes it", hash)
		}
	}
}

// TestSameWork counts the work of checks: it is that of each format for each user.
func TestSameWork(t *testing.T) {
	own := newTestHasher(t)
	hash, err := own.Hash(t.Context(), "", composed)
	require.NoError(t, err)
	stored := map[string]string{"nobody": "", "ours": hash, "damaged": "?"}
	for _, test := range imported {
		stored[test.name] = importedHash(t, test.name)
	}
	for name, hash := range stored {
		var all []Format
		counted := map[*counting]uint64{}
		for _, test := range imported {
			c := &counting{Format: test.format}
			all, counted[c] = append(all, c), test.format.cost()
		}
		h := newTestHasher(t, all...)
		first := &counting{Format: h.formats[0]}
		h.formats[0], counted[first] = first, fast.cost()
		_, _ = h.Check(t.Context(), "", hash, "another password")
		for c, want := range counted {
			assert.Equalf(t, want, c.done, "%s: the work for %T", name, c.Format)
		}
	}
}

// counting counts the work of a format, and does none for nobody.
type counting struct {
	Format
	done uint64
}

func (c *counting) burn(cost uint64) { c.done += cost }

func (c *counting) read(stored string) (storedHash, error) {
	hash, err := c.Format.read(stored)
	if hash == nil || err != nil {
		return nil, err
	}
	return &countingHash{hash, c}, nil
}

type countingHash struct {
	storedHash
	format *counting
}

func (h *countingHash) matches(password string) (match, whole bool) {
	h.format.done += h.cost()
	return h.storedHash.matches(password)
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"too little memory":  {Argon2: Argon2{Memory: 19455, Time: 2, Parallelism: 1}},
		"too few passes":     {Argon2: Argon2{Memory: 19456, Time: 1, Parallelism: 1}},
		"no thread":          {Argon2: Argon2{Memory: 19456, Time: 2}},
		"a nil format":       {Imported: []Format{nil}},
		"cost of bcrypt":     {Imported: []Format{Bcrypt{Cost: 31}}},
		"N of scrypt":        {Imported: []Format{Scrypt{N: 1000}}},
		"negative N":         {Imported: []Format{Scrypt{N: -2}}},
		"negative rounds":    {Imported: []Format{PBKDF2{-1}}},
		"no signer key":      {Imported: []Format{Firebase{Rounds: 8, MemCost: 14}}},
		"argon2 by halves":   {Imported: []Format{Argon2{Memory: 1024}}},
		"argon2 of Django's": {Imported: []Format{DjangoArgon2{Memory: 1024}}},
	} {
		_, err := NewHasher(o)
		assert.Errorf(t, err, "%s: no error", name)
	}
	for _, o := range []Options{{}, {Argon2: Argon2{Memory: 47104, Time: 1, Parallelism: 1}}, {Argon2: Argon2{Memory: 7168, Time: 5, Parallelism: 1}}} {
		_, err := NewHasher(o)
		assert.NoError(t, err)
	}
}

func TestLongPassword(t *testing.T) {
	h := newTestHasher(t)
	long := strings.Repeat("a", 1<<20)
	_, err := h.Hash(t.Context(), "", long)
	assert.ErrorIs(t, err, ErrTooLong)
	_, err = h.Check(t.Context(), "", "", long)
	assert.ErrorIs(t, err, ErrTooLong)
	_, err = h.Hash(t.Context(), "", "\xff")
	assert.Error(t, err, "invalid UTF-8 was hashed")
}

package redis

import (
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// kind is the part of a key that says what is kept under it.
type kind string

const (
	kindUser          kind = "user"
	kindEmail         kind = "email"
	kindAccount       kind = "account"
	kindSession       kind = "session"
	kindToken         kind = "token"
	kindReceipt       kind = "receipt"
	kindAuthenticator kind = "authenticator"
)

// keys builds the names of keys: prefix:kind:{part:part}. Parts are escaped, so
// no choice of parts makes two names one [INPUT-04], and the braces put all keys
// of one record into one cluster slot.
type keys struct{ prefix string }

func (k keys) tag(kind kind, parts ...string) string {
	var b strings.Builder
	size := len(k.prefix) + len(kind) + len("::{}")
	for _, p := range parts {
		size += len(p) + len("%XX:") // room for an escape or two
	}
	b.Grow(size)
	b.WriteString(k.prefix)
	b.WriteByte(':')
	b.WriteString(string(kind))
	b.WriteString(":{")
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(':')
		}
		escape(&b, p)
	}
	b.WriteByte('}')
	return b.String()
}

// start is what all keys of a kind begin with.
func (k keys) start(kind kind) string { return k.prefix + ":" + string(kind) + ":{" }

func (k keys) user(id string) string       { return k.tag(kindUser, id) }
func (k keys) email(address string) string { return k.tag(kindEmail, address) }
func (k keys) session(token string) string { return k.tag(kindSession, token) }
func (k keys) authenticator(credentialID string) string {
	return k.tag(kindAuthenticator, credentialID)
}
func (k keys) account(a adapter.AccountKey) string {
	return k.tag(kindAccount, a.Provider, a.ProviderAccountID)
}
func (k keys) token(t adapter.VerificationTokenKey) string {
	return k.tag(kindToken, t.Identifier, t.Token)
}

// receipt tells that the write with the nonce was made to the record of the key,
// in the slot of that record.
func (k keys) receipt(key, nonce string) string {
	return k.start(kindReceipt) + key[strings.IndexByte(key, '{')+1:] + ":" + nonce
}

// owned is the register of what a user owns of a kind, in the slot of the user.
func (k keys) owned(id string, kind kind) string { return k.user(id) + ":" + string(kind) + "s" }

const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~@+=/"

var isPlain = func() (is [256]bool) {
	for _, c := range []byte(plain) {
		is[c] = true
	}
	return is
}()

// escape writes s with every byte outside plain as %XX.
func escape(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	written := 0
	for i := range len(s) {
		if c := s[i]; !isPlain[c] {
			b.WriteString(s[written:i])
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
			written = i + 1
		}
	}
	b.WriteString(s[written:])
}

func escaped(s string) string {
	var b strings.Builder
	escape(&b, s)
	return b.String()
}

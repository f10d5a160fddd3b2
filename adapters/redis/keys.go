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
	b.WriteString(k.start(kind))
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

// escape writes s with every byte outside plain as %XX.
func escape(b *strings.Builder, s string) {
	const hex = "0123456789ABCDEF"
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
}

func escaped(s string) string {
	var b strings.Builder
	escape(&b, s)
	return b.String()
}

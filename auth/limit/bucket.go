package limit

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gatehouse-go/gatehouse/auth"
)

// scope is what attempts are counted together by.
type scope byte

const (
	byClient scope = iota
	byNetwork
	byAccount
	byBoth
	byBrowser
)

// bucket is a counts.Bucket before its key is hashed.
type bucket struct {
	kind           Kind
	scope          scope
	who, account   string
	networkOf48Bit netip.Addr // for byNetwork
	rule           *Rule
}

// maxBuckets is the largest number of buckets in which one attempt counts.
const maxBuckets = 4

// effective returns the rule of the bucket.
func (b *bucket) effective() Rule {
	if b.scope == byNetwork {
		return of48(*b.rule)
	}
	return *b.rule
}

// buckets returns the buckets in which an attempt counts.
func (l *limiter) buckets(list []bucket, a *auth.Attempt) []bucket {
	kind, account := kindOf(a)
	account = folded(account)
	rules := l.rules[kind]
	add := func(b bucket, r *Rule) {
		if *r != (Rule{}) {
			b.kind, b.rule = kind, r
			list = append(list, b)
		}
	}
	if a.Browser != "" && rules.Known != (Rule{}) {
		add(bucket{scope: byBrowser, who: a.Browser}, &rules.Known)
		return list
	}
	if a.Client != "" {
		add(bucket{scope: byClient, who: a.Client}, &rules.Client)
		if wide := network48(a.Client); wide.IsValid() {
			add(bucket{scope: byNetwork, networkOf48Bit: wide}, &rules.Client)
		}
	}
	if account != "" {
		add(bucket{scope: byAccount, account: account}, &rules.Account)
		if a.Client != "" {
			add(bucket{scope: byBoth, who: a.Client, account: account}, &rules.Both)
		}
	}
	return list
}

// network48 returns the network of 48 bits of a client that is a network of IPv6.
func network48(client string) netip.Addr {
	if strings.IndexByte(client, ':') < 0 {
		return netip.Addr{}
	}
	p, err := netip.ParsePrefix(client)
	if err != nil {
		return netip.Addr{}
	}
	wide, _ := p.Addr().Prefix(48) // never fails: an IPv6 address has 128 bits
	return wide.Addr()
}

// folded returns one spelling of a name for all those that some store takes for the
// same: without regard to case, width, accents and space. Two people whose names
// differ only by these share a count.
func folded(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c <= ' ' || c >= 'A' && c <= 'Z' {
			return strings.Map(func(c rune) rune {
				if unicode.In(c, unicode.Mn, unicode.Cf, unicode.Cc) || unicode.IsSpace(c) {
					return -1
				}
				return unicode.ToLower(unicode.ToUpper(c))
			}, norm.NFKD.String(name))
		}
	}
	return name
}

// appendTo appends what the bucket is for.
func (b *bucket) appendTo(text []byte) []byte {
	text = append(text, byte(b.scope))
	for _, part := range []string{string(b.kind), b.who, b.account} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	if b.networkOf48Bit.IsValid() {
		network := b.networkOf48Bit.As16()
		text = append(text, network[:6]...)
	}
	return text
}

// key returns a hash of what the bucket is for.
func (b *bucket) key(secret string) string {
	h := hmac.New(sha256.New, []byte(secret))
	_, _ = h.Write(b.appendTo(nil)) // never fails
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

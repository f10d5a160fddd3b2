package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// layout has the prefixes of the keys of @auth/upstash-redis-adapter, under the
// names of its options.
type layout struct {
	Base            string `json:"baseKeyPrefix"`
	Account         string `json:"accountKeyPrefix"`
	AccountByUserID string `json:"accountByUserIdPrefix"`
	Email           string `json:"emailKeyPrefix"`
	Session         string `json:"sessionKeyPrefix"`
	SessionByUserID string `json:"sessionByUserIdKeyPrefix"`
	User            string `json:"userKeyPrefix"`
	Token           string `json:"verificationTokenKeyPrefix"`
}

var defaultLayout = layout{
	Account: "user:account:", AccountByUserID: "user:account:by-user-id:", Email: "user:email:", Session: "user:session:",
	SessionByUserID: "user:session:by-user-id:", User: "user:", Token: "user:token:",
}

// A kind is a kind of record. The kinds are in the order in which they are
// copied: owners come first.
type kind int

const (
	users kind = iota
	accounts
	sessions
	tokens
	kinds
)

func (k kind) String() string {
	return [...]string{"users", "accounts", "sessions", "verification tokens"}[k]
}

// prefix returns the prefix of the keys of a kind.
func (l layout) prefix(k kind) string {
	return l.Base + [...]string{l.User, l.Account, l.Session, l.Token}[k]
}

// owns reports whether a key is of the kind: one prefix may begin with another
// one, and then the longest match decides.
func (l layout) owns(k kind, key string) bool {
	own := l.prefix(k)
	for _, other := range []string{l.User, l.Account, l.AccountByUserID, l.Email, l.Session, l.SessionByUserID, l.Token} {
		if other = l.Base + other; len(other) > len(own) && strings.HasPrefix(key, other) {
			return false
		}
	}
	return strings.HasPrefix(key, own)
}

// pageSize is the number of keys that are read at once.
const pageSize = 500

// pages calls f for the keys of a kind, some at a time. A key may come twice.
func (c *copier) pages(ctx context.Context, k kind, f func(keys []string) error) error {
	escape := strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)
	for cursor := uint64(0); ; {
		keys, next, err := c.source.Scan(ctx, cursor, escape.Replace(c.layout.prefix(k))+"*", pageSize).Result()
		if err != nil {
			return err
		}
		keys = slices.DeleteFunc(keys, func(key string) bool { return !c.layout.owns(k, key) })
		slices.Sort(keys)
		if keys = slices.Compact(keys); len(keys) > 0 {
			if err := f(keys); err != nil {
				return err
			}
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// value is the value of a key of the source. absent: the key was deleted since its
// name was read.
type value struct {
	text   string
	absent bool
	// foreign: the key is not a string, so not a record.
	foreign bool
}

// read reads keys of the source in one round trip.
func (c *copier) read(ctx context.Context, keys []string) ([]value, error) {
	pipe := c.source.Pipeline()
	replies := make([]*goredis.StringCmd, len(keys))
	for i, key := range keys {
		replies[i] = pipe.Get(ctx, key)
	}
	_, _ = pipe.Exec(ctx) // the error of each reply is checked below
	values := make([]value, len(keys))
	for i, r := range replies {
		text, err := r.Result()
		values[i] = value{text: text, absent: errors.Is(err, goredis.Nil), foreign: goredis.HasErrorPrefix(err, "WRONGTYPE")}
		if err != nil && !values[i].absent && !values[i].foreign {
			return nil, err
		}
	}
	return values, nil
}

// fields are the fields of a JSON object. Taking a field removes it. err says
// which field was the first with a wrong type.
type fields struct {
	all map[string]json.RawMessage
	err error
}

// parse reads a record. The error does not quote the record.
func parse(text string) *fields {
	f := &fields{}
	if !utf8.ValidString(text) {
		f.err = errors.New("is not UTF-8")
	} else if err := json.Unmarshal([]byte(text), &f.all); err != nil || f.all == nil {
		f.err = errors.New("is not a JSON object")
	}
	return f
}

// take reads a field into v, which stays as it is if the field is null or
// absent.
func (f *fields) take(name string, v any, what string) {
	raw, there := f.all[name]
	delete(f.all, name)
	if !there || f.err != nil || bytes.Equal(raw, []byte("null")) {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		f.err = fmt.Errorf("%s is not %s", name, what)
	}
}

// replaced reports whether a text has half of a surrogate pair. JavaScript
// allows it, but UTF-8 can't hold it, and encoding/json replaces it by U+FFFD.
func replaced(raw []byte, text string) bool {
	return strings.ContainsRune(text, utf8.RuneError) && !bytes.ContainsRune(raw, utf8.RuneError) &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`))
}

func (f *fields) text(name string) *string {
	var t *string
	raw := f.all[name]
	f.take(name, &t, "a text")
	if t != nil && f.err == nil && replaced(raw, *t) {
		f.err = fmt.Errorf("%s is not UTF-8", name)
	}
	return t
}

// must returns a text that must not be missing or empty.
func (f *fields) must(name string) string {
	t := f.text(name)
	if f.err == nil && (t == nil || *t == "") {
		f.err = fmt.Errorf("%s is missing", name)
	}
	if t == nil {
		return ""
	}
	return *t
}

func (f *fields) instant(name string) *time.Time {
	var t *time.Time
	f.take(name, &t, "an instant such as 2026-01-02T03:04:05.678Z")
	return t
}

// whole returns an integer, which some providers send as a text.
func (f *fields) whole(name string) *int64 {
	raw := string(f.all[name])
	delete(f.all, name)
	if f.err != nil || raw == "" || raw == "null" {
		return nil
	}
	n, err := strconv.ParseInt(strings.Trim(raw, `"`), 10, 64)
	if err != nil {
		f.err = fmt.Errorf("%s is not a whole number", name)
	}
	return &n
}

// rest returns the names of the fields that were not taken.
func (f *fields) rest() []string { return slices.Sorted(maps.Keys(f.all)) }

// parseUser reads a user; the ID is the end of the key. It also returns the names
// of the fields that Gatehouse does not store. The other parse functions do the
// same for the other kinds.
func parseUser(id, text string) (adapter.User, []string, error) {
	f := parse(text)
	u := adapter.User{ID: id, Name: f.text("name"), EmailVerified: f.instant("emailVerified"), Image: f.text("image")}
	if email := f.text("email"); email != nil {
		u.Email = *email
	}
	if own := f.must("id"); f.err == nil && own != id {
		f.err = errors.New("the key does not end with the id")
	}
	return u, f.rest(), f.err
}

func parseAccount(name, text string) (adapter.Account, []string, error) {
	f := parse(text)
	a := adapter.Account{
		UserID: f.must("userId"), Type: adapter.AccountType(f.must("type")), Provider: f.must("provider"), ProviderAccountID: f.must("providerAccountId"),
		AccessToken: f.text("access_token"), RefreshToken: f.text("refresh_token"), IDToken: f.text("id_token"), Scope: f.text("scope"),
		TokenType: f.text("token_type"), SessionState: f.text("session_state"), ExpiresAt: f.whole("expires_at"),
	}
	if raw := f.all["authorization_details"]; string(raw) != "null" {
		a.AuthorizationDetails = raw
	}
	delete(f.all, "authorization_details")
	delete(f.all, "id") // provider:providerAccountId again
	if f.err == nil && name != a.Provider+":"+a.ProviderAccountID {
		f.err = errors.New("the key does not end with provider and providerAccountId")
	}
	return a, f.rest(), f.err
}

func parseSession(token, text string) (adapter.Session, []string, error) {
	f := parse(text)
	s := adapter.Session{SessionToken: f.must("sessionToken"), UserID: f.must("userId")}
	if expires := f.instant("expires"); expires != nil {
		s.Expires = *expires
	} else if f.err == nil {
		f.err = errors.New("expires is missing")
	}
	if f.err == nil && s.SessionToken != token {
		f.err = errors.New("the key does not end with sessionToken")
	}
	return s, f.rest(), f.err
}

func parseToken(name, text string) (adapter.VerificationToken, []string, error) {
	f := parse(text)
	t := adapter.VerificationToken{Identifier: f.must("identifier"), Token: f.must("token")}
	if expires := f.instant("expires"); expires != nil {
		t.Expires = *expires
	} else if f.err == nil {
		f.err = errors.New("expires is missing")
	}
	if f.err == nil && name != t.Identifier+":"+t.Token {
		f.err = errors.New("the key does not end with identifier and token")
	}
	return t, f.rest(), f.err
}

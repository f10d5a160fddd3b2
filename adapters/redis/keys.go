package redis

import (
	"net/url"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// keys builds the names of keys. Users and what scripts change along with them
// are named {prefix}:kind:name: the braces put them all into one slot of a
// cluster. Sessions and verification tokens are named prefix:kind:name, and
// spread over the slots. The prefix is escaped as in the query of a URL: it has
// no colon and no character of a pattern, so that one prefix never reaches into
// another one.
type keys struct{ prefix string }

func (k keys) shared(name string) string { return "{" + k.prefix + "}:" + name }

func (k keys) user(id string) string               { return k.shared("user:" + id) }
func (k keys) email(address string) string         { return k.shared("email:" + address) }
func (k keys) account(a adapter.AccountKey) string { return k.shared("account:" + accountName(a)) }
func (k keys) authenticator(id string) string      { return k.shared("authenticator:" + id) }
func (k keys) sessions(userID string) string       { return k.shared("sessions:" + userID) }
func (k keys) ended(incarnation string) string     { return k.shared("ended:" + incarnation) }
func (k keys) session(token string) string         { return k.prefix + ":session:" + token }
func (k keys) tokens(identifier string) string     { return k.prefix + ":token:" + identifier }

// accountName escapes the provider, so that the first colon ends it [INPUT-04].
func accountName(k adapter.AccountKey) string {
	return url.QueryEscape(k.Provider) + ":" + k.ProviderAccountID
}

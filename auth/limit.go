package auth

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
)

// Attempt is the argument of Config.Limit. It describes an attempt to sign in
// before it is made. It holds secrets; logs show it without them.
type Attempt struct {
	// Provider is the ID of the provider.
	Provider string
	// Type is the type of the provider. With TypeOAuth and TypeOIDC a sign-in begins.
	Type ProviderType
	// Identifier is the address to which a mail is to be sent, for TypeEmail. For
	// TypeCredentials it is the name that was typed, without the space around it
	// and with its ASCII letters in lower case: see Field.Identifier. It is empty
	// for TypeWebAuthn, if no name was typed, and for a code from a browser that
	// asked for no such mail: that code is of no address.
	Identifier string
	// Code says that a code of a mail is tried. No mail is sent.
	Code bool
	// Client is the address of the client, as Handler.ClientAddress returns it.
	Client string
	// Browser is the ID of the browser if somebody with this Identifier signed in
	// in it before and has no other password since: a sealed cookie says so, which
	// the core sets at a sign-in. It is empty for all others. A limit
	// of its own keeps a stranger who guesses from locking that person out.
	Browser string
	// Form holds the submitted fields: the credentials, such as the name of a
	// user, or the fields of a request for the options of a passkey ceremony, such
	// as an address.
	Form Form
	// Request is the request. Its body can be read. Its RemoteAddr is no key for a
	// limit: it has the port of the connection.
	Request *http.Request

	redact.Shown // prints no secret
}

func (a *Attempt) show() {
	a.Shown = redact.Show(slog.String("provider", a.Provider), slog.String("type", string(a.Type)))
}

// TooManyAttempts is the error by which Config.Limit says when the next attempt
// may be made. The client is told RetryAfter in whole seconds, rounded up; zero
// means one minute.
type TooManyAttempts struct{ RetryAfter time.Duration }

// Error says that there were too many attempts.
func (t *TooManyAttempts) Error() string {
	return "too many attempts; the next may be made after " + t.RetryAfter.String()
}

// defaultRetryAfter is the time that a client is told to wait if Config.Limit
// does not give one.
const defaultRetryAfter = time.Minute

// limit calls Config.Limit. It does so before anything is looked up, so that
// the answer is the same for known and for unknown users.
func (e *engine) limit(ctx context.Context, r *request, a Attempt) error {
	if e.config.Limit == nil {
		return nil
	}
	a.Request, a.Client, a.Browser = r.withBody(ctx), e.config.clientOf(r.http), r.knownBrowser(ctx, e.begun(r), e.stored, a.Identifier)
	r.named = a.Identifier
	_, err := guard(ctx, func(ctx context.Context, a Attempt) (struct{}, error) { return struct{}{}, e.config.Limit(ctx, a) }, shown(a))
	if err == nil {
		return nil
	}
	_, limited := errors.AsType[*TooManyAttempts](err)
	return &Error{Type: ErrTooManyAttempts, Message: "provider " + a.Provider, Cause: err, client: limited}
}

// knownBrowser returns the ID of the browser if somebody signed in in it with a
// name, and has no other password since. Only the store of such a browser is asked,
// so that nobody else learns from the time whether the name is known. A browser
// that is not known any more forgets the user.
func (r *request) knownBrowser(ctx context.Context, b *began.Browser, s *keptPasswords, name string) string {
	known := b.KnownFor(name)
	if known == nil {
		return ""
	}
	version, err := passwordVersion(ctx, s, known.User)
	switch {
	case err != nil: // a stranger's limit is enough until the store answers
		return ""
	case version == known.Version:
		return known.ID
	}
	if c, err := b.ForgetKnown(known.User); err == nil && !r.head {
		r.pending = append(r.pending, c)
	}
	return ""
}

// remember returns the cookie by which limits know the browser of a user who has
// signed in, by the address and the name that was typed. The address counts only
// if the store has it: there nobody else has it, too.
func (r *request) remember(ctx context.Context, b *began.Browser, s *keptPasswords, userID string, done *signedIn) ([]*http.Cookie, error) {
	address, version := "", done.passwordVersion
	if done.stored {
		address = done.user.Email
	}
	if done.stored && version == "" {
		var err error
		if version, err = passwordVersion(ctx, s, userID); err != nil {
			return nil, nil //nolint:nilerr // without the cookie the sign-in is a sign-in, too
		}
	}
	c, err := b.Remember(userID, version, r.named, address)
	if err != nil {
		return nil, err
	}
	return []*http.Cookie{c}, nil
}

// ClientAddress returns the address of the client of a request, in a form that
// can be the key of a limit: an IPv4 address without the port, or the network
// of an IPv6 address, such as 2001:db8:1:2::/64, because a client has all
// addresses of such a network. X-Forwarded-For is read only if the connection
// comes from one of Config.TrustedProxies, or if Config.TrustedProxyCount is set.
// The result is empty if the address is not an IP address.
func (h *Handler) ClientAddress(r *http.Request) string { return h.engine.config.clientOf(r) }

// clientOf returns the address of the client, as Handler.ClientAddress does.
func (c *Config) clientOf(r *http.Request) string {
	n := c.TrustedProxyCount
	if n <= 0 {
		return clientAddress(r, c.TrustedProxies)
	}
	client := parseAddress(r.RemoteAddr)
	if list := forwardedValues(r.Header, "X-Forwarded-For"); len(list) >= n {
		if said := parseAddress(list[len(list)-n]); said.IsValid() {
			client = said
		}
	}
	return addressKey(client)
}

// clientAddress finds the client of a request: the address of the connection,
// or if that is a trusted proxy, the last address in X-Forwarded-For that is not
// one. Each proxy appends the address of its own client.
func clientAddress(r *http.Request, proxies []netip.Prefix) string {
	client := parseAddress(r.RemoteAddr)
	forwarded := forwardedValues(r.Header, "X-Forwarded-For")
	trusted := func(p netip.Prefix) bool { return p.Contains(client) }
	for len(forwarded) > 0 && client.IsValid() && slices.ContainsFunc(proxies, trusted) {
		next := parseAddress(forwarded[len(forwarded)-1])
		if !next.IsValid() { // the proxy does not say who its client is
			break
		}
		client, forwarded = next, forwarded[:len(forwarded)-1]
	}
	return addressKey(client)
}

// addressKey is an address as the key of a limit.
func addressKey(client netip.Addr) string {
	switch {
	case !client.IsValid():
		return ""
	case client.Is4():
		return client.String()
	}
	network, _ := client.Prefix(64) // never fails: an IPv6 address has 128 bits
	return network.String()
}

// parseAddress parses an IP address with or without a port. An IPv4 address in
// the form of IPv6 becomes an IPv4 address, and a zone is left out.
func parseAddress(s string) netip.Addr {
	if host, _, err := net.SplitHostPort(s); err == nil {
		s = host
	}
	address, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	if address = address.Unmap().WithZone(""); throughNAT64.Contains(address) {
		last := address.As16()
		return netip.AddrFrom4([4]byte(last[12:]))
	}
	return address
}

// throughNAT64 are the addresses that a translator makes of IPv4 addresses,
// which are in the last four bytes (RFC 6052 section 2.1). As one network they
// would be one client.
var throughNAT64 = netip.MustParsePrefix("64:ff9b::/96")

// typedName returns the name of the account that was typed into a form.
func (p *Credentials) typedName(form Form) string {
	names := []string{"email", "username", "user", "login", "name"}
	if len(p.Fields) > 0 {
		names = nil
		for _, f := range p.Fields {
			switch {
			case f.Identifier:
				names = append([]string{f.Name}, names...)
			case f.Type != "password" && f.Type != "hidden" && f.Type != "checkbox" && f.Type != "submit":
				names = append(names, f.Name)
			}
		}
	}
	for _, name := range names {
		if typed := asciiLower(strings.TrimSpace(form.Get(name))); typed != "" {
			return typed
		}
	}
	return ""
}

// tooManyAttempts is the result for a sign-in that Config.Limit refused.
func (l looks) tooManyAttempts(hr *http.Request, err error, signIn string) *Result {
	after := defaultRetryAfter
	if t, ok := errors.AsType[*TooManyAttempts](err); ok && t.RetryAfter > 0 {
		after = t.RetryAfter
	}
	result := &Result{Header: uncachedJSONHeader(), Body: []byte(`{"message":"There were too many attempts. Try again later."}`)}
	if !AsksForJSON(hr) {
		result = privatePage(pages.Refused{Look: l.of(hr), Status: http.StatusTooManyRequests, SignInURL: signIn, Wait: after}.Render(), 0)
	}
	result.Status = http.StatusTooManyRequests
	result.Header["Retry-After"] = []string{strconv.FormatInt(int64(math.Ceil(after.Seconds())), 10)}
	return result
}

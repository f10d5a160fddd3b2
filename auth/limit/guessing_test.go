package limit_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/limit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuessing guesses passwords over HTTP, at one instant, in each way that might
// look like many strangers or many people. No more are checked than the rules allow.
func TestGuessing(t *testing.T) {
	rules := limit.Defaults(limit.Password)
	perClient, perAccount, perBoth := rules.Client.Free, rules.Account.Free, rules.Both.Free
	countOfProxies := func(c *auth.Config) { c.TrustedProxyCount = 1 }
	spoofed := func(i int, last string) http.Header {
		fake := fmt.Sprintf("203.0.113.%d", i%256)
		list := fake
		if last != "" {
			list += ", " + last
		}
		return http.Header{
			"X-Forwarded-For": {list}, "Forwarded": {"for=" + fake}, "X-Real-Ip": {fake}, "True-Client-Ip": {fake}, "Cf-Connecting-Ip": {fake},
			"X-Client-Ip": {fake}, "X-Forwarded-Host": {"h" + strconv.Itoa(i) + ".example.com"},
		}
	}
	cases := []struct {
		name      string
		configure func(c *auth.Config)
		guesses   int
		guess     func(i int) guess
		want      int
	}{
		{"one connection", nil, 40, func(int) guess { return guess{name: "ada"} }, perBoth},
		{"an account that does not exist", nil, 40, func(int) guess { return guess{name: "nobody"} }, perBoth},
		{"many accounts", nil, perClient + 40, func(i int) guess { return guess{name: fmt.Sprint("user", i)} }, perClient},
		{"spoofed headers without a proxy", nil, 40, func(i int) guess { return guess{name: "ada", header: spoofed(i, "")} }, perBoth},
		{"spoofed headers through a proxy", behindProxy, 40, func(i int) guess { return guess{name: "ada", header: spoofed(i, "198.51.100.7")} }, perBoth},
		{"spoofed headers and a number of proxies", countOfProxies, 40, func(i int) guess { return guess{name: "ada", header: spoofed(i, "198.51.100.7")} }, perBoth},
		{"ports that a proxy names", behindProxy, 40, func(i int) guess { return guess{name: "ada", header: from(fmt.Sprintf("198.51.100.7:%d", 1000+i))} }, perBoth},
		{"many clients", behindProxy, 40, func(i int) guess { return guess{name: "ada", header: from(fmt.Sprintf("198.51.100.%d", i))} }, perAccount},
		{"IPv6 addresses of a network of 64 bits", behindProxy, 40, func(i int) guess {
			return guess{name: "ada", header: from(fmt.Sprintf("2001:db8:1:1::%x", i))}
		}, perBoth},
		{"IPv6 networks of 64 bits in one of 48, each for another account", behindProxy, 8*perClient + 40, func(i int) guess {
			return guess{name: fmt.Sprint("user", i), header: from(fmt.Sprintf("2001:db8:1:%x::1", i))}
		}, 8 * perClient},
		{"IPv4 addresses in the form of IPv6", behindProxy, 40, func(i int) guess {
			return guess{name: "ada", header: from([]string{"198.51.100.7", "::ffff:198.51.100.7", "64:ff9b::198.51.100.7", "[::ffff:c633:6407]:80"}[i%4])}
		}, perBoth},
		{"case, space, width and accents", behindProxy, 40, func(i int) guess {
			name := []string{"ada", "ADA", " Ada", "aDa ", "\uff41da", "\u00e1da", "a\u0301da", "ad\u200ba"}[i%8]
			return guess{name: name, header: from(fmt.Sprintf("198.51.100.%d", i))}
		}, perAccount},
		{"several providers", behindProxy, 40, func(i int) guess {
			return guess{provider: []string{"credentials", "ldap"}[i%2], name: "ada", header: from(fmt.Sprintf("198.51.100.%d", i))}
		}, perAccount},
		{"forms and JSON", nil, 40, func(i int) guess { return guess{name: "ada", json: i%2 == 0} }, perBoth},
		{"a cookie of a browser that is known", nil, 40, func(i int) guess {
			return guess{name: "ada", header: http.Header{"Cookie": {fmt.Sprintf("__Host-authjs.known=%d", i)}}}
		}, perBoth},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, limit.Options{Clock: newClock().now}, c.configure)
			v := s.visitor(t)
			refused := 0
			for i := range c.guesses {
				if v.guess(c.guess(i)).refused() {
					refused++
				}
			}
			assert.EqualValues(t, c.want, s.checked.Load(), "passwords that were checked")
			assert.Equal(t, c.guesses-c.want, refused, "guesses that were refused")
		})
	}
}

// TestGuessingOnManyConnections: a new port, a new browser and many guesses at one
// instant make no new client.
func TestGuessingOnManyConnections(t *testing.T) {
	t.Parallel()
	s := newSite(t, limit.Options{Clock: newClock().now}, nil)
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			for range 8 {
				v := s.visitor(t)
				v.transport.DisableKeepAlives = true
				v.guess(guess{name: "ada"})
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, limit.Defaults(limit.Password).Both.Free, s.checked.Load(), "passwords that were checked")
}

// TestRefusalIsAPage: a refusal is a page of the site that says when to come again. It
// comes at once, and is the same for an account that does not exist.
func TestRefusalIsAPage(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for _, name := range []string{"ada", "nobody"} {
		s := newSite(t, limit.Options{Clock: newClock().now}, nil)
		v := s.visitor(t)
		var last *answer
		for range 20 {
			last = v.guess(guess{name: name})
		}
		assert.Truef(t, last.refused() && last.Header.Get("Retry-After") == "1" && strings.HasPrefix(last.Header.Get("Content-Type"), "text/html") &&
			strings.Contains(last.body, "#123456") && strings.Contains(last.body, "/auth/signin"),
			"%s: status %d, header %v:\n%s", name, last.StatusCode, last.Header, last.body)
		pages[name] = strings.ReplaceAll(last.body, s.url, "")
	}
	assert.Equalf(t, pages["nobody"], pages["ada"], "the pages differ:\n%s\n%s", pages["ada"], pages["nobody"])
}

// TestStrangersLockNobodyOut: strangers guess from many addresses. The person can sign
// in at once in the browser in which she did before, again and again, and in another
// one after the wait. A known browser has a limit, too.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := newSite(t, limit.Options{Clock: clock.now}, behindProxy)
	own := s.visitor(t)
	require.False(t, own.guess(guess{name: "Ada", password: "right", header: from("192.0.2.1")}).refused(),
		"the first sign-in is refused")
	strangers := s.visitor(t)
	for i := range 200 {
		strangers.guess(guess{name: "ada", header: from(fmt.Sprintf("198.51.100.%d", i))})
		clock.move(time.Second)
	}
	signedIn := func(a *answer) bool {
		return a.StatusCode == http.StatusFound && !strings.Contains(a.Header.Get("Location"), "error")
	}
	for i := range 2 {
		a := own.guess(guess{name: "ada", password: "right", header: from("192.0.2.1")})
		require.Truef(t, signedIn(a), "her browser, time %d: status %d", i, a.StatusCode)
	}
	other := s.visitor(t)
	a := other.guess(guess{name: "ada", password: "right", header: from("192.0.2.9")})
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if most := limit.Defaults(limit.Password).Account.MaxWait; err != nil || !a.refused() || time.Duration(wait)*time.Second > most {
		t.Fatalf("another browser: status %d, wait %d s, %v", a.StatusCode, wait, err)
	}
	clock.move(time.Duration(wait) * time.Second)
	a = other.guess(guess{name: "ada", password: "right", header: from("192.0.2.9")})
	assert.Truef(t, signedIn(a), "another browser after the wait: status %d", a.StatusCode)
	s.checked.Store(0)
	for i := range 100 { // somebody has her browser
		own.guess(guess{name: "ada", header: from(fmt.Sprintf("192.0.2.%d", i))})
	}
	assert.LessOrEqual(t, int(s.checked.Load()), limit.Defaults(limit.Password).Known.Free, "guesses of the known browser")
}

// TestOwnAccountHelpsNobody: an attacker who signs in to her own account between the
// guesses, in ever new browsers, is no less a stranger to the other account.
func TestOwnAccountHelpsNobody(t *testing.T) {
	t.Parallel()
	s := newSite(t, limit.Options{Clock: newClock().now}, behindProxy)
	guesses := 0
	for i := range 30 {
		v, client := s.visitor(t), fmt.Sprintf("198.51.100.%d", i)
		v.guess(guess{name: "eve", password: "right", header: from(client)})
		if !v.guess(guess{name: "ada", header: from(client)}).refused() {
			guesses++
		}
	}
	assert.Equal(t, limit.Defaults(limit.Password).Account.Free, guesses, "guesses that were made")
}

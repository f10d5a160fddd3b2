package auth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/stretchr/testify/assert"
)

// timed measures how long a form takes, with the cookies of a browser that was made
// before.
func (s *passwordSite) timed(b *browser, path, address string) time.Duration {
	form := url.Values{"csrfToken": {b.csrf()}, "email": {address}, "password": {otherPassword}}.Encode()
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, origin+path, strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	b.addCookies(r)
	began := time.Now()
	serve(s, r)
	return time.Since(began)
}

// greater is the part of pairs of which the value of a is greater than that of b, as
// the test of Mann and Whitney has it: one half if nothing tells the two apart.
func greater(a, b []time.Duration) float64 {
	slices.Sort(b)
	sum := 0.0
	for _, v := range a {
		low, _ := slices.BinarySearch(b, v)
		high, _ := slices.BinarySearch(b, v+1)
		sum += float64(low) + float64(high-low)/2
	}
	return sum / float64(len(a)*len(b))
}

// TestPasswordTimeTellsNothing compares distributions of times: known and unknown
// addresses, and users without a password, in turns. A clock is not asked how long a
// hash takes, so a loaded machine is loaded for all of them. What looks told is
// measured up to four times.
func TestPasswordTimeTellsNothing(t *testing.T) {
	samples := 1000
	if testing.Short() {
		samples = 500
	}
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, p *pw.Settings) {
		c.Logger = nil
		p.Hashing.Argon2.Memory = 1024
	})
	const known = "known@example.com"
	id := s.member(known, goodPassword)
	record := s.stored(id)
	s.store.users["plain"] = adapter.User{ID: "plain", Email: "plain@example.com"}
	b := s.browser()
	strangers := []string{"other@example.com", "plain@example.com"}
	for path, n := range map[string]int{"/auth/callback/password": samples, "/auth/password/forgot": samples / 4} {
		// measured is the part of the pairs in which the known address is slower, for each stranger.
		measured := func() (parts [2]float64) {
			times := map[string][]time.Duration{}
			for i := range n {
				for _, address := range append(strangers, known) {
					s.store.mu.Lock()
					s.store.passwords[id] = record // a hundred wrong ones would turn it off
					clear(s.store.tokens)
					s.store.mu.Unlock()
					if took := s.timed(b, path, address); i > n/20 {
						times[address] = append(times[address], took)
					}
				}
			}
			for i, address := range strangers {
				parts[i] = greater(times[known], times[address])
				t.Logf("%s: %s is slower than %s in %.3f of the pairs", path, known, address, parts[i])
			}
			return parts
		}
		// What tells an address does so each time; what a busy machine adds falls on either side.
		least, most := [2]float64{1, 1}, [2]float64{}
		for range 4 {
			told := false
			for i, p := range measured() {
				least[i], most[i] = min(least[i], p), max(most[i], p)
				told = told || most[i] < 0.42 || least[i] > 0.58
			}
			if !told {
				break
			}
		}
		for i, address := range strangers {
			assert.Truef(t, !(most[i] < 0.42) && !(least[i] > 0.58),
				"%s: the time tells %s from %s: %.3f to %.3f", path, known, address, least[i], most[i])
		}
	}
}

// TestPasswordTimeOfAWorkLeftOut: the comparison sees a hash that is left out.
func TestPasswordTimeOfAWorkLeftOut(t *testing.T) {
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, p *pw.Settings) {
		c.Logger = nil
		p.Hashing.Argon2.Memory = 1024
	})
	b := s.browser()
	var whole, none []time.Duration
	for range 100 {
		whole = append(whole, s.timed(b, "/auth/callback/password", "other@example.com"))
		none = append(none, s.timed(b, "/auth/callback/password", "no address"))
	}
	p := greater(whole, none)
	assert.Truef(t, !(p < 0.9), "a hash is not seen: %.3f", p)
}

// TestPasswordDefaults: one sign-in with the default settings of argon2id.
func TestPasswordDefaults(t *testing.T) {
	s := newPasswordSite(t, func(_ *passwordSite, _ *auth.Config, p *pw.Settings) { p.Hashing = pw.Options{} })
	s.member("ada@example.com", goodPassword)
	b := s.browser()
	known, unknown := s.timed(b, "/auth/callback/password", "ada@example.com"), s.timed(b, "/auth/callback/password", "eve@example.com")
	t.Logf("known %v, unknown %v", known, unknown)
	s.signIn(b, "ada@example.com", goodPassword).wantLocation(t, origin)
}

// TestPasswordFlood: a flood of sign-ins from one client hashes a bounded number of
// passwords at once. What is too much is answered with 503; another client's password
// and another way to sign in work meanwhile.
func TestPasswordFlood(t *testing.T) {
	box := &outbox{}
	s := newPasswordSite(t, func(_ *passwordSite, c *auth.Config, p *pw.Settings) {
		c.Providers = append(c.Providers, box.provider())
		p.Hashing.Argon2.Memory, p.Hashing.AtOnce, p.Hashing.Waiting = 8192, 2, 16
	})
	s.member("ada@example.com", goodPassword)
	attacker := s.browser()
	csrf := attacker.csrf()
	send := func(client, address, password string) *httptest.ResponseRecorder {
		form := url.Values{"csrfToken": {csrf}, "email": {address}, "password": {password}}.Encode()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, origin+"/auth/callback/password", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "text/html")
		r.RemoteAddr = client + ":1234"
		attacker.addCookies(r)
		return serve(s, r)
	}
	var all sync.WaitGroup
	var refused, wrong atomic.Int64
	stop := make(chan struct{})
	for range 64 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				switch w := send("192.0.2.1", "nobody@example.com", otherPassword); w.Code {
				case http.StatusServiceUnavailable:
					refused.Add(1)
					assert.Truef(t, w.Header().Get("Retry-After") != "" && strings.Contains(w.Body.String(), "<h1>"),
						"503 without Retry-After or page: %v", w.Header())
				case http.StatusFound:
					wrong.Add(1)
				default:
					t.Errorf("status %d", w.Code)
				}
			}
		})
	}
	var most uint64
	for range 5 {
		w := send("198.51.100.7", "ada@example.com", goodPassword)
		assert.Equalf(t, origin, w.Header().Get("Location"), "another client: status %d to", w.Code)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapAlloc)
		b := s.browser()
		b.byMail(box, "bob@example.com").wantLocation(t, origin)
	}
	close(stop)
	all.Wait()
	assert.Truef(t, refused.Load() != 0 && wrong.Load() != 0, "refused %d, compared %d", refused.Load(), wrong.Load())
	t.Logf("refused %d, compared %d, heap at most %d MiB", refused.Load(), wrong.Load(), most>>20)
	assert.Truef(t, most <= 256<<20, "the heap had %d MiB", most>>20)
}

// TestPasswordStoreFails: a store that fails is not a wrong password, and no sign-in.
func TestPasswordStoreFails(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"getUserByEmail", "getPassword", "swapPassword", "createSession"} {
		s := newPasswordSite(t, nil)
		s.member("ada@example.com", goodPassword)
		s.store.before = failingAt(method, errors.New("the store is down"))
		b := s.browser()
		assert.Equal(t, http.StatusServiceUnavailable, s.signIn(b, "ada@example.com", goodPassword).StatusCode, method)
		s.store.before = nil
		b.wantNoSession()
	}
}

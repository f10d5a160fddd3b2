package adaptertest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kept is a session in a mapStore.
type kept struct {
	data    []byte
	expires time.Time
}

// mapStore is a correct store of opaque sessions, without further methods. Tests make
// broken ones of it by replacing a function.
type mapStore struct {
	mu   sync.Mutex
	kept map[string]kept
	now  func() time.Time
}

func newMapStore() *mapStore { return &mapStore{kept: map[string]kept{}, now: time.Now} }

func (m *mapStore) Find(_ context.Context, token string) ([]byte, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.kept[token]
	if !ok || !m.now().Before(s.expires) {
		return nil, false, nil
	}
	return slices.Clone(s.data), true, nil
}

func (m *mapStore) Commit(_ context.Context, token string, data []byte, expires time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept[token] = kept{slices.Clone(data), expires}
	return nil
}

func (m *mapStore) Delete(_ context.Context, token string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.kept, token)
	return nil
}

// fullStore is a correct store with all methods.
type fullStore struct{ *mapStore }

func (f fullStore) Insert(_ context.Context, token string, data []byte, expires time.Time) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s, ok := f.kept[token]; ok && f.now().Before(s.expires) {
		return false, nil
	}
	f.kept[token] = kept{slices.Clone(data), expires}
	return true, nil
}

func (f fullStore) Update(_ context.Context, token string, change func([]byte) ([]byte, time.Time)) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.kept[token]
	if !ok || !f.now().Before(s.expires) {
		return false, nil
	}
	s.data, s.expires = change(s.data)
	f.kept[token] = s
	return true, nil
}

func (f fullStore) All(context.Context) (map[string][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := map[string][]byte{}
	for token, s := range f.kept {
		if f.now().Before(s.expires) {
			all[token] = slices.Clone(s.data)
		}
	}
	return all, nil
}

func (f fullStore) DeleteExpired(_ context.Context, now time.Time) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.kept)
	maps.DeleteFunc(f.kept, func(_ string, s kept) bool { return !now.Before(s.expires) })
	return int64(before - len(f.kept)), nil
}

// userStore is a correct store that knows whose a session is.
type userStore struct {
	fullStore
	owner  map[string]string
	tokens map[string]map[string]bool // by user
}

func newUserStore() userStore {
	return userStore{newFullStore(), map[string]string{}, map[string]map[string]bool{}}
}

func (u userStore) CommitFor(_ context.Context, userID, token string, data []byte, expires time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.tokens[u.owner[token]], token)
	if u.tokens[userID] == nil {
		u.tokens[userID] = map[string]bool{}
	}
	u.kept[token], u.owner[token], u.tokens[userID][token] = kept{slices.Clone(data), expires}, userID, true
	return nil
}

func (u userStore) ListByUser(_ context.Context, userID string) (map[string][]byte, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := map[string][]byte{}
	for token := range u.tokens[userID] {
		if s, ok := u.kept[token]; ok && u.now().Before(s.expires) {
			list[token] = slices.Clone(s.data)
		}
	}
	return list, nil
}

func (u userStore) DeleteByUser(_ context.Context, userID, except string) (int64, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var deleted int64
	for token := range u.tokens[userID] {
		if token == except {
			continue
		}
		if s, ok := u.kept[token]; ok && u.now().Before(s.expires) {
			deleted++
		}
		delete(u.kept, token)
		delete(u.tokens[userID], token)
	}
	return deleted, nil
}

func sessionHarness(open func() adaptertest.SessionStore) adaptertest.SessionHarness {
	return adaptertest.SessionHarness{
		Name: "store", New: func(testing.TB) adaptertest.SessionStore { return open() },
		Second:       func(_ testing.TB, s adaptertest.SessionStore) adaptertest.SessionStore { return s },
		Declarations: adaptertest.Declarations{Volatile: "it is in memory", NoPooler: "it is in memory"},
		Parallel:     4,
	}
}

// TestCorrectSessionStores checks that a map of bytes breaks nothing, with and without
// the further methods, and which clauses are judged.
func TestCorrectSessionStores(t *testing.T) {
	for name, open := range map[string]func() adaptertest.SessionStore{
		"map":   func() adaptertest.SessionStore { return newMapStore() },
		"full":  func() adaptertest.SessionStore { return newFullStore() },
		"users": func() adaptertest.SessionStore { return newUserStore() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := adaptertest.CheckSessions(t.Context(), sessionHarness(open), adaptertest.Options{Rounds: adaptertest.QuickRounds})
			require.NoError(t, err)
			for _, x := range report.Results {
				assert.Truef(t, x.Outcome != adaptertest.Fail && x.Outcome != adaptertest.NotReached,
					"%s: %s", x.Clause.ID, strings.Join(x.Evidence, "\n"))
			}
			for _, x := range report.With(adaptertest.Recorded) {
				assert.Falsef(t, x.Clause.Level != adaptertest.May && name == "full", "%s is recorded: %s", x.Clause.ID, x.Reason)
			}
			if x, _ := report.Result("SESS-05"); name == "map" && x.Outcome != adaptertest.Recorded {
				t.Errorf("SESS-05 of a store without Insert: %s", x.Outcome)
			}
			must, of := report.Score(adaptertest.Must)
			assert.Truef(t, must >= 40 && must <= of, "%d of %d MUST", must, of)
		})
	}
}

// brokenStore has the methods of a mapStore, or others.
type brokenStore struct {
	find   func(ctx context.Context, token string) ([]byte, bool, error)
	commit func(ctx context.Context, token string, data []byte, expires time.Time) error
	remove func(ctx context.Context, token string) error
}

func (b *brokenStore) Find(ctx context.Context, token string) ([]byte, bool, error) {
	return b.find(ctx, token)
}

func (b *brokenStore) Commit(ctx context.Context, token string, data []byte, expires time.Time) error {
	return b.commit(ctx, token, data, expires)
}

func (b *brokenStore) Delete(ctx context.Context, token string) error { return b.remove(ctx, token) }

// broken makes a store of a correct one.
func broken(change func(b *brokenStore, m *mapStore)) func() adaptertest.SessionStore {
	return func() adaptertest.SessionStore {
		m := newMapStore()
		b := &brokenStore{m.Find, m.Commit, m.Delete}
		change(b, m)
		return b
	}
}

// keyed is a store that changes tokens.
func keyed(key func(string) string) func() adaptertest.SessionStore {
	return broken(func(b *brokenStore, m *mapStore) {
		b.find = func(ctx context.Context, token string) ([]byte, bool, error) { return m.Find(ctx, key(token)) }
		b.commit = func(ctx context.Context, token string, d []byte, e time.Time) error {
			return m.Commit(ctx, key(token), d, e)
		}
		b.remove = func(ctx context.Context, token string) error { return m.Delete(ctx, key(token)) }
	})
}

// expiring is a store that changes expiries.
func expiring(change func(time.Time) time.Time) func() adaptertest.SessionStore {
	return broken(func(b *brokenStore, m *mapStore) {
		b.commit = func(ctx context.Context, token string, d []byte, e time.Time) error {
			return m.Commit(ctx, token, d, change(e))
		}
	})
}

// storing is a store that changes bytes.
func storing(change func([]byte) []byte) func() adaptertest.SessionStore {
	return broken(func(b *brokenStore, m *mapStore) {
		b.commit = func(ctx context.Context, token string, d []byte, e time.Time) error {
			return m.Commit(ctx, token, change(d), e)
		}
	})
}

func newFullStore() fullStore { return fullStore{newMapStore()} }

// The full stores below are broken in one method.
type (
	insertsInTwoSteps struct{ fullStore }
	updatesInTwoSteps struct{ fullStore }
	sweepsTooMuch     struct{ fullStore }
	sweepsTooLittle   struct{ fullStore }
	listsAHundred     struct{ fullStore }
	endsAll           struct{ userStore }
)

func (s insertsInTwoSteps) Insert(ctx context.Context, token string, data []byte, expires time.Time) (bool, error) {
	if _, found, _ := s.Find(ctx, token); found {
		return false, nil
	}
	runtime.Gosched()
	return true, s.Commit(ctx, token, data, expires)
}

func (s updatesInTwoSteps) Update(ctx context.Context, token string, change func([]byte) ([]byte, time.Time)) (bool, error) {
	data, found, err := s.Find(ctx, token)
	if !found || err != nil {
		return false, err
	}
	runtime.Gosched()
	data, expires := change(data)
	return true, s.Commit(ctx, token, data, expires)
}

func (s sweepsTooMuch) DeleteExpired(ctx context.Context, now time.Time) (int64, error) {
	return s.fullStore.DeleteExpired(ctx, now.Add(24*time.Hour))
}

func (s sweepsTooLittle) DeleteExpired(ctx context.Context, now time.Time) (int64, error) {
	_, err := s.fullStore.DeleteExpired(ctx, now)
	return 0, err
}

func (s listsAHundred) All(ctx context.Context) (map[string][]byte, error) {
	all, err := s.fullStore.All(ctx)
	for token := range all {
		if len(all) > 100 {
			delete(all, token)
		}
	}
	return all, err
}

func (s endsAll) DeleteByUser(ctx context.Context, userID, _ string) (int64, error) {
	return s.userStore.DeleteByUser(ctx, userID, "")
}

// brokenStores are stores with a fault each, and a clause that must find it.
var brokenStores = []struct {
	name, clause string
	open         func() adaptertest.SessionStore
}{
	{"a sign-out is undone by the cache", "SESS-15", broken(func(b *brokenStore, m *mapStore) {
		cache := &mapStore{kept: map[string]kept{}, now: time.Now}
		b.find = func(ctx context.Context, token string) ([]byte, bool, error) {
			data, found, err := m.Find(ctx, token)
			if found {
				_ = cache.Commit(ctx, token, data, time.Now().Add(time.Hour))
				return data, true, err
			}
			return cache.Find(ctx, token)
		}
	})},
	{"nanoseconds overflow", "TIME-11", expiring(func(e time.Time) time.Time { return time.Unix(0, e.UnixNano()) })},
	{"seconds have 32 bits", "TIME-05", expiring(func(e time.Time) time.Time { return time.Unix(int64(int32(e.Unix())), 0) })}, //nolint:gosec // the fault
	{"an hour is cut off", "EXP-01", expiring(func(e time.Time) time.Time { return e.Truncate(time.Hour) })},
	{"a past expiry means never", "EXP-03", broken(func(b *brokenStore, m *mapStore) {
		b.commit = func(ctx context.Context, token string, d []byte, e time.Time) error {
			if !e.After(time.Now()) {
				return errors.New("invalid expire time")
			}
			return m.Commit(ctx, token, d, e)
		}
	})},
	{"a commit keeps the first expiry", "SESS-13", broken(func(b *brokenStore, m *mapStore) {
		b.commit = func(ctx context.Context, token string, d []byte, e time.Time) error {
			m.mu.Lock()
			if old, ok := m.kept[token]; ok {
				e = old.expires
			}
			m.mu.Unlock()
			return m.Commit(ctx, token, d, e)
		}
	})},
	{"a shared slice", "STORE-02", broken(func(b *brokenStore, m *mapStore) {
		b.commit = func(_ context.Context, token string, d []byte, e time.Time) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.kept[token] = kept{d, e}
			return nil
		}
	})},
	{"Find returns the stored slice", "STORE-02", broken(func(b *brokenStore, m *mapStore) {
		b.find = func(_ context.Context, token string) ([]byte, bool, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			s, ok := m.kept[token]
			return s.data, ok && time.Now().Before(s.expires), nil
		}
	})},
	{"bytes become text", "STORE-01", storing(func(d []byte) []byte { return bytes.ToValidUTF8(d, []byte("?")) })},
	{"bytes are trimmed", "STORE-01", storing(func(d []byte) []byte { return bytes.TrimRight(d, " \r\n\t") })},
	{"bytes are cut at 64 KiB", "STORE-01", storing(func(d []byte) []byte { return d[:min(len(d), 64<<10)] })},
	{"no bytes are no session", "STORE-01", broken(func(b *brokenStore, m *mapStore) {
		b.find = func(ctx context.Context, token string) ([]byte, bool, error) {
			data, found, err := m.Find(ctx, token)
			return data, found && len(data) > 0, err
		}
	})},
	{"deleted bytes are returned", "STORE-03", broken(func(b *brokenStore, m *mapStore) {
		last := map[string][]byte{}
		b.find = func(ctx context.Context, token string) ([]byte, bool, error) {
			data, found, err := m.Find(ctx, token)
			m.mu.Lock()
			defer m.mu.Unlock()
			if !found {
				return last[token], false, err
			}
			last[token] = slices.Clone(data)
			return data, true, err
		}
	})},
	{"keys by prefix", "SESS-04", keyed(func(s string) string { return s[:min(len(s), 24)] })},
	{"keys without case", "SESS-04", keyed(strings.ToLower)},
	{"keys without space", "SESS-04", keyed(strings.TrimSpace)},
	{"keys end at NUL", "INPUT-11", keyed(func(s string) string { before, _, _ := strings.Cut(s, "\x00"); return before })},
	{"keys are paths", "INPUT-07", keyed(path.Clean)},
	{"a deletion takes neighbours along", "SESS-16", broken(func(b *brokenStore, m *mapStore) {
		b.remove = func(_ context.Context, token string) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			clear(m.kept)
			return nil
		}
	})},
	{"an unknown session is an error", "SESS-03", broken(func(b *brokenStore, m *mapStore) {
		b.find = func(ctx context.Context, token string) ([]byte, bool, error) {
			data, found, _ := m.Find(ctx, token)
			if !found {
				return nil, false, errors.New("no such session")
			}
			return data, true, nil
		}
	})},
	{"deletion of an unknown session is an error", "SESS-18", broken(func(b *brokenStore, m *mapStore) {
		b.remove = func(ctx context.Context, token string) error {
			if _, found, _ := m.Find(ctx, token); !found {
				return errors.New("no such session")
			}
			return m.Delete(ctx, token)
		}
	})},
	{"at most 100 sessions", "VOL-03", broken(func(b *brokenStore, m *mapStore) {
		b.commit = func(ctx context.Context, token string, d []byte, e time.Time) error {
			m.mu.Lock()
			for other := range m.kept {
				if len(m.kept) >= 100 {
					delete(m.kept, other)
				}
			}
			m.mu.Unlock()
			return m.Commit(ctx, token, d, e)
		}
	})},
	{"Insert in two steps", "CONC-05", func() adaptertest.SessionStore { return insertsInTwoSteps{newFullStore()} }},
	{"Update in two steps", "CONC-19", func() adaptertest.SessionStore { return updatesInTwoSteps{newFullStore()} }},
	{"a sweep takes the living", "EXP-05", func() adaptertest.SessionStore { return sweepsTooMuch{newFullStore()} }},
	{"a sweep counts nothing", "EXP-08", func() adaptertest.SessionStore { return sweepsTooLittle{newFullStore()} }},
	{"a list of a hundred", "STORE-04", func() adaptertest.SessionStore { return listsAHundred{newFullStore()} }},
	{"the current session ends too", "SLIST-04", func() adaptertest.SessionStore { return endsAll{newUserStore()} }},
}

// TestBrokenSessionStores checks that each fault is found by its clause.
func TestBrokenSessionStores(t *testing.T) {
	for _, test := range brokenStores {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			h := sessionHarness(test.open)
			for try := range 3 { // races
				report, err := adaptertest.CheckSessions(t.Context(), h, adaptertest.Options{Only: []string{test.clause}})
				require.NoError(t, err)
				x, ok := report.Result(test.clause)
				if x.Outcome == adaptertest.Fail {
					return
				}
				assert.NotEqualf(t, 2, try, "%s found nothing: %v, %+v", test.clause, ok, x)
			}
		})
	}
}

// TestSessionHarnessIsValidated checks that a harness without New is an error.
func TestSessionHarnessIsValidated(t *testing.T) {
	t.Parallel()
	_, err := adaptertest.CheckSessions(t.Context(), adaptertest.SessionHarness{}, adaptertest.Options{})
	assert.Error(t, err, "no error without New")
}

// A session manager keeps bytes by token. An author writes a shim with the three methods of
// SessionStore, here a map, and further methods that the store has.
func ExampleRunSessions() {
	test := func(t *testing.T) {
		adaptertest.RunSessions(t, adaptertest.SessionHarness{
			Name: "my store",
			New:  func(testing.TB) adaptertest.SessionStore { return newMapStore() },
		})
	}
	fmt.Println(testing.InternalTest{Name: "TestSessions", F: test}.Name)
	// Output: TestSessions
}

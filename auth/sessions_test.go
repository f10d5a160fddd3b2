package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRevokedSessionsOfOthersStay: a user ends one or all sessions in their
// other browsers. Sessions of other people are neither shown nor ended, and the
// list does not reveal any session token.
func TestRevokedSessionsOfOthersStay(t *testing.T) {
	t.Parallel()
	box, now := &outbox{}, newClock()
	h := newHandler(t, auth.Config{Clock: now.Now, Adapter: newCapable(), Providers: []auth.Provider{box.provider()}, Session: auth.SessionConfig{AbsoluteMaxAge: 90 * 24 * time.Hour}})
	signedIn := func(email string) *browser {
		b := newBrowser(t, h)
		b.byMail(box, email)
		b.wantSession(email)
		now.advance(time.Minute)
		return b
	}
	phone, laptop, tablet, eve := signedIn("ada@example.com"), signedIn("ada@example.com"), signedIn("ada@example.com"), signedIn("eve@example.com")
	list := must(h.Sessions(laptop.request("/")))(t)
	require.Len(t, list, 3)
	slices.SortFunc(list, func(a, b auth.SessionInfo) int { return a.Began.Compare(b.Began) })
	for i, b := range []*browser{phone, laptop, tablet} {
		assert.Truef(t, list[i].Current == (b == laptop) && !list[i].Began.IsZero() && !strings.Contains(b.token(), list[i].ID) && list[i].ID != b.token(),
			"session %d is %+v", i, list[i])
	}
	theirs := must(h.Sessions(eve.request("/")))(t)
	require.Len(t, theirs, 1)
	assert.False(t, must(h.RevokeSession(laptop.request("/"), theirs[0].ID))(t), "a session of somebody else is ended")
	assert.True(t, must(h.RevokeSession(laptop.request("/"), list[0].ID))(t), "a session of one's own")
	phone.wantNoSession()
	assert.False(t, must(h.RevokeSession(laptop.request("/"), list[0].ID))(t), "a session that is over")
	session := must(h.Session(laptop.request("/")))(t)
	// Eve's browser keeps no session of Ada.
	n := must(h.RevokeSessions(t.Context(), session.User.ID, laptop.request("/")))(t)
	assert.EqualValues(t, 1, n, "sessions that were ended")
	laptop.wantSession("ada@example.com")
	tablet.wantNoSession()
	eve.wantSession("eve@example.com")
	assert.EqualValues(t, 1, must(h.RevokeSessions(t.Context(), session.User.ID, nil))(t), "sessions that were ended")
	laptop.wantNoSession()
	_, err := h.Sessions(laptop.request("/"))
	assert.ErrorIs(t, err, auth.ErrNoSession, "nobody is signed in")
}

// TestSessionsThatCannotBeListed are an error and not an empty list.
func TestSessionsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	box := &outbox{}
	for name, config := range map[string]auth.Config{
		"adapter without lists": {Adapter: newStore(), Providers: []auth.Provider{box.provider()}},
		"tokens":                {Adapter: newCapable(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Providers: []auth.Provider{box.provider()}},
	} {
		h := newHandler(t, config)
		b := newBrowser(t, h)
		b.byMail(box, "ada@example.com")
		_, err := h.Sessions(b.request("/"))
		_, one := h.RevokeSession(b.request("/"), "x")
		_, all := h.RevokeSessions(t.Context(), "1", nil)
		for _, err := range []error{err, one, all} {
			assert.ErrorIs(t, err, adapter.ErrUnsupported, name)
		}
	}
}

// sweeping counts sweeps, every second of which fails.
type sweeping struct {
	*store
	sweeps atomic.Int64
}

func (s *sweeping) DeleteExpired(context.Context, time.Time) (adapter.Swept, error) {
	if s.sweeps.Add(1)%2 == 0 {
		return adapter.Swept{}, errors.New("down")
	}
	return adapter.Swept{}, nil
}

// TestSweep: Sweep runs until its context ends, also if the store fails now and
// then.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sweeping{store: newStore()}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour+time.Minute)
		defer cancel()
		assert.ErrorIs(t, auth.Sweep(ctx, s, time.Hour), context.DeadlineExceeded)
		assert.EqualValues(t, 25, s.sweeps.Load(), "sweeps in a day")
	})
	assert.ErrorIs(t, auth.Sweep(t.Context(), newStore(), time.Hour), adapter.ErrUnsupported,
		"an adapter that can't sweep")
	assert.Error(t, auth.Sweep(t.Context(), &sweeping{store: newStore()}, 0), "an interval of zero is accepted")
}

// TestGuessingIsLimited: a request that Config.Limit refuses gets status 429
// before anything is looked up, and the response is the same for known and
// unknown users. Other requests go on, and an event reports what failed.
func TestGuessingIsLimited(t *testing.T) {
	t.Parallel()
	box, store := &outbox{}, newStore()
	var calls []string
	store.before = noting(&calls)
	checked := 0
	p := password()
	authorize := p.Authorize
	p.Authorize = func(ctx context.Context, f auth.Form, r *http.Request) (*auth.User, error) {
		checked++
		return authorize(ctx, f, r)
	}
	var failed []auth.SignInFailedEvent
	limited := true
	h := newHandler(t, auth.Config{
		Adapter: store, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Providers: []auth.Provider{p, box.provider()}, Logger: slog.New(slog.DiscardHandler),
		Limit: func(_ context.Context, a auth.Attempt) error {
			assert.Falsef(t, a.Request == nil || a.Type == auth.TypeEmail &&
				a.Identifier == "" || a.Type == auth.TypeCredentials && a.Form.Get("username") == "",
				"the attempt is %+v", a)
			switch {
			case !limited:
				return nil
			case a.Type == auth.TypeEmail:
				return errors.New("the counter is down")
			}
			return &auth.TooManyAttempts{RetryAfter: 90500 * time.Millisecond}
		},
		Events: auth.Events{SignInFailed: on(func(e auth.SignInFailedEvent) { failed = append(failed, e) })},
	})
	b := newBrowser(t, h)
	answers := map[string]bool{}
	for _, who := range []string{"ada", "nobody"} {
		r := b.post("/auth/callback/credentials", "username", who, "password", "lovelace")
		assert.Truef(t, r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "91",
			"%s: status %d, Retry-After %q", who, r.StatusCode, r.Header.Get("Retry-After"))
		answers[r.body] = true
		r = b.post("/auth/signin/email", "email", who+"@example.com")
		assert.Truef(t, r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "60",
			"%s by mail: status %d, Retry-After %q", who, r.StatusCode, r.Header.Get("Retry-After"))
		answers[r.body] = true
	}
	assert.Truef(t, len(answers) == 2 && checked <= 0 && len(calls) <= 0 && len(box.mails) <= 0,
		"the answers are %v; %d passwords were checked, %d mails sent, and the store was asked %q", answers, checked, len(box.mails), calls)
	req := b.request("/login")
	_, err := h.SignIn(req, "credentials", auth.SignInOptions{Form: map[string][]string{"username": {"ada"}}})
	assert.ErrorIs(t, err, auth.ErrTooManyAttempts, "server code gets")
	assert.Len(t, failed, 5, "failures that were told")
	for _, e := range failed {
		assert.Truef(t, e.Reason == auth.ErrTooManyAttempts && e.Request != nil && e.Provider != "" && e.Err != nil,
			"the event is %+v", e)
	}
	limited, failed = false, nil
	b.post("/auth/callback/credentials", "username", "ada", "password", "wrong")
	assert.Truef(t, len(failed) == 1 && failed[0].Reason == auth.ErrCredentialsSignin && failed[0].Type == auth.TypeCredentials,
		"a wrong password is told as %+v", failed)
	b.signIn()
	b.wantSession(`"name":"Ada Lovelace"`)
	assert.Len(t, failed, 1, "a sign-in that works is told as a failure")
}

// TestEventsHaveTheRequest: a log of events can say which request caused each
// event.
func TestEventsHaveTheRequest(t *testing.T) {
	t.Parallel()
	seen := map[string]*http.Request{}
	h := newHandler(t, auth.Config{
		Providers: []auth.Provider{password()},
		Callbacks: auth.Callbacks{SignIn: allowing(func(p auth.SignInParams) { seen["callback"] = p.Request })},
		Events: auth.Events{
			SignIn:  on(func(e auth.SignInEvent) { seen["sign-in"] = e.Request }),
			SignOut: on(func(e auth.SignOutEvent) { seen["sign-out"] = e.Request }),
			Session: on(func(e auth.SessionEvent) { seen["session"] = e.Request }),
		},
	})
	b := newBrowser(t, h)
	b.signIn()
	b.session()
	b.post("/auth/signout")
	for _, what := range []string{"callback", "sign-in", "session", "sign-out"} {
		r := seen[what]
		assert.Truef(t, r != nil && strings.HasPrefix(r.URL.Path, "/auth/"), "%s: the request is %v", what, r)
	}
	b.signIn()
	seen["session"] = nil
	hr := httptest.NewRequest(http.MethodGet, origin+"/page", nil)
	b.addCookies(hr)
	if _, err := h.Session(hr); err != nil || seen["session"] == nil || seen["session"].URL.Path != "/page" {
		t.Errorf("server code: the request is %v, %v", seen["session"], err)
	}
}

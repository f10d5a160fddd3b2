package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"maps"
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
)

// listing is a store that can list sessions.
type listing struct{ *store }

func (l listing) ListSessionsByUserID(_ context.Context, userID string) ([]adapter.Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []adapter.Session{}
	for _, s := range l.sessions {
		if s.UserID == userID {
			list = append(list, s)
		}
	}
	return list, nil
}

func (l listing) DeleteSessionsByUserID(_ context.Context, userID, except string) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := len(l.sessions)
	maps.DeleteFunc(l.sessions, func(token string, s adapter.Session) bool { return s.UserID == userID && token != except })
	return int64(before - len(l.sessions)), nil
}

// TestRevokedSessionsOfOthersStay: a user ends one or all sessions in their
// other browsers. Sessions of other people are neither shown nor ended, and the
// list does not reveal any session token.
func TestRevokedSessionsOfOthersStay(t *testing.T) {
	t.Parallel()
	box, now := &outbox{}, newClock()
	h := newHandler(t, auth.Config{Clock: now.Now, Adapter: listing{newStore()}, Providers: []auth.Provider{box.provider()}, Session: auth.SessionConfig{AbsoluteMaxAge: 90 * 24 * time.Hour}})
	signedIn := func(email string) *browser {
		b := newBrowser(t, h)
		b.post("/auth/signin/email", "email", email)
		b.get(box.last(t))
		b.wantSession(email)
		now.advance(time.Minute)
		return b
	}
	phone, laptop, tablet, eve := signedIn("ada@example.com"), signedIn("ada@example.com"), signedIn("ada@example.com"), signedIn("eve@example.com")
	list, err := h.Sessions(laptop.request("/"))
	if err != nil || len(list) != 3 {
		t.Fatalf("got %+v, %v, want three sessions", list, err)
	}
	slices.SortFunc(list, func(a, b auth.SessionInfo) int { return a.Began.Compare(b.Began) })
	for i, b := range []*browser{phone, laptop, tablet} {
		if list[i].Current != (b == laptop) || list[i].Began.IsZero() || strings.Contains(b.token(), list[i].ID) || list[i].ID == b.token() {
			t.Errorf("session %d is %+v", i, list[i])
		}
	}
	theirs, err := h.Sessions(eve.request("/"))
	if err != nil || len(theirs) != 1 {
		t.Fatalf("got %+v, %v", theirs, err)
	}
	if ended, err := h.RevokeSession(laptop.request("/"), theirs[0].ID); ended || err != nil {
		t.Errorf("a session of somebody else is ended: %v, %v", ended, err)
	}
	if ended, err := h.RevokeSession(laptop.request("/"), list[0].ID); !ended || err != nil {
		t.Errorf("a session of one's own: %v, %v", ended, err)
	}
	phone.wantNoSession()
	if ended, err := h.RevokeSession(laptop.request("/"), list[0].ID); ended || err != nil {
		t.Errorf("a session that is over: %v, %v", ended, err)
	}
	session, err := h.Session(laptop.request("/"))
	if err != nil {
		t.Fatal(err)
	}
	// Eve's browser keeps no session of Ada.
	if n, err := h.RevokeSessions(t.Context(), session.User.ID, laptop.request("/")); n != 1 || err != nil {
		t.Errorf("got %d, %v, want one session ended", n, err)
	}
	laptop.wantSession("ada@example.com")
	tablet.wantNoSession()
	eve.wantSession("eve@example.com")
	if n, err := h.RevokeSessions(t.Context(), session.User.ID, nil); n != 1 || err != nil {
		t.Errorf("got %d, %v, want one session ended", n, err)
	}
	laptop.wantNoSession()
	if _, err := h.Sessions(laptop.request("/")); !errors.Is(err, auth.ErrNoSession) {
		t.Errorf("nobody is signed in: %v", err)
	}
}

// TestSessionsThatCannotBeListed are an error and not an empty list.
func TestSessionsThatCannotBeListed(t *testing.T) {
	t.Parallel()
	box := &outbox{}
	for name, config := range map[string]auth.Config{
		"adapter without lists": {Adapter: newStore(), Providers: []auth.Provider{box.provider()}},
		"tokens":                {Adapter: listing{newStore()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Providers: []auth.Provider{box.provider()}},
	} {
		h := newHandler(t, config)
		b := newBrowser(t, h)
		b.post("/auth/signin/email", "email", "ada@example.com")
		b.get(box.last(t))
		_, err := h.Sessions(b.request("/"))
		_, one := h.RevokeSession(b.request("/"), "x")
		_, all := h.RevokeSessions(t.Context(), "1", nil)
		for _, err := range []error{err, one, all} {
			if !errors.Is(err, adapter.ErrUnsupported) {
				t.Errorf("%s: got %v", name, err)
			}
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
		if err := auth.Sweep(ctx, s, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n := s.sweeps.Load(); n != 25 {
			t.Errorf("there were %d sweeps in a day, want 25", n)
		}
	})
	if err := auth.Sweep(t.Context(), newStore(), time.Hour); !errors.Is(err, adapter.ErrUnsupported) {
		t.Errorf("an adapter that can't sweep: %v", err)
	}
	if err := auth.Sweep(t.Context(), &sweeping{store: newStore()}, 0); err == nil {
		t.Error("an interval of zero is accepted")
	}
}

// TestGuessingIsLimited: a request that Config.Limit refuses gets status 429
// before anything is looked up, and the response is the same for known and
// unknown users. Other requests go on, and an event reports what failed.
func TestGuessingIsLimited(t *testing.T) {
	t.Parallel()
	box, store := &outbox{}, newStore()
	var calls []string
	store.before = func(method string, _ ...any) error { calls = append(calls, method); return nil }
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
			if a.Request == nil || a.Type == auth.TypeEmail && a.Identifier == "" || a.Type == auth.TypeCredentials && a.Form.Get("username") == "" {
				t.Errorf("the attempt is %+v", a)
			}
			switch {
			case !limited:
				return nil
			case a.Type == auth.TypeEmail:
				return errors.New("the counter is down")
			}
			return &auth.TooManyAttempts{RetryAfter: 90500 * time.Millisecond}
		},
		Events: auth.Events{SignInFailed: func(_ context.Context, e auth.SignInFailedEvent) error {
			failed = append(failed, e)
			return nil
		}},
	})
	b := newBrowser(t, h)
	answers := map[string]bool{}
	for _, who := range []string{"ada", "nobody"} {
		r := b.post("/auth/callback/credentials", "username", who, "password", "lovelace")
		if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "91" {
			t.Errorf("%s: status %d, Retry-After %q", who, r.StatusCode, r.Header.Get("Retry-After"))
		}
		answers[r.body] = true
		r = b.post("/auth/signin/email", "email", who+"@example.com")
		if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "60" {
			t.Errorf("%s by mail: status %d, Retry-After %q", who, r.StatusCode, r.Header.Get("Retry-After"))
		}
		answers[r.body] = true
	}
	if len(answers) != 2 || checked > 0 || len(calls) > 0 || len(box.mails) > 0 {
		t.Errorf("the answers are %v; %d passwords were checked, %d mails sent, and the store was asked %q", answers, checked, len(box.mails), calls)
	}
	req := b.request("/login")
	if _, err := h.SignIn(req, "credentials", auth.SignInOptions{Form: map[string][]string{"username": {"ada"}}}); !errors.Is(err, auth.ErrTooManyAttempts) {
		t.Errorf("server code gets %v", err)
	}
	if len(failed) != 5 {
		t.Errorf("%d failures were told, want 5", len(failed))
	}
	for _, e := range failed {
		if e.Reason != auth.ErrTooManyAttempts || e.Request == nil || e.Provider == "" || e.Err == nil {
			t.Errorf("the event is %+v", e)
		}
	}
	limited, failed = false, nil
	b.post("/auth/callback/credentials", "username", "ada", "password", "wrong")
	if len(failed) != 1 || failed[0].Reason != auth.ErrCredentialsSignin || failed[0].Type != auth.TypeCredentials {
		t.Errorf("a wrong password is told as %+v", failed)
	}
	b.signIn()
	b.wantSession(`"name":"Ada Lovelace"`)
	if len(failed) != 1 {
		t.Error("a sign-in that works is told as a failure")
	}
}

// TestEventsHaveTheRequest: a log of events can say which request caused each
// event.
func TestEventsHaveTheRequest(t *testing.T) {
	t.Parallel()
	seen := map[string]*http.Request{}
	h := newHandler(t, auth.Config{
		Providers: []auth.Provider{password()},
		Callbacks: auth.Callbacks{SignIn: func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
			seen["callback"] = p.Request
			return auth.Allow(), nil
		}},
		Events: auth.Events{
			SignIn:  func(_ context.Context, e auth.SignInEvent) error { seen["sign-in"] = e.Request; return nil },
			SignOut: func(_ context.Context, e auth.SignOutEvent) error { seen["sign-out"] = e.Request; return nil },
			Session: func(_ context.Context, e auth.SessionEvent) error { seen["session"] = e.Request; return nil },
		},
	})
	b := newBrowser(t, h)
	b.signIn()
	b.session()
	b.post("/auth/signout")
	for _, what := range []string{"callback", "sign-in", "session", "sign-out"} {
		if r := seen[what]; r == nil || !strings.HasPrefix(r.URL.Path, "/auth/") {
			t.Errorf("%s: the request is %v", what, r)
		}
	}
	b.signIn()
	seen["session"] = nil
	hr := httptest.NewRequest(http.MethodGet, origin+"/page", nil)
	for _, c := range b.cookies {
		hr.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	}
	if _, err := h.Session(hr); err != nil || seen["session"] == nil || seen["session"].URL.Path != "/page" {
		t.Errorf("server code: the request is %v, %v", seen["session"], err)
	}
}

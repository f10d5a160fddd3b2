package adaptertest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// modelHarness opens the model, which keeps the contract.
func modelHarness(wrap func(m *model.Model) adapter.Adapter) Harness {
	open := func(testing.TB) adapter.Adapter { return wrap(model.New()) }
	return Harness{New: open, Single: open, Limited: open, Declarations: Declarations{Precision: time.Nanosecond, Volatile: "it is a model"}}
}

func TestModelConforms(t *testing.T) {
	options := Options{Strict: true}
	if testing.Short() {
		options.Rounds = QuickRounds
	}
	report, err := Check(t.Context(), modelHarness(func(m *model.Model) adapter.Adapter { return m }), options)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range report.Failed() {
		if x.Clause.ID == "VOL-04" {
			continue // the model looks through all of its records
		}
		t.Errorf("%s: %s", x.Clause.ID, strings.Join(x.Evidence, "\n"))
	}
	for _, id := range []string{"CTX-01", "CTX-03", "CTX-04", "CTX-05", "CTX-06", "CONC-01", "CONC-14", "CONC-16"} {
		if x, ok := report.Result(id); !ok || x.Outcome != Pass {
			t.Errorf("%s: %s %s, want pass", id, x.Outcome, x.Reason)
		}
	}
}

// Each of the adapters below does in two steps what must be one step. Between
// the steps the lock is free, and other calls run.
func gap() {
	runtime.Gosched()
	runtime.Gosched()
}

type racyUse struct{ *model.Model }

func (a racyUse) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	a.Mu.Lock()
	t, ok := a.Tokens[key]
	a.Mu.Unlock()
	gap()
	if !ok {
		return nil, ctx.Err()
	}
	a.Mu.Lock()
	defer a.Mu.Unlock()
	delete(a.Tokens, key)
	return &t, ctx.Err()
}

type failingLoser struct{ *model.Model }

func (a failingLoser) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	a.Mu.Lock()
	_, ok := a.Tokens[key]
	a.Mu.Unlock()
	gap()
	t, err := a.Model.UseVerificationToken(ctx, key)
	if ok && t == nil {
		return nil, errors.New("write conflict")
	}
	return t, err
}

type racyCreateUser struct{ *model.Model }

func (a racyCreateUser) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	if found, err := a.GetUserByEmail(ctx, u.Email); found != nil || err != nil {
		return nil, errors.Join(adapter.ErrConflict, err)
	}
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Users[u.ID] = *model.CloneUser(u)
	return model.CloneUser(u), nil
}

type racyLink struct{ *model.Model }

func (a racyLink) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	if found, err := a.GetAccount(ctx, account.ProviderAccountID, account.Provider); found != nil || err != nil {
		return nil, errors.Join(adapter.ErrConflict, err)
	}
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Accounts[account.Key()] = *model.CloneAccount(account)
	return &account, nil
}

type racySession struct{ *model.Model }

func (a racySession) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	if found, err := a.GetSessionAndUser(ctx, s.SessionToken); found != nil || err != nil {
		return nil, errors.Join(adapter.ErrConflict, err)
	}
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Sessions[s.SessionToken] = s
	return &s, nil
}

type racyCredential struct{ *model.Model }

func (a racyCredential) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	if found, err := a.GetAuthenticator(ctx, w.CredentialID); found != nil || err != nil {
		return nil, errors.Join(adapter.ErrConflict, err)
	}
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Authenticators[w.CredentialID] = *model.CloneAuthenticator(w)
	return &w, nil
}

type revivingUpdate struct{ *model.Model }

func (a revivingUpdate) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	a.Mu.Lock()
	s, ok := a.Sessions[update.SessionToken]
	a.Mu.Unlock()
	gap()
	if !ok {
		return nil, ctx.Err()
	}
	update.Apply(&s)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Sessions[s.SessionToken] = s
	return &s, ctx.Err()
}

type lostUpdate struct{ *model.Model }

func (a lostUpdate) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	u, err := a.GetUser(ctx, update.ID)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, adapter.ErrNotFound
	}
	update.Apply(u)
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if a.EmailTaken(u.Email, u.ID) {
		return nil, adapter.ErrConflict
	}
	a.Users[u.ID] = *model.CloneUser(*u)
	return u, nil
}

// addingCounter adds the difference to the counter that it read.
type addingCounter struct{ *model.Model }

func (a addingCounter) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	w, err := a.GetAuthenticator(ctx, id)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, adapter.ErrNotFound
	}
	missing := counter - w.Counter
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	stored := a.Authenticators[id]
	stored.Counter += missing
	a.Authenticators[id] = stored
	return model.CloneAuthenticator(stored), nil
}

type racyEmail struct{ *model.Model }

func (a racyEmail) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	if email, set := update.Email.Get(); set {
		if found, err := a.GetUserByEmail(ctx, email); err != nil || found != nil && found.ID != update.ID {
			return nil, errors.Join(adapter.ErrConflict, err)
		}
	}
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	u, ok := a.Users[update.ID]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	update.Apply(&u)
	a.Users[u.ID] = u
	return model.CloneUser(u), ctx.Err()
}

// lateArrival looks for the owner and stores later.
type lateArrival struct{ *model.Model }

func (a lateArrival) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	if u, err := a.GetUser(ctx, s.UserID); u == nil || err != nil {
		return nil, errors.Join(adapter.ErrNotFound, err)
	}
	gap()
	a.Mu.Lock()
	defer a.Mu.Unlock()
	if _, taken := a.Sessions[s.SessionToken]; taken {
		return nil, adapter.ErrConflict
	}
	a.Sessions[s.SessionToken] = s
	return &s, nil
}

func (a lateArrival) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	s, err := a.Model.GetSessionAndUser(ctx, token)
	if s != nil && s.User.ID == "" {
		return nil, nil // the orphan is hidden
	}
	return s, err
}

// listed keeps a list of credentials for each user, and updates it by reading
// and writing.
type listed struct {
	*model.Model
	lists *lists
}

type lists struct {
	sync.Mutex
	byUser map[string][]string
}

func (a listed) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	a.lists.Lock()
	list := append([]string(nil), a.lists.byUser[w.UserID]...)
	a.lists.Unlock()
	gap()
	r, err := a.Model.CreateAuthenticator(ctx, w)
	if err == nil {
		a.lists.Lock()
		a.lists.byUser[w.UserID] = append(list, w.CredentialID)
		a.lists.Unlock()
	}
	return r, err
}

func (a listed) ListAuthenticatorsByUserID(ctx context.Context, id string) ([]adapter.Authenticator, error) {
	a.lists.Lock()
	list := append([]string(nil), a.lists.byUser[id]...)
	a.lists.Unlock()
	out := []adapter.Authenticator{}
	for _, credential := range list {
		if w, err := a.GetAuthenticator(ctx, credential); err != nil {
			return nil, err
		} else if w != nil {
			out = append(out, *w)
		}
	}
	return out, nil
}

// mixedUp returns the record for which another caller asked.
type mixedUp struct {
	*model.Model
	last *lastID
}

type lastID struct {
	sync.Mutex
	id string
}

func (a mixedUp) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	a.last.Lock()
	a.last.id = id
	a.last.Unlock()
	gap()
	a.last.Lock()
	defer a.last.Unlock()
	return a.Model.GetUser(ctx, a.last.id)
}

// blinking updates a session by deleting and creating it.
type blinking struct{ *model.Model }

func (a blinking) UpdateSession(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
	a.Mu.Lock()
	s, ok := a.Sessions[update.SessionToken]
	delete(a.Sessions, update.SessionToken)
	a.Mu.Unlock()
	gap()
	if !ok {
		return nil, ctx.Err()
	}
	update.Apply(&s)
	a.Mu.Lock()
	defer a.Mu.Unlock()
	a.Sessions[s.SessionToken] = s
	return &s, ctx.Err()
}

// busy fails when it would have to wait.
type busy struct {
	*model.Model
	writing *sync.Mutex
}

func (a busy) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	if !a.writing.TryLock() {
		return nil, errors.New("database is locked")
	}
	defer a.writing.Unlock()
	gap()
	return a.Model.CreateSession(ctx, s)
}

// halfUnlinked unlinks in two steps: first from the owner, then from the
// account.
type halfUnlinked struct {
	*model.Model
	owners *owners
}

type owners struct {
	sync.Mutex
	byPair map[adapter.AccountKey]string
}

func (a halfUnlinked) LinkAccount(ctx context.Context, account adapter.Account) (*adapter.Account, error) {
	r, err := a.Model.LinkAccount(ctx, account)
	gap()
	if err == nil {
		a.owners.Lock()
		a.owners.byPair[account.Key()] = account.UserID
		a.owners.Unlock()
	}
	return r, err
}

func (a halfUnlinked) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	r, err := a.Model.UnlinkAccount(ctx, key)
	gap()
	a.owners.Lock()
	delete(a.owners.byPair, key)
	a.owners.Unlock()
	return r, err
}

func (a halfUnlinked) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	a.owners.Lock()
	id := a.owners.byPair[key]
	a.owners.Unlock()
	return a.GetUser(ctx, id)
}

// oneConnection asks for a second connection inside a transaction.
type oneConnection struct {
	*model.Model
	pool chan struct{}
}

func (a oneConnection) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	for range 2 {
		select {
		case a.pool <- struct{}{}:
		case <-ctx.Done():
			<-a.pool
			return nil, ctx.Err()
		}
	}
	<-a.pool
	<-a.pool
	return a.Model.DeleteUser(ctx, id)
}

// deaf ignores its context.
type deaf struct{ *model.Model }

func (a deaf) CreateSession(_ context.Context, s adapter.Session) (*adapter.Session, error) {
	return a.Model.CreateSession(context.Background(), s)
}

// leaky loses a connection with every call that was cancelled.
type leaky struct {
	*model.Model
	pool chan struct{}
}

func (a leaky) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	select {
	case a.pool <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	u, err := a.Model.GetUser(ctx, id)
	gap()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	<-a.pool
	return u, err
}

func (a leaky) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	if _, err := a.GetUser(ctx, u.ID); err != nil {
		return nil, err
	}
	return a.Model.CreateUser(ctx, u)
}

// halfCancelled stops between two writes when its context ends.
type halfCancelled struct{ *model.Model }

func (a halfCancelled) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	rest := update
	rest.Email = adapter.Change[string]{}
	if _, err := a.Model.UpdateUser(ctx, rest); err != nil {
		return nil, err
	}
	gap()
	return a.Model.UpdateUser(ctx, adapter.UserUpdate{ID: update.ID, Email: update.Email})
}

// forgetful succeeds when it is cancelled late.
type forgetful struct{ *model.Model }

func (a forgetful) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	if _, err := a.GetUser(ctx, s.UserID); err != nil {
		return nil, err
	}
	gap()
	if _, err := a.Model.CreateSession(ctx, s); err != nil && !errors.Is(err, context.Canceled) {
		return nil, err
	}
	return &s, nil
}

// sharing returns the first caller's result to all concurrent reads of one
// session.
type sharing struct {
	*model.Model
	flights *flights
}

type flights struct {
	sync.Mutex
	byToken map[string]*flight
}

type flight struct {
	done chan struct{}
	s    *adapter.SessionAndUser
	err  error
}

func (a sharing) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	a.flights.Lock()
	f, ok := a.flights.byToken[token]
	if !ok {
		f = &flight{done: make(chan struct{})}
		a.flights.byToken[token] = f
	}
	a.flights.Unlock()
	if ok {
		<-f.done
		return f.s, f.err
	}
	timer := time.NewTimer(20 * time.Microsecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	f.s, f.err = a.Model.GetSessionAndUser(ctx, token)
	a.flights.Lock()
	delete(a.flights.byToken, token)
	a.flights.Unlock()
	close(f.done)
	return f.s, f.err
}

var brokenUnderConcurrency = map[string]struct {
	clause string
	wrap   func(m *model.Model) adapter.Adapter
}{
	"use in two steps":                 {"CONC-01", func(m *model.Model) adapter.Adapter { return racyUse{m} }},
	"the loser of a token fails":       {"CONC-02", func(m *model.Model) adapter.Adapter { return failingLoser{m} }},
	"creation of users in two steps":   {"CONC-03", func(m *model.Model) adapter.Adapter { return racyCreateUser{m} }},
	"linking in two steps":             {"CONC-04", func(m *model.Model) adapter.Adapter { return racyLink{m} }},
	"sessions in two steps":            {"CONC-05", func(m *model.Model) adapter.Adapter { return racySession{m} }},
	"credentials in two steps":         {"CONC-06", func(m *model.Model) adapter.Adapter { return racyCredential{m} }},
	"updates revive":                   {"CONC-07", func(m *model.Model) adapter.Adapter { return revivingUpdate{m} }},
	"updates are lost":                 {"CONC-08", func(m *model.Model) adapter.Adapter { return lostUpdate{m} }},
	"counters are added to":            {"CONC-09", func(m *model.Model) adapter.Adapter { return addingCounter{m} }},
	"e-mail changes in two steps":      {"CONC-10", func(m *model.Model) adapter.Adapter { return racyEmail{m} }},
	"sessions of users who are gone":   {"CONC-11", func(m *model.Model) adapter.Adapter { return lateArrival{m} }},
	"lists of credentials lose some":   {"CONC-12", func(m *model.Model) adapter.Adapter { return listed{m, &lists{byUser: map[string][]string{}}} }},
	"answers are mixed up":             {"CONC-13", func(m *model.Model) adapter.Adapter { return mixedUp{m, &lastID{}} }},
	"updates by deletion and creation": {"CONC-14", func(m *model.Model) adapter.Adapter { return blinking{m} }},
	"token histories":                  {"CONC-14", func(m *model.Model) adapter.Adapter { return racyUse{m} }},
	"counter histories":                {"CONC-14", func(m *model.Model) adapter.Adapter { return addingCounter{m} }},
	"e-mail histories":                 {"CONC-14", func(m *model.Model) adapter.Adapter { return racyEmail{m} }},
	"errors under contention":          {"CONC-15", func(m *model.Model) adapter.Adapter { return busy{m, new(sync.Mutex)} }},
	"unlinking in two steps": {"CONC-17", func(m *model.Model) adapter.Adapter {
		return halfUnlinked{m, &owners{byPair: map[adapter.AccountKey]string{}}}
	}},
	"late sessions":                 {"CONC-18", func(m *model.Model) adapter.Adapter { return racySessions{m, &lists{byUser: map[string][]string{}}} }},
	"contexts are ignored":          {"CTX-01", func(m *model.Model) adapter.Adapter { return deaf{m} }},
	"success without effect":        {"CTX-03", func(m *model.Model) adapter.Adapter { return forgetful{m} }},
	"cancelled calls leak":          {"CTX-04", func(m *model.Model) adapter.Adapter { return leaky{m, make(chan struct{}, 4)} }},
	"half a write":                  {"CTX-05", func(m *model.Model) adapter.Adapter { return halfCancelled{m} }},
	"a cancelled call fails others": {"CTX-06", func(m *model.Model) adapter.Adapter { return sharing{m, &flights{byToken: map[string]*flight{}}} }},
}

// racySessions keeps a list of tokens for each user by which they are deleted,
// and updates it by reading and writing.
type racySessions struct {
	*model.Model
	lists *lists
}

func (a racySessions) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	a.lists.Lock()
	list := append([]string(nil), a.lists.byUser[s.UserID]...)
	a.lists.Unlock()
	gap()
	r, err := a.Model.CreateSession(ctx, s)
	if err == nil {
		a.lists.Lock()
		a.lists.byUser[s.UserID] = append(list, s.SessionToken)
		a.lists.Unlock()
	}
	return r, err
}

func (a racySessions) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	a.Mu.Lock()
	defer a.Mu.Unlock()
	u, ok := a.Users[id]
	if !ok {
		return nil, ctx.Err()
	}
	for _, token := range a.lists.byUser[id] {
		delete(a.Sessions, token)
	}
	u.Name = nil
	delete(a.Users, id)
	return &u, ctx.Err()
}

func TestRacesAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT PROVED: the full form takes minutes; make test runs it")
	}
	for name, broken := range brokenUnderConcurrency {
		t.Run(name, func(t *testing.T) {
			var x Result
			for try := 0; try < 3 && x.Outcome != Fail; try++ { // a race on a loaded machine may not happen
				report, err := Check(t.Context(), modelHarness(broken.wrap), Options{Only: []string{broken.clause}})
				if err != nil {
					t.Fatal(err)
				}
				x, _ = report.Result(broken.clause)
			}
			if x.Outcome != Fail {
				t.Fatalf("%s: %s %s; want it to fail", broken.clause, x.Outcome, x.Reason)
			}
			t.Log(strings.Join(x.Evidence, "\n"))
		})
	}
}

func TestDeadlockOnOneConnectionIsFound(t *testing.T) {
	h := modelHarness(func(m *model.Model) adapter.Adapter { return oneConnection{m, make(chan struct{}, 1)} })
	h.ClauseTimeout = time.Second
	report, err := Check(t.Context(), h, Options{Only: []string{"CONC-16"}})
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := report.Result("CONC-16"); x.Outcome != Fail || !strings.Contains(x.Evidence[0], "DeleteUser") {
		t.Errorf("got %s, %v", x.Outcome, x.Evidence)
	}
}

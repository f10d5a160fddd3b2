package adaptertest

import (
	"fmt"
	"maps"
	"runtime"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// machine makes calls in random order on a few records, and makes the same calls
// of the model. If the results differ, rapid looks for the shortest sequence
// that still shows the difference.
type machine struct {
	c     *clauseContext
	model *model.Model
	// There are few keys, so that several calls use the same one.
	ids         []string // of users that exist, are deleted or never exist
	emails      []string
	pairs       []adapter.AccountKey
	sessions    []string
	tokens      []adapter.VerificationTokenKey
	credentials []string

	calls  []string
	method string // of the last call
	wrong  string
}

const (
	// machineTime limits the search for a difference, for each round of the run.
	// shrinkTime limits the search for a shorter sequence.
	machineTime = 700 * time.Millisecond
	shrinkTime  = 2 * time.Second
	// fewestSequences is the number of sequences that are tried even on a slow
	// machine, and fewestShrinks is the number of shorter ones.
	fewestSequences = 5
	fewestShrinks   = 500
)

// randomSequences compares the adapter with the model over random sequences of
// calls of all methods that it has. A sequence that differs is made shorter in a
// store opened afresh: what it needs of earlier sequences it lacks there.
func (c *clauseContext) randomSequences() {
	var found *machine
	sequences, baseline := 0, fewestSequences
	before, again := 0, 0 // sequences before the one that differs, and those that differ after it
	limit := time.Now().Add(c.span(machineTime))
	property := func(t *rapid.T) {
		if sequences >= baseline && time.Now().After(limit) {
			return
		}
		sequences++
		m := newMachine(c)
		defer func() {
			if m.wrong == "" {
				return
			}
			if found == nil {
				limit, baseline = time.Now().Add(shrinkTime), sequences+fewestShrinks
				before = sequences - 1
				c.a = c.observe(c.harness().New(c.tb))
			} else {
				again++
			}
			if found == nil || len(m.calls) <= len(found.calls) {
				found = m
			}
		}()
		t.Repeat(m.actions())
		m.compareAll(t)
	}
	for range c.rounds(1) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			rapid.Check(&rapidTB{}, property)
		}()
		<-done
		if found != nil {
			break
		}
	}
	c.Notef("%d random sequences of calls", sequences)
	if found == nil {
		return
	}
	sequence := "the shortest sequence that was found"
	if again == 0 {
		sequence = fmt.Sprintf("and not after the same calls in a store opened afresh: the difference depends on what %d earlier sequences left behind, or on chance", before)
	}
	m, _ := methodNamed(found.method)
	c.Fatalf("%s does not keep its rules (%s): %s; after these calls, %s:\n  %s", m.name, m.rules, found.wrong, sequence, strings.Join(found.calls, "\n  "))
}

// rapidTB receives the reports of rapid. randomSequences keeps the differences.
type rapidTB struct {
	named  bool
	failed bool
}

// rapid calls Name before the search and, if the search found a difference,
// again before it writes a file. Name prevents that file, because the suite runs
// in the folders of other projects.
func (t *rapidTB) Name() string {
	if t.named {
		runtime.Goexit()
	}
	t.named = true
	return "adaptertest"
}

func (t *rapidTB) Helper()               {}
func (t *rapidTB) Logf(string, ...any)   {}
func (t *rapidTB) Log(...any)            {}
func (t *rapidTB) Skipf(string, ...any)  { runtime.Goexit() }
func (t *rapidTB) Skip(...any)           { runtime.Goexit() }
func (t *rapidTB) SkipNow()              { runtime.Goexit() }
func (t *rapidTB) Errorf(string, ...any) { t.failed = true }
func (t *rapidTB) Error(...any)          { t.failed = true }
func (t *rapidTB) Fatalf(string, ...any) { t.FailNow() }
func (t *rapidTB) Fatal(...any)          { t.FailNow() }
func (t *rapidTB) FailNow()              { t.failed = true; runtime.Goexit() }
func (t *rapidTB) Fail()                 { t.failed = true }
func (t *rapidTB) Failed() bool          { return t.failed }

func newMachine(c *clauseContext) *machine {
	m := &machine{c: c, model: model.New(), ids: []string{c.id(), c.id(), c.id()}}
	for range 3 {
		m.emails = append(m.emails, c.newUser().Email)
		m.sessions = append(m.sessions, c.newSession("").SessionToken)
		m.credentials = append(m.credentials, c.newAuthenticator("").CredentialID)
	}
	a, b := c.newAccount("").Key(), c.newAccount("").Key()
	m.pairs = []adapter.AccountKey{a, {Provider: a.Provider, ProviderAccountID: b.ProviderAccountID}, {Provider: b.Provider, ProviderAccountID: a.ProviderAccountID}}
	s, t := c.newToken().Key(), c.newToken().Key()
	m.tokens = []adapter.VerificationTokenKey{s, {Identifier: s.Identifier, Token: t.Token}, {Identifier: t.Identifier, Token: s.Token}}
	return m
}

func pick[T any](t *rapid.T, from []T) T { return rapid.SampledFrom(from).Draw(t, "pick") }

// differ records a difference and ends the sequence. The text that rapid sees
// is always the same, because rapid treats failures with different texts as
// different ones.
func (m *machine) differ(t *rapid.T, format string, args ...any) {
	m.wrong = fmt.Sprintf(format, args...)
	t.Fatalf("the adapter differs from the contract")
}

// agree compares the outcomes of one call. A record that the adapter need not
// return is compared only if the adapter returned it.
func agree[T any](t *rapid.T, m *machine, method string, args []any, got *T, err error, want *T, wantErr error, optional bool) {
	outcome := diff.Show(got)
	if err != nil {
		outcome = "error: " + err.Error()
	}
	m.method = method
	m.calls = append(m.calls, fmt.Sprintf("%s(%s) = %s", method, diff.Show(args...), outcome))
	switch {
	case wantErr != nil && err == nil:
		m.differ(t, "it succeeded, want an error like %q", wantErr)
	case wantErr == nil && err != nil:
		m.differ(t, "it failed: %v", err)
	case wantErr == nil && (!optional || got != nil || want == nil):
		if d := m.c.unlike(got, want); d != "" {
			m.differ(t, "%s", d)
		}
	}
}

// live returns the IDs of the users that exist, or ends the action.
func (m *machine) live(t *rapid.T) []string {
	ids := sortedKeys(m.model.Users)
	if len(ids) == 0 {
		t.SkipNow()
	}
	// Users are listed in the order of their creation, which is the same
	// whenever rapid repeats a sequence. The order of random IDs is not.
	var live []string
	for _, id := range m.ids {
		if _, ok := m.model.Users[id]; ok {
			live = append(live, id)
		}
	}
	return live
}

// actions are the calls that the adapter supports.
func (m *machine) actions() map[string]func(*rapid.T) {
	c, ctx := m.c, m.c.ctx
	all := map[string]func(*rapid.T){
		"CreateUser": func(t *rapid.T) {
			u := c.newUser()
			slot := rapid.IntRange(0, len(m.ids)-1).Draw(t, "id")
			u.ID, u.Email = m.ids[slot], pick(t, m.emails)
			switch rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				u.Name, u.EmailVerified, u.Image = nil, nil, nil
			case 1:
				u.ID = ""
			}
			args := []any{u}
			got, err := c.a.CreateUser(ctx, u)
			if err == nil && got != nil && got.ID != u.ID { // the adapter assigns IDs
				u.ID = got.ID
				m.ids = append(m.ids, got.ID)
			}
			want, wantErr := m.model.CreateUser(ctx, u)
			agree(t, m, "CreateUser", args, got, err, want, wantErr, false)
		},
		"GetUser": func(t *rapid.T) {
			id := pick(t, m.ids)
			got, err := c.a.GetUser(ctx, id)
			want, wantErr := m.model.GetUser(ctx, id)
			agree(t, m, "GetUser", []any{id}, got, err, want, wantErr, false)
		},
		"GetUserByEmail": func(t *rapid.T) {
			email := pick(t, m.emails)
			got, err := c.a.GetUserByEmail(ctx, email)
			want, wantErr := m.model.GetUserByEmail(ctx, email)
			agree(t, m, "GetUserByEmail", []any{email}, got, err, want, wantErr, false)
		},
		"GetUserByAccount": func(t *rapid.T) {
			key := pick(t, m.pairs)
			got, err := c.a.GetUserByAccount(ctx, key)
			want, wantErr := m.model.GetUserByAccount(ctx, key)
			agree(t, m, "GetUserByAccount", []any{key}, got, err, want, wantErr, false)
		},
		"UpdateUser": func(t *rapid.T) {
			update := adapter.UserUpdate{ID: pick(t, m.ids)}
			v := c.newUser()
			fields := rapid.IntRange(0, 15).Draw(t, "fields")
			nulls := rapid.IntRange(0, 7).Draw(t, "nulls")
			if nulls&1 != 0 {
				v.Name = nil
			}
			if nulls&2 != 0 {
				v.Image = nil
			}
			if nulls&4 != 0 {
				v.EmailVerified = nil
			}
			if fields&1 != 0 {
				update.Name = adapter.To(v.Name)
			}
			if fields&2 != 0 {
				update.Image = adapter.To(v.Image)
			}
			if fields&4 != 0 {
				update.EmailVerified = adapter.To(v.EmailVerified)
			}
			if fields&8 != 0 {
				update.Email = adapter.To(pick(t, m.emails))
			}
			got, err := c.a.UpdateUser(ctx, update)
			want, wantErr := m.model.UpdateUser(ctx, update)
			agree(t, m, "UpdateUser", []any{update}, got, err, want, wantErr, false)
		},
		"DeleteUser": func(t *rapid.T) {
			id := pick(t, m.ids)
			got, err := c.a.DeleteUser(ctx, id)
			want, wantErr := m.model.DeleteUser(ctx, id)
			agree(t, m, "DeleteUser", []any{id}, got, err, want, wantErr, true)
		},
		"LinkAccount": func(t *rapid.T) {
			a := c.newAccount(pick(t, m.live(t)))
			key := pick(t, m.pairs)
			if m.model.Accounts[key].UserID == a.UserID {
				t.SkipNow() // linking again to the same user may fail or not [ACCT-07]
			}
			a.Provider, a.ProviderAccountID = key.Provider, key.ProviderAccountID
			if rapid.Bool().Draw(t, "bare") {
				a = adapter.Account{UserID: a.UserID, Type: a.Type, Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}
			}
			got, err := c.a.LinkAccount(ctx, a)
			want, wantErr := m.model.LinkAccount(ctx, a)
			agree(t, m, "LinkAccount", []any{a}, got, err, want, wantErr, true)
		},
		"UnlinkAccount": func(t *rapid.T) {
			key := pick(t, m.pairs)
			got, err := c.a.UnlinkAccount(ctx, key)
			want, wantErr := m.model.UnlinkAccount(ctx, key)
			agree(t, m, "UnlinkAccount", []any{key}, got, err, want, wantErr, true)
		},
		"GetAccount": func(t *rapid.T) {
			key := pick(t, m.pairs)
			got, err := c.a.GetAccount(ctx, key.ProviderAccountID, key.Provider)
			want, wantErr := m.model.GetAccount(ctx, key.ProviderAccountID, key.Provider)
			agree(t, m, "GetAccount", []any{key.ProviderAccountID, key.Provider}, got, err, want, wantErr, false)
		},
		"CreateSession": func(t *rapid.T) {
			s := c.newSession(pick(t, m.live(t)))
			s.SessionToken = pick(t, m.sessions)
			got, err := c.a.CreateSession(ctx, s)
			want, wantErr := m.model.CreateSession(ctx, s)
			agree(t, m, "CreateSession", []any{s}, got, err, want, wantErr, false)
		},
		"GetSessionAndUser": func(t *rapid.T) {
			token := pick(t, m.sessions)
			got, err := c.a.GetSessionAndUser(ctx, token)
			want, wantErr := m.model.GetSessionAndUser(ctx, token)
			agree(t, m, "GetSessionAndUser", []any{token}, got, err, want, wantErr, false)
		},
		"UpdateSession": func(t *rapid.T) {
			update := adapter.SessionUpdate{SessionToken: pick(t, m.sessions)}
			if rapid.IntRange(0, 3).Draw(t, "expires") > 0 {
				update.Expires = adapter.To(c.instant(2 * time.Hour))
			}
			got, err := c.a.UpdateSession(ctx, update)
			want, wantErr := m.model.UpdateSession(ctx, update)
			agree(t, m, "UpdateSession", []any{update}, got, err, want, wantErr, true)
		},
		"DeleteSession": func(t *rapid.T) {
			token := pick(t, m.sessions)
			got, err := c.a.DeleteSession(ctx, token)
			want, wantErr := m.model.DeleteSession(ctx, token)
			agree(t, m, "DeleteSession", []any{token}, got, err, want, wantErr, true)
		},
		"CreateVerificationToken": func(t *rapid.T) {
			key := pick(t, m.tokens)
			token := adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: c.instant(time.Hour)}
			got, err := c.a.CreateVerificationToken(ctx, token)
			if err == nil {
				delete(m.model.Tokens, key) // replacing the token is allowed [VTOK-10]
			}
			want, wantErr := m.model.CreateVerificationToken(ctx, token)
			agree(t, m, "CreateVerificationToken", []any{token}, got, err, want, wantErr, true)
		},
		"UseVerificationToken": func(t *rapid.T) {
			key := pick(t, m.tokens)
			got, err := c.a.UseVerificationToken(ctx, key)
			want, wantErr := m.model.UseVerificationToken(ctx, key)
			agree(t, m, "UseVerificationToken", []any{key}, got, err, want, wantErr, false)
		},
		"CreateAuthenticator": func(t *rapid.T) {
			w := c.newAuthenticator(pick(t, m.live(t)))
			w.CredentialID = pick(t, m.credentials)
			w.CredentialBackedUp = rapid.Bool().Draw(t, "backed up")
			if rapid.Bool().Draw(t, "no transports") {
				w.Transports = nil
			}
			got, err := c.a.CreateAuthenticator(ctx, w)
			want, wantErr := m.model.CreateAuthenticator(ctx, w)
			agree(t, m, "CreateAuthenticator", []any{w}, got, err, want, wantErr, false)
		},
		"GetAuthenticator": func(t *rapid.T) {
			id := pick(t, m.credentials)
			got, err := c.a.GetAuthenticator(ctx, id)
			want, wantErr := m.model.GetAuthenticator(ctx, id)
			agree(t, m, "GetAuthenticator", []any{id}, got, err, want, wantErr, false)
		},
		"ListAuthenticatorsByUserID": func(t *rapid.T) {
			id := pick(t, m.ids)
			got, err := c.a.ListAuthenticatorsByUserID(ctx, id)
			want, _ := m.model.ListAuthenticatorsByUserID(ctx, id)
			agree[struct{}](t, m, "ListAuthenticatorsByUserID", []any{id}, nil, err, nil, nil, false)
			if !c.equalLists(got, want) {
				m.differ(t, "got %s, want %s", diff.Show(got), diff.Show(want))
			}
		},
		"UpdateAuthenticatorCounter": func(t *rapid.T) {
			id := pick(t, m.credentials)
			counter := m.model.Authenticators[id].Counter + int64(rapid.IntRange(-1, 3).Draw(t, "step"))
			got, err := c.a.UpdateAuthenticatorCounter(ctx, id, counter)
			if stored, ok := m.model.Authenticators[id]; ok && err != nil && counter < stored.Counter {
				t.SkipNow() // refusing a lower counter is allowed [AUTHN-14]
			}
			want, wantErr := m.model.UpdateAuthenticatorCounter(ctx, id, counter)
			agree(t, m, "UpdateAuthenticatorCounter", []any{id, counter}, got, err, want, wantErr, false)
		},
	}
	maps.Copy(all, m.optionalActions())
	for method := range all {
		if !c.works(method) {
			delete(all, method)
		}
	}
	return all
}

// compareAll makes every lookup of every key.
func (m *machine) compareAll(t *rapid.T) {
	look := keys{users: m.ids, emails: m.emails, accounts: m.pairs, sessions: m.sessions, credentials: m.credentials}
	got, err := m.c.snapshot(m.c.ctx, m.c.a, look)
	if err != nil {
		m.differ(t, "%v", err)
	}
	if d := m.c.differences(got, m.c.snapshotOfModel(m.model, look)); len(d) > 0 {
		m.differ(t, "%s", strings.Join(d, "; "))
	}
}

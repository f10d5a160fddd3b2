package adaptertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// users is a correct adapter that keeps users only. Tests break it by setting
// fields.
type users struct {
	mu      sync.Mutex
	byID    map[string]adapter.User
	next    int
	onGet   func(ctx context.Context, id string)
	noCheck bool // accepts a taken e-mail address
}

func (s *users) CreateUser(_ context.Context, u adapter.User) (*adapter.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[string]adapter.User{}
	}
	if u.ID == "" {
		s.next++
		u.ID = fmt.Sprint("user-", s.next)
	}
	if _, taken := s.byID[u.ID]; taken {
		return nil, adapter.ErrConflict
	}
	for _, other := range s.byID {
		if u.Email != "" && other.Email == u.Email && !s.noCheck {
			return nil, adapter.ErrConflict
		}
	}
	s.byID[u.ID] = *model.CloneUser(u)
	return model.CloneUser(u), nil
}

func (s *users) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if s.onGet != nil {
		s.onGet(ctx, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if u, ok := s.byID[id]; ok {
		return model.CloneUser(u), nil
	}
	return nil, nil
}

func (s *users) GetUserByEmail(_ context.Context, email string) (*adapter.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.byID {
		if email != "" && u.Email == email {
			return model.CloneUser(u), nil
		}
	}
	return nil, nil
}

func (s *users) UpdateUser(_ context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := s.byID[update.ID]
	if !ok || update.IfEmail != "" && update.IfEmail != u.Email {
		return nil, adapter.ErrNotFound
	}
	update.Apply(&u)
	for _, other := range s.byID {
		if u.Email != "" && other.Email == u.Email && other.ID != u.ID {
			return nil, adapter.ErrConflict
		}
	}
	s.byID[u.ID] = *model.CloneUser(u)
	return model.CloneUser(u), nil
}

func partial(t testing.TB, v any) adapter.Adapter {
	a, err := adapter.Partial(v)
	require.NoError(t, err)
	return a
}

func newUsers(t testing.TB) adapter.Adapter { return partial(t, &users{}) }

func checkUsers(t *testing.T, h Harness, o Options) *Report {
	t.Helper()
	if o.Only == nil {
		o.Only = []string{"USER"}
	}
	report, err := Check(t.Context(), h, o)
	require.NoError(t, err)
	return report
}

// resultOf is the result of one clause over the harness.
func resultOf(t *testing.T, h Harness, id string) Result {
	t.Helper()
	x, _ := checkUsers(t, h, Options{Only: []string{id}}).Result(id)
	return x
}

// The tests of adapters/memory run all rounds over an adapter in memory; those here need only
// the clauses.
const fewRounds = "0.2"

func TestRunAsSubtests(t *testing.T) {
	t.Setenv("ADAPTERTEST_ROUNDS", fewRounds)
	Run(t, Harness{Name: "users only", New: newUsers})
}

// userChecks are the checks of the group USER.
func userChecks() []kit.Check {
	return slices.DeleteFunc(checks(), func(k kit.Check) bool { return groupOf(k.ID) != "USER" })
}

func TestCheckReportsACorrectAdapter(t *testing.T) {
	report := checkUsers(t, Harness{New: newUsers}, Options{Strict: true})
	if v := report.Verdict(); !strings.HasPrefix(v, "conforms") {
		var text strings.Builder
		_ = report.WriteText(&text)
		t.Fatalf("verdict %q\n%s", v, text.String())
	}
	assert.Truef(t, len(report.Missing) == 15 && report.Seed != 0 && len(report.Results) == len(userChecks()),
		"missing %v, seed %d, %d results", report.Missing, report.Seed, len(report.Results))
	var b bytes.Buffer
	require.NoError(t, report.WriteJSON(&b))
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Seed != report.Seed || len(back.Results) != len(userChecks()) {
		t.Errorf("the JSON does not read back: %v, %+v", err, back)
	}
}

func TestCheckNamesTheBrokenClause(t *testing.T) {
	h := Harness{New: func(t testing.TB) adapter.Adapter { return partial(t, &users{noCheck: true}) }}
	report := checkUsers(t, h, Options{Seed: 42})
	x, _ := report.Result("USER-11")
	require.Truef(t, x.Outcome == Fail && report.Verdict() == "fails" && report.Seed == 42,
		"got %+v, verdict %q", x, report.Verdict())
	if evidence := strings.Join(x.Evidence, "\n"); !strings.Contains(evidence, "CreateUser with a taken e-mail: succeeded") || !strings.Contains(evidence, "calls:\n  CreateUser(") {
		t.Errorf("evidence %q", evidence)
	}
}

func TestMissingMethodsDoNotApply(t *testing.T) {
	a := partial(t, onlyGetUser{})
	report := checkUsers(t, Harness{New: func(testing.TB) adapter.Adapter { return a }}, Options{})
	for _, x := range report.Results {
		assert.Truef(t, x.Outcome == NotApplicable && strings.HasPrefix(x.Reason, "the adapter has no "),
			"%s: %s (%s)", x.Clause.ID, x.Outcome, x.Reason)
	}
}

type onlyGetUser struct{}

func (onlyGetUser) GetUser(context.Context, string) (*adapter.User, error) { return nil, nil }

func TestWaivers(t *testing.T) {
	h := Harness{
		New:     func(t testing.TB) adapter.Adapter { return partial(t, &users{noCheck: true}) },
		Waivers: []Waiver{{Clause: "USER-11", Reason: "a store without unique keys", Link: "https://example.test/1"}},
	}
	report := checkUsers(t, h, Options{Only: []string{"USER-11"}})
	x, _ := report.Result("USER-11")
	assert.Truef(t, x.Outcome == Waived && report.Verdict() == "partial, unsafe" && len(report.Failed()) == 0,
		"got %s, verdict %q", x.Outcome, report.Verdict())
	h.New = newUsers
	report = checkUsers(t, h, Options{Only: []string{"USER-11"}})
	x, _ = report.Result("USER-11")
	assert.Equal(t, Fail, x.Outcome, "a waived clause that passes")
	assert.Len(t, report.Failed(), 1, "a waived clause that passes")
	report = checkUsers(t, Harness{New: newUsers, Waivers: []Waiver{{Clause: "USER-12", Reason: "stale"}}}, Options{Only: []string{"USER-12"}})
	assert.Len(t, report.Failed(), 1, "a stale waiver of a SHOULD is not an error")
}

// TestRacyWaivers checks that a clause with a Racy waiver stays waived if it
// passes.
func TestRacyWaivers(t *testing.T) {
	for name, test := range map[string]struct {
		noCheck bool
		want    string
	}{
		"lost":        {true, "a store without unique keys https://example.test/1"},
		"won by luck": {false, "a store without unique keys https://example.test/1 (a race, which passed by luck this time)"},
	} {
		report := checkUsers(t, Harness{
			New:     func(t testing.TB) adapter.Adapter { return partial(t, &users{noCheck: test.noCheck}) },
			Waivers: []Waiver{{Clause: "CONC-03", Reason: "a store without unique keys", Link: "https://example.test/1", Racy: true}},
		}, Options{Only: []string{"CONC-03"}, Rounds: 0.1})
		x, _ := report.Result("CONC-03")
		assert.Truef(t, x.Outcome == Waived && x.Reason == test.want && report.Verdict() == "partial, unsafe" && len(report.Failed()) == 0,
			"%s: got %s (%s), verdict %q", name, x.Outcome, x.Reason, report.Verdict())
	}
}

// TestNoPooler checks that FAULT-11 does not apply to a store that can have
// no pooler, and is not verified if the harness has no pooler.
func TestNoPooler(t *testing.T) {
	for why, want := range map[string]Outcome{"a file has none": NotApplicable, "": NotVerified} {
		x := resultOf(t, Harness{New: newUsers, Declarations: Declarations{NoPooler: why}}, "FAULT-11")
		assert.Equalf(t, want, x.Outcome, "NoPooler %q", why)
		assert.Contains(t, x.Reason, why)
	}
}

// TestScans checks that the suite makes fewer lookups in a store that scans,
// and that the report says so.
func TestScans(t *testing.T) {
	lookups := func(why string) (n int, notes string) {
		var mu sync.Mutex
		h := Harness{Declarations: Declarations{Scans: why}, New: func(t testing.TB) adapter.Adapter {
			return partial(t, &users{onGet: func(context.Context, string) {
				mu.Lock()
				defer mu.Unlock()
				n++
			}})
		}}
		x := resultOf(t, h, "VOL-02")
		assert.Equalf(t, Pass, x.Outcome, "Scans %q: got %s: %v", why, x.Outcome, x.Evidence)
		return n, strings.Join(x.Evidence, "\n")
	}
	n, notes := lookups("")
	assert.Truef(t, n >= 1000 && notes == "", "got %d lookups (%s), want 1,000 and more", n, notes)
	if n, notes := lookups("a file without indexes"); n < 125 || n > 200 || !strings.Contains(notes, "one record in 8 is looked up: a file without indexes") {
		t.Errorf("got %d lookups (%s) of a store that scans, want 125 and few more", n, notes)
	}
}

// TestRounds checks that the repetitions of a race depend on the rounds, and
// that the report names the rounds.
func TestRounds(t *testing.T) {
	for rounds, want := range map[float64][2]int{0: {60, 1}, 0.1: {6, 1}, 0.001: {1, 1}, 2.5: {150, 2}} {
		r, err := newRun(&Harness{New: newUsers}, Options{Rounds: rounds})
		require.NoError(t, err)
		c := r.kit.NewContext("")
		assert.Equalf(t, want, [2]int{c.Rounds(60), c.Rounds(1)}, "Rounds %v: 60 and 1 become", rounds)
		second := time.Duration(r.options.Rounds * float64(time.Second))
		assert.Equalf(t, second, c.Span(time.Second), "Rounds %v: a second becomes", rounds)
		assert.Equalf(t, r.options.Rounds, r.report(true).Rounds, "Rounds %v: the report says", rounds)
		assert.NotZerof(t, r.options.Rounds, "Rounds %v", rounds)
	}
}

// TestParallel checks that clauses which run at once give the same report, in
// the same order, and that clauses which must run alone do so.
func TestParallel(t *testing.T) {
	var mu sync.Mutex
	live := map[string]bool{}
	opened, reported := 0, 0
	two := make(chan struct{}) // closed when two adapters were opened; the first one waits for it
	h := Harness{New: func(t testing.TB) adapter.Adapter {
		mu.Lock()
		defer mu.Unlock()
		live[t.Name()] = true
		switch opened++; opened {
		case 1:
			mu.Unlock()
			select {
			case <-two:
			case <-t.Context().Done():
				t.Error("no two clauses run at once")
			}
			mu.Lock()
		case 2:
			close(two)
		}
		for id := range live {
			i := slices.IndexFunc(checks(), func(k kit.Check) bool { return k.ID == id })
			assert.Falsef(t, checks()[i].Alone && len(live) > 1, "%s does not run alone: %v", id, live)
		}
		t.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			delete(live, t.Name())
		})
		return newUsers(t)
	}}
	o := Options{Seed: 7, Rounds: 0.1, Only: []string{"CAP", "USER", "CONC", "VOL-02", "ERR"}}
	one := checkUsers(t, Harness{New: newUsers}, o)
	o.Parallel, o.Progress = 8, func(Result) { reported++ }
	many := checkUsers(t, h, o)
	require.Truef(t, len(one.Results) == len(many.Results) && reported == len(many.Results),
		"%d results one by one, %d in parallel, %d reported", len(one.Results), len(many.Results), reported)
	for i, x := range many.Results {
		want := one.Results[i]
		assert.Equalf(t, want.Clause.ID, x.Clause.ID, "result %d", i)
		assert.Equalf(t, want.Outcome, x.Outcome, "result %d, %s\n%s", i, x.Clause.ID, strings.Join(x.Evidence, "\n"))
	}
}

// TestRunWithParallel runs subtests for a harness that says that clauses may
// run at once: the first two that open an adapter wait for each other.
func TestRunWithParallel(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT PROVED: runs the whole suite; make test does")
	}
	t.Setenv("ADAPTERTEST_ROUNDS", fewRounds)
	var mu sync.Mutex
	open, together := 0, make(chan struct{})
	h := Harness{Name: "users only", Parallel: 4, New: func(t testing.TB) adapter.Adapter {
		if t.Name() == "HARNESS" { // the self-check runs alone
			return newUsers(t)
		}
		mu.Lock()
		if open++; open == 2 {
			close(together)
		}
		mu.Unlock()
		select {
		case <-together:
		case <-t.Context().Done():
			t.Fatalf("no other clause runs beside this one")
		}
		return newUsers(t)
	}}
	Run(t, h)
	assert.Truef(t, open >= 2, "%d adapters were opened at once, want 2 or more", open)
}

func TestHarnessIsValidated(t *testing.T) {
	for want, h := range map[string]Harness{
		"Harness.New is nil":                           {},
		`unknown clause "USER-99"`:                     {New: newUsers, Waivers: []Waiver{{Clause: "USER-99", Reason: "x"}}},
		"the waiver of USER-11 gives no reason":        {New: newUsers, Waivers: []Waiver{{Clause: "USER-11"}}},
		"USER-11 is waived twice":                      {New: newUsers, Waivers: []Waiver{{Clause: "USER-11", Reason: "x"}, {Clause: "USER-11", Reason: "x"}}},
		"Harness.Reopen without Harness.Close":         {New: newUsers, Reopen: func(testing.TB, adapter.Adapter) adapter.Adapter { return nil }},
		"a duration of the harness is negative":        {New: newUsers, ClauseTimeout: -1},
		"Harness.Parallel is -1":                       {New: newUsers, Parallel: -1},
		"NoPooler says that no pooler can exist":       {New: newUsers, Pooled: newUsers, Declarations: Declarations{NoPooler: "a file"}},
		"the waiver of USER-11 is Racy":                {New: newUsers, Waivers: []Waiver{{Clause: "USER-11", Reason: "x", Racy: true}}},
		"a waiver names the unknown clause \"nobody\"": {Waivers: []Waiver{{Clause: "nobody", Reason: "x"}}},
	} {
		_, err := Check(t.Context(), h, Options{})
		assert.ErrorContains(t, err, want)
	}
	for _, o := range []Options{{Only: []string{"NOPE"}}, {Rounds: -1}, {Parallel: -1}} {
		_, err := Check(t.Context(), Harness{New: newUsers}, o)
		assert.Errorf(t, err, "%+v is accepted", o)
	}
}

func TestWatchdogEndsAStuckClause(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	isOneHang(t, 20*time.Millisecond, func(context.Context) { <-release })
}

// TestCallsThatWaitAreOneFinding has calls that return only when their context ends, as
// those of a pool that has lost its connections.
func TestCallsThatWaitAreOneFinding(t *testing.T) {
	isOneHang(t, time.Second, func(ctx context.Context) { <-ctx.Done() })
}

// isOneHang checks that a GetUser that waits is one finding, with its call and its line
// in the adapter, that the clauses after some that hang are not reached, and that the
// wait is paid about once.
func isOneHang(t *testing.T, timeout time.Duration, wait func(context.Context)) {
	t.Helper()
	h := Harness{ClauseTimeout: timeout, New: func(t testing.TB) adapter.Adapter {
		return partial(t, &users{onGet: func(ctx context.Context, id string) {
			if id != "user-1" { // the uninvolved user is kept
				wait(ctx)
			}
		}})
	}}
	report := checkUsers(t, h, Options{})
	broken := report.With(Fail)
	require.Truef(t, len(broken) == 1 && len(broken[0].Evidence) != 0,
		"got %d broken clauses, want one: %v", len(broken), broken)
	first, _, _ := strings.Cut(broken[0].Evidence[0], "\n")
	want := regexp.MustCompile(`^GetUser\(".*"\) has not returned for [0-9.]+m?s; it is at .*run_test\.go:\d+, in .*users.*GetUser`)
	assert.Truef(t, want.MatchString(first), "got the finding %q", first)
	after := report.With(NotReached)
	assert.Truef(t, len(after) >= 3 && after[0].Reason == "calls hang, see "+broken[0].Clause.ID && report.Verdict() == "fails",
		"the verdict is %q, and these clauses were not reached: %v", report.Verdict(), after)
	assert.Equalf(t, 1+len(after), len(report.Failed()),
		"%d clauses fail the run, want the broken one and those not reached: %d", len(report.Failed()), 1+len(after))
}

// TestHangFailsAnyClause has a call that hangs in a SHOULD clause that is waived, made through the
// observer or beside it.
func TestHangFailsAnyClause(t *testing.T) {
	for name, call := range map[string]func(*kit.Context){
		"observed": func(c *kit.Context) { c.GetUser("nobody") },
		"beside":   func(c *kit.Context) { kit.StoreRaw(c, kit.GetUser, "nobody") },
	} {
		t.Run(name, func(t *testing.T) {
			h := Harness{ClauseTimeout: 100 * time.Millisecond, Waivers: []Waiver{{Clause: "USER-05", Reason: "x"}}, New: func(t testing.TB) adapter.Adapter {
				return partial(t, &users{onGet: func(ctx context.Context, id string) {
					if id == "nobody" {
						<-ctx.Done()
					}
				}})
			}}
			r, err := newRun(&h, Options{})
			require.NoError(t, err)
			x := r.check(t.Context(), kit.Check{ID: "USER-05", Test: call})
			report := r.report(true)
			assert.Truef(t, x.Outcome == Fail && report.Verdict() == "fails" && len(report.Failed()) == 1,
				"got %s %q, the verdict %q, want a failure", x.Outcome, x.Reason, report.Verdict())
			text, _ := r.failure("TestX/USER/USER-05", x)
			if first, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(first, `GetUser("nobody") has not returned for `) || !strings.HasSuffix(first, ", during USER-05") {
				t.Errorf("the first line is not the call:\n%s", text)
			}
			assert.Truef(t, strings.Contains(text, "a lock, a row, a connection or a transaction that an earlier call kept") && !strings.Contains(text, "clauses/user.md"),
				"the advice is not about calls that hang:\n%s", text)
		})
	}
}

// addressless is an adapter that breaks many clauses: it stores another address.
type addressless struct{ *model.Model }

func (a addressless) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	u.Email = strings.Replace(u.Email, "@", "@x.", 1)
	return a.Model.CreateUser(ctx, u)
}

// crashing is an adapter that breaks nearly all clauses: calls panic, with an error of many lines.
type crashing struct{ *model.Model }

func (crashing) CreateUser(context.Context, adapter.User) (*adapter.User, error) {
	panic(strings.Repeat("one of many lines\n", 50))
}

// keeping is an adapter that breaks few clauses: it unlinks no account.
type keeping struct{ *model.Model }

func (k keeping) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	return k.GetAccount(ctx, key.ProviderAccountID, key.Provider)
}

// stuck is an adapter that waits.
type stuck struct{ *model.Model }

func (s stuck) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestOutput runs the suite over broken adapters as an author does, in another process.
func TestOutput(t *testing.T) {
	broken := map[string]func(*model.Model) adapter.Adapter{
		"addressless": func(m *model.Model) adapter.Adapter { return addressless{m} },
		"crashing":    func(m *model.Model) adapter.Adapter { return crashing{m} },
		"keeping":     func(m *model.Model) adapter.Adapter { return keeping{m} },
		"stuck":       func(m *model.Model) adapter.Adapter { return stuck{m} },
	}
	if open := broken[os.Getenv("ADAPTERTEST_OUTPUT")]; open != nil {
		h := modelHarness(open)
		h.ClauseTimeout = 10 * time.Second
		h.Parallel = 4
		Run(t, h)
		return
	}
	for name := range broken {
		out := outputOf(t, name, "-test.v=false")
		lines := strings.Split(out, "\n")
		assert.Truef(t, len(lines) <= 200, "%s: %d lines are printed, want 200 at most:\n%s", name, len(lines), out)
		if last := lines[len(lines)-2]; lines[len(lines)-1] != "FAIL" || !strings.Contains(last, ": fails; MUST kept") || !strings.Contains(last, "; broken ") {
			t.Errorf("%s: the last lines are not the summary: %q", name, lines[len(lines)-2:])
		}
		command := regexp.MustCompile(`(?m)… \d+ more lines\n +ADAPTERTEST_SEED=\d+ go test -run '\^TestOutput\$/\^([A-Z]+)\$/\^[A-Z]+-`)
		assert.Falsef(t, name == "addressless" && (!command.MatchString(out) || strings.Count(out, "MUST FLOW-04:") != 1),
			"each broken clause is to be printed once, with the command for the rest:\n%s", out)
	}
	// After the summary, -v has only the list of go test.
	_, after, _ := strings.Cut(outputOf(t, "keeping", "-test.v=true"), ": fails; MUST kept")
	own := regexp.MustCompile(`(?m)^ *--- .*\n|^FAIL$`).ReplaceAllString(after, "")
	assert.Equalf(t, 1, strings.Count(own, "\n"), "this follows the summary: %q", own)
}

// runAgain runs the test in another process, which knows by the variable that it is, and returns its output.
func runAgain(t *testing.T, variable, flag string) ([]byte, error) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	again := exec.CommandContext(t.Context(), binary, "-test.run=^"+t.Name()+"$", "-test.short", flag) //nolint:gosec // the test
	again.Env = append(os.Environ(), variable, "ADAPTERTEST_REPORT=")
	return again.Output()
}

// outputOf returns what a run of the quick form over a broken adapter prints in another process.
func outputOf(t *testing.T, adapter, flag string) string {
	t.Helper()
	out, err := runAgain(t, "ADAPTERTEST_OUTPUT="+adapter, flag)
	var exit *exec.ExitError
	require.Truef(t, errors.As(err, &exit) && exit.ExitCode() == 1,
		"%s: %v: want a test that fails\n%s", adapter, err, out)
	return strings.TrimSpace(string(out))
}

// waiting is an error with a code of PostgreSQL.
type waiting struct{}

func (waiting) Error() string    { return "the store said no" }
func (waiting) SQLState() string { return "40P01" }

// locked is an adapter in which a user's update meets a deadlock.
type locked struct{ adapter.Adapter }

func (locked) UpdateUser(context.Context, adapter.UserUpdate) (*adapter.User, error) {
	return nil, fmt.Errorf("update user: %w", waiting{})
}

// TestDeadlockIsAnsweredByRetry looks for advice that answers the evidence, in place of the page of the clause.
func TestDeadlockIsAnsweredByRetry(t *testing.T) {
	h := modelHarness(func(m *model.Model) adapter.Adapter { return locked{m} })
	report, err := Check(t.Context(), h, Options{Only: []string{"USER"}, Rounds: QuickRounds})
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, report.WriteText(&text))
	assert.True(t, strings.Contains(text.String(), "retry: the store ended a transaction (40P01)") && !strings.Contains(text.String(), "CLAUSES"),
		text.String())
}

// TestNamesSubtests: clauses that go test names run one after the other, and groups do not.
func TestNamesSubtests(t *testing.T) {
	run, skip := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String()
	t.Cleanup(func() { assert.NoError(t, errors.Join(flag.Set("test.run", run), flag.Set("test.skip", skip))) })
	for pattern, want := range map[string]bool{
		"":                                    false,
		"^TestConformance$":                   false,
		"^TestConformance$/^one$":             false,
		"^TestConformance$/^one$/^(CONC|A)$":  false,
		"^TestConformance$/^one$/CONC/CONC-1": true,
	} {
		for name, other := range map[string]string{"test.run": "test.skip", "test.skip": "test.run"} {
			require.NoError(t, errors.Join(flag.Set(name, pattern), flag.Set(other, "")))
			assert.Equalf(t, want, namesSubtests("TestConformance/one/group"), "-%s %s", name, pattern)
		}
	}
}

// TestTimesOfSubtests reads the times of subtests of a run with several clauses at once.
func TestTimesOfSubtests(t *testing.T) {
	if os.Getenv("ADAPTERTEST_TIMES") != "" {
		h := modelHarness(func(m *model.Model) adapter.Adapter { return patient{m} })
		h.Parallel = 4
		r, err := newRun(&h, Options{Rounds: QuickRounds})
		require.NoError(t, err)
		r.checks = userChecks()
		r.test(t)
		return
	}
	out, err := runAgain(t, "ADAPTERTEST_TIMES=1", "-test.v")
	assert.NoError(t, err, "the adapter keeps the clauses")
	const sleeps = `(?m)^ +--- PASS: TestTimesOfSubtests/USER/USER-02-\S+ \(0\.00s\)`
	assert.Truef(t, !regexp.MustCompile(sleeps).Match(out) && bytes.Contains(out, []byte("--- PASS: TestTimesOfSubtests/USER/USER-02-")),
		"USER-02 has calls that take 20 ms:\n%s", out)
}

func TestPanicsAreFailures(t *testing.T) {
	h := Harness{New: func(t testing.TB) adapter.Adapter {
		return partial(t, &users{onGet: func(_ context.Context, id string) {
			if id == "x" {
				panic("boom")
			}
		}})
	}}
	x := resultOf(t, h, "USER-08")
	assert.Equal(t, Fail, x.Outcome)
	assert.Contains(t, strings.Join(x.Evidence, "\n"), "panicked: boom")
	x = resultOf(t, Harness{New: func(testing.TB) adapter.Adapter { panic("no store") }}, "USER-01")
	assert.Equal(t, Fail, x.Outcome)
	assert.Contains(t, strings.Join(x.Evidence, "\n"), "no store")
}

func TestHarnessFailuresAndSkips(t *testing.T) {
	x := resultOf(t, Harness{New: func(t testing.TB) adapter.Adapter { t.Fatal("no server"); return nil }}, "USER-01")
	assert.Truef(t, x.Outcome == Fail && x.Evidence[0] == "harness: no server", "Fatal: got %+v", x)
	x = resultOf(t, Harness{New: func(t testing.TB) adapter.Adapter { t.Skip("no server"); return nil }}, "USER-01")
	assert.Truef(t, x.Outcome == NotVerified && x.Reason == "the harness skipped: no server", "Skip: got %+v", x)
}

func TestCleanupsRunLastFirst(t *testing.T) {
	var order []int
	h := Harness{New: func(t testing.TB) adapter.Adapter {
		t.Cleanup(func() { order = append(order, 1) })
		t.Cleanup(func() { order = append(order, 2) })
		return newUsers(t)
	}}
	checkUsers(t, h, Options{Only: []string{"USER-01"}})
	assert.Equal(t, []int{2, 1}, order)
}

func TestUninvolvedUserIsCompared(t *testing.T) {
	h := Harness{New: func(t testing.TB) adapter.Adapter { return partial(t, &forgetsFirst{}) }}
	x := resultOf(t, h, "USER-21")
	require.Equal(t, Fail, x.Outcome)
	assert.Contains(t, x.Evidence[0], "the uninvolved user's user changed")
}

// forgetsFirst loses the first user with every update.
type forgetsFirst struct{ users }

func (s *forgetsFirst) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	s.mu.Lock()
	delete(s.byID, "user-1")
	s.mu.Unlock()
	return s.users.UpdateUser(ctx, u)
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ADAPTERTEST_SEED", "7")
	t.Setenv("ADAPTERTEST_ROUNDS", "0.5")
	t.Setenv("ADAPTERTEST_STRICT", "1")
	o, err := optionsFromEnvironment()
	assert.Truef(t, err == nil && o.Seed == 7 && o.Rounds == 0.5 && o.Strict, "got %+v, %v", o, err)
	t.Setenv("ADAPTERTEST_SEED", "seven")
	t.Setenv("ADAPTERTEST_STRICT", "yes")
	_, err = optionsFromEnvironment()
	assert.ErrorContains(t, err, "ADAPTERTEST_SEED")
	assert.ErrorContains(t, err, "ADAPTERTEST_STRICT")
}

func TestEveryCheckHasAClause(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range checks() {
		if _, ok := clauseByID(k.ID); !ok || seen[k.ID] || k.Words == "" || k.Test == nil {
			t.Errorf("check %s: unknown, twice, or without words or function", k.Name())
		}
		seen[k.ID] = true
	}
}

// linker sends links: it creates users that nobody looks up, and keeps tokens.
type linker interface {
	CreateUser(context.Context, adapter.User) (*adapter.User, error)
	CreateVerificationToken(context.Context, adapter.VerificationToken) (*adapter.VerificationToken, error)
	UseVerificationToken(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error)
}

// TestPairsWithoutLookups runs the clauses that pair calls for an adapter that has no
// lookup and no update.
func TestPairsWithoutLookups(t *testing.T) {
	h := Harness{Name: "linker", New: func(t testing.TB) adapter.Adapter { return partial(t, struct{ linker }{model.New()}) }}
	report := checkUsers(t, h, Options{Rounds: QuickRounds, Only: []string{"CONC-14", "CONC-15", "CONC-21"}})
	for _, r := range report.Results {
		assert.Equalf(t, Pass, r.Outcome, "%s: %s %v", r.Clause.ID, r.Outcome, r.Evidence)
	}
}

func TestTestPatternMatchesOneTest(t *testing.T) {
	got := testPattern("TestAdapter/sqlite_(modernc)/x#01")
	want := `^TestAdapter$/^sqlite_\(modernc\)$/^x#01$`
	require.Equal(t, want, got)
	for part := range strings.SplitSeq(got, "/") {
		regexp.MustCompile(part)
	}
}

// TestRecordsComeFirst looks at the order in which clauses begin that may run at once: what breaks a clause of records
// breaks others too, and the first findings are printed. It is so in a run of some groups, too.
func TestRecordsComeFirst(t *testing.T) {
	r, err := newRun(&Harness{New: func(testing.TB) adapter.Adapter { return model.New() }}, Options{Rounds: QuickRounds, Parallel: 1})
	require.NoError(t, err)
	for _, without := range []string{"", "SIGNUP"} {
		var order []string // a name for each group, when it begins
		r.checkTogether(t.Context(), kit.Keep(r.checks, func(k kit.Check) bool { return groupOf(k.ID) != without }), func(k kit.Check) {
			if group := groupOf(k.ID); !slices.Contains(order, group) {
				order = append(order, group)
			}
		})
		if n := len(ofRecords); !slices.Equal(order[:n], ofRecords) || slices.Index(order, "FAULT") < n {
			t.Errorf("without %q the order is %v, want %v first", without, order, ofRecords)
		}
	}
}

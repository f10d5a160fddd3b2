package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/remote"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// programVariable says what this test binary is, instead of running tests: a program that
// serves a model, or the command.
const programVariable = "ADAPTERTEST_PROGRAM"

func TestMain(m *testing.M) {
	name := os.Getenv(programVariable)
	switch {
	case len(os.Args) > 1 && os.Args[1] == "serve":
		serve(name)
	case name != "":
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	default:
		os.Exit(m.Run())
	}
}

// serve serves models. The program "twice" lets a verification token be used again, "dies"
// ends when an account is unlinked, and "looser" updates users as adapters of Auth.js do.
func serve(name string) {
	var mu sync.Mutex
	stores := map[string]adapter.Adapter{}
	err := remote.Serve(os.Stdin, os.Stdout, remote.Program{
		Hello: remote.Hello{Name: "model", Version: "1", Features: []string{remote.Handles, remote.Reopen}, Declarations: json.RawMessage(`{"timeless":true}`)},
		Open: func(_ context.Context, o remote.Opening) (adapter.Adapter, error) {
			mu.Lock()
			defer mu.Unlock()
			if stores[o.Store] == nil {
				stores[o.Store] = served{model.New(), name}
			}
			return stores[o.Store], nil
		},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type served struct {
	*model.Model
	name string
}

func (s served) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	t, err := s.Model.UseVerificationToken(ctx, key)
	if s.name == "twice" && t != nil {
		_, _ = s.CreateVerificationToken(ctx, *t)
	}
	return t, err
}

func (s served) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	if s.name == "dies" {
		os.Exit(3)
	}
	return s.Model.UnlinkAccount(ctx, key)
}

// UpdateUser of the program "looser" knows no condition, and clears no proof by itself.
func (s served) UpdateUser(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
	if s.name != "looser" {
		return s.Model.UpdateUser(ctx, update)
	}
	if err := s.Enter(ctx); err != nil {
		return nil, err
	}
	defer s.Mu.Unlock()
	u, ok := s.Users[update.ID]
	if !ok {
		return nil, adapter.ErrNotFound
	}
	if email, set := update.Email.Get(); set && s.EmailTaken(email, u.ID) {
		return nil, adapter.ErrConflict
	}
	proof := u.EmailVerified
	if update.Apply(&u); !update.EmailVerified.IsSet() {
		u.EmailVerified = proof
	}
	s.Users[u.ID] = *model.CloneUser(u)
	return model.CloneUser(u), nil
}

// runCommand runs the command over a program.
func runCommand(t *testing.T, program string, flags ...string) (status int, out string) {
	t.Helper()
	t.Setenv(programVariable, program)
	var text strings.Builder
	status = run(append(flags, "--", os.Args[0], "serve"), &text, &text)
	return status, text.String()
}

func TestExitStatus(t *testing.T) {
	for _, test := range []struct {
		program string
		flags   []string
		status  int
		says    string
	}{
		{"correct", []string{"-only", "VTOK"}, kept, "model 1: conforms"},
		{"twice", []string{"-only", "VTOK"}, broken, "model 1: fails"},
		{"twice", []string{"-only", "USER"}, kept, "model 1: conforms"},
		{"dies", []string{"-only", "USER,ACCT"}, wrong, "which is no breach of the adapter"},
		{"correct", []string{"-only", "NONE"}, wrong, `names "NONE"`},
		{"correct", []string{"-profile", "none"}, wrong, `no profile "none": there is authjs`},
		{"correct", []string{"-target", "127.0.0.1:1"}, wrong, "does not have the feature address"},
		{"correct", []string{"-rounds", "-1"}, wrong, "Rounds is -1"},
	} {
		status, out := runCommand(t, test.program, test.flags...)
		assert.Truef(t, status == test.status && strings.Contains(out, test.says),
			"%s %q: status %d, want %d, and %q in\n%s", test.program, test.flags, status, test.status, test.says, out)
	}
	assert.Equal(t, wrong, run(nil, os.Stderr, os.Stderr), "without a program the status")
}

// TestFiles compares the report, the page and the badge of a run with what it printed.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	report, page, badge := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.html"), filepath.Join(dir, "r.svg")
	status, out := runCommand(t, "twice", "-quick", "-only", "VTOK,TIME", "-json", report, "-html", page, "-badge", badge, "-profile", "authjs")
	require.Equalf(t, broken, status, "status %d\n%s", status, out)
	var r adaptertest.Report
	err := json.Unmarshal(read(t, report), &r)
	require.Truef(t, err == nil && r.Complete, "%v, complete %v", err, r.Complete)
	assert.Truef(t, strings.Contains(r.Verdict(), "(profile authjs)") && strings.HasSuffix(strings.TrimSpace(out), r.Summary()),
		"the verdict is %q, and the last line is not the summary:\n%s", r.Verdict(), out)
	x, _ := r.Result("TIME-08")
	assert.Equalf(t, adaptertest.Pass, x.Outcome, "TIME-08 in another zone: %s %s %v", x.Outcome, x.Reason, x.Evidence)
	html := string(read(t, page))
	for _, x := range r.Results {
		n := strings.Count(html, fmt.Sprintf(`id="%s"><summary`, x.Clause.ID))
		assert.Equalf(t, 1, n, "the page has %d lines for %s, want one", n, x.Clause.ID)
	}
	for _, loads := range []string{"src=", "srcset=", "<script", "<link", "<iframe", "url(", "@import"} {
		assert.NotContainsf(t, html, loads, "the page loads something: %s", loads)
	}
	svg := read(t, badge)
	err = xml.Unmarshal(svg, new(struct{}))
	assert.Truef(t, err == nil && strings.Contains(string(svg), r.Verdict()), "%v in the badge\n%s", err, svg)
}

// TestDiesKeepsResults looks at the report of a program that ended in the middle.
func TestDiesKeepsResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.json")
	runCommand(t, "dies", "-only", "ACCT-01,ACCT-10", "-parallel", "1", "-json", file)
	var r adaptertest.Report
	require.NoError(t, json.Unmarshal(read(t, file), &r))
	x, ok := r.Result("ACCT-01")
	assert.Truef(t, ok && x.Outcome == adaptertest.Pass, "ACCT-01: %v", x)
	if len(r.With(adaptertest.NotReached)) == 0 || len(r.With(adaptertest.Fail)) > 0 {
		t.Error(r.Summary())
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // a file of the test
	require.NoError(t, err)
	return text
}

// TestProfileBlamesOnce measures a program that differs as adapters of Auth.js do: with their profile each difference is
// reported under the clauses about it, and without the profile under others about the same update too. Clauses about
// other rules, such as the values that a field may have, pass in both. ISO-05 may meet the difference in its random
// sequences, of which there are few on a slow machine.
func TestProfileBlamesOnce(t *testing.T) {
	const about, others = "USER-17,USER-30", "USER-29,CONC-08,CONC-14"
	const apart = "SESS-21,DATA-04,DATA-06,INPUT-03"
	for _, test := range []struct {
		flags  []string
		broken string
	}{
		{[]string{"-profile", "authjs"}, "USER-30"},
		{nil, about + "," + others},
	} {
		file := filepath.Join(t.TempDir(), "r.json")
		status, out := runCommand(t, "looser", append(test.flags, "-quick", "-only", about+","+others+","+apart, "-json", file)...)
		var r adaptertest.Report
		err := json.Unmarshal(read(t, file), &r)
		require.Truef(t, err == nil && status == broken, "status %d, %v\n%s", status, err, out)
		want := strings.Split(test.broken, ",")
		for _, x := range r.Results {
			assert.Equalf(t, x.Outcome == adaptertest.Fail, slices.Contains(want, x.Clause.ID),
				"%q: %s is %q: %s\n%s", test.flags, x.Clause.ID, x.Outcome, x.Reason, strings.Join(x.Evidence, "\n"))
		}
	}
}

// TestProfiles looks for clauses about security, and for clauses that do not exist.
func TestProfiles(t *testing.T) {
	for _, name := range profileNames() {
		p, _, err := profileNamed(name)
		require.NoError(t, err)
		for _, c := range adaptertest.Clauses() {
			if sentence := p.Clauses[c.ID]; sentence != "" && (c.Basis == "SEC" || !strings.HasSuffix(sentence, ".")) {
				t.Errorf("%s leaves out %s, of basis %s: %q", name, c.ID, c.Basis, sentence)
			}
		}
		_, err = adaptertest.Check(t.Context(), adaptertest.Harness{New: func(testing.TB) adapter.Adapter { return model.New() }},
			adaptertest.Options{Only: []string{"USER-01"}, Profile: p})
		assert.NoError(t, err)
	}
}

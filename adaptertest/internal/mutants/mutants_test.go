package mutants

import (
	"cmp"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain lets more tests run at once than the machine has processors, because slow
// mutants mostly wait.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestMutantsAreCaught judges every mutant. If this process has no race detector,
// it starts a process with one, for the mutants that only the race detector notices.
func TestMutantsAreCaught(t *testing.T) {
	var racing []string
	for _, m := range All() {
		name := strings.ReplaceAll(m.Name, " ", "-")
		if len(m.clauses()) == 0 {
			racing = append(racing, name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := Judge(t.Context(), m, false, Everything)
			// On a busy machine a run may not notice a race, a random search may not meet a fault
			// that needs many rounds, and VOL-04 may measure what others do; -races prints how often.
			byLuck := m.Races || m.Chance || m.Rounds > 0 || slices.Contains(m.Fails, "VOL-04")
			for again := 0; again < 9 && byLuck && err == nil && len(v.Missed) > 0; again++ {
				v, err = Judge(t.Context(), m, false, Everything)
			}
			require.NoError(t, err)
			for id, said := range v.Missed {
				t.Errorf("%s: the adapter does not fail clause %s: %s", m.Fault, id, said)
			}
		})
	}
	if len(racing) == 0 {
		return
	}
	t.Run("with the race detector", func(t *testing.T) {
		t.Parallel()
		which := "^TestMutantsAreCaught$/^(" + strings.Join(racing, "|") + ")$"
		detector := strings.Fields(cmp.Or(os.Getenv("RACE"), "-race")) // as the Makefile builds the other modules
		args := slices.Concat([]string{"test"}, detector, []string{"-count=1", "-v", "-run", which, "."})
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		for _, name := range racing {
			require.Truef(t, err == nil && strings.Contains(string(out), "--- PASS: TestMutantsAreCaught/"+name),
				"%s: %v\n%s", name, err, out)
		}
	})
}

// TestOneMutant is the test that Judge starts in a separate process.
func TestOneMutant(t *testing.T) {
	_, test, ok := Started()
	if !ok {
		t.Skip("runs only in the processes that TestMutantsAreCaught starts")
	}
	test(t)
}

var whole = flag.Bool("whole", false, "run more rounds over the correct adapters, and judge all broken adapters through the protocol")

// rounds returns the share of the rounds that a test over correct adapters runs.
func rounds(usually, asAWhole float64) float64 {
	if *whole {
		return asAWhole
	}
	return usually
}

func TestBasesConform(t *testing.T) {
	for _, h := range Bases() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel()
			report, err := adaptertest.Check(t.Context(), h, adaptertest.Options{Strict: true, Rounds: rounds(0.1, 1)})
			require.NoError(t, err)
			if !strings.HasPrefix(report.Verdict(), "conforms") {
				var text strings.Builder
				require.NoError(t, report.WriteText(&text))
				t.Error(text.String())
			}
		})
	}
}

func TestMutantsAreWellFormed(t *testing.T) {
	names, listed := map[string]bool{}, map[string]bool{}
	clauses := map[string]bool{}
	for _, c := range adaptertest.Clauses() {
		clauses[c.ID] = true
	}
	for _, m := range All() {
		assert.Falsef(t, names[m.Name] || m.Fault == "" || len(m.Fails)+len(m.Detector) == 0 || (m.mem == nil) == (m.lite == nil && m.db == nil),
			"%q: the name is not unique, the fault or the clauses are missing, or the base is not exactly one", m.Name)
		names[m.Name] = true
		assert.Falsef(t, m.Listed != "" && listed[m.Listed], "%s: two mutants have the number", m.Listed)
		listed[m.Listed] = true
		for i, id := range m.Fails {
			assert.Truef(t, clauses[id] && !slices.Contains(m.Fails[:i], id),
				"%q: clause %s does not exist or is named twice", m.Name, id)
		}
	}
	t.Logf("%d mutants", len(All()))
}

// TestAuthJSQuestions checks which mutants the tests of Auth.js notice.
func TestAuthJSQuestions(t *testing.T) {
	_, offset := time.Now().Zone()
	for _, m := range All() {
		if offset != 0 && slices.Contains(m.Fails, "TIME-08") {
			continue // the result depends on the time zone of the process
		}
		t.Run(strings.ReplaceAll(m.Name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			name := AuthJS(t, m)
			assert.Equalf(t, m.AuthJS, name != "", "%s: the question that notices it is %q", m.Listed, name)
		})
	}
	for _, base := range []Mutant{{Name: "mem", mem: func(_ *mem, w *with) {}}, {Name: "lite"}} {
		name := AuthJS(t, base)
		assert.Emptyf(t, name, "the question %q fails the correct adapter %s", name, base.Name)
	}
}

// TestFilesAreNamedForTheirGroup compares the name of each file with the groups of the clauses
// that its mutants name first: mutants stand in such files only. No file imports the model with
// which the suite judges histories, or a fault of the model would be one of the bases too.
func TestFilesAreNamedForTheirGroup(t *testing.T) {
	groups := map[string]bool{}
	for _, c := range adaptertest.Clauses() {
		groups[strings.ToLower(c.Group())] = true
	}
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	inGroups := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, imported := range file.Imports {
			assert.Falsef(t, !strings.HasSuffix(name, "_test.go") && strings.Contains(imported.Path.Value, "/adaptertest/internal/model"),
				"%s imports the model with which the suite judges", name)
		}
		group := strings.TrimSuffix(name, ".go")
		for mutant, clause := range namedFirst(file) {
			of, _, _ := strings.Cut(clause, "-")
			assert.Equalf(t, group, strings.ToLower(of), "%s: the first clause of %q is %s", name, mutant, clause)
			inGroups++
		}
		assert.Falsef(t, groups[group] && len(namedFirst(file)) == 0, "%s has no broken adapter", name)
	}
	assert.Truef(t, inGroups >= 700, "only %d broken adapters are in files that this test reads", inGroups)
}

// namedFirst returns the name and the first clause of each mutant of a file.
func namedFirst(file *ast.File) map[string]string {
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		fields := map[string]string{}
		for _, e := range literal.Elts {
			field, ok := e.(*ast.KeyValueExpr)
			if !ok {
				return true
			}
			if list, ok := field.Value.(*ast.CompositeLit); ok && len(list.Elts) > 0 {
				field.Value = list.Elts[0]
			}
			key, _ := field.Key.(*ast.Ident)
			value, _ := field.Value.(*ast.BasicLit)
			if key != nil && value != nil && value.Kind == token.STRING {
				fields[key.Name], _ = strconv.Unquote(value.Value)
			}
		}
		if clause := cmp.Or(fields["Fails"], fields["Detector"]); clause != "" {
			found[fields["Name"]] = clause
		}
		return true
	})
	return found
}

// TestEveryClauseHasAMutant looks for clauses that no mutant must fail. Nobody knows
// whether such a clause can fail.
func TestEveryClauseHasAMutant(t *testing.T) {
	failed := map[string]bool{}
	for _, m := range All() {
		for _, id := range slices.Concat(m.Fails, m.Detector) {
			failed[id] = true
		}
	}
	for _, c := range adaptertest.Clauses() {
		// ACCT-19 is about extra fields, for which the account type has no room.
		assert.Truef(t, c.Level == adaptertest.May || failed[c.ID] || c.ID == "ACCT-19",
			"no mutant fails %s: %s", c.ID, c.Rule)
	}
}

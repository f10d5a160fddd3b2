package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// programVariable names the program that this test binary is, instead of running tests.
const programVariable = "ADAPTERTEST_PROGRAM"

func TestMain(m *testing.M) {
	if name := os.Getenv(programVariable); name != "" {
		program(name)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program serves a model, until it does at a deletion of an account what its name says.
func program(name string) {
	var mu sync.Mutex
	stores := map[string]adapter.Adapter{}
	if name == "slow" {
		<-time.After(2500 * time.Millisecond)
	}
	err := Serve(os.Stdin, os.Stdout, Program{
		Hello: Hello{Name: "model", Features: []string{Handles, Reopen}, Declarations: json.RawMessage(`{"timeless":true}`)},
		Open: func(_ context.Context, o Opening) (adapter.Adapter, error) {
			mu.Lock()
			defer mu.Unlock()
			if stores[o.Store] == nil {
				stores[o.Store] = failing{model.New(), name}
			}
			return stores[o.Store], nil
		},
		Stats: func(adapter.Adapter) (Usage, error) { return Usage{}, nil },
		Drop:  func(context.Context, string) error { return nil },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type failing struct {
	*model.Model
	name string
}

func (f failing) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	switch f.name {
	case "dies":
		fmt.Fprintln(os.Stderr, "the last words")
		os.Exit(3)
	case "talks":
		fmt.Println("unlinking …")
	case "half":
		fmt.Print(`{"id":`)
		os.Exit(0)
	case "waits":
		fmt.Print(`{"id":`)
		<-time.After(time.Hour)
	case "endless":
		for {
			fmt.Print(strings.Repeat("x", 1<<20))
		}
	case "exits":
		os.Exit(0)
	case "killed":
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
		<-time.After(time.Hour)
	case "floods":
		for range 8 {
			fmt.Fprint(os.Stderr, strings.Repeat("a line for people\n", 1<<16))
		}
	case "strange":
		fmt.Println(`{"id":123456789,"result":null}`)
	case "silent":
		_ = os.Stdout.Close()
		_ = os.Stdin.Close()
		<-time.After(time.Hour)
	}
	return f.Model.UnlinkAccount(ctx, key)
}

// poolOf starts a program with that name, which may be silent for so long.
func poolOf(t *testing.T, name string, silence time.Duration) *Pool {
	t.Helper()
	pool := &Pool{Silence: silence, Command: func() *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), programVariable+"="+name)
		return cmd
	}}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// runOf runs the clauses over a program.
func runOf(t *testing.T, name string, only ...string) (*adaptertest.Report, *Pool) {
	t.Helper()
	pool := poolOf(t, name, 2*time.Second)
	hello, err := pool.Start(t.Context())
	require.NoError(t, err)
	h, err := pool.Harness(hello)
	require.NoError(t, err)
	report, err := adaptertest.Check(t.Context(), h, adaptertest.Options{Only: only, Rounds: adaptertest.QuickRounds})
	require.NoError(t, err)
	return report, pool
}

// TestCorrectProgram runs the suite over a program that keeps every clause.
func TestCorrectProgram(t *testing.T) {
	report, pool := runOf(t, "correct")
	broken := slices.DeleteFunc(report.With(adaptertest.Fail), func(x adaptertest.Result) bool {
		return x.Clause.Group() == "VOL" // it compares times, and the machine may be busy
	})
	assert.Zerof(t, len(broken)+len(report.With(adaptertest.NotReached))+len(pool.Faults()),
		"%s; faults %v", report.Summary(), pool.Faults())
	x, _ := report.Result("ALIAS-03")
	assert.Equal(t, adaptertest.NotVerified, x.Outcome, "ALIAS-03")
	for _, id := range []string{"CTX-01", "ISO-03", "ISO-04", "LIFE-04", "LIFE-05", "LIFE-09"} {
		x, _ := report.Result(id)
		assert.Equalf(t, adaptertest.Pass, x.Outcome, "%s: %s %s", id, x.Outcome, x.Reason)
	}
}

// TestBadPrograms looks for the faults of programs in the report: no clause is broken, the
// clause under way is not reached, and the results before it and after it stay.
func TestBadPrograms(t *testing.T) {
	for name, want := range map[string]string{
		"dies":    "its output ended: exit status 3\nits standard error ended with:\nthe last words",
		"talks":   `a line of its output is no answer, and what is meant for people belongs on standard error: "unlinking …"`,
		"half":    `its output ended in the middle of a line: "{\"id\":"`,
		"strange": "it answered request 123456789, which is not under way",
		"silent":  "it has answered neither a call nor ping for",
		"waits":   `a line of its output is no answer, and what is meant for people belongs on standard error: "{\"id\":{\"id\":`, // to ping
		"endless": "a line ",                                                                                                      // has more than 67108864 bytes or, on a slow machine, is ended by the answer to ping
		"exits":   "its output ended: it exited with status 0",
		"killed":  "its output ended: ", // signal: killed, or exit status 1 on Windows
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, pool := runOf(t, name, "ACCT-01", "ACCT-10", "SESS-01")
			x, _ := report.Result("ACCT-10")
			assert.Truef(t, x.Outcome == adaptertest.NotReached && strings.Contains(x.Reason, want),
				"ACCT-10 is %s: %s\nwant %s", x.Outcome, x.Reason, want)
			for _, id := range []string{"ACCT-01", "SESS-01"} {
				x, _ := report.Result(id)
				assert.Equalf(t, adaptertest.Pass, x.Outcome, "%s is %s: %s", id, x.Outcome, x.Reason)
			}
			assert.Truef(t, len(pool.Faults()) == 1 && strings.HasPrefix(report.Verdict(), "incomplete"),
				"faults %v, verdict %q", pool.Faults(), report.Verdict())
		})
	}
}

// TestFloodOnStandardError looks for results that a program loses because it says much to people.
func TestFloodOnStandardError(t *testing.T) {
	report, pool := runOf(t, "floods", "ACCT-01", "ACCT-10", "SESS-01")
	assert.Len(t, report.With(adaptertest.Pass), 3, report.Summary())
	assert.Empty(t, pool.Faults())
}

// TestAnswersInAnyOrder answers two requests, the later one first.
func TestAnswersInAnyOrder(t *testing.T) {
	fromSuite, toProgram := io.Pipe()
	fromProgram, toSuite := io.Pipe()
	go func() {
		in := json.NewDecoder(fromSuite)
		next := func() (r request) {
			_ = in.Decode(&r) // an empty request makes the test fail
			return r
		}
		_, _ = fmt.Fprintf(toSuite, `{"id":%d,"result":{"protocol":1}}`+"\n", next().ID)
		first, second := next(), next()
		for _, r := range []request{second, first} {
			_, _ = fmt.Fprintf(toSuite, `{"id":%d,"result":%q}`+"\n", r.ID, r.Call)
		}
	}()
	l, err := newLink(t.Context(), fromProgram, toProgram, usualSilence, func() { _ = toProgram.Close() }, func(*Fault) {})
	require.NoError(t, err)
	defer l.close()
	var calls sync.WaitGroup
	for _, name := range []string{"ping", "stats"} {
		calls.Go(func() {
			var got string
			err := l.control(t.Context(), &got, name, 0)
			assert.Truef(t, err == nil && got == name, "%s got the answer to %q, error %v", name, got, err)
		})
	}
	calls.Wait()
}

// TestNameInOtherCaseIsAFault opens a store of a program that names a method of the contract in other case. Its
// clauses would not apply, as those of a method that the program lacks.
func TestNameInOtherCaseIsAFault(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("LEFT OUT: the program is a script of a Unix shell")
	}
	const script = `read line; echo '{"id":1,"result":{"protocol":1,"name":"x"}}'
		read line; echo '{"id":2,"result":{"handle":1,"methods":["getUser","listSessionsByUserID"]}}'; cat`
	pool := &Pool{Silence: 2 * time.Second, Command: func() *exec.Cmd { return exec.CommandContext(t.Context(), "sh", "-c", script) }}
	defer pool.Close()
	_, err := pool.Start(t.Context())
	require.NoError(t, err)
	_, err = pool.open(t, 0, Opening{Store: "s"})
	require.NoError(t, err)
	const want = "the program: it names the method listSessionsByUserID, which is spelled listSessionsByUserId"
	require.NotEmpty(t, pool.Faults())
	assert.ErrorContains(t, pool.Faults()[0], want)
}

// TestProgramsThatDoNotStart gives programs that never say hello.
func TestProgramsThatDoNotStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("LEFT OUT: the programs are scripts of a Unix shell")
	}
	for name, command := range map[string][]string{
		"does not start":                {"/no/such/program"},
		"exit status 1":                 {"go", "vet", "/no/such/file.go"},
		"it speaks version 7":           {"sh", "-c", `read line; echo '{"id":1,"result":{"protocol":7}}'; cat`},
		"does not answer hello":         {"sh", "-c", `read line; echo '{"id":1,"error":{"message":"no store"}}'; cat`},
		"neither a call nor ping":       {"sh", "-c", "sleep 1000"},
		"hello has the wrong form":      {"sh", "-c", `read line; echo '{"id":1,"result":5}'; cat`},
		"in the middle of a line":       {"sh", "-c", "read line; printf '{'"},
		"belongs on standard error: \"": {"sh", "-c", "read line; echo hello; cat"},
	} {
		silence := 2 * time.Second
		if command[0] == "sh" && strings.HasPrefix(command[2], "sleep") {
			silence /= 8
		}
		pool := &Pool{Silence: silence, Command: func() *exec.Cmd { return exec.CommandContext(t.Context(), command[0], command[1:]...) }}
		_, err := pool.Start(t.Context())
		var fault *Fault
		assert.Truef(t, errors.As(err, &fault) && strings.Contains(err.Error(), name), "%s: %v", name, err)
		pool.Close()
	}
}

// TestSlowStart starts a program that takes longer than a silence.
func TestSlowStart(t *testing.T) {
	hello, err := poolOf(t, "slow", time.Second).Start(t.Context())
	assert.Truef(t, err == nil && hello.Name == "model", "got %q, error %v", hello.Name, err)
}

// TestStopsAfterThreeFaults runs more clauses over a program that always dies.
func TestStopsAfterThreeFaults(t *testing.T) {
	report, pool := runOf(t, "dies", "ACCT-07", "ACCT-10", "ACCT-11", "ACCT-12", "ACCT-13")
	assert.LessOrEqual(t, len(pool.Faults()), mostFaults, report.Summary())
	assert.GreaterOrEqual(t, len(report.With(adaptertest.NotReached)), mostFaults, report.Summary())
	for _, x := range report.With(adaptertest.Fail) {
		t.Errorf("%s is blamed on the adapter: %v", x.Clause.ID, x.Evidence)
	}
}

// TestValues sends records of all kinds there and back.
func TestValues(t *testing.T) {
	kathmandu := time.FixedZone("", 20700)
	for _, instant := range []time.Time{
		time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(12026, 2, 29, 0, 0, 0, 1, time.UTC),
		time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC), {}, time.Date(2040, 2, 29, 1, 2, 3, 0, kathmandu),
	} {
		got, err := parseInstant(formatInstant(instant))
		assert.Truef(t, err == nil && got.Equal(instant) && got.Format(time.RFC3339Nano) == instant.Format(time.RFC3339Nano),
			"%v: got %v, error %v", instant, got, err)
	}
	for _, text := range []string{"", "2026", "2026-13-01T00:00:00Z", "+2026-01-01T00:00:00Z", "tomorrow", "2026-01-02"} {
		_, err := parseInstant(text)
		assert.Errorf(t, err, "%q is an instant", text)
	}
}

// TestLongLines sends lines that are longer than the buffer, and as long as none may be.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	line, err := readLine(bufio.NewReader(strings.NewReader(long + "\nrest")))
	assert.Truef(t, err == nil && string(line) == long, "%d bytes, error %v", len(line), err)
	_, err = readLine(bufio.NewReader(strings.NewReader(strings.Repeat("x", mostLine+1<<16))))
	assert.Error(t, err, "a line without end is read")
}

package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tests with several processes start this binary again, with a command and its
// arguments in childEnv.
const childEnv = "GATEHOUSE_SQLITE_CHILD"

func TestMain(m *testing.M) {
	command, isChild := os.LookupEnv(childEnv)
	if !isChild {
		os.Exit(m.Run())
	}
	if err := child(strings.Split(command, "\n")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(args []string) error {
	command, driver, path := args[0], args[1], args[2]
	var db sqlite.DB
	for _, w := range wirings {
		if w.name == driver {
			opened, err := w.open(path)
			if err != nil {
				return err
			}
			defer opened.Close()
			db = opened
		}
	}
	a, err := sqlite.New(db)
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch command {
	case "start":
		fmt.Println("ready")
		if _, err := io.ReadAll(os.Stdin); err != nil { // until the parent lets all children begin
			return err
		}
		if err := a.EnsureSchema(ctx); err != nil {
			return err
		}
		_, err := a.CreateUser(ctx, adapter.User{})
		return err
	case "write":
		if err := a.EnsureSchema(ctx); err != nil {
			return err
		}
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() { errs[i] = writeOn(ctx, a, fmt.Sprintf("%s-%d", args[3], i)) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}
	return fmt.Errorf("no command %q", command)
}

func startChild(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner, io.WriteCloser) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(args, "\n"))
	cmd.Stderr = os.Stderr
	stdin := must(cmd.StdinPipe())(t)
	stdout := must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(stdout), stdin
}

// [CAP-03] [CAP-04]
func TestProcessesStartAtOnce(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for range 3 {
			path := filepath.Join(t.TempDir(), "test.db")
			const n = 4
			var cmds [n]*exec.Cmd
			var starts [n]io.WriteCloser
			for i := range n {
				cmd, lines, stdin := startChild(t, "start", w.name, path)
				require.Truef(t, lines.Scan(), "process %d said nothing", i)
				cmds[i], starts[i] = cmd, stdin
			}
			for _, start := range starts {
				start.Close()
			}
			for i, cmd := range cmds {
				assert.NoErrorf(t, cmd.Wait(), "process %d", i)
			}
			db := w.openDB(t, path)
			newAdapter(t, db) // once more, on the complete tables
			assert.Equal(t, n, number(t, db, `SELECT count(*) FROM "user"`), "got users")
		}
	})
}

// writeOn writes until it is killed. It reports each write after it; it reports
// a deletion before it too.
func writeOn(ctx context.Context, a *sqlite.Adapter, name string) error {
	for n := 0; ; n++ {
		key := fmt.Sprintf("%s-%d", name, n)
		user, account, session, token := recordsOf(key)
		for _, step := range []struct {
			announce, done string
			do             func() error
		}{
			{"", "user", func() error { return erred(a.CreateUser(ctx, user)) }},
			{"", "account", func() error { return erred(a.LinkAccount(ctx, account)) }},
			{"", "session", func() error { return erred(a.CreateSession(ctx, session)) }},
			{"", "token", func() error { return erred(a.CreateVerificationToken(ctx, token)) }},
			{"using", "used", func() error { return erred(a.UseVerificationToken(ctx, token.Key())) }},
			{"deleting", "deleted", func() error { return erred(a.DeleteUser(ctx, user.ID)) }},
		} {
			if step.done == "used" && n%2 == 0 || step.done == "deleted" && n%3 == 0 {
				continue
			}
			if step.announce != "" {
				fmt.Println(step.announce, key)
			}
			if err := step.do(); err != nil {
				return err
			}
			fmt.Println(step.done, key)
		}
	}
}

func recordsOf(key string) (adapter.User, adapter.Account, adapter.Session, adapter.VerificationToken) {
	expires := time.Date(2040, 1, 2, 3, 4, 5, 678e6, time.UTC)
	return adapter.User{ID: key, Name: new("Name " + key), Email: key + "@example.com"},
		adapter.Account{UserID: key, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: key, AccessToken: new(strings.Repeat(key, 100))},
		adapter.Session{UserID: key, SessionToken: key, Expires: expires},
		adapter.VerificationToken{Identifier: key, Token: key, Expires: expires}
}

// A process is killed in the middle of its writes, three times. Each write that
// it has reported is stored. The write that it has not reported is stored in
// full or not at all. [ISO-04] [FAULT-02] [FAULT-04]
func TestKilledWhileWriting(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		path := filepath.Join(t.TempDir(), "test.db")
		said := make(map[string]bool)
		for round := range 3 {
			cmd, lines, _ := startChild(t, "write", w.name, path, fmt.Sprint(round))
			for n := 0; lines.Scan(); n++ {
				said[lines.Text()] = true
				if n == 400 {
					require.NoError(t, cmd.Process.Kill())
				}
			}
			var exit *exec.ExitError
			err := cmd.Wait()
			require.Truef(t, errors.As(err, &exit) && !exit.Exited(), "round %d: the process ended by itself: %v", round, err)
		}

		db := w.openDB(t, path)
		a := newAdapter(t, db)
		ctx := t.Context()
		for line := range said {
			what, key, _ := strings.Cut(line, " ")
			user, account, session, token := recordsOf(key)
			wantUser := !said["deleting "+key]
			switch what {
			case "user", "deleted":
				byID, err1 := a.GetUser(ctx, user.ID)
				byEmail, err2 := a.GetUserByEmail(ctx, user.Email)
				require.NoError(t, errors.Join(err1, err2))
				assert.Equalf(t, byEmail == nil, byID == nil, "%s: found %v by id, %v by e-mail", line, byID, byEmail)
				assert.Falsef(t, wantUser && (byID == nil || *byID.Name != *user.Name) || what == "deleted" && byID != nil,
					"%s: found %v", line, byID)
			case "account":
				got, err := a.GetAccount(ctx, account.ProviderAccountID, account.Provider)
				assert.Falsef(t, err != nil || wantUser &&
					(got == nil || *got.AccessToken != *account.AccessToken) || said["deleted "+key] && got != nil,
					"%s: found %v, %v", line, got, err)
			case "session":
				got, err := a.GetSessionAndUser(ctx, session.SessionToken)
				assert.Falsef(t, err != nil || wantUser &&
					(got == nil || !got.Session.Expires.Equal(session.Expires)) || said["deleted "+key] && got != nil,
					"%s: found %v, %v", line, got, err)
			case "token":
				got, err := a.UseVerificationToken(ctx, token.Key())
				assert.Falsef(t, err != nil || !said["using "+key] && got == nil || said["used "+key] && got != nil,
					"%s: got %v, %v", line, got, err)
			}
		}
		assert.Equal(t, 0, faultsOf(t, db), "faults of the database")
	})
}

package adaptertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TIME-08 runs the TIME group of this test again, in processes with another
// TZ. zoneVariable names a directory for these processes. Each side leaves a
// file there about the records that it wrote, for the case that both share a
// store.
const zoneVariable = "ADAPTERTEST_ZONE_RUN"

const (
	parentWrote = "parent.json"
	childWrote  = "child.json"
	childReport = "report.json"
)

// otherZones is TIME-08.
func otherZones(c *clauseContext) {
	if dir := os.Getenv(zoneVariable); dir != "" {
		c.readNote(c.a, filepath.Join(dir, parentWrote), "written in zone "+time.Local.String()+" of another process")
		c.writeNote(filepath.Join(dir, childWrote))
		c.throughSecond(c.a) // instants in the zone of this process come back unchanged
		if !c.failed() {
			c.notVerified("this run is part of TIME-08 itself")
		}
		return
	}
	reader := c.a
	if c.has(abilitySecond) {
		reader = c.second()
		c.throughSecond(reader)
	}
	zones := every(c.stride, []string{"Asia/Kathmandu", "America/St_Johns"}, int(c.run.options.Seed%2))
	dirs := make([]string, len(zones))
	outputs := make([]string, len(zones))
	for i := range zones {
		dirs[i] = c.tb.TempDir()
		c.writeNote(filepath.Join(dirs[i], parentWrote))
	}
	c.parallel(len(zones), func(i int) { outputs[i] = c.runInZone(zones[i], dirs[i]) })
	verified := true
	for i, z := range zones {
		verified = c.judgeZone(z, dirs[i], outputs[i]) && verified
		c.readNote(reader, filepath.Join(dirs[i], childWrote), "written by a process in "+z)
	}
	if !verified && !c.failed() {
		c.notVerified("the test did not run in a sub-process: %s", strings.Join(outputs, "; "))
	}
}

// runInZone runs the TIME group of the test in another process and returns the
// end of its output.
func (c *clauseContext) runInZone(zone, dir string) string {
	timeout := c.run.harness.clauseTimeout()
	ctx, cancel := context.WithTimeout(c.ctx, timeout-timeout/8) // leave time to judge
	defer cancel()
	command := c.run.options.Again
	if command == nil {
		command = c.run.testAgain
	}
	cmd, err := command(ctx)
	if err != nil {
		return err.Error()
	}
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "TZ="+zone, zoneVariable+"="+dir, "ADAPTERTEST_REPORT="+filepath.Join(dir, childReport), "ADAPTERTEST_STRICT=0")
	out, err := cmd.CombinedOutput()
	const enough = 600
	if len(out) > enough {
		out = out[len(out)-enough:]
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%v)", out, err))
}

// testAgain returns the command that runs the TIME group of the test again.
func (r *run) testAgain(ctx context.Context) (*exec.Cmd, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-test.run=" + testPattern(r.testName) + "/^TIME$", "-test.count=1", "-test.v=false"}
	for _, arg := range os.Args[1:] { // the test may have flags of its own
		if !strings.HasPrefix(arg, "-test.") && !strings.HasPrefix(arg, "--test.") {
			args = append(args, arg)
		}
	}
	return exec.CommandContext(ctx, binary, args...), nil //nolint:gosec // the test binary runs itself
}

// testPattern matches the test of that name and no other.
func testPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

// judgeZone reports a breach for each clause that passes here and fails in the
// zone. It returns whether the group ran there.
func (c *clauseContext) judgeZone(zone, dir, output string) bool {
	var report Report
	raw, err := os.ReadFile(filepath.Join(dir, childReport)) //nolint:gosec // written by the process that was started above
	if err == nil {
		err = json.Unmarshal(raw, &report)
	}
	ran := 0
	for _, x := range report.Results {
		if x.Clause.Group() != "TIME" {
			continue
		}
		if x.Outcome == Pass || x.Outcome == Fail && x.Reason != staleWaiver {
			ran++
		}
		here, known := c.run.outcome(x.Clause.ID)
		if x.Outcome == Fail && x.Reason != staleWaiver && (here == Pass || !known && x.Clause.Level == Must) {
			c.Errorf("%s fails in a process whose zone is %s: %s\n%s", x.Clause.ID, zone, x.Clause.Rule, indent(x.Evidence))
		}
	}
	if err != nil || ran == 0 {
		c.Notef("in zone %s nothing was run: %v, %s", zone, err, output)
		return false
	}
	return true
}

// outcome returns the outcome of a clause in this run.
func (r *run) outcome(id string) (Outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.results {
		if x.Clause.ID == id {
			return x.Outcome, true
		}
	}
	return "", false
}

// zoneNote names the records that one process wrote for another.
type zoneNote struct {
	UserID       string
	Email        string // distinguishes the user from one with the same serial ID in another store
	SessionToken string
	Token        adapter.VerificationTokenKey
	Verified     time.Time
	Expires      time.Time
}

// writeNote writes records with instants, and a note that names them.
func (c *clauseContext) writeNote(path string) {
	n := zoneNote{Verified: c.instant(-48 * time.Hour).Truncate(c.harness().precision()), Expires: c.instant(48 * time.Hour).Truncate(c.harness().precision())}
	if c.works("CreateUser") {
		u := c.newUser()
		u.EmailVerified = new(n.Verified.Local())
		n.UserID, n.Email = c.createUser(u).ID, u.Email
		if c.works("CreateSession") {
			s := adapter.Session{SessionToken: c.secret("session"), UserID: n.UserID, Expires: n.Expires.Local()}
			c.createSession(s)
			n.SessionToken = s.SessionToken
		}
	}
	if c.works("CreateVerificationToken") {
		t := c.newToken()
		t.Expires = n.Expires.Local()
		c.createToken(t)
		n.Token = t.Key()
	}
	raw, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		c.Fatalf("leaving word for another process: %v", err)
	}
}

// readNote reads the records that another process's note names. If a record is
// absent, the store is not shared.
func (c *clauseContext) readNote(a adapter.Adapter, path, what string) {
	raw, err := os.ReadFile(path) //nolint:gosec // in a directory that this test made
	var n zoneNote
	if err == nil {
		err = json.Unmarshal(raw, &n)
	}
	if errors.Is(err, os.ErrNotExist) {
		return
	} else if err != nil {
		c.Fatalf("word of another process: %v", err)
	}
	wants := func(field string, got *time.Time, want time.Time) {
		if got == nil || !got.Truncate(c.harness().precision()).Equal(want) {
			c.Errorf("%s %s: got %s, want %s", field, what, diff.Show(got), diff.Show(want))
		}
	}
	if n.UserID != "" && c.works("GetUser") {
		if u, err := a.GetUser(c.ctx, n.UserID); err == nil && u != nil && lowerASCII(u.Email) == lowerASCII(n.Email) {
			wants("emailVerified", u.EmailVerified, n.Verified)
		}
	}
	if n.SessionToken != "" && c.works("GetSessionAndUser") {
		if s, err := a.GetSessionAndUser(c.ctx, n.SessionToken); err == nil && s != nil {
			wants("session expires", &s.Session.Expires, n.Expires)
		}
	}
	if n.Token.Token != "" && c.works("UseVerificationToken") {
		if t, err := a.UseVerificationToken(c.ctx, n.Token); err == nil && t != nil {
			wants("verification token expires", &t.Expires, n.Expires)
		}
	}
}

// throughSecond writes instants through one adapter and reads them through
// another on the same store.
func (c *clauseContext) throughSecond(reader adapter.Adapter) {
	path := filepath.Join(c.tb.TempDir(), parentWrote)
	c.writeNote(path)
	c.readNote(reader, path, "written through another adapter")
}

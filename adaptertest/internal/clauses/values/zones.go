package values

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TIME-08 runs the TIME group of this test again, in processes with another TZ. zoneVariable names a directory
// for these processes. Each side leaves a file there about the records that it wrote, for the case that both
// share a store.
const zoneVariable = "ADAPTERTEST_ZONE_RUN"

const (
	parentWrote = "parent.json"
	childWrote  = "child.json"
	childReport = "report.json"
)

func otherZones(c *kit.Context) {
	if dir := os.Getenv(zoneVariable); dir != "" {
		readNote(c, c.Adapter, filepath.Join(dir, parentWrote), "written in zone "+time.Local.String()+" of another process")
		writeNote(c, filepath.Join(dir, childWrote))
		throughSecond(c, c.Adapter) // instants in the zone of this process come back unchanged
		if !c.Failed() {
			c.NotVerified("this run is part of TIME-08 itself")
		}
		return
	}
	reader := c.Adapter
	if c.Has(kit.AbilitySecond) {
		reader = kit.Second(c)
		throughSecond(c, reader)
	}
	zones := kit.Every(c.Stride, []string{"Asia/Kathmandu", "America/St_Johns"}, int(c.Run.Seed%2))
	dirs := make([]string, len(zones))
	outputs := make([]string, len(zones))
	for i := range zones {
		dirs[i] = c.TB.TempDir()
		writeNote(c, filepath.Join(dirs[i], parentWrote))
	}
	c.Parallel(len(zones), func(i int) { outputs[i] = runInZone(c, zones[i], dirs[i]) })
	verified := true
	for i, z := range zones {
		verified = judgeZone(c, z, dirs[i], outputs[i]) && verified
		readNote(c, reader, filepath.Join(dirs[i], childWrote), "written by a process in "+z)
	}
	if !verified && !c.Failed() {
		c.NotVerified("the test did not run in a sub-process: %s", strings.Join(outputs, "; "))
	}
}

// runInZone runs the TIME group of the test in another process and returns the end of its output.
func runInZone(c *kit.Context, zone, dir string) string {
	timeout := c.Run.Harness.Timeout()
	ctx, cancel := context.WithTimeout(c.Ctx, timeout-timeout/8) // leave time to judge
	defer cancel()
	cmd, err := c.Run.Again(ctx)
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

// zoneReport is what judgeZone reads of the report of another process.
type zoneReport struct {
	Results []struct {
		Clause   struct{ ID, Level, Rule string }
		Outcome  kit.Outcome
		Reason   string
		Evidence []string
	}
}

// judgeZone reports a breach for each clause that passes here and fails in the
// zone. It returns whether the group ran there.
func judgeZone(c *kit.Context, zone, dir, output string) bool {
	var report zoneReport
	raw, err := os.ReadFile(filepath.Join(dir, childReport)) //nolint:gosec // written by the process that was started above
	if err == nil {
		err = json.Unmarshal(raw, &report)
	}
	ran := 0
	for _, x := range report.Results {
		if !strings.HasPrefix(x.Clause.ID, "TIME-") {
			continue
		}
		if x.Outcome == kit.Pass || x.Outcome == kit.Fail && x.Reason != kit.StaleWaiver {
			ran++
		}
		here, known := c.Run.Outcome(x.Clause.ID)
		if x.Outcome == kit.Fail && x.Reason != kit.StaleWaiver && (here == kit.Pass || !known && x.Clause.Level == "MUST") {
			c.Errorf("%s fails in a process whose zone is %s: %s\n%s", x.Clause.ID, zone, x.Clause.Rule, kit.Indent(x.Evidence))
		}
	}
	if err != nil || ran == 0 {
		c.Notef("in zone %s nothing was run: %v, %s", zone, err, output)
		return false
	}
	return true
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
func writeNote(c *kit.Context, path string) {
	n := zoneNote{Verified: c.Instant(-48 * time.Hour).Truncate(c.Harness().Precision()), Expires: c.Instant(48 * time.Hour).Truncate(c.Harness().Precision())}
	if c.Works("CreateUser") {
		u := c.NewUser()
		u.EmailVerified = new(n.Verified.Local())
		n.UserID, n.Email = c.CreateUser(u).ID, u.Email
		if c.Works("CreateSession") {
			n.SessionToken = kit.SessionUntil(c, n.UserID, n.Expires.Local()).SessionToken
		}
	}
	if c.Works("CreateVerificationToken") {
		n.Token = kit.TokenOf(c, c.NewToken().Identifier, n.Expires.Local()).Key()
	}
	raw, err := json.Marshal(n)
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		c.Fatalf("leaving word for another process: %v", err)
	}
}

// readNote reads the records that another process's note names. If a record is absent, the store is not shared.
func readNote(c *kit.Context, a adapter.Adapter, path, what string) {
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
		if got == nil || !got.Truncate(c.Harness().Precision()).Equal(want) {
			c.Errorf("%s %s: got %s, want %s", field, what, diff.Show(got), diff.Show(want))
		}
	}
	if n.UserID != "" && c.Works("GetUser") {
		if u, err := a.GetUser(c.Ctx, n.UserID); err == nil && u != nil && kit.LowerASCII(u.Email) == kit.LowerASCII(n.Email) {
			wants("emailVerified", u.EmailVerified, n.Verified)
		}
	}
	if n.SessionToken != "" && c.Works("GetSessionAndUser") {
		if s, err := a.GetSessionAndUser(c.Ctx, n.SessionToken); err == nil && s != nil {
			wants("session expires", &s.Session.Expires, n.Expires)
		}
	}
	if n.Token.Token != "" && c.Works("UseVerificationToken") {
		if t, err := a.UseVerificationToken(c.Ctx, n.Token); err == nil && t != nil {
			wants("verification token expires", &t.Expires, n.Expires)
		}
	}
}

// throughSecond writes instants through one adapter and reads them through another on the same store.
func throughSecond(c *kit.Context, reader adapter.Adapter) {
	path := filepath.Join(c.TB.TempDir(), parentWrote)
	writeNote(c, path)
	readNote(c, reader, path, "written through another adapter")
}

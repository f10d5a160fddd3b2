package main

import (
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var every = flag.Bool("every-shim", false, "TestNode runs all shims, over the servers that the environment names")

const interop = "../../../interop"

// TestPython runs the quick form over the stores in Python, which break no MUST.
func TestPython(t *testing.T) {
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs no other programs")
	}
	python := installed(t, "python3")
	for _, script := range []string{"dict_store.py", "sqlite_store.py"} {
		t.Run(script, func(t *testing.T) {
			status, out := runShim("--", python, filepath.Join(interop, "python", script))
			assert.Equalf(t, kept, status, "status %d\n%s", status, out)
		})
	}
}

// TestNode runs the quick form over adapters of Auth.js to its end, over PostgreSQL behind a proxy that injects
// faults. What they break is printed, and is no failure of this test.
func TestNode(t *testing.T) {
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs no other programs")
	}
	node := installed(t, "node")
	for _, shim := range []struct{ dir, url string }{
		{"drizzle", ""}, {"pg", "GATEHOUSE_POSTGRES_URL"}, {"drizzlepg", "GATEHOUSE_POSTGRES_URL"}, {"prisma", "GATEHOUSE_POSTGRES_URL"},
		{"mongo", "GATEHOUSE_MONGO_REPLICA_URL"}, {"upstash", "GATEHOUSE_REDIS_URL"},
	} {
		t.Run(shim.dir, func(t *testing.T) {
			if shim.url != "" && !*every {
				t.Skip("LEFT OUT: only -every-shim runs the shims that need a server")
			}
			install(t, node, shim.dir)
			file := filepath.Join(t.TempDir(), "r.json")
			args := []string{"-json", file, "--", node, filepath.Join(interop, shim.dir, "measure.mjs")}
			if shim.url != "" {
				args = append(args, os.Getenv(shim.url))
			}
			faults := shim.url == "GATEHOUSE_POSTGRES_URL"
			if faults {
				args = append([]string{"-target", target(t, os.Getenv(shim.url))}, args...)
			}
			status, out := runShim(args...)
			var r adaptertest.Report
			if err := json.Unmarshal(read(t, file), &r); err != nil || status == wrong || !strings.Contains(out, "(profile authjs)") {
				t.Errorf("status %d, %v: the run did not come to its end", status, err)
			}
			outcomes := map[adaptertest.Outcome]int{}
			for _, x := range r.Results {
				outcomes[x.Outcome]++
				assert.Falsef(t, faults && x.Clause.Group() == "FAULT" && x.Outcome == adaptertest.NotVerified && !slices.Contains(x.Needs, "Pooled"),
					"%s is not verified behind the proxy: %s", x.Clause.ID, x.Reason)
			}
			t.Logf("%s%v", out, outcomes)
		})
	}
}

// target returns the address of a server, which a URL names.
func target(t *testing.T, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	require.Truef(t, err == nil && u.Host != "", "the environment names no server: %q, %v", server, err)
	return u.Host
}

// installed returns a program, which must be there in CI.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
		t.Fatal(err)
	} else if err != nil || runtime.GOOS == "windows" {
		t.Skipf("NOT PROVED: no program was measured, because there is no %s: %v", name, err)
	}
	return path
}

// install installs the packages of a folder of interop.
func install(t *testing.T, node, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(interop, "install.mjs"), dir)
	if out, err := cmd.CombinedOutput(); err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%v\n%s", err, out)
	} else if err != nil {
		t.Skipf("NOT PROVED: the packages of %s can't be installed: %v\n%s", dir, err, out)
	}
}

// runShim runs the quick form of the command with the profile of Auth.js.
func runShim(args ...string) (status int, out string) {
	var text strings.Builder
	status = run(append([]string{"-quick", "-profile", "authjs"}, args...), &text, &text)
	return status, text.String()
}

package adaptertest

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files of testdata anew")

// golden compares lines with a file of testdata. Programs outside the repository
// depend on them.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path) //nolint:gosec // a file of testdata
	require.NoError(t, err)
	require.Equalf(t, string(want), got, "%s differs; -update writes it", path)
}

func TestNamesOfSubtests(t *testing.T) {
	var names []string
	for group, checks := range byGroup(checks()) {
		for _, k := range checks {
			names = append(names, group+"/"+k.Name())
		}
	}
	golden(t, "subtests.txt", names)
}

func TestKeysOfTheReport(t *testing.T) {
	report := Report{
		Adapter: "a", Version: "1", Seed: 1, Missing: []string{"GetUser"}, Started: time.Now(),
		Declarations: Declarations{
			EmailFoldsCase: true, AssignsIDs: true, Volatile: "v", Timeless: true, NoPooler: "p", Scans: "s", Precision: 1, EventualReads: 1,
		},
		Waivers: []Waiver{{Clause: "USER-01", Reason: "r", Link: "l", Racy: true}},
		Results: []Result{{Clause: loadClauses()[0], Outcome: Fail, Reason: "r", Needs: []string{"n"}, Evidence: []string{"e"}, Advice: "a"}},
	}
	var text strings.Builder
	require.NoError(t, report.WriteJSON(&text))
	var value any
	require.NoError(t, json.Unmarshal([]byte(text.String()), &value))
	var keys []string
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for k, v := range value {
				keys = append(keys, path+k)
				walk(path+k+".", v)
			}
		case []any:
			for _, v := range value {
				walk(path, v)
			}
		}
	}
	walk("", value)
	slices.Sort(keys)
	golden(t, "reportkeys.txt", slices.Compact(keys))
}

func TestNamesOfVariables(t *testing.T) {
	variable := regexp.MustCompile(`ADAPTERTEST_[A-Z_]+`)
	var names []string
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir // another module
			}
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path) //nolint:gosec // a file of this module
		names = append(names, variable.FindAllString(string(source), -1)...)
		return err
	})
	require.NoError(t, err)
	slices.Sort(names)
	golden(t, "variables.txt", slices.Compact(names))
}

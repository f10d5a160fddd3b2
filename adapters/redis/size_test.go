package redis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The limits on the size of the code for the 19 methods of package adapter: lines,
// without blanks and comments, and scripts.
const (
	mostLines   = 750
	mostScripts = 6
)

// extras are the scripts of optional interfaces, the prelude of all scripts, and the script of
// the first call.
var extras = []string{"prelude.lua", "rights.lua", "sweep.lua", "authenticator_delete.lua", "password.lua"}

// others are the files of what a process does once, of the texts of errors, and of what is
// no adapter.
var others = []string{"ensure.go", "check.go", "demotion.go", "errors.go", "limits.go"}

// TestSize checks the limits. It does not count the optional interfaces and
// the others, which are in files of their own. DeleteUser uses the sweep of one
// of these files to remove many sessions.
func TestSize(t *testing.T) {
	code := regexp.MustCompile(`(?m)^[ \t]*([^ \t\n/]|/[^/])`)
	lines := 0
	for _, name := range must(filepath.Glob("*.go"))(t) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "capability_") || slices.Contains(others, name) {
			continue
		}
		text := must(os.ReadFile(name))(t)
		lines += len(code.FindAll(text, -1))
	}
	assert.Truef(t, lines <= mostLines && lines >= mostLines/2,
		"the methods take %d lines, want at most %d", lines, mostLines)
	scripts := len(must(filepath.Glob("scripts/*.lua"))(t)) - len(extras)
	assert.Truef(t, scripts <= mostScripts && scripts >= 1,
		"the methods take %d scripts, want at most %d", scripts, mostScripts)
	for _, name := range extras {
		must(os.Stat(filepath.Join("scripts", name)))(t)
	}
	t.Logf("%d lines and %d scripts", lines, scripts)
}

package redis_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What a reader has to follow: the 19 methods of package adapter in so many lines,
// without blanks and comments, and so many scripts.
const (
	mostLines   = 750
	mostScripts = 6
)

// extras are the scripts of optional capabilities, and what all scripts begin
// with.
var extras = []string{"prelude.lua", "sweep.lua", "authenticator_delete.lua"}

// TestSize counts. Optional capabilities are in files of their own, and so is
// EnsureScripts, which nobody must call. DeleteUser borrows from them what removes
// dead sessions where there are many.
func TestSize(t *testing.T) {
	code := regexp.MustCompile(`(?m)^[ \t]*([^ \t\n/]|/[^/])`)
	lines := 0
	for _, name := range must(filepath.Glob("*.go"))(t) {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "capability_") || name == "ensure.go" {
			continue
		}
		text := must(os.ReadFile(name))(t)
		lines += len(code.FindAll(text, -1))
	}
	if lines > mostLines || lines < mostLines/2 {
		t.Errorf("the methods take %d lines, want at most %d", lines, mostLines)
	}
	scripts := len(must(filepath.Glob("scripts/*.lua"))(t)) - len(extras)
	if scripts > mostScripts || scripts < 1 {
		t.Errorf("the methods take %d scripts, want at most %d", scripts, mostScripts)
	}
	for _, name := range extras {
		must(os.Stat(filepath.Join("scripts", name)))(t)
	}
	t.Logf("%d lines and %d scripts", lines, scripts)
}

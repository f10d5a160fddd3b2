// Replace prints the lines of go.mod with which a module uses packages of a
// clone of this repository, as long as they have no tagged version:
//
//	go run ../gatehouse/internal/release/replace/main.go auth adapters/postgres >> go.mod
//
// It needs the standard library alone, so that go run works in any module.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

const importRoot = "github.com/gatehouse-go/gatehouse"

func main() {
	flag.Usage = func() {
		_, _ = fmt.Fprintf(flag.CommandLine.Output(), "usage: replace package [package ...], each such as auth, adapters/postgres or %s/auth/frameworks\n", importRoot)
	}
	flag.Parse()
	lines, err := lines(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "replace:", err)
		flag.Usage()
		os.Exit(2)
	}
	fmt.Print(lines)
}

// lines returns a replace line for the module of each package, and for the
// modules that they require.
func lines(packages []string) (string, error) {
	if len(packages) == 0 {
		return "", errors.New("no package is named")
	}
	_, source, _, _ := runtime.Caller(0)
	clone := filepath.Join(filepath.Dir(source), "..", "..", "..")
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	shown, err := filepath.Rel(wd, clone)
	if err != nil {
		shown = clone // on another drive
	}
	needed := map[string]bool{}
	for _, p := range packages {
		dir, err := moduleOf(clone, strings.TrimPrefix(p, importRoot+"/"))
		if err == nil {
			err = requireAll(clone, dir, needed)
		}
		if err != nil {
			return "", err
		}
	}
	text := "\nreplace (\n"
	for _, dir := range slices.Sorted(maps.Keys(needed)) {
		target := filepath.ToSlash(filepath.Join(shown, dir))
		if !filepath.IsAbs(shown) && !strings.HasPrefix(target, "../") {
			target = "./" + target
		}
		if strings.ContainsAny(target, " \t\"'") {
			target = fmt.Sprintf("%q", target)
		}
		text += fmt.Sprintf("\t%s/%s => %s\n", importRoot, dir, target)
	}
	return text + ")\n", nil
}

// moduleOf returns the folder of the module that has the package.
func moduleOf(clone, pkg string) (string, error) {
	for dir := path.Clean(pkg); dir != "." && dir != "/" && !strings.HasPrefix(dir, ".."); dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(clone, dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no module of %s has a package %s", importRoot, pkg)
}

// requireAll adds the module in dir, and the modules of this repository that it
// requires.
func requireAll(clone, dir string, needed map[string]bool) error {
	if needed[dir] {
		return nil
	}
	needed[dir] = true
	goMod, err := os.ReadFile(filepath.Join(clone, dir, "go.mod"))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(goMod)) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) != 2 {
			continue // neither a module nor its version
		}
		if other, ours := strings.CutPrefix(fields[0], importRoot+"/"); ours {
			if err := requireAll(clone, other, needed); err != nil {
				return err
			}
		}
	}
	return nil
}

package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed testdata/program
var programs embed.FS

// tryOut builds and runs a program that requires all modules in the version,
// like a user without a copy of the repository.
func tryOut(dir string, modules []string, version string, proxy moduleProxy) error {
	program, err := fs.Sub(programs, "testdata/program")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, program); err != nil {
		return err
	}
	goMod := "module example.com/program\n\ngo 1.26\n"
	for _, m := range modules {
		goMod += fmt.Sprintf("\nrequire %s/%s %s\n", importRoot, m, version)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"run", "."}, {"test", "-short", "./..."}} {
		if err := proxy.run(dir, args...); err != nil {
			return fmt.Errorf("the test program outside the repository: %w", err)
		}
	}
	say("a program outside the repository builds, runs and tests against %s", version)
	return nil
}

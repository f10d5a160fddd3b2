package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// published has the folders of the modules that get tags. Tests of the adapters
// use internal/authjs, and no program outside this repository can.
var published = []string{
	"auth", "auth/webauthn", "adaptertest", "internal/authjs",
	"adapters/memory", "adapters/sqlite", "adapters/postgres", "adapters/mysql", "adapters/redis", "adapters/mongo",
}

// inOrder returns the published modules in an order in which each comes after
// the modules that it requires.
func inOrder(tree string) ([]string, error) {
	var ordered []string
	var visit func(dir string, path []string) error
	visit = func(dir string, path []string) error {
		if slices.Contains(ordered, dir) {
			return nil
		}
		if slices.Contains(path, dir) {
			return fmt.Errorf("modules require each other: %s", strings.Join(append(path, dir), ", "))
		}
		file, err := readGoMod(tree, dir)
		if err != nil {
			return err
		}
		for _, r := range file.Require {
			required, ours := strings.CutPrefix(r.Mod.Path, importRoot+"/")
			if !ours {
				continue
			}
			if !slices.Contains(published, required) {
				return fmt.Errorf("%s requires %s, which is not published", dir, required)
			}
			if err := visit(required, append(path, dir)); err != nil {
				return err
			}
		}
		ordered = append(ordered, dir)
		return nil
	}
	for _, dir := range published {
		if err := visit(dir, nil); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}

// pin replaces the replace lines of a module by the version, and completes its
// go.sum.
func pin(tree, dir, version string, proxy moduleProxy) error {
	file, err := readGoMod(tree, dir)
	if err != nil {
		return err
	}
	for _, r := range file.Replace {
		if !strings.HasPrefix(r.Old.Path, importRoot+"/") {
			continue // the line has no effect on users of the module
		}
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return err
		}
	}
	for _, r := range file.Require {
		if strings.HasPrefix(r.Mod.Path, importRoot+"/") {
			if err := file.AddRequire(r.Mod.Path, version); err != nil {
				return err
			}
		}
	}
	file.Cleanup()
	content, err := file.Format()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, dir, "go.mod"), content, 0o644); err != nil {
		return err
	}
	return proxy.run(filepath.Join(tree, dir), "mod", "tidy")
}

func readGoMod(tree, dir string) (*modfile.File, error) {
	name := filepath.Join(tree, dir, "go.mod")
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, content, nil)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// moduleProxy is a folder with modules, in the layout for GOPROXY=file://…:
// https://go.dev/ref/mod#goproxy-protocol.
type moduleProxy string

// add makes a module of the newest commit of the tree available as a version:
// the archive that the go command would make of a tag on that commit.
func (p moduleProxy) add(root, tree, dir, version string) error {
	commit, err := git(tree, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	m := module.Version{Path: importRoot + "/" + dir, Version: version}
	folder := filepath.Join(string(p), filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	goMod, err := os.ReadFile(filepath.Join(tree, dir, "go.mod"))
	if err != nil {
		return err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{version + ".mod": goMod, version + ".info": info, "list": []byte(version + "\n")} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return err
		}
	}
	archive, err := os.Create(filepath.Join(folder, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromVCS(archive, m, root, commit, dir), archive.Close())
}

// run runs the go command outside any workspace. It takes our modules from
// the folder, and all others from their usual source.
func (p moduleProxy) run(dir string, args ...string) error {
	upstream, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		return err
	}
	cache := filepath.Join(filepath.Dir(string(p)), "modules")
	known, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -modcacherw", "GOMODCACHE="+cache,
		"GOPROXY=file://"+string(p)+",file://"+filepath.Join(strings.TrimSpace(string(known)), "cache", "download")+","+strings.TrimSpace(string(upstream)),
		"GONOSUMDB="+importRoot+"/*")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

func git(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

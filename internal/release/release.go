package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"
)

// importRoot is the common start of the import paths of all modules.
const importRoot = "github.com/gatehouse-go/gatehouse"

// release makes the tags of the version.
func release(root, version string, dryRun bool) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("VERSION is %q, want one such as v0.1.0", version)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if changed, err := git(root, "status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		return errors.Join(err, errors.New("the work tree has changes that are not committed"))
	}
	work, err := os.MkdirTemp("", "gatehouse-release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if dryRun {
		copied := filepath.Join(work, "copy")
		if _, err := git(work, "clone", "--quiet", "--no-hardlinks", root, copied); err != nil {
			return err
		}
		root = copied
	}
	for _, m := range published {
		if _, err := git(root, "rev-parse", "--verify", "--quiet", "refs/tags/"+m+"/"+version); err == nil {
			return fmt.Errorf("the tag %s/%s already exists", m, version)
		}
	}
	if err := checkChangelog(root, version); err != nil {
		return err
	}

	tree := filepath.Join(work, "tree")
	if _, err := git(root, "worktree", "add", "--quiet", "--detach", tree, "HEAD"); err != nil {
		return err
	}
	defer func() { _, _ = git(root, "worktree", "remove", "--force", tree) }()
	proxy := moduleProxy(filepath.Join(work, "proxy"))
	modules, err := inOrder(tree)
	if err != nil {
		return err
	}
	if err := writeChangelog(tree, version); err != nil {
		return err
	}
	if _, err := git(tree, "commit", "--quiet", "--all", "--message", "release "+version); err != nil {
		return err
	}
	for _, m := range modules {
		say("%s %s", m, version)
		if err := pin(tree, m, version, proxy); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		if _, err := git(tree, "commit", "--quiet", "--all", "--amend", "--no-edit"); err != nil {
			return err
		}
		if err := proxy.add(root, tree, m, version); err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
	}
	if err := tryOut(filepath.Join(work, "program"), modules, version, proxy); err != nil {
		return err
	}
	for _, tag := range tags(modules, version) {
		if _, err := git(tree, "tag", "--annotate", "--message", tag, tag); err != nil {
			return err
		}
	}
	if dryRun {
		say("everything is in order; a dry run leaves no tags")
		return nil
	}
	say("the tags are made; push them in this order: git push origin %s", strings.Join(tags(modules, version), " "))
	return nil
}

func tags(modules []string, version string) []string {
	var all []string
	for _, m := range modules {
		all = append(all, m+"/"+version)
	}
	return all
}

func say(format string, args ...any) { fmt.Printf("release: "+format+"\n", args...) }

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

const unreleased = "## Unreleased"

// checkChangelog returns an error if the Unreleased section is empty. It also
// returns one if a clause has become a MUST since the last tag of adaptertest,
// and no line of the changelog names it, or the minor version stays the same.
func checkChangelog(root, version string) error {
	notes, err := changes(root)
	if err != nil {
		return err
	}
	if strings.TrimSpace(notes) == "" {
		return fmt.Errorf("CHANGELOG.md has no entry under %q", unreleased)
	}
	last, err := lastVersion(root)
	if err != nil || last == "" {
		return err
	}
	if semver.Compare(version, last) <= 0 {
		return fmt.Errorf("VERSION is %s, but %s is already tagged", version, last)
	}
	was, err := git(root, "show", "adaptertest/"+last+":adaptertest/clauses.json")
	if err != nil {
		return err
	}
	is, err := os.ReadFile(filepath.Join(root, "adaptertest", "clauses.json"))
	if err != nil {
		return err
	}
	added, err := newMusts([]byte(was), is)
	if err != nil {
		return err
	}
	var problems []error
	for _, id := range added {
		if !strings.Contains(notes, id) {
			problems = append(problems, fmt.Errorf("CHANGELOG.md does not list the new MUST %s", id))
		}
	}
	if len(added) > 0 && semver.MajorMinor(version) == semver.MajorMinor(last) {
		problems = append(problems, fmt.Errorf("a new MUST (%s) needs a new minor version after %s", strings.Join(added, ", "), last))
	}
	return errors.Join(problems...)
}

// newMusts lists the clauses that are a MUST now and were not before.
func newMusts(was, is []byte) ([]string, error) {
	type clause struct{ ID, Level string }
	var before, now []clause
	if err := errors.Join(json.Unmarshal(was, &before), json.Unmarshal(is, &now)); err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, c := range before {
		known[c.ID] = c.Level == "MUST"
	}
	var added []string
	for _, c := range now {
		if c.Level == "MUST" && !known[c.ID] {
			added = append(added, c.ID)
		}
	}
	return added, nil
}

// lastVersion returns the newest version of adaptertest, or "" if there is
// none.
func lastVersion(root string) (string, error) {
	tags, err := git(root, "tag", "--list", "adaptertest/v*")
	if err != nil {
		return "", err
	}
	last := ""
	for _, tag := range strings.Fields(tags) {
		if v := strings.TrimPrefix(tag, "adaptertest/"); semver.Compare(v, last) > 0 {
			last = v
		}
	}
	return last, nil
}

// changes returns the changelog's section for the next version.
func changes(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	_, notes, ok := strings.Cut(string(content), unreleased+"\n")
	if !ok {
		return "", fmt.Errorf("CHANGELOG.md has no section %q", unreleased)
	}
	notes, _, _ = strings.Cut(notes, "\n## ")
	return notes, nil
}

// writeChangelog puts the version and the date in the heading of the next
// version's section.
func writeChangelog(root, version string) error {
	name := filepath.Join(root, "CHANGELOG.md")
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	heading := fmt.Sprintf("## %s (%s)", version, time.Now().UTC().Format(time.DateOnly))
	return os.WriteFile(name, []byte(strings.Replace(string(content), unreleased, heading, 1)), 0o644)
}

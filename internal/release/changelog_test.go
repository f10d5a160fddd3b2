package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func repository(t *testing.T) (root string, commit func(changelog, clauses string), tag func(version string)) {
	root = t.TempDir()
	run := func(args ...string) {
		t.Helper()
		_, err := git(root, append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		require.NoError(t, err)
	}
	run("init", "--quiet")
	commit = func(changelog, clauses string) {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Join(root, "adaptertest"), 0o755))
		for name, content := range map[string]string{"CHANGELOG.md": changelog, "adaptertest/clauses.json": clauses} {
			require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
		}
		run("add", "--all")
		run("commit", "--quiet", "--allow-empty", "--message", "test")
	}
	tag = func(version string) { run("tag", "adaptertest/"+version) }
	return root, commit, tag
}

func TestNewMustNeedsAMinorVersionAndALine(t *testing.T) {
	const one = `[{"id":"USER-01","level":"MUST"},{"id":"USER-02","level":"SHOULD"}]`
	const two = `[{"id":"USER-01","level":"MUST"},{"id":"USER-02","level":"MUST"}]`
	root, commit, tag := repository(t)
	commit("## Unreleased\n\n- Something.\n", one)
	assert.NoError(t, checkChangelog(root, "v0.1.0"), "the first release")
	tag("v0.1.0")
	commit("## Unreleased\n\n- Faster.\n", one)
	assert.NoError(t, checkChangelog(root, "v0.1.1"), "a release with the same clauses")
	assert.Error(t, checkChangelog(root, "v0.1.0"), "the version of the last release is taken again")
	commit("## Unreleased\n\n- Stricter.\n\n## v0.1.0\n\n- USER-02\n", two)
	for version, want := range map[string]int{"v0.1.1": 2, "v0.2.0": 1} {
		err := checkChangelog(root, version)
		assert.Truef(t, err != nil && len(strings.Split(err.Error(), "\n")) == want,
			"%s with a new MUST that no line names: got %v, want %d problems", version, err, want)
	}
	commit("## Unreleased\n\n- USER-02 is a MUST.\n", two)
	assert.NoError(t, checkChangelog(root, "v0.2.0"), "a new MUST with its line and version")
	commit("## Unreleased\n\n## v0.1.0\n\n- Something.\n", one)
	assert.Error(t, checkChangelog(root, "v0.1.1"), "an empty section is released")
}

func TestModulesComeAfterWhatTheyRequire(t *testing.T) {
	ordered, err := inOrder(filepath.Join("..", ".."))
	require.NoError(t, err)
	at := func(m string) int { return slices.Index(ordered, m) }
	assert.Truef(t, len(ordered) == len(published) && at("auth") <= at("adaptertest") && at("adaptertest") <= at("adapters/memory") && at("auth") <= at("auth/webauthn"),
		"got %v", ordered)
}

func TestVersionIsChecked(t *testing.T) {
	for _, version := range []string{"", "0.1.0", "v1", "v1.2", "v01.2.3", "v1.2.3+build", "latest"} {
		err := release(filepath.Join("..", ".."), version, true)
		assert.Truef(t, err != nil && strings.Contains(err.Error(), "VERSION is"), "%q: got %v", version, err)
	}
}

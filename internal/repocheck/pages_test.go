package repocheck

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPagesShowWhatIsThere compares the pages with the repository: the
// targets of make are in the Makefile, and the targets of links exist.
func TestPagesShowWhatIsThere(t *testing.T) {
	makefile := read(t, "Makefile") + read(t, "images/images.mk")
	for _, name := range tracked(t, "*.md") {
		t.Run(name, func(t *testing.T) {
			page := read(t, name)
			for _, m := range regexp.MustCompile("(?m)(?:^    |`)make ([a-z][a-z-]*)").FindAllStringSubmatch(page, -1) {
				assert.Truef(t, regexp.MustCompile(`(?m)^`+m[1]+`:`).MatchString(makefile),
					"there is no target %s of make", m[1])
			}
			for _, link := range regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(page, -1) {
				target := name
				if link[1] != "" {
					target = filepath.Join(filepath.Dir(name), filepath.FromSlash(link[1]))
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("there is no %s", link[1])
				} else if link[2] != "" && !hasHeading(read(t, target), link[2]) {
					t.Errorf("%s has no heading #%s", filepath.Base(target), link[2])
				}
			}
		})
	}
}

// TestPagesShowCodeThatCompiles checks that the Go code of the pages also stands
// in a Go file of the repository, which compiles.
func TestPagesShowCodeThatCompiles(t *testing.T) {
	var sources strings.Builder
	for _, name := range tracked(t, "*.go") {
		sources.WriteString(folded(read(t, name)))
	}
	pages := append([]string{"README.md", "auth/GUIDE.md", "examples/demo/README.md"}, tracked(t, "docs/*.md")...)
	for _, name := range pages {
		t.Run(name, func(t *testing.T) {
			for _, b := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, name), -1) {
				assert.Truef(t, strings.Contains(sources.String(), folded(b[1])), "this code stands in no Go file:\n%s", b[1])
			}
		})
	}
}

// TestPagesAreShort keeps the pages with measurements short enough to be read.
func TestPagesAreShort(t *testing.T) {
	for name, most := range map[string]int{"BENCHMARKS.md": 6_000, "CONFORMANCE.md": 13_000} {
		n := len(read(t, name))
		assert.Truef(t, n <= most, "%s has %d bytes, more than %d", name, n, most)
	}
}

const root = "../.."

// output runs a command in a folder, with further variables of the environment, and returns
// what it prints.
func output(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoErrorf(t, err, "%s in %s:\n%s", cmd, dir, &stderr)
	return string(out)
}

// files returns the files of the repository that match a git pattern, without those whose
// deletion is not committed yet.
func files(t *testing.T, pattern string) (names []string) {
	t.Helper()
	for name := range strings.SplitSeq(output(t, root, nil, "git", "ls-files", "-z", "--", pattern), "\x00") {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); name != "" && err == nil {
			names = append(names, name)
		}
	}
	return names
}

// tracked returns the files that match a git pattern, without those of testdata.
func tracked(t *testing.T, pattern string) []string {
	t.Helper()
	names := slices.DeleteFunc(files(t, pattern), func(name string) bool { return strings.Contains(name, "testdata/") })
	require.NotEmptyf(t, names, "no file matches %s", pattern)
	return names
}

// sources returns the Go files in a folder, without tests.
func sources(t *testing.T, dir string) []string {
	t.Helper()
	isTest := func(name string) bool { return strings.HasSuffix(name, "_test.go") }
	names := slices.DeleteFunc(tracked(t, ":(glob)"+dir+"/*.go"), isTest)
	require.NotEmptyf(t, names, "%s has no Go files", dir)
	return names
}

// hasHeading reports whether a page has a heading to which forges give the
// anchor.
func hasHeading(page, anchor string) bool {
	for line := range strings.Lines(page) {
		heading := strings.TrimLeft(line, "#")
		if heading == line {
			continue
		}
		plain := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), "")
		if strings.ReplaceAll(plain, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// read returns a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(content)
}

// folded is code without its indentation.
func folded(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

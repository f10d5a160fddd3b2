package repocheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesShowWhatIsThere compares the README and the guide with the
// repository: Go code in them stands in a file of the examples, which compile,
// targets of make are in the Makefile, and links lead somewhere.
func TestPagesShowWhatIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	var sources strings.Builder
	err := filepath.WalkDir(filepath.Join(root, "examples"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			sources.WriteString(folded(read(t, path)))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile := read(t, filepath.Join(root, "Makefile")) + read(t, filepath.Join(root, "images", "images.mk"))
	for _, name := range []string{"README.md", "auth/GUIDE.md", "docs/frameworks.md", "docs/migrate.md"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(root, filepath.FromSlash(name))
			page := read(t, path)
			blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page, -1)
			if len(blocks) == 0 {
				t.Error("there is no Go code")
			}
			for _, b := range blocks {
				if !strings.Contains(sources.String(), folded(b[1])) {
					t.Errorf("this code stands in no example:\n%s", b[1])
				}
			}
			for _, m := range regexp.MustCompile(`\bmake ([a-z]+)\b`).FindAllStringSubmatch(page, -1) {
				if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
					t.Errorf("there is no target %s of make", m[1])
				}
			}
			for _, link := range regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`).FindAllStringSubmatch(page, -1) {
				target := path
				if link[1] != "" {
					target = filepath.Join(filepath.Dir(path), filepath.FromSlash(link[1]))
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("there is no %s", link[1])
				} else if link[2] != "" && !hasHeading(read(t, target), link[2]) {
					t.Errorf("%s has no heading #%s", filepath.Base(target), link[2])
				}
			}
		})
	}
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

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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

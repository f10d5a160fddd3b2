package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadmeShowsWhatIsThere compares the README with the repository: Go code
// in it stands in a file of the examples, which compile, and targets of make
// are in the Makefile.
func TestReadmeShowsWhatIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	readme := read(t, filepath.Join(root, "README.md"))
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
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Error("the README shows no Go code")
	}
	for _, b := range blocks {
		if !strings.Contains(sources.String(), folded(b[1])) {
			t.Errorf("this code of the README stands in no example:\n%s", b[1])
		}
	}
	makefile := read(t, filepath.Join(root, "Makefile")) + read(t, filepath.Join(root, "images", "images.mk"))
	for _, m := range regexp.MustCompile(`\bmake ([a-z]+)\b`).FindAllStringSubmatch(readme, -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:`).MatchString(makefile) {
			t.Errorf("the README names make %s, which there is not", m[1])
		}
	}
	for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join(root, link[1])); err != nil {
			t.Errorf("the README links to %s, which there is not", link[1])
		}
	}
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

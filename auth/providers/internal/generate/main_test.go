package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestGeneratedFiles compares constructors.go and PROVIDERS.md with the table.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	files, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not up to date (%v); go generate in auth/providers writes it", name, err)
		}
	}
}

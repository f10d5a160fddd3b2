package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGeneratedFiles compares constructors.go and PROVIDERS.md with the table.
func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	files, err := generated()
	require.NoError(t, err)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		assert.Truef(t, err == nil && bytes.Equal(got, want),
			"%s is not up to date (%v); go generate in auth/providers writes it", name, err)
	}
}

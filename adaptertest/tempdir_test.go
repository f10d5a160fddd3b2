package adaptertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestTempDirLosesLateFiles creates files in directories while they are deleted.
func TestTempDirLosesLateFiles(t *testing.T) {
	const directories, files = 20, 200
	for range directories {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		var late sync.WaitGroup
		begun := make(chan struct{})
		late.Go(func() {
			for i := range files {
				err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600)
				if i == 0 {
					close(begun)
				}
				if err != nil {
					return // the directory is deleted
				}
			}
		})
		<-begun
		err = removeAll(dir)
		late.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s is still there: %v", dir, err)
		}
	}
}

package kit

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/goroutines"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestStacksBeginWithWhatIsAwaited has other goroutines of the suite beside the one that
// the caller waits for.
func TestStacksBeginWithWhatIsAwaited(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	for range 20 {
		go func() { <-release }()
	}
	tb := &HarnessTB{}
	tb.Cleanup(func() {
		close(entered)
		<-release
	})
	text := make(chan string)
	go func() {
		go tb.RunCleanups()
		<-entered
		text <- strings.Join(goroutines.Others(), "\n")
	}()
	first, _, _ := strings.Cut(<-text, "\ngoroutine ")
	assert.Contains(t, first, "(*HarnessTB).RunCleanups", "the first stack is not that of the clean-up")
}

// returns is an adapter whose lookup by address returns the error.
type returns struct {
	adapter.Adapter
	err error
}

func (r returns) GetUserByEmail(context.Context, string) (*adapter.User, error) { return nil, r.err }

// TestIdle checks which calls count as progress.
func TestIdle(t *testing.T) {
	for _, x := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{adapter.ErrConflict, false},
		{fmt.Errorf("no connection: %w", context.DeadlineExceeded), true},
		{context.Canceled, true},
	} {
		var calls trace
		idle := calls.Idle()
		idle()
		calls.add("GetUser", nil, nil, x.err)
		assert.Equalf(t, x.want, idle(), "after a call that returned %v: idle", x.err)
		assert.True(t, idle(), "no call has returned since, and idle is false")
		_, _ = Snapshot(t.Context(), &Context{Run: NewRun(&Harness{}, 1, 1), Trace: &calls}, returns{err: x.err}, Keys{Emails: []string{"x"}})
		assert.Equalf(t, x.want, idle(), "after a call without the observer that returned %v: idle", x.err)
	}
}

// TestTempDirLosesLateFiles creates files in directories while they are deleted.
func TestTempDirLosesLateFiles(t *testing.T) {
	const directories, files = 20, 200
	for range directories {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		require.NoError(t, err)
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
		require.NoError(t, err)
		_, err = os.Stat(dir)
		require.ErrorIsf(t, err, fs.ErrNotExist, "%s is still there", dir)
	}
}

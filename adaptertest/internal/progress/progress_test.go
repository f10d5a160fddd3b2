package progress

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLine(t *testing.T) {
	for _, among := range []bool{false, true} {
		r, w := io.Pipe()
		l := begin(&Line{out: w, total: 3, among: among}, time.Millisecond, time.Millisecond)
		l.Begin("USER-01")
		l.Begin("USER-02")
		l.Begin("USER-02") // it is under way
		l.End("USER-01")
		read := bufio.NewReader(r)
		wait := func(want string) {
			t.Helper()
			for text := ""; !strings.HasSuffix(text, want); {
				b, err := read.ReadByte()
				require.NoError(t, err)
				text += string(b)
			}
		}
		if among {
			wait("\nadaptertest: 1 of 3 clauses done, running USER-02, 0 s\nadaptertest: ")
		} else {
			wait(clearLine + "1 of 3 clauses done, running USER-02, 0 s" + clearLine)
			go l.Above(func() { _, _ = io.WriteString(w, "a broken clause\n") })
			wait(clearLine + "a broken clause\n1 of 3 clauses done")
		}
		go func() { _, _ = io.Copy(io.Discard, read) }()
		l.Stop()
	}
}

// TestLineFitsTerminals shows the longest line on a terminal of 80 columns.
func TestLineFitsTerminals(t *testing.T) {
	l := &Line{total: 323, done: 123}
	for _, clause := range []string{"SIGNUP-12", "AUTHN-15", "USER-01", "USER-02"} {
		l.Begin(clause)
	}
	text := l.text(1234 * time.Second)
	assert.Truef(t, len(text) <= 79, "%d columns: %s", len(text), text)
}

// TestNobodyLooks starts a line on a file that is no terminal.
func TestNobodyLooks(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	l := Start(f, 3, false)
	assert.Nil(t, l, "a file is no terminal")
	l.Begin("USER-01")
	l.End("USER-01")
	l.Stop()
	require.NoError(t, f.Close())
}

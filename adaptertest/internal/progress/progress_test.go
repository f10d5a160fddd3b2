package progress

import (
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	r, w := io.Pipe()
	l := begin(w, 3, time.Millisecond, time.Millisecond)
	l.Begin("USER-01")
	l.Begin("USER-02")
	l.End("USER-01")
	read := make([]byte, 200)
	for want := "adaptertest: 1 of 3 clauses done, running USER-02, 0 s"; ; {
		n, err := r.Read(read)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(read[:n]), want) {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	l.Stop()
}

// TestNobodyLooks starts a line on a file that is no terminal.
func TestNobodyLooks(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	l := Start(f, 3)
	if l != nil {
		t.Error("a file is no terminal")
	}
	l.Begin("USER-01")
	l.End("USER-01")
	l.Stop()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

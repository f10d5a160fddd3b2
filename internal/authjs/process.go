package authjs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Adapter is a storage adapter of Auth.js in its own process.
type Adapter struct {
	tb  testing.TB
	in  *json.Encoder
	out *bufio.Scanner
}

// Start runs adapter.mjs of a folder of interop, with the arguments, until the
// end of the test. Command describes its requirements.
func Start(tb testing.TB, dir string, args ...string) *Adapter {
	tb.Helper()
	cmd := Command(tb, "no record was exchanged with Auth.js", dir, "adapter.mjs", args...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, out := must(cmd.StdinPipe())(tb), must(cmd.StdoutPipe())(tb)
	require.NoError(tb, cmd.Start())
	tb.Cleanup(func() {
		_ = in.Close() // this ends the process
		err := cmd.Wait()
		assert.NoErrorf(tb, err, "node: %s", &complaints)
	})
	return &Adapter{tb, json.NewEncoder(in), bufio.NewScanner(out)}
}

// Command returns the command that runs a script of a folder of interop in
// Node. If the packages of the folder's lock file are missing, install.mjs of
// the parent folder installs them first.
//
// Without Node or the packages the test is skipped, and says that the proof is
// missing; with the environment variable CI=true it fails. make interop
// provides both.
func Command(tb testing.TB, proof, dir, script string, args ...string) *exec.Cmd {
	tb.Helper()
	if testing.Short() {
		tb.Skipf("NOT PROVED: %s, because -short leaves out what needs Node", proof)
	}
	missing := tb.Skipf
	if os.Getenv("CI") == "true" {
		missing = tb.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("NOT PROVED: %s, because node is not in the PATH", proof)
	}
	install := exec.CommandContext(tb.Context(), node, filepath.Join(filepath.Dir(dir), "install.mjs"), filepath.Base(dir))
	if out, err := install.CombinedOutput(); err != nil {
		missing("NOT PROVED: %s, because the packages of %s can't be installed: %v\n%s", proof, dir, err, out)
	}
	cmd := exec.Command(node, append([]string{script}, args...)...)
	cmd.Dir = dir
	return cmd
}

// Record is a record as Auth.js returns it. Instants are texts, as in JSON.
type Record map[string]any

// Call calls a method and returns its result, nil if it is null. An error of the
// method ends the test.
func (a *Adapter) Call(method string, args ...any) Record {
	a.tb.Helper()
	a.send(method, args...)
	return must(a.receive())(a.tb)
}

// send begins a call; receive returns its result, or the error of the method.
func (a *Adapter) send(method string, args ...any) {
	a.tb.Helper()
	require.NoError(a.tb, a.in.Encode(map[string]any{"method": method, "args": args}))
}

func (a *Adapter) receive() (Record, error) {
	a.tb.Helper()
	found := a.out.Scan()
	require.Truef(a.tb, found, "node ended: %v", a.out.Err())
	var answer struct {
		Result Record
		Error  string
	}
	d := json.NewDecoder(bytes.NewReader(a.out.Bytes()))
	d.UseNumber()
	require.NoError(a.tb, d.Decode(&answer), "Auth.js")
	if answer.Error != "" {
		return nil, errors.New("Auth.js: " + answer.Error)
	}
	return answer.Result, nil
}

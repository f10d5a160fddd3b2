package repocheck

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// commands are the commands of the repository, with a flag that each has.
var commands = map[string]string{
	"adapters/redis/cmd/copyupstash":           "-prefix",
	"adaptertest/bundled/cmd/conformance":      "-wirings",
	"adaptertest/bundled/cmd/withstores":       "-fast",
	"adaptertest/internal/clausesdoc":          "",
	"adaptertest/internal/mutants/cmd/mutants": "-only",
	"auth/adapter/internal/methods":            "-form",
	"auth/providers/internal/generate":         "",
	"examples/demo":                            "-listen",
	"internal/release":                         "-version",
	"internal/release/replace":                 "adapters/postgres",
}

// TestCommandsRefuseUnknownFlags: each command refuses a flag or an argument that
// it does not have, and lists its flags.
func TestCommandsRefuseUnknownFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT PROVED: builds every command; runs without -short")
	}
	for dir, flag := range commands {
		t.Run(dir, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "command")
			folder := filepath.Join(root, filepath.FromSlash(dir))
			output(t, folder, []string{"GOWORK=off"}, "go", "build", "-ldflags=-w", "-o", program, ".")
			for _, wrong := range []string{"-no-such-flag", "stray"} {
				if wrong == "stray" && strings.HasSuffix(dir, "withstores") {
					continue // its arguments name a command, which it runs
				}
				cmd := exec.CommandContext(t.Context(), program, wrong)
				cmd.Dir = t.TempDir()
				var stderr bytes.Buffer
				cmd.Stderr = &stderr
				err := cmd.Run()
				assert.Truef(t, cmd.ProcessState.ExitCode() == 2 && strings.Contains(stderr.String(), flag),
					"%s: %v, want status 2 and a text that names %s:\n%s", wrong, err, flag, &stderr)
			}
		})
	}
}

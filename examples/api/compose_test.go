package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCompose: docker-compose.yml is valid, the files that it mounts exist, and
// it starts no service without a secret.
func TestCompose(t *testing.T) {
	file, err := filepath.Abs("docker-compose.yml")
	require.NoError(t, err)
	load := func(env map[string]string) (*types.Project, error) {
		return loader.LoadWithContext(t.Context(), types.ConfigDetails{
			WorkingDir: filepath.Dir(file), ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: env,
		}, func(o *loader.Options) { o.SetProjectName("api", true) })
	}
	_, err = load(map[string]string{"EMAIL_SERVER": "x"})
	assert.ErrorContains(t, err, "AUTH_SECRET")
	project, err := load(map[string]string{"AUTH_SECRET": "x", "EMAIL_SERVER": "x"})
	require.NoError(t, err)
	for _, name := range []string{"postgres", "api", "frontend", "proxy"} {
		service, err := project.GetService(name)
		assert.NoError(t, err)
		for _, v := range service.Volumes {
			_, err := os.Stat(v.Source)
			assert.NoError(t, err, name)
		}
	}
}

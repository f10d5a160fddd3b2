package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose: docker-compose.yml is valid, the files that it mounts exist, and
// it starts no service without a secret.
func TestCompose(t *testing.T) {
	file, err := filepath.Abs("docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	load := func(env map[string]string) (*types.Project, error) {
		return loader.LoadWithContext(t.Context(), types.ConfigDetails{
			WorkingDir: filepath.Dir(file), ConfigFiles: []types.ConfigFile{{Filename: file}}, Environment: env,
		}, func(o *loader.Options) { o.SetProjectName("api", true) })
	}
	if _, err := load(map[string]string{"EMAIL_SERVER": "x"}); err == nil || !strings.Contains(err.Error(), "AUTH_SECRET") {
		t.Errorf("without AUTH_SECRET: got %v", err)
	}
	project, err := load(map[string]string{"AUTH_SECRET": "x", "EMAIL_SERVER": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"postgres", "api", "frontend", "proxy"} {
		service, err := project.GetService(name)
		if err != nil {
			t.Error(err)
		}
		for _, v := range service.Volumes {
			if _, err := os.Stat(v.Source); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

package stores

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/testcontainers/testcontainers-go"
)

// startCockroach starts one node, which listens on loopback only. Its account root has no password.
func (s *Stores) startCockroach(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, cockroachReleases, version)
	if err != nil {
		return nil, err
	}
	return s.serverAt(ctx, "CockroachDB", image, 26257, "postgres://root@%s/defaultdb?sslmode=disable", versionOfCockroach,
		testcontainers.WithCmd("start-single-node", "--insecure"))
}

// versionOfCockroach asks a server for the version of CockroachDB. The setting server_version does not help: it is the
// version of PostgreSQL that the server is compatible with.
func versionOfCockroach(ctx context.Context, url string) (name, version string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	var text string // such as "CockroachDB CCL v25.2.2 (x86_64-pc-linux-gnu, built …)"
	if err := conn.QueryRow(ctx, "SELECT version()").Scan(&text); err != nil {
		return "", "", err
	}
	words := strings.Fields(text)
	if len(words) < 3 || words[0] != "CockroachDB" {
		return "", "", fmt.Errorf("the server says that it is %q, not CockroachDB", text)
	}
	return "CockroachDB", strings.TrimPrefix(words[2], "v"), nil
}

package stores

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/testcontainers/testcontainers-go"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
)

// pgbouncerConfig gives every transaction any free server connection. So the settings of a session are lost at the end of
// a transaction.
const pgbouncerConfig = `[databases]
* = host=%[1]s port=5432

[pgbouncer]
listen_addr = *
listen_port = 6432
pool_mode = transaction
max_client_conn = 1000
default_pool_size = 20
auth_type = scram-sha-256
auth_file = /etc/gatehouse/users
stats_users = %[2]s
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
`

func (s *Stores) startPgBouncer(ctx context.Context, version string) (*Store, error) {
	if version != "" {
		return nil, fmt.Errorf("stores: PgBouncer is available in one version only, not in %q", version)
	}
	docker, err := s.engine.connect(ctx)
	if err != nil {
		return nil, err
	}
	if !present(ctx, docker, LocalStores) {
		return nil, fmt.Errorf("stores: the image %s, which contains PgBouncer, is missing: run make images", LocalStores)
	}
	postgres, err := s.Find(ctx, KindPostgres)
	if err != nil {
		return nil, err
	}
	if !postgres.Ours() {
		return nil, fmt.Errorf("stores: PgBouncer: %s names a server, so %s must name one too: %w", EnvPostgres, EnvPgBouncer, ErrUnavailable)
	}
	network, err := s.engine.join(ctx)
	if err != nil {
		return nil, err
	}
	c, ports, err := s.engine.run(ctx, "PgBouncer", []int{6432}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return testcontainers.Run(ctx, LocalStores, append(publish,
				testcontainers.WithCmd("pgbouncer", "/etc/gatehouse/pgbouncer.ini"),
				testcontainers.WithFiles(
					textFile("/etc/gatehouse/pgbouncer.ini", fmt.Sprintf(pgbouncerConfig, hostOfPostgres, account)),
					textFile("/etc/gatehouse/users", fmt.Sprintf("%q %q\n", account, account)),
				),
				tcnetwork.WithNetwork([]string{"pgbouncer"}, network),
			)...)
		})
	if err != nil {
		return nil, err
	}
	return postgresAt(ctx, "PgBouncer", c, ports[0], versionOfPgBouncer)
}

// versionOfPgBouncer asks PgBouncer for its version, and makes sure that the server behind it answers.
func versionOfPgBouncer(ctx context.Context, rawURL string) (name, version string, err error) {
	config, err := pgx.ParseConfig(rawURL)
	if err != nil {
		return "", "", err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	behind, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = behind.Close(ctx) }()
	var server string
	if err := behind.QueryRow(ctx, "SHOW server_version").Scan(&server); err != nil {
		return "", "", err
	}
	server, _, _ = strings.Cut(server, " ")

	console := config.Copy()
	console.Database = "pgbouncer"
	conn, err := pgx.ConnectConfig(ctx, console)
	if err != nil {
		return "PgBouncer", "? before PostgreSQL " + server, nil // this run did not start it, and may not use its console
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, "SHOW VERSION").Scan(&version); err != nil {
		return "", "", err
	}
	return "PgBouncer", strings.TrimPrefix(version, "PgBouncer ") + " before PostgreSQL " + server, nil
}

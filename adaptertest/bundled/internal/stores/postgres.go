package stores

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/testcontainers/testcontainers-go"
	tcpostgres "github.com/testcontainers/testcontainers-go/modules/postgres"
	tcnetwork "github.com/testcontainers/testcontainers-go/network"
)

// The account and database of the servers that a run starts. They listen on loopback only.
const account = "gatehouse"

// hostOfPostgres is the name of the server of KindPostgres in the network of the run.
const hostOfPostgres = "postgres"

func (s *Stores) startPostgres(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, postgresReleases, version)
	if err != nil {
		return nil, err
	}
	network, err := s.engine.join(ctx)
	if err != nil {
		return nil, err
	}
	// The module's own command switches fsync off in any case.
	command := append([]string{"postgres"}, s.postgresSettings()...)
	c, ports, err := s.engine.run(ctx, "PostgreSQL", []int{5432}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return tcpostgres.Run(ctx, image, append(publish,
				tcpostgres.WithUsername(account),
				tcpostgres.WithPassword(account),
				tcpostgres.WithDatabase(account),
				// A password takes about a third of the server's time for a new connection.
				testcontainers.WithEnv(map[string]string{"POSTGRES_HOST_AUTH_METHOD": "trust"}),
				testcontainers.WithCmd(command...),
				tcnetwork.WithNetwork([]string{hostOfPostgres + version}, network),
			)...)
		})
	if err != nil {
		return nil, err
	}
	return postgresAt(ctx, "PostgreSQL", c, ports[0], versionOfPostgres)
}

// postgresSettings are the arguments that every server gets.
func (s *Stores) postgresSettings() []string {
	settings := []string{"-c", "max_connections=1000"}
	if s.options.Fast {
		settings = append(settings, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	return settings
}

// postgresAt waits for a server of PostgreSQL's protocol.
func postgresAt(ctx context.Context, name string, c *runningContainer, port int,
	version func(context.Context, string) (string, string, error),
) (*Store, error) {
	store := &Store{
		Name:      name,
		URL:       postgresURL(loopback(port)),
		Addrs:     []string{loopback(port)},
		container: c,
		version:   version,
	}
	return store, store.Await(ctx)
}

func postgresURL(addr string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", account, account, addr, account)
}

// versionOfPostgres asks a PostgreSQL server for its version.
func versionOfPostgres(ctx context.Context, url string) (name, version string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = conn.Close(ctx) }()
	if err := conn.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return "", "", err
	}
	version, _, _ = strings.Cut(version, " ")
	return "PostgreSQL", version, nil
}

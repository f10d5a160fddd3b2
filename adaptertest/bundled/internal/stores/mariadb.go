package stores

import (
	"context"
	"strings"

	"github.com/testcontainers/testcontainers-go"
)

// startMariaDB starts one server. Its account root has no password.
func (s *Stores) startMariaDB(ctx context.Context, version string) (*Store, error) {
	return s.startMySQLServer(ctx, "MariaDB", "mariadbd", mariadbReleases, version)
}

// startMySQL does the same with MySQL.
func (s *Stores) startMySQL(ctx context.Context, version string) (*Store, error) {
	return s.startMySQLServer(ctx, "MySQL", "mysqld", mysqlReleases, version)
}

func (s *Stores) startMySQLServer(ctx context.Context, name, program string, releases []release, version string) (*Store, error) {
	image, err := s.image(ctx, releases, version)
	if err != nil {
		return nil, err
	}
	command := []string{program, "--max-connections=1000"}
	if s.options.Fast {
		command = append(command, "--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--skip-log-bin")
	}
	command = append(command, s.options.Arguments...)
	var disk []testcontainers.ContainerCustomizer
	if size := s.options.Disk; size != "" {
		disk = append(disk, testcontainers.WithTmpfs(map[string]string{"/data": "size=" + size, "/var/lib/mysql": "size=" + size}))
	}
	c, ports, err := s.engine.run(ctx, name, []int{3306}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return testcontainers.Run(ctx, image, append(append(publish, disk...), testcontainers.WithEnv(map[string]string{
				"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD": "1", "MYSQL_ALLOW_EMPTY_PASSWORD": "1",
			}), testcontainers.WithCmd(command...))...)
		})
	if err != nil {
		return nil, err
	}
	addr := loopback(ports[0])
	store := &Store{Name: name, URL: "mysql://root@" + addr + "/", Addrs: []string{addr}, container: c, version: versionOfMariaDB}
	if err := store.await(ctx); err != nil {
		return nil, err
	}
	return store, nil
}

// versionOfMariaDB asks a server of MySQL's protocol for its product and version.
func versionOfMariaDB(ctx context.Context, rawURL string) (name, version string, err error) {
	db, err := openMySQL(rawURL)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return "", "", err
	}
	number, rest, _ := strings.Cut(version, "-") // such as 11.8.3-MariaDB-0+deb13u1
	if strings.HasPrefix(rest, "MariaDB") {
		return "MariaDB", number, nil
	}
	return "MySQL", number, nil
}

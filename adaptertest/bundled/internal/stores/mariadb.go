package stores

import (
	"context"
	"fmt"
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
	return s.mysqlAt(ctx, name, image, 3306, "", append(disk, testcontainers.WithCmd(command...))...)
}

// startTiDB starts one server that keeps its records itself. Its account root has no password.
func (s *Stores) startTiDB(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, tidbReleases, version)
	if err != nil {
		return nil, err
	}
	return s.mysqlAt(ctx, "TiDB", image, 4000, "")
}

// startVitess starts Vitess with one keyspace without shards. Its port of MySQL is the third after PORT.
func (s *Stores) startVitess(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, vitessReleases, version)
	if err != nil {
		return nil, err
	}
	return s.mysqlAt(ctx, "Vitess", image, 33577, "", testcontainers.WithEnv(map[string]string{
		"PORT": "33574", "KEYSPACES": "gatehouse", "NUM_SHARDS": "1", "MYSQL_BIND_HOST": "0.0.0.0",
	}))
}

// mysqlAt runs a server that listens at a port of its container, and awaits it. The query ends the URL.
func (s *Stores) mysqlAt(
	ctx context.Context, name, image string, port int, query string, options ...testcontainers.ContainerCustomizer,
) (*Store, error) {
	noPassword := testcontainers.WithEnv(map[string]string{
		"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD": "1", "MYSQL_ALLOW_EMPTY_PASSWORD": "1",
	})
	options = append([]testcontainers.ContainerCustomizer{noPassword}, options...)
	return s.serverAt(ctx, name, image, port, mariadbURL("%s")+query, versionOfMariaDB, options...)
}

// mariadbURL is the URL of a server whose account root has no password.
func mariadbURL(addr string) string { return "mysql://root@" + addr + "/" }

// startMariaDBTLS starts one server that refuses connections without TLS. Roots has its certificate. With the URL, a client
// does not verify the certificate.
func (s *Stores) startMariaDBTLS(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, mariadbReleases, version)
	if err != nil {
		return nil, err
	}
	certificate, key, roots, err := selfSigned()
	if err != nil {
		return nil, err
	}
	store, err := s.mysqlAt(ctx, "MariaDB with TLS", image, 3306, "?tls=skip-verify",
		testcontainers.WithFiles(textFile("/tls/certificate.pem", certificate), textFile("/tls/key.pem", key)),
		testcontainers.WithCmd("mariadbd", "--max-connections=1000", "--require-secure-transport=ON",
			"--ssl-cert=/tls/certificate.pem", "--ssl-key=/tls/key.pem"))
	if err != nil {
		return nil, err
	}
	store.Roots = roots
	return store, nil
}

// textFile is a file in a container.
func textFile(path, content string) testcontainers.ContainerFile {
	return testcontainers.ContainerFile{Reader: strings.NewReader(content), ContainerFilePath: path, FileMode: 0o644}
}

// haproxyConfig passes connections on to one server.
const haproxyConfig = `defaults
	mode tcp
	timeout connect 10s
	timeout client 1h
	timeout server 1h

listen mariadb
	bind *:3306
	maxconn 1000
	server one %s:3306
`

// startHAProxy starts HAProxy before a server of its own, with which it shares the network.
func (s *Stores) startHAProxy(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, haproxyReleases, version)
	if err != nil {
		return nil, err
	}
	server, err := s.startMariaDB(ctx, "")
	if err != nil {
		return nil, err
	}
	host, err := server.container.ContainerIP(ctx)
	if err != nil {
		return nil, err
	}
	return s.mysqlAt(ctx, "HAProxy", image, 3306, "",
		testcontainers.WithFiles(textFile("/etc/gatehouse/haproxy.cfg", fmt.Sprintf(haproxyConfig, host))),
		testcontainers.WithCmd("haproxy", "-f", "/etc/gatehouse/haproxy.cfg"))
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
	number, rest, _ := strings.Cut(version, "-") // such as 11.8.3-MariaDB-0+deb13u1, 8.0.11-TiDB-v8.5.3 and 8.0.40-Vitess
	for _, product := range []string{"MariaDB", "TiDB", "Vitess"} {
		if strings.HasPrefix(rest, product) {
			return product, number, nil
		}
	}
	return "MySQL", number, nil
}

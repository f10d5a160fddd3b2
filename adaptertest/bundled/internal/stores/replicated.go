package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// replicatedScript runs one of two servers of MariaDB.
const replicatedScript = `
install_data
serve --init-file=/run/mysqld/init.sql --server-id=$port --log-bin --log-slave-updates --gtid-strict-mode=ON
`

// startReplicated starts a primary of MariaDB, which is the first member, and a read-only replica that follows it. An account
// without the right READ ONLY ADMIN can't write on the replica.
func (s *Stores) startReplicated(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, mariadbReleases, version)
	if err != nil {
		return nil, err
	}
	store, err := s.startGroup(ctx, group{
		name: "MariaDB with a replica", image: image, script: mariadbFunctions + replicatedScript, size: 2, url: mariadbURL, version: versionOfEach,
		arguments: func(i int, ports []int) []string { return []string{strconv.Itoa(ports[i])} },
	})
	if err != nil {
		return nil, err
	}
	if err := store.Members[1].Follow(ctx, store.Members[0]); err != nil {
		return nil, err
	}
	store.version = versionOfReplicated
	return store, store.Await(ctx)
}

// Follow makes a server of MariaDB the read-only replica of another.
func (m *Member) Follow(ctx context.Context, primary *Member) error {
	_, port, err := net.SplitHostPort(primary.Addr)
	if err != nil {
		return err
	}
	db, err := openMySQL(mariadbURL(m.Addr))
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"SET GLOBAL read_only = 1",
		"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = " + port + ", MASTER_USER = 'root', MASTER_USE_GTID = slave_pos",
		"START SLAVE",
	} {
		if err == nil {
			_, err = db.ExecContext(ctx, statement)
		}
	}
	return errors.Join(err, db.Close())
}

// versionOfEach succeeds when each server answers.
func versionOfEach(ctx context.Context, location string) (name, version string, err error) {
	for one := range strings.SplitSeq(location, ",") {
		if _, version, err = versionOfMariaDB(ctx, one); err != nil {
			return "", "", err
		}
	}
	return "MariaDB with a replica", version, nil
}

// versionOfReplicated succeeds when one server follows the other.
func versionOfReplicated(ctx context.Context, location string) (name, version string, err error) {
	following := 0
	for one := range strings.SplitSeq(location, ",") {
		db, err := openMySQL(one)
		if err != nil {
			return "", "", err
		}
		var key, on string
		err = db.QueryRowContext(ctx, "SHOW STATUS LIKE 'Slave_running'").Scan(&key, &on)
		if err := errors.Join(err, db.Close()); err != nil {
			return "", "", err
		}
		if on == "ON" {
			following++
		}
	}
	if following != 1 {
		return "", "", fmt.Errorf("%d servers follow another, want one", following)
	}
	return versionOfEach(ctx, location)
}

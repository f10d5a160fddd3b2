package stores

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// mariadbFunctions are for scripts that run a server of MariaDB on the port $1: install_data makes its data, and serve runs it with
// more settings. Its account root has no password.
const mariadbFunctions = `
set -eu
port=$1
shift
install_data() {
	[ ! -f /data/ready ] || return 0
	setpriv --reuid=mysql --regid=mysql --init-groups -- mariadb-install-db --no-defaults --datadir=/data \
		--auth-root-authentication-method=normal --skip-test-db >/dev/null
	touch /data/ready
}
serve() {
	exec setpriv --reuid=mysql --regid=mysql --init-groups -- mariadbd --no-defaults --datadir=/data --port=$port \
		--socket=/run/mysqld/$port.sock --pid-file=/run/mysqld/$port.pid --bind-address=0.0.0.0 --skip-name-resolve --max-connections=500 "$@"
}
install -d -o mysql -g mysql /data /run/mysqld
printf '%s\n' "SET sql_log_bin = 0;" "CREATE USER IF NOT EXISTS root@'%';" "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;" >/run/mysqld/init.sql
`

// galeraScript runs one node of a Galera cluster. Its arguments are the node's port, its role, and the addresses of the
// nodes among each other. The first node makes the cluster at its first start. The others, and a node that comes back,
// join it and get the records from a member. Every commit is flushed to disk.
const galeraScript = `
role=$1 nodes=$2
shift 2
if [ "$role" = first ] && [ ! -f /data/ready ]; then
	install_data
	set -- "$@" --wsrep-new-cluster --init-file=/run/mysqld/init.sql
fi
transfer=rsync
command -v rsync >/dev/null || transfer=mariabackup
serve --binlog-format=ROW --innodb-autoinc-lock-mode=2 --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so \
	--wsrep-cluster-name=gatehouse --wsrep-cluster-address=gcomm://$nodes --wsrep-node-name=$port --wsrep-node-address=127.0.0.1:$((port + 10000)) \
	--wsrep-sst-method=$transfer --wsrep-sst-auth=root: --wsrep-sst-receive-address=127.0.0.1:$((port + 30000)) \
	--wsrep-provider-options="gmcast.listen_addr=tcp://127.0.0.1:$((port + 10000));ist.recv_addr=127.0.0.1:$((port + 20000));gcache.size=64M" "$@"
`

// startGalera starts a cluster of three nodes of MariaDB, each of which takes reads and writes.
func (s *Stores) startGalera(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, mariadbReleases, version)
	if err != nil {
		return nil, err
	}
	return s.startGroup(ctx, group{
		name: "Galera", image: image, script: mariadbFunctions + galeraScript, size: 3, url: mariadbURL, version: versionOfGalera,
		arguments: func(i int, ports []int) []string {
			nodes := make([]string, len(ports))
			for n, port := range ports {
				nodes[n] = loopback(port + 10000)
			}
			role := "other"
			if i == 0 {
				role = "first"
			}
			return []string{strconv.Itoa(ports[i]), role, strings.Join(nodes, ",")}
		},
	})
}

// versionOfGalera succeeds when every node knows every other and has all records.
func versionOfGalera(ctx context.Context, location string) (name, version string, err error) {
	all := strings.Split(location, ",")
	for _, one := range all {
		db, err := openMySQL(one)
		if err != nil {
			return "", "", err
		}
		var size, state, key string
		err = db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_cluster_size'").Scan(&key, &size)
		if err == nil {
			err = db.QueryRowContext(ctx, "SHOW STATUS LIKE 'wsrep_local_state_comment'").Scan(&key, &state)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			return "", "", err
		}
		if size != strconv.Itoa(len(all)) || state != "Synced" {
			return "", "", fmt.Errorf("the node at %s is %s in a cluster of %s", one, state, size)
		}
	}
	_, version, err = versionOfMariaDB(ctx, all[0])
	return "Galera", version, err
}

// openMySQL opens a pool of a server of MySQL's protocol.
func openMySQL(rawURL string) (*sql.DB, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("the URL can't be parsed")
	}
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Logger = "tcp", u.Host, u.User.Username(), &mysql.NopLogger{}
	c.Passwd, _ = u.User.Password()
	c.TLSConfig = u.Query().Get("tls")
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

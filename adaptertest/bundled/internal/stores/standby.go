package stores

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// standbyScript runs one of two servers, on the port $1. The other server is on the port $2. If the other server is a
// primary, this one becomes its standby, with a copy of its data: at its first start, and also when it starts again and
// was the primary before. The other arguments are settings.
const standbyScript = `
set -eu
port=$1 other=$2 role=$3
shift 3
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
export PGDATA=/group/data PGPASSWORD=gatehouse
as() { setpriv --reuid=postgres --regid=postgres --init-groups -- "$@"; }
neighbour_is_primary() {
	test "$(psql -h 127.0.0.1 -p $other -U gatehouse -d gatehouse -tAc 'SELECT pg_is_in_recovery()' 2>/dev/null)" = f
}
copy() {
	rm -rf "$PGDATA"
	as pg_basebackup -h 127.0.0.1 -p $other -U gatehouse -D "$PGDATA" -X stream -c fast -R
}
install -d -o postgres -g postgres -m 700 /group
install -d -o postgres -g postgres -m 775 /run/postgresql /var/run/postgresql
if [ $role = standby ] && [ ! -f /group/ready ]; then
	until neighbour_is_primary; do sleep 0.1; done
	copy
elif [ ! -f /group/ready ]; then
	rm -rf "$PGDATA"
	echo gatehouse >/run/pwfile
	chmod 644 /run/pwfile
	as initdb --username=gatehouse --pwfile=/run/pwfile --encoding=UTF8 --locale=C.UTF-8 \
		--auth-local=trust --auth-host=scram-sha-256 >/dev/null
	echo 'CREATE DATABASE gatehouse' | as postgres --single -j postgres >/dev/null
elif [ ! -f "$PGDATA/standby.signal" ] && neighbour_is_primary; then
	copy
fi
grep -q 'host all all all' "$PGDATA/pg_hba.conf" || echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
touch /group/ready
exec setpriv --reuid=postgres --regid=postgres --init-groups -- postgres -p $port -c listen_addresses='*' "$@"
`

// startStandby starts a primary, which is the first member, and a hot standby that follows it.
//
// SELECT pg_promote() promotes the standby. If the old primary is started after that, it follows the new one. To make
// commits wait for the standby, set synchronous_standby_names on the primary by ALTER SYSTEM.
func (s *Stores) startStandby(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, postgresReleases, version)
	if err != nil {
		return nil, err
	}
	roles := []string{"primary", "standby"}
	return s.startGroup(ctx, group{
		name: "PostgreSQL with a standby", image: image, script: standbyScript, size: len(roles), url: postgresURL, version: versionOfStandby,
		arguments: func(i int, ports []int) []string {
			return append([]string{strconv.Itoa(ports[i]), strconv.Itoa(ports[1-i]), roles[i]}, s.postgresSettings()...)
		},
	})
}

// versionOfStandby succeeds when one server is the primary and the other follows it.
func versionOfStandby(ctx context.Context, location string) (name, version string, err error) {
	primaries, followers := 0, 0
	for url := range strings.SplitSeq(location, ",") {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return "", "", err
		}
		var standby bool
		var following int
		err = conn.QueryRow(ctx, `SELECT pg_is_in_recovery(), (SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'),
			split_part(current_setting('server_version'), ' ', 1)`).Scan(&standby, &following, &version)
		if err := errors.Join(err, conn.Close(ctx)); err != nil {
			return "", "", err
		}
		if !standby {
			primaries++
		}
		followers += following
	}
	if primaries != 1 || followers != 1 {
		return "", "", fmt.Errorf("got %d primaries and %d standbys that follow one, want one of each", primaries, followers)
	}
	return "PostgreSQL with a standby", version, nil
}

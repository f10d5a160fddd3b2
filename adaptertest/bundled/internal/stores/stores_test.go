package stores

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/client"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// open returns a Stores that starts containers, even if the environment names stores.
func open(t *testing.T) *Stores {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs nothing that needs a container engine")
	}
	for _, k := range kinds() {
		t.Setenv(k.variable, "")
	}
	s := Open(Options{})
	if _, err := s.engine.connect(t.Context()); err != nil {
		if os.Getenv(EnvSkip) == "1" {
			t.Skipf("LEFT OUT: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	return s
}

// everyServer has all kinds in all versions that images/build makes.
var everyServer = []Kind{
	KindPostgres.Of("15"), KindPostgres.Of("17"), KindPostgres.Of("18"), KindRedis.Of("7"), KindRedis.Of("8"),
	KindValkey.Of("8"), KindValkey.Of("9"), KindRedisCluster, KindMongo.Of("6"), KindMariaDB, KindMariaDB.Of("10"), KindMySQL.Of("9"), KindMongoReplica, KindMongoUsers, KindMongoSet,
}

// TestKilled checks that a store still has the writes that it acknowledged when it is killed by SIGKILL and started again,
// that its address is the same, and that its version is the requested one.
func TestKilled(t *testing.T) {
	s := open(t)
	for _, kind := range everyServer {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel() // mostly waits for servers that start
			found := find(t, s, kind)
			require.Truef(t, found.Ours() && found.Name != "" && len(found.Addrs) != 0,
				"the store is described incompletely: %+v", found)
			if _, version, ok := strings.Cut(string(kind), ":"); ok && !strings.HasPrefix(found.Version, version+".") {
				t.Errorf("got version %s, want %s", found.Version, version)
			}
			write, read := writeRedis, readRedis
			switch scheme, _, _ := strings.Cut(found.URL, ":"); scheme {
			case "postgres":
				write, read = writePostgres, readPostgres
			case "mysql":
				write, read = writeMariaDB, readMariaDB
			case "mongodb":
				write, read = writeMongo, readMongo
			}
			require.NoErrorf(t, write(t.Context(), found), "write to %s", found.Name)
			require.NoError(t, found.Kill(t.Context()))
			for _, addr := range found.Addrs {
				if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
					_ = conn.Close()
					t.Errorf("%s accepts connections after it was killed", addr)
				}
			}
			require.NoError(t, found.Start(t.Context()))
			assert.NoErrorf(t, read(t.Context(), found), "read from %s after a restart", found.Name)
			again, err := s.Find(t.Context(), kind)
			assert.Truef(t, err == nil && again == found,
				"a second search found another store: %p and %p, %v", found, again, err)
		})
	}
}

// find finds a server. If this machine can't offer it, the test is skipped with a message, and fails in CI.
func find(t *testing.T, s *Stores, k Kind) *Store {
	t.Helper()
	found, err := s.Find(t.Context(), k)
	if errors.Is(err, ErrUnavailable) && os.Getenv("CI") != "true" {
		t.Skipf("LEFT OUT: %v", err)
	}
	require.NoError(t, err)
	return found
}

func writeMariaDB(ctx context.Context, s *Store) error {
	return withMariaDB(s, func(db *sql.DB) error {
		for _, statement := range []string{"CREATE DATABASE kept", "CREATE TABLE kept.kept (x INT)", "INSERT INTO kept.kept VALUES (1)"} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func readMariaDB(ctx context.Context, s *Store) error {
	return withMariaDB(s, func(db *sql.DB) error { return db.QueryRowContext(ctx, "SELECT x FROM kept.kept").Scan(new(int)) })
}

func withMariaDB(s *Store, do func(*sql.DB) error) error {
	db, err := sql.Open("mysql", "root@tcp("+s.Addrs[0]+")/")
	if err != nil {
		return err
	}
	return errors.Join(do(db), db.Close())
}

// TestStandby checks that the standby takes over and that the old primary then follows it.
func TestStandby(t *testing.T) {
	s := open(t)
	group := find(t, s, KindStandby)
	primary, standby := &Store{URL: group.locations[0]}, &Store{URL: group.locations[1]}
	for range 2 {
		require.NoError(t, writePostgres(t.Context(), primary))
		wait := func(sql string, from *Store) {
			t.Helper()
			until(t, sql, func() bool {
				var yes bool
				return withPostgres(t.Context(), from, func(c *pgx.Conn) error { return c.QueryRow(t.Context(), sql).Scan(&yes) }) == nil && yes
			})
		}
		wait("SELECT EXISTS (SELECT FROM pg_tables WHERE tablename = 'kept')", standby)
		require.NoError(t, group.memberAt(t, primary.URL).Kill(t.Context()))
		wait("SELECT pg_promote()", standby)
		require.NoError(t, group.memberAt(t, primary.URL).Start(t.Context()))
		primary, standby = standby, primary
		wait("SELECT pg_is_in_recovery()", standby)
		assert.NoError(t, readPostgres(t.Context(), standby), "the old primary does not have what the new one")
		err := withPostgres(t.Context(), primary, func(c *pgx.Conn) error {
			_, err := c.Exec(t.Context(), "DROP TABLE kept")
			return err
		})
		require.NoError(t, err)
	}
}

// memberAt returns the member that listens where the URL points.
func (s *Store) memberAt(t *testing.T, url string) *Member {
	t.Helper()
	for _, m := range s.Members {
		if strings.Contains(url, m.Addr) {
			return m
		}
	}
	t.Fatalf("no member is at %s", url)
	return nil
}

// until calls asked until it returns true.
func until(t *testing.T, what string, asked func() bool) {
	t.Helper()
	require.Eventually(t, asked, time.Minute, 50*time.Millisecond, what)
}

// TestSentinel checks that the sentinels replace a master that was killed, and that the old master follows the new one when
// it is started again.
func TestSentinel(t *testing.T) {
	s := open(t)
	group := find(t, s, KindSentinel)
	c := goredis.NewSentinelClient(&goredis.Options{Addr: group.Addrs[0]})
	defer func() { _ = c.Close() }()
	require.NoError(t, group.Members[0].Kill(t.Context()))
	until(t, "another master", func() bool {
		addr, err := c.GetMasterAddrByName(t.Context(), sentinelMaster).Result()
		return err == nil && net.JoinHostPort(addr[0], addr[1]) != group.Members[0].Addr
	})
	require.NoError(t, group.Members[0].Start(t.Context()))
	until(t, "the old master follows", func() bool {
		old := goredis.NewClient(&goredis.Options{Addr: group.Members[0].Addr})
		defer func() { _ = old.Close() }()
		info, err := old.Info(t.Context(), "replication").Result()
		return err == nil && field(info, "role") == "slave" && field(info, "master_link_status") == "up"
	})
}

// TestMongoSet checks that the members elect another primary when theirs is killed.
func TestMongoSet(t *testing.T) {
	s := open(t)
	group := find(t, s, KindMongoSet)
	require.NoError(t, writeMongo(t.Context(), group))
	killed, err := group.Primary(t.Context())
	require.NoError(t, err)
	require.NoError(t, killed.Kill(t.Context()))
	assert.NoError(t, readMongo(t.Context(), group), "read after the primary was killed")
	now, err := group.Primary(t.Context())
	assert.Truef(t, err == nil && now != killed, "%s was killed; the primary is %v, %v", killed.Addr, now, err)
	require.NoError(t, killed.Start(t.Context()))
}

// TestUnknownKind checks that the error for an unknown kind names all kinds, and the error for an unknown version all
// versions.
func TestUnknownKind(t *testing.T) {
	s := open(t)
	_, err := s.Find(t.Context(), "oracle")
	assert.ErrorContains(t, err, "postgres, pgbouncer", "the kinds")
	_, err = s.Find(t.Context(), KindPostgres.Of("9"))
	assert.ErrorContains(t, err, "18, 17, 15", "the versions")
	assert.NotErrorIs(t, err, ErrUnavailable)
}

// TestAddresses checks the addresses that are read from a location.
func TestAddresses(t *testing.T) {
	for location, want := range map[string]string{
		"postgres://u:p@h:1/d?sslmode=disable":      "h:1",
		"postgres://u:p@h:1/d,postgres://u:p@h:2/d": "h:1 h:2",
		"mongodb://u:p@h:1,h:2,h:3/?replicaSet=rs0": "h:1 h:2 h:3",
		"h:1,h:2":                             "h:1 h:2",
		"redis://:secret@h:6379":              "h:6379",
		"mongodb://h:1?directConnection=true": "h:1",
	} {
		assert.Equal(t, want, strings.Join(addresses(location), " "), location)
	}
}

// TestPgBouncer checks that PgBouncer is in transaction mode, in which two statements outside of a transaction need not
// share a session.
func TestPgBouncer(t *testing.T) {
	s := open(t)
	found, err := s.Find(t.Context(), KindPgBouncer)
	require.NoError(t, err)
	config, err := pgx.ParseConfig(found.URL)
	require.NoError(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.Database = "pgbouncer"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), "SHOW POOLS")
	require.NoError(t, err)
	pools, err := pgx.CollectRows(rows, pgx.RowToMap)
	require.NoError(t, err)
	for _, pool := range pools {
		if pool["database"] == account {
			assert.Equal(t, "transaction", pool["pool_mode"])
			return
		}
	}
	t.Errorf("PgBouncer has no pool for %s: %v", account, pools)
}

// TestTwoRuns checks that each of two runs has its own servers.
func TestTwoRuns(t *testing.T) {
	one, two := open(t), open(t)
	a, err := one.Find(t.Context(), KindRedis)
	require.NoError(t, err)
	b, err := two.Find(t.Context(), KindRedis)
	require.NoError(t, err)
	require.NotEqual(t, b.URL, a.URL, "two runs share")
	require.NoError(t, writeRedis(t.Context(), a))
	err = readRedis(t.Context(), b)
	assert.ErrorIsf(t, err, goredis.Nil, "reading in one run what another wrote: got %v, want a miss", err)
}

// TestClose checks that the engine has no container and no network of a run after Close.
func TestClose(t *testing.T) {
	s := open(t)
	_, err := s.Find(t.Context(), KindPgBouncer) // with PostgreSQL and a network
	require.NoError(t, err)
	docker := s.engine.docker
	ids := []string{}
	for _, c := range s.engine.containers {
		ids = append(ids, c.GetContainerID())
	}
	network := s.engine.network.ID
	require.Lenf(t, ids, 2, "got %d containers, want 2", len(ids))
	require.NoError(t, s.Close(t.Context()))
	for _, id := range ids {
		_, err := docker.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
		assert.Errorf(t, err, "container %s is still there", id)
	}
	_, err = docker.NetworkInspect(t.Context(), network, client.NetworkInspectOptions{})
	assert.Errorf(t, err, "network %s is still there", network)
}

// TestOwner checks that a run that was killed is distinguished from a run that is still running.
func TestOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("LEFT OUT: this machine has no /proc, so abandoned containers are left to the reaper")
	}
	assert.False(t, gone(owner()), "this process runs, and gone says that it has ended")
	c := exec.Command("sleep", "60")
	require.NoError(t, c.Start())
	host, _ := os.Hostname()
	label := strings.Join([]string{host, strconv.Itoa(c.Process.Pid), startTime(c.Process.Pid)}, "/")
	assert.Falsef(t, gone(label), "%s runs, and gone says that it has ended", label)
	require.NoError(t, c.Process.Kill())
	_ = c.Wait() // killed
	assert.Truef(t, gone(label), "%s has ended, and gone says that it runs", label)
	for _, other := range []string{"elsewhere/1/1", "", host + "/x/1", host + "/1/"} {
		assert.Falsef(t, gone(other), "gone says that %q has ended, which it can't know", other)
	}
}

func writePostgres(ctx context.Context, s *Store) error {
	return withPostgres(ctx, s, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, "CREATE TABLE kept AS SELECT 42 AS answer")
		return err
	})
}

func readPostgres(ctx context.Context, s *Store) error {
	return withPostgres(ctx, s, func(c *pgx.Conn) error {
		var answer int
		return c.QueryRow(ctx, "SELECT answer FROM kept").Scan(&answer)
	})
}

func withPostgres(ctx context.Context, s *Store, do func(*pgx.Conn) error) error {
	c, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	return do(c)
}

func writeRedis(ctx context.Context, s *Store) error {
	c := goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: s.Addrs})
	defer func() { _ = c.Close() }()
	for _, key := range []string{"a", "b", "c", "d", "e"} { // on several nodes
		if err := c.Set(ctx, key, "kept", 0).Err(); err != nil {
			return err
		}
	}
	return nil
}

func readRedis(ctx context.Context, s *Store) error {
	c := goredis.NewUniversalClient(&goredis.UniversalOptions{Addrs: s.Addrs})
	defer func() { _ = c.Close() }()
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		if err := c.Get(ctx, key).Err(); err != nil {
			return err
		}
	}
	return nil
}

func writeMongo(ctx context.Context, s *Store) error {
	return withMongo(ctx, s, func(c *mgo.Collection) error {
		_, err := c.InsertOne(ctx, bson.D{{Key: "_id", Value: "kept"}})
		return err
	})
}

func readMongo(ctx context.Context, s *Store) error {
	return withMongo(ctx, s, func(c *mgo.Collection) error {
		return c.FindOne(ctx, bson.D{{Key: "_id", Value: "kept"}}).Err()
	})
}

func withMongo(ctx context.Context, s *Store, do func(*mgo.Collection) error) error {
	c, err := mgo.Connect(options.Client().ApplyURI(s.URL))
	if err != nil {
		return err
	}
	defer func() { _ = c.Disconnect(ctx) }()
	return do(c.Database("test").Collection("kept", options.Collection().SetWriteConcern(writeconcern.Majority())))
}

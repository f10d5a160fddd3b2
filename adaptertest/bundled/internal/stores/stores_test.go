package stores

import (
	"context"
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
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// open returns a Stores that starts containers, whatever stores the environment names.
func open(t *testing.T) *Stores {
	t.Helper()
	for _, name := range []string{EnvPostgres, EnvPgBouncer, EnvRedis, EnvRedisCluster, EnvMongo, EnvMongoReplica} {
		t.Setenv(name, "")
	}
	s := Open(Options{})
	if _, err := s.engine.connect(t.Context()); err != nil {
		if os.Getenv(EnvSkip) == "1" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestKilled checks that what a store has acknowledged is there after SIGKILL and a start, at the same address.
func TestKilled(t *testing.T) {
	s := open(t)
	for name, store := range map[string]struct {
		find  func(context.Context) (*Store, error)
		write func(context.Context, *Store) error
		read  func(context.Context, *Store) error
	}{
		"postgres": {s.Postgres, writePostgres, readPostgres},
		"redis":    {s.Redis, writeRedis, readRedis},
		"cluster":  {s.RedisCluster, writeRedis, readRedis},
		"mongo":    {s.Mongo, writeMongo, readMongo},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := store.find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !found.Ours() || found.Name == "" || found.Version == "" || len(found.Addrs) == 0 {
				t.Fatalf("the store is described incompletely: %+v", found)
			}
			if err := store.write(t.Context(), found); err != nil {
				t.Fatalf("write to %s: %v", found.Name, err)
			}
			if err := found.Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, addr := range found.Addrs {
				if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
					_ = conn.Close()
					t.Errorf("%s accepts connections after it was killed", addr)
				}
			}
			if err := found.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := store.read(t.Context(), found); err != nil {
				t.Errorf("read from %s after a restart: %v", found.Name, err)
			}
			again, err := store.find(t.Context())
			if err != nil || again != found {
				t.Errorf("a second search found another store: %p and %p, %v", found, again, err)
			}
		})
	}
}

// TestPgBouncer checks that PgBouncer is in transaction mode, in which no two statements share a session.
func TestPgBouncer(t *testing.T) {
	s := open(t)
	found, err := s.PgBouncer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := pgx.ParseConfig(found.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	config.Database = "pgbouncer"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), "SHOW POOLS")
	if err != nil {
		t.Fatal(err)
	}
	pools, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil {
		t.Fatal(err)
	}
	for _, pool := range pools {
		if pool["database"] == account {
			if pool["pool_mode"] != "transaction" {
				t.Errorf("got pool mode %v, want transaction", pool["pool_mode"])
			}
			return
		}
	}
	t.Errorf("PgBouncer has no pool for %s: %v", account, pools)
}

// TestTwoRuns checks that two runs have servers of their own.
func TestTwoRuns(t *testing.T) {
	one, two := open(t), open(t)
	a, err := one.Redis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := two.Redis(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if a.URL == b.URL {
		t.Fatalf("two runs share %s", a.URL)
	}
	if err := writeRedis(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if err := readRedis(t.Context(), b); !errors.Is(err, goredis.Nil) {
		t.Errorf("reading in one run what another wrote: got %v, want a miss", err)
	}
}

// TestClose checks that nothing of a run is left on the engine.
func TestClose(t *testing.T) {
	s := open(t)
	if _, err := s.PgBouncer(t.Context()); err != nil { // with PostgreSQL and a network
		t.Fatal(err)
	}
	docker := s.engine.docker
	ids := []string{}
	for _, c := range s.engine.containers {
		ids = append(ids, c.GetContainerID())
	}
	network := s.engine.network.ID
	if len(ids) != 2 {
		t.Fatalf("got %d containers, want 2", len(ids))
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, err := docker.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{}); err == nil {
			t.Errorf("container %s is still there", id)
		}
	}
	if _, err := docker.NetworkInspect(t.Context(), network, client.NetworkInspectOptions{}); err == nil {
		t.Errorf("network %s is still there", network)
	}
}

// TestOwner checks that a run which was killed is told from one that runs.
func TestOwner(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this machine has no /proc, so abandoned containers are left to the reaper")
	}
	if gone(owner()) {
		t.Error("this process is taken for one that has ended")
	}
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	label := strings.Join([]string{host, strconv.Itoa(c.Process.Pid), startTime(c.Process.Pid)}, "/")
	if gone(label) {
		t.Errorf("%s runs and is taken for ended", label)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	if !gone(label) {
		t.Errorf("%s has ended and is taken for running", label)
	}
	for _, other := range []string{"elsewhere/1/1", "", host + "/x/1", host + "/1/"} {
		if gone(other) {
			t.Errorf("%q is taken for a process of this host that has ended", other)
		}
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
	return do(c.Database("test").Collection("kept"))
}

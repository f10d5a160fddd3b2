package stores

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/testcontainers/testcontainers-go"
	tcmongo "github.com/testcontainers/testcontainers-go/modules/mongodb"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// replicaSet is the name of the replica sets that a run starts.
const replicaSet = "rs0"

// mongod is the command of a server. It limits the cache: by default each server takes half the memory of the machine. A
// fast server loads a library that leaves out fsync, because mongod has no setting for this. Only the local image has the
// library.
func (s *Stores) mongod(image string, arguments ...string) []testcontainers.ContainerCustomizer {
	o := []testcontainers.ContainerCustomizer{testcontainers.WithCmd(
		append([]string{"mongod", "--bind_ip_all", "--wiredTigerCacheSizeGB", "1"}, arguments...)...)}
	if s.options.Fast && image == LocalMongo {
		o = append(o, testcontainers.WithEnv(map[string]string{"LD_PRELOAD": "libeatmydata.so"}))
	}
	return o
}

func (s *Stores) startMongo(ctx context.Context, version string) (*Store, error) {
	return s.oneMongo(ctx, "MongoDB", version)
}

// startMongoReplicaSet starts a replica set of one member. The set knows the member by its address inside the container,
// which clients can't reach, so they connect directly.
func (s *Stores) startMongoReplicaSet(ctx context.Context, version string) (*Store, error) {
	return s.oneMongo(ctx, "MongoDB replica set", version, "--replSet", replicaSet)
}

func (s *Stores) oneMongo(ctx context.Context, name, version string, arguments ...string) (*Store, error) {
	image, err := s.image(ctx, mongoReleases, version)
	if err != nil {
		return nil, err
	}
	c, ports, err := s.engine.run(ctx, name, []int{27017}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return tcmongo.Run(ctx, image, append(publish, s.mongod(image, arguments...)...)...)
		})
	if err != nil {
		return nil, err
	}
	addr := loopback(ports[0])
	store := &Store{Name: name, URL: "mongodb://" + addr + "/?directConnection=true", Addrs: []string{addr}, container: c, version: versionOfMongo}
	if len(arguments) > 0 {
		if err := initiate(ctx, store, replicaSet, []string{"localhost:27017"}); err != nil {
			return nil, err
		}
	}
	return store, store.Await(ctx)
}

// usersScript runs a server without access control until the first user is there, and then
// one with it. The arguments are those of mongod.
const usersScript = `
set -eu
mkdir -p /data/db
if [ ! -f /data/ready ]; then
	mongod "$@" &
	until [ -f /data/ready ]; do sleep 0.05; done
	kill $!
	wait $! || true
	touch /data/stopped
fi
exec mongod --auth "$@"
`

// startMongoUsers starts a server whose clients must sign in, with the user root.
func (s *Stores) startMongoUsers(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, mongoReleases, version)
	if err != nil {
		return nil, err
	}
	const title = "MongoDB with users"
	command := testcontainers.WithCmd("-c", usersScript, "users", "--bind_ip_all", "--wiredTigerCacheSizeGB", "1")
	store, err := s.serverAt(ctx, title, image, 27017, "mongodb://%s/?directConnection=true", versionOfMongo,
		testcontainers.WithEntrypoint("sh"), command)
	if err != nil {
		return nil, err
	}
	err = withMongoAt(ctx, store.URL, func(client *mgo.Client) error {
		return client.Database("admin").RunCommand(ctx, bson.D{{Key: "createUser", Value: "root"}, {Key: "pwd", Value: "gatehouse"}, {Key: "roles", Value: bson.A{"root"}}}).Err()
	})
	if err == nil {
		err = store.Execute(ctx, "sh", "-c", "touch /data/ready; until [ -f /data/stopped ]; do sleep 0.05; done")
	}
	if err != nil {
		return nil, fmt.Errorf("stores: %s: make the first user: %w", title, err)
	}
	store.Name, store.URL = title, "mongodb://root:gatehouse@"+store.Addrs[0]+"/?directConnection=true"
	return store, store.Await(ctx)
}

// electionTimeout is how long the members of a set wait for their primary before they elect another.
const electionTimeoutMillis = 2000

// startMongoSet starts a replica set of three members. Each of them can be the primary.
func (s *Stores) startMongoSet(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, mongoReleases, version)
	if err != nil {
		return nil, err
	}
	members, err := s.engine.runGroup(ctx, "MongoDB replica set of three", image, 3, func(i int, ports []int) memberSpec {
		return memberSpec{image, s.mongod(image, "--replSet", replicaSet, "--port", strconv.Itoa(ports[i]))}
	})
	if err != nil {
		return nil, err
	}
	store := &Store{Name: "MongoDB replica set of three", Members: members, version: versionOfMongo}
	for _, m := range members {
		store.Addrs = append(store.Addrs, m.Addr)
	}
	store.URL = "mongodb://" + strings.Join(store.Addrs, ",") + "/?replicaSet=" + replicaSet
	first := &Store{Name: store.Name, URL: "mongodb://" + store.Addrs[0] + "/?directConnection=true", Addrs: store.Addrs[:1], container: members[0].container}
	if err := initiate(ctx, first, replicaSet, store.Addrs); err != nil {
		return nil, err
	}
	return store, store.Await(ctx)
}

// configSet is the name of the replica set that holds the configuration of a sharded cluster.
const configSet = "config"

// startMongoSharded starts a sharded cluster: a configuration server, one shard and a router, to which clients connect.
func (s *Stores) startMongoSharded(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, shardedReleases, version)
	if err != nil {
		return nil, err
	}
	const title = "MongoDB, sharded"
	members, err := s.engine.runGroup(ctx, title, image, 3, func(i int, ports []int) memberSpec {
		port := strconv.Itoa(ports[i])
		switch i {
		case 0:
			return memberSpec{image, s.mongod(image, "--configsvr", "--dbpath", "/data/db", "--replSet", configSet, "--port", port)}
		case 1:
			return memberSpec{image, s.mongod(image, "--shardsvr", "--replSet", replicaSet, "--port", port)}
		default:
			return memberSpec{image, []testcontainers.ContainerCustomizer{
				testcontainers.WithCmd("mongos", "--bind_ip_all", "--port", port, "--configdb", configSet+"/"+loopback(ports[0])),
			}}
		}
	})
	if err != nil {
		return nil, err
	}
	for i, name := range []string{configSet, replicaSet} {
		m := members[i]
		at := &Store{Name: title, URL: "mongodb://" + m.Addr + "/?directConnection=true", Addrs: []string{m.Addr}, container: m.container}
		if err := initiate(ctx, at, name, at.Addrs); err != nil {
			return nil, err
		}
	}
	router := members[2]
	store := &Store{Name: title, URL: "mongodb://" + router.Addr + "/", Addrs: []string{router.Addr}, container: router.container, version: versionOfMongo}
	if err := store.Await(ctx); err != nil { // the router answers when it has read the configuration
		return nil, err
	}
	err = withMongoAt(ctx, store.URL, func(c *mgo.Client) error {
		return c.Database("admin").RunCommand(ctx, bson.D{{Key: "addShard", Value: replicaSet + "/" + members[1].Addr}}).Err()
	})
	if err != nil {
		return nil, fmt.Errorf("stores: %s: add the shard: %w", title, err)
	}
	return store, nil
}

// Primary returns the member of a replica set of MongoDB that is the primary now, or nil of any other store.
func (s *Store) Primary(ctx context.Context) (*Member, error) {
	if len(s.Members) == 0 || !strings.HasPrefix(s.URL, "mongodb://") {
		return nil, nil
	}
	var hello struct {
		Me string `bson:"me"`
	}
	err := withMongoAt(ctx, s.URL, func(c *mgo.Client) error {
		return c.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello)
	})
	if err != nil {
		return nil, fmt.Errorf("stores: the primary of %s: %w", s.Name, err)
	}
	for _, m := range s.Members {
		if m.Addr == hello.Me {
			return m, nil
		}
	}
	return nil, fmt.Errorf("stores: the primary of %s is at %s, which is not one of its members", s.Name, hello.Me)
}

// nodeNotFound is the error code for a command that names a member which does not answer yet. The server did not run the
// command, so it is sent again.
const nodeNotFound = 74

// initiate makes the server, which is new, the first member of a replica set with the name. It returns when the server has
// run the command.
func initiate(ctx context.Context, at *Store, name string, members []string) error {
	var list bson.A
	for i, host := range members {
		list = append(list, bson.D{{Key: "_id", Value: i}, {Key: "host", Value: host}})
	}
	order := bson.D{{Key: "replSetInitiate", Value: bson.D{
		{Key: "_id", Value: name}, {Key: "members", Value: list}, {Key: "configsvr", Value: name == configSet},
		{Key: "settings", Value: bson.D{{Key: "electionTimeoutMillis", Value: electionTimeoutMillis}}},
	}}}
	up := *at
	up.version = func(ctx context.Context, url string) (name, version string, err error) {
		return at.Name, "", withMongoAt(ctx, url, func(c *mgo.Client) error { return c.Ping(ctx, nil) })
	}
	if err := up.Await(ctx); err != nil {
		return err
	}
	// One call of the command has all of answerWithin: after a shorter deadline nobody could say whether the server has run it.
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	err := withMongoAt(ctx, at.URL, func(c *mgo.Client) error {
		for {
			err := c.Database("admin").RunCommand(ctx, order).Err()
			var refused mgo.CommandError
			if !errors.As(err, &refused) || refused.Code != nodeNotFound || ctx.Err() != nil {
				return err
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return err
			}
		}
	})
	if err != nil {
		return fmt.Errorf("stores: %s at %v: %w", at.Name, at.Addrs, err)
	}
	return nil
}

// withMongoAt opens a client for the time of a function.
func withMongoAt(ctx context.Context, url string, do func(*mgo.Client) error) error {
	c, err := mgo.Connect(options.Client().ApplyURI(url))
	if err != nil {
		return err
	}
	return errors.Join(do(c), c.Disconnect(context.WithoutCancel(ctx)))
}

// versionOfMongo asks a server of MongoDB for its product and version. For a replica set it succeeds when the set has a
// primary. A direct connection must lead to the primary.
func versionOfMongo(ctx context.Context, url string) (name, version string, err error) {
	var info struct {
		Version string `bson:"version"`
	}
	var hello struct {
		SetName string   `bson:"setName"`
		Primary bool     `bson:"isWritablePrimary"`
		Message string   `bson:"msg"`
		Hosts   []string `bson:"hosts"`
		Planned bool     `bson:"isreplicaset"` // the server belongs to a set that is not initiated yet
	}
	err = withMongoAt(ctx, url, func(c *mgo.Client) error {
		admin := c.Database("admin")
		return errors.Join(
			admin.RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello),
			admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info))
	})
	switch {
	case err != nil:
		return "", "", err
	case hello.Message == "isdbgrid":
		return "MongoDB, sharded", info.Version, nil
	case hello.Planned:
		return "", "", errors.New("the replica set is not initiated")
	case hello.SetName == "":
		return "MongoDB", info.Version, nil
	case !hello.Primary:
		return "", "", fmt.Errorf("the server is not the primary of replica set %s", hello.SetName)
	case len(hello.Hosts) > 1:
		return fmt.Sprintf("MongoDB replica set of %d", len(hello.Hosts)), info.Version, nil
	default:
		return "MongoDB replica set", info.Version, nil
	}
}

package stores

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/testcontainers/testcontainers-go"
	tcmongo "github.com/testcontainers/testcontainers-go/modules/mongodb"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func (s *Stores) startMongo(ctx context.Context) (*Store, error) {
	docker, err := s.engine.connect(ctx)
	if err != nil {
		return nil, err
	}
	image, err := choose(ctx, docker, ImageMongo, LocalFerretDB)
	if err != nil {
		return nil, err
	}
	command := []string{"mongod", "--bind_ip_all"}
	if image == LocalFerretDB {
		command = []string{"-listen=:27017", "-data=/data", "-fast=" + strconv.FormatBool(s.options.Fast)}
	}
	return s.mongoOf(ctx, "MongoDB", image, testcontainers.WithCmd(command...))
}

// initiate makes the server a replica set of itself and returns when it is the primary. Members are named by the address
// inside the container, which is the same after a restart; clients connect directly.
const initiate = `try { rs.status() } catch (e) { rs.initiate({_id: "rs0", members: [{_id: 0, host: "localhost:27017"}]}) }
while (!db.hello().isWritablePrimary) sleep(50)`

func (s *Stores) startMongoReplicaSet(ctx context.Context) (*Store, error) {
	docker, err := s.engine.connect(ctx)
	if err != nil {
		return nil, err
	}
	if !obtainable(ctx, docker, ImageMongo) {
		return nil, fmt.Errorf("stores: MongoDB replica set: no registry offers %s: %w", ImageMongo, ErrUnavailable)
	}
	return s.mongoOf(ctx, "MongoDB replica set", ImageMongo,
		testcontainers.WithCmd("mongod", "--bind_ip_all", "--replSet", "rs0"),
		testcontainers.WithAfterReadyCommand(testcontainers.NewRawCommand(
			[]string{"sh", "-c", "until mongosh --quiet --eval '" + initiate + "'; do sleep 0.2; done"})))
}

func (s *Stores) mongoOf(ctx context.Context, name, image string, opts ...testcontainers.ContainerCustomizer) (*Store, error) {
	c, ports, err := s.engine.run(ctx, name, []int{27017}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return tcmongo.Run(ctx, image, append(publish, opts...)...)
		})
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	store := &Store{Name: name, URL: "mongodb://" + addr + "/?directConnection=true", Addrs: []string{addr}, container: c, version: versionOfMongo}
	if err := store.await(ctx); err != nil {
		return nil, err
	}
	return store, nil
}

// versionOfMongo asks a server of MongoDB's protocol what it is.
func versionOfMongo(ctx context.Context, url string) (name, version string, err error) {
	c, err := mgo.Connect(options.Client().ApplyURI(url))
	if err != nil {
		return "", "", err
	}
	defer func() { _ = c.Disconnect(context.WithoutCancel(ctx)) }()
	var info struct {
		Version  string `bson:"version"`
		FerretDB string `bson:"ferretdbVersion"`
	}
	if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&info); err != nil {
		return "", "", err
	}
	if info.FerretDB != "" {
		return "FerretDB", strings.TrimPrefix(info.FerretDB, "v"), nil
	}
	var hello struct {
		SetName string `bson:"setName"`
		Primary bool   `bson:"isWritablePrimary"`
	}
	if err := c.Database("admin").RunCommand(ctx, bson.D{{Key: "hello", Value: 1}}).Decode(&hello); err != nil {
		return "", "", err
	}
	switch {
	case hello.SetName == "":
		return "MongoDB", info.Version, nil
	case hello.Primary:
		return "MongoDB replica set", info.Version, nil
	default:
		return "", "", fmt.Errorf("replica set %s has no primary here", hello.SetName)
	}
}

package stores

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Kind is a kind of server. A version may follow after a colon, as in "postgres:15". Without it, the server has the
// newest version that this machine can offer.
type Kind string

// The kinds of servers, and the versions that each can have.
const (
	KindPostgres     Kind = "postgres"   // PostgreSQL 18, 17, 15
	KindPgBouncer    Kind = "pgbouncer"  // in transaction mode, before the server of KindPostgres
	KindStandby      Kind = "standby"    // a primary of PostgreSQL and a hot standby; versions as KindPostgres
	KindRedis        Kind = "redis"      // Redis 8, 7
	KindRedisTLS     Kind = "redistls"   // speaks TLS only, with a self-signed certificate; versions as KindRedis
	KindValkey       Kind = "valkey"     // Valkey 9, 8
	KindRedisCluster Kind = "cluster"    // three masters of Redis; versions as KindRedis
	KindSentinel     Kind = "sentinel"   // a master of Redis, two replicas, three sentinels; versions as KindRedis
	KindMariaDB      Kind = "mariadb"    // MariaDB 11, 10, 10.6
	KindMySQL        Kind = "mysql"      // MySQL 9, 8, 8.0
	KindMariaDBTLS   Kind = "mariadbtls" // refuses connections without TLS, with a self-signed certificate; versions as KindMariaDB
	KindHAProxy      Kind = "haproxy"    // HAProxy before a MariaDB of its own
	KindReplicated   Kind = "replicated" // a primary of MariaDB and a read-only replica; versions as KindMariaDB
	KindGalera       Kind = "galera"     // three nodes of MariaDB; versions as KindMariaDB
	KindMongo        Kind = "mongo"      // MongoDB, standalone: 8, 7, 6, 5
	KindMongoReplica Kind = "replica"    // a replica set of one member; versions as KindMongo
	KindMongoUsers   Kind = "mongousers" // MongoDB, standalone, whose clients must sign in; versions as KindMongo
	KindMongoSet     Kind = "set"        // a replica set of three members; versions as KindMongo

	// Only a registry has these.
	KindMongoSharded Kind = "sharded"   // a router, a shard and a configuration server of MongoDB 8
	KindCockroach    Kind = "cockroach" // one node of CockroachDB, which speaks PostgreSQL's protocol
	KindTiDB         Kind = "tidb"      // one server of TiDB, which speaks MySQL's protocol
	KindVitess       Kind = "vitess"    // Vitess without shards, which speaks MySQL's protocol
	KindDragonfly    Kind = "dragonfly" // one server of Dragonfly, which speaks Redis' protocol
)

// The environment variables that name running servers, in any version. The variable for a version has its
// number before the last part, as in GATEHOUSE_POSTGRES_15_URL.
const (
	EnvPostgres     = "GATEHOUSE_POSTGRES_URL"           // postgres://user:password@host:port/database
	EnvPgBouncer    = "GATEHOUSE_PGBOUNCER_URL"          // the same, of a PgBouncer in transaction mode
	EnvStandby      = "GATEHOUSE_STANDBY_URL"            // two such URLs, separated by a comma, the primary's first
	EnvRedis        = "GATEHOUSE_REDIS_URL"              // redis://host:port/0
	EnvRedisTLS     = "GATEHOUSE_REDIS_TLS_URL"          // rediss://host:port/0
	EnvValkey       = "GATEHOUSE_VALKEY_URL"             // the same
	EnvRedisCluster = "GATEHOUSE_REDIS_CLUSTER"          // host:port,host:port,host:port
	EnvSentinel     = "GATEHOUSE_REDIS_SENTINEL"         // host:port of each sentinel; the master's name is "gatehouse"
	EnvMariaDB      = "GATEHOUSE_MARIADB_URL"            // mysql://user:password@host:port/
	EnvMySQL        = "GATEHOUSE_MYSQL_URL"              // the same
	EnvMariaDBTLS   = "GATEHOUSE_MARIADB_TLS_URL"        // mysql://user:password@host:port/?tls=skip-verify
	EnvHAProxy      = "GATEHOUSE_HAPROXY_URL"            // as EnvMariaDB
	EnvReplicated   = "GATEHOUSE_MARIADB_REPLICATED_URL" // as EnvGalera, the primary's first
	EnvGalera       = "GATEHOUSE_GALERA_URL"             // the same of each node, separated by commas
	EnvMongo        = "GATEHOUSE_MONGO_URL"              // mongodb://host:port/
	EnvMongoReplica = "GATEHOUSE_MONGO_REPLICA_URL"
	EnvMongoUsers   = "GATEHOUSE_MONGO_USERS_URL" // mongodb://user:password@host:port/, of a user with the role root
	EnvMongoSet     = "GATEHOUSE_MONGO_SET_URL"   // mongodb://host:port,host:port,host:port/?replicaSet=name
	EnvMongoSharded = "GATEHOUSE_MONGO_SHARDED_URL"
	EnvCockroach    = "GATEHOUSE_COCKROACH_URL" // as EnvPostgres
	EnvTiDB         = "GATEHOUSE_TIDB_URL"      // as EnvMariaDB
	EnvVitess       = "GATEHOUSE_VITESS_URL"    // the same
	EnvDragonfly    = "GATEHOUSE_DRAGONFLY_URL" // as EnvRedis
)

// kind describes a Kind.
type kind struct {
	name     Kind
	variable string
	title    string
	// list: the variable holds several URLs or addresses, separated by commas.
	list    bool
	start   func(s *Stores, ctx context.Context, version string) (*Store, error)
	version func(ctx context.Context, location string) (name, version string, err error)
}

// kinds returns all kinds.
func kinds() []kind {
	return []kind{
		{KindPostgres, EnvPostgres, "PostgreSQL", false, (*Stores).startPostgres, versionOfPostgres},
		{KindPgBouncer, EnvPgBouncer, "PgBouncer", false, (*Stores).startPgBouncer, versionOfPgBouncer},
		{KindStandby, EnvStandby, "PostgreSQL with a standby", true, (*Stores).startStandby, versionOfStandby},
		{KindRedis, EnvRedis, "Redis", false, (*Stores).startRedis, versionOfRedis},
		{KindRedisTLS, EnvRedisTLS, "Redis with TLS", false, (*Stores).startRedisTLS, versionOfRedis},
		{KindValkey, EnvValkey, "Valkey", false, (*Stores).startValkey, versionOfRedis},
		{KindRedisCluster, EnvRedisCluster, "Redis Cluster", true, (*Stores).startRedisCluster, versionOfCluster},
		{KindSentinel, EnvSentinel, "Redis Sentinel", true, (*Stores).startSentinel, versionOfSentinel},
		{KindMariaDB, EnvMariaDB, "MariaDB", false, (*Stores).startMariaDB, versionOfMariaDB},
		{KindMySQL, EnvMySQL, "MySQL", false, (*Stores).startMySQL, versionOfMariaDB},
		{KindMariaDBTLS, EnvMariaDBTLS, "MariaDB with TLS", false, (*Stores).startMariaDBTLS, versionOfMariaDB},
		{KindHAProxy, EnvHAProxy, "HAProxy", false, (*Stores).startHAProxy, versionOfMariaDB},
		{KindReplicated, EnvReplicated, "MariaDB with a replica", true, (*Stores).startReplicated, versionOfReplicated},
		{KindGalera, EnvGalera, "Galera", true, (*Stores).startGalera, versionOfGalera},
		{KindMongo, EnvMongo, "MongoDB", false, (*Stores).startMongo, versionOfMongo},
		{KindMongoReplica, EnvMongoReplica, "MongoDB replica set", false, (*Stores).startMongoReplicaSet, versionOfMongo},
		{KindMongoUsers, EnvMongoUsers, "MongoDB with users", false, (*Stores).startMongoUsers, versionOfMongo},
		{KindMongoSet, EnvMongoSet, "MongoDB replica set of three", false, (*Stores).startMongoSet, versionOfMongo},
		{KindMongoSharded, EnvMongoSharded, "MongoDB, sharded", false, (*Stores).startMongoSharded, versionOfMongo},
		{KindCockroach, EnvCockroach, "CockroachDB", false, (*Stores).startCockroach, versionOfCockroach},
		{KindTiDB, EnvTiDB, "TiDB", false, (*Stores).startTiDB, versionOfMariaDB},
		{KindVitess, EnvVitess, "Vitess", false, (*Stores).startVitess, versionOfMariaDB},
		{KindDragonfly, EnvDragonfly, "Dragonfly", false, (*Stores).startDragonfly, versionOfRedis},
	}
}

// Of returns the kind in a version.
func (k Kind) Of(version string) Kind { return k + Kind(":"+version) }

// split returns the description of the kind, and the version.
func (k Kind) split() (kind, string, error) {
	name, version, _ := strings.Cut(string(k), ":")
	all := kinds()
	i := slices.IndexFunc(all, func(known kind) bool { return string(known.name) == name })
	if i < 0 {
		names := make([]string, len(all))
		for n, known := range all {
			names[n] = string(known.name)
		}
		return kind{}, "", fmt.Errorf("stores: %q is not a kind of server; the kinds are %s", name, strings.Join(names, ", "))
	}
	found := all[i]
	if version != "" {
		stem, end := found.variable, ""
		if cut, ok := strings.CutSuffix(stem, "_URL"); ok {
			stem, end = cut, "_URL"
		}
		found.variable = stem + "_" + strings.ReplaceAll(version, ".", "_") + end
	}
	return found, version, nil
}

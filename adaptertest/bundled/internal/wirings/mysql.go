package wirings

import (
	"context"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// mysqlWiring is one way to reach MariaDB or MySQL.
type mysqlWiring struct {
	name     string
	kind     stores.Kind
	settings mysqltest.Settings
}

func mysqlWirings() []Wiring {
	const newest = stores.KindMariaDB
	var all []Wiring
	with := func(name, value string) mysqltest.Settings {
		return mysqltest.Settings{Params: map[string]string{name: value}}
	}
	site := func(name string, asTheyAre bool) mysqltest.Settings {
		return mysqltest.Settings{Site: name, AsTheyAre: asTheyAre}
	}
	zone, lax, ansi, serializable := with("time_zone", "'+13:00'"), with("sql_mode", "''"),
		with("sql_mode", "'ANSI,TRADITIONAL'"), with("tx_isolation", "'SERIALIZABLE'")
	zone.ParseTime, lax.Interpolate = true, true
	ansi.Params["tx_isolation"], serializable.Params["sql_safe_updates"] = "'READ-COMMITTED'", "1"
	relation, drizzle := site("Prisma", true), site("Drizzle", true)
	relation.NoForeignKeys = true
	drizzle.Params = map[string]string{"time_zone": "'+05:45'"}
	for _, w := range []mysqlWiring{
		{"MariaDB", newest, mysqltest.Settings{}},
		{"MariaDB 10", newest.Of("10"), mysqltest.Settings{}},
		{"MySQL 9", stores.KindMySQL.Of("9"), mysqltest.Settings{}},
		{"MySQL 8", stores.KindMySQL.Of("8"), mysqltest.Settings{}}, // 8.4; only a registry has it, and the next four
		{"MySQL 8.0", stores.KindMySQL.Of("8.0"), mysqltest.Settings{}},
		{"MariaDB 10.6", newest.Of("10.6"), mysqltest.Settings{}},
		{"TiDB", stores.KindTiDB, mysqltest.Settings{}},
		{"Vitess", stores.KindVitess, mysqltest.Settings{}},
		{"TLS", stores.KindMariaDBTLS, mysqltest.Settings{}},
		{"HAProxy", stores.KindHAProxy, mysqltest.Settings{}},
		{"Galera of three", stores.KindGalera, with("wsrep_sync_wait", "1")},
		{"pool of one", newest, mysqltest.Settings{Conns: 1}},
		{"other zone, times parsed", newest, zone},
		{"lax mode, interpolated", newest, lax},
		{"ANSI mode, read committed", newest, ansi},
		{"serializable, safe updates", newest, serializable},
		{"tables of Prisma, as they are", newest, site("Prisma", true)},
		{"tables of Prisma, without foreign keys", newest, relation},
		{"tables of Prisma, after SchemaChanges", newest, site("Prisma", false)},
		{"tables of Prisma, MySQL 9", stores.KindMySQL.Of("9"), site("Prisma", false)},
		{"tables of Drizzle, as they are", newest, drizzle},
		{"tables of Drizzle, after SchemaChanges", newest, site("Drizzle", false)},
		{"tables of Drizzle, MySQL 9", stores.KindMySQL.Of("9"), site("Drizzle", false)},
	} {
		all = append(all, Wiring{Adapter: "mysql", Name: w.name, Needs: []stores.Kind{w.kind}, open: w.open})
	}
	return all
}

func (w mysqlWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	server, err := s.Find(ctx, w.kind)
	if err != nil {
		return nil, err
	}
	settings := w.settings
	settings.URL, settings.Roots = server.URL, server.Roots
	if len(server.Addrs) > 1 {
		settings.Nodes = server.Addrs
	}
	env, err := mysqltest.Open(ctx, settings)
	if err != nil {
		return nil, err
	}
	return &Opened{Server: server.Name, Version: server.Version, Store: server, Harness: env.Harness(),
		close: env.Close}, nil
}

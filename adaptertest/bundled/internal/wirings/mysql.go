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
	for _, w := range []mysqlWiring{
		{"MariaDB", newest, mysqltest.Settings{}},
		{"MariaDB 10", newest.Of("10"), mysqltest.Settings{}},
		{"MySQL 9", stores.KindMySQL.Of("9"), mysqltest.Settings{}},
		{"pool of one", newest, mysqltest.Settings{Conns: 1}},
		{"other zone, times parsed", newest, mysqltest.Settings{ParseTime: true,
			Params: map[string]string{"time_zone": "'+13:00'"}}},
		{"lax mode, interpolated", newest, mysqltest.Settings{Interpolate: true,
			Params: map[string]string{"sql_mode": "''"}}},
		{"ANSI mode, read committed", newest, mysqltest.Settings{Params: map[string]string{"sql_mode": "'ANSI,TRADITIONAL'", "tx_isolation": "'READ-COMMITTED'"}}},
		{"serializable, safe updates", newest,
			mysqltest.Settings{Params: map[string]string{"tx_isolation": "'SERIALIZABLE'", "sql_safe_updates": "1"}}},
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
	settings.URL = server.URL
	env, err := mysqltest.Open(ctx, settings)
	if err != nil {
		return nil, err
	}
	return &Opened{Server: server.Name, Version: server.Version, Store: server, Harness: env.Harness(),
		close: env.Close}, nil
}

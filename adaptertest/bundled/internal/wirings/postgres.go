package wirings

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// postgresWiring is one way to reach a PostgreSQL server.
type postgresWiring struct {
	name     string
	kind     stores.Kind
	settings postgrestest.Settings
}

func postgresWirings() []Wiring {
	const newest = stores.KindPostgres
	var all []Wiring
	for _, w := range []postgresWiring{
		{"cached statements", newest, postgrestest.Settings{}},
		{"PostgreSQL 17", newest.Of("17"), postgrestest.Settings{}},
		{"PostgreSQL 15", newest.Of("15"), postgrestest.Settings{}},
		{"cached descriptions", newest, postgrestest.Settings{Mode: pgx.QueryExecModeCacheDescribe}},
		{"described each time", newest, postgrestest.Settings{Mode: pgx.QueryExecModeDescribeExec}},
		{"exec mode", newest, postgrestest.Settings{Mode: pgx.QueryExecModeExec}},
		{"simple protocol", newest, postgrestest.Settings{Mode: pgx.QueryExecModeSimpleProtocol}},
		{"pool of one", newest, postgrestest.Settings{Conns: 1}},
		{"PgBouncer, transaction mode", newest, postgrestest.Settings{Mode: pgx.QueryExecModeExec, OnlyPooled: true}},
		{"PgBouncer, simple protocol", newest, postgrestest.Settings{Mode: pgx.QueryExecModeSimpleProtocol, OnlyPooled: true}},
		{"schema and prefix", newest, postgrestest.Settings{Schema: "Sign in"}},
		{"zone +14:00", newest, postgrestest.Settings{Zone: "Pacific/Kiritimati"}},
		{"tables of Auth.js", newest, postgrestest.Settings{AuthJS: true}},
		{"tables of Prisma, as they are", newest, postgrestest.Settings{Site: "Prisma", AsTheyAre: true}},
		{"tables of Prisma, after SchemaChanges", newest, postgrestest.Settings{Site: "Prisma"}},
		{"tables of Drizzle, as they are", newest, postgrestest.Settings{Site: "Drizzle", AsTheyAre: true}},
		{"tables of Drizzle, after SchemaChanges", newest, postgrestest.Settings{Site: "Drizzle"}},
		{"database/sql, pgx's driver", newest, postgrestest.Settings{Driver: postgrestest.Stdlib}},
		{"database/sql, lib/pq", newest, postgrestest.Settings{Driver: PQ(false), NoPooler: twoTrips}},
		{"database/sql, lib/pq, binary parameters", newest, postgrestest.Settings{Driver: PQ(true)}},
		{"CockroachDB", stores.KindCockroach, postgrestest.Settings{}}, // only a registry has it
	} {
		needs := []stores.Kind{w.kind}
		if w.kind == newest { // only this server is behind the pooler
			needs = append(needs, stores.KindPgBouncer)
		}
		all = append(all, Wiring{Adapter: "postgres", Name: w.name, Needs: needs, open: w.open})
	}
	return all
}

func (w postgresWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	server, err := s.Find(ctx, w.kind)
	if err != nil {
		return nil, err
	}
	settings := w.settings
	settings.URL = server.URL
	opened := &Opened{Server: server.Name, Version: server.Version, Store: server}
	if w.kind == stores.KindPostgres {
		pooler, err := s.Find(ctx, stores.KindPgBouncer)
		switch {
		case err == nil:
			settings.PooledURL = pooler.URL
		case settings.OnlyPooled || !errors.Is(err, stores.ErrUnavailable):
			return nil, err
		}
		if settings.OnlyPooled {
			opened.Server, opened.Version = pooler.Name, pooler.Version
		}
	}
	env, err := postgrestest.Open(ctx, settings)
	if err != nil {
		return nil, err
	}
	opened.Harness, opened.close = env.Harness(), env.Close
	if w.kind != stores.KindPostgres {
		if w.kind == stores.KindCockroach {
			withoutSite(&opened.Harness, "the site is made with features of PostgreSQL, and is tested on the newest server")
		}
		opened.Harness.Declarations.NoPooler = "the pooler of this run is in front of the newest server only"
	}
	return opened, nil
}

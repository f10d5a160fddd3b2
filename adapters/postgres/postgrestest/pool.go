package postgrestest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
)

// Driver opens connections for database/sql. It dials with DialFunc, and sets RuntimeParams
// on each connection.
type Driver func(*pgx.ConnConfig) (driver.Connector, error)

// Stdlib is the driver of pgx.
func Stdlib(c *pgx.ConnConfig) (driver.Connector, error) { return stdlib.GetConnector(*c), nil }

// Wrapped is the driver of pgx behind another one that hides it, as drivers for traces do.
func Wrapped(c *pgx.ConnConfig) (driver.Connector, error) {
	return hidden{stdlib.GetConnector(*c)}, nil
}

type hidden struct{ driver.Connector }

func (h hidden) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := h.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return hiddenConn{conn.(fullConn)}, nil
}

// fullConn is what database/sql uses of *stdlib.Conn.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
}

type hiddenConn struct{ fullConn }

// pool is one of pgx or of database/sql.
type pool struct {
	pgx *pgxpool.Pool
	std *sql.DB
}

// newPool opens a pool.
func (e *Env) newPool(ctx context.Context, config *pgxpool.Config) (p pool, err error) {
	if e.Driver == nil {
		p.pgx, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
		return p, err
	}
	connector, err := e.Driver(config.ConnConfig)
	if err != nil {
		return p, err
	}
	p.std = sql.OpenDB(connector)
	p.std.SetMaxOpenConns(int(config.MaxConns))
	p.std.SetMaxIdleConns(int(config.MaxConns))
	return p, nil
}

func (p pool) adapter(options ...postgres.Option) (*postgres.Adapter, error) {
	if p.std != nil {
		return postgres.NewSQL(p.std, options...)
	}
	return postgres.New(p.pgx, options...)
}

func (p pool) ping(ctx context.Context) error {
	if p.std != nil {
		return p.std.PingContext(ctx)
	}
	return p.pgx.Ping(ctx)
}

func (p pool) close() {
	if p.std != nil {
		_ = p.std.Close()
	}
	if p.pgx != nil {
		p.pgx.Close()
	}
}

// counts returns how many connections the pool has, and how many of them are idle.
func (p pool) counts() (all, idle int) {
	if p.std != nil {
		s := p.std.Stats()
		return s.OpenConnections, s.Idle
	}
	s := p.pgx.Stat()
	return int(s.TotalConns()), int(s.IdleConns())
}

// onIdle runs a statement on each idle connection.
func (p pool) onIdle(t testing.TB, statement string) {
	t.Helper()
	if p.std == nil {
		for _, conn := range p.pgx.AcquireAllIdle(t.Context()) {
			must(conn.Exec(t.Context(), statement))(t)
			conn.Release()
		}
		return
	}
	for range p.std.Stats().Idle {
		conn := must(p.std.Conn(t.Context()))(t)
		defer func() { _ = conn.Close() }()
		must(conn.ExecContext(t.Context(), statement))(t)
	}
}

package wirings

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/lib/pq"

	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
)

// twoTrips is why lib/pq can't be used behind a pooler of transactions.
const twoTrips = "lib/pq sends a statement and its arguments one after the other, and the pooler may give each another connection; " +
	"binary_parameters=yes is for poolers"

// PQ is the driver lib/pq, with the setting binary_parameters or without.
func PQ(binary bool) postgrestest.Driver {
	return func(c *pgx.ConnConfig) (driver.Connector, error) {
		u := url.URL{Scheme: "postgres", User: url.UserPassword(c.User, c.Password), Host: net.JoinHostPort(c.Host, fmt.Sprint(c.Port)),
			Path: "/" + c.Database}
		params := url.Values{"sslmode": {"disable"}}
		if binary {
			params.Set("binary_parameters", "yes")
		}
		u.RawQuery = params.Encode()
		connector, err := pq.NewConnector(u.String())
		if err != nil {
			return nil, err
		}
		if c.DialFunc != nil {
			connector.Dialer(dialer(c.DialFunc))
		}
		return withParams{connector, c.RuntimeParams}, nil
	}
}

// dialer is the dialer of lib/pq.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func (d dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return d(ctx, network, address)
}

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d(context.Background(), network, address)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d(ctx, network, address)
}

// withParams sets parameters on each connection. The application may do so too, after
// lib/pq has refused some of them in its settings.
type withParams struct {
	driver.Connector
	params map[string]string
}

func (w withParams) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for name, value := range w.params {
		_, failed := conn.(driver.ExecerContext).ExecContext(ctx, "SET "+name+" = "+pq.QuoteLiteral(value), nil)
		err = errors.Join(err, failed)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

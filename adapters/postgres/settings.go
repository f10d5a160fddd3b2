package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// needed are the settings without which texts would change on their way, or without which
// the simple protocol of pgx refuses every statement with arguments. The server tells a
// client what they are, so to look at them is no round trip.
var needed = []struct{ name, value string }{{"client_encoding", "UTF8"}, {"standard_conforming_strings", "on"}}

// withSettings runs f with the needed settings. It gives the connection its own ones back,
// also to a transaction of the caller, unless that is aborted: then they return with it.
func withSettings(ctx context.Context, db pgxLink, f func(db link) error) error {
	conn := db.conn
	if conn == nil {
		return f(db)
	}
	for _, s := range needed {
		was := conn.PgConn().ParameterStatus(s.name)
		unchanged := was == "SQL_ASCII" && conn.Config().DefaultQueryExecMode != pgx.QueryExecModeSimpleProtocol // no server converts these
		if was == "" || was == s.value || unchanged {
			continue
		}
		if _, err := db.exec(ctx, set(s.name, s.value)); err != nil {
			return err
		}
		defer func() {
			if !conn.IsClosed() && conn.PgConn().TxStatus() != 'E' {
				_, _ = db.exec(context.WithoutCancel(ctx), set(s.name, was)) // an error closes the connection
			}
		}()
	}
	return f(db)
}

// set returns the statement for a setting, whose value is a word of the server.
func set(name, value string) string { return fmt.Sprintf("SET %s = %s", name, quote(value)) }

package postgres

import (
	"net"

	"github.com/jackc/pgx/v5"
)

// reset closes a connection that pgx has given up because a context ended. pgx
// leaves such a connection open for up to fifteen seconds. In that time a
// request that is still under way could reach the server and take effect.
// [CTX-07]
func reset(conn *pgx.Conn) {
	if conn == nil || !conn.IsClosed() {
		return
	}
	c := conn.PgConn().Conn()
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // discard data that was not sent yet
	}
	_ = c.Close() // an error means that it is already closed
}

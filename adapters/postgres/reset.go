package postgres

import (
	"net"

	"github.com/jackc/pgx/v5"
)

// reset closes a connection that pgx has given up, which it does when a
// context ends. pgx leaves such a connection open for up to fifteen seconds, in
// which a request that is still on its way could reach the server and take
// effect. [CTX-07]
func reset(conn *pgx.Conn) {
	if conn == nil || !conn.IsClosed() {
		return
	}
	c := conn.PgConn().Conn()
	if over, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = over.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // what was not sent is not sent any more
	}
	_ = c.Close() // fails if it is closed, which is as good
}

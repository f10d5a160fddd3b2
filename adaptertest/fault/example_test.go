package fault_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// The reply of the second statement is lost: the store has executed it, and the
// caller gets an error.
func ExampleNewDriver() {
	store := new(numbers)
	faults := fault.NewDriver(connector(func() driver.Conn { return newPlainConn(store) }))
	db := sql.OpenDB(faults)
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	if err := db.PingContext(ctx); err != nil { // opens the connection, which is a step of its own
		fmt.Println(err)
		return
	}

	injection, err := faults.Inject(fault.LoseReply, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer injection.Release()
	for n := range 2 {
		_, err := db.ExecContext(ctx, "add", n)
		fmt.Println("injected:", errors.Is(err, fault.ErrInjected), "stored:", store.list())
	}
	// Output:
	// injected: false stored: [0]
	// injected: true stored: [0 1]
}

// The connector of a driver and a data source name, for a driver that has none.
func ExampleConnector() {
	c, err := fault.Connector(nameDriver{}, "data source")
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(fault.NewDriver(c))
	defer func() { _ = db.Close() }()
	fmt.Println(db.Ping())
	// Output:
	// opened data source
	// <nil>
}

type nameDriver struct{}

func (nameDriver) Open(name string) (driver.Conn, error) {
	fmt.Println("opened", name)
	return newPlainConn(new(numbers)), nil
}

// The proxy is between a client and its store. While the store is down, each
// exchange fails.
func ExampleNewProxy() {
	store, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = store.Close() }()
	go echo(store)
	proxy, err := fault.NewProxy(store.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = proxy.Close() }()

	exchange := func() bool {
		conn, err := net.Dial("tcp", proxy.Addr())
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close() }()
		answer := make([]byte, 4)
		if _, err := conn.Write([]byte("ping")); err != nil {
			return false
		}
		_, err = conn.Read(answer)
		return err == nil
	}
	fmt.Println("answered:", exchange())
	down, err := proxy.Inject(fault.Down, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("answered:", exchange())
	down.Release()
	fmt.Println("answered:", exchange())
	// Output:
	// answered: true
	// answered: false
	// answered: true
}

// echo answers each client with what it has sent.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			data := make([]byte, 4)
			for {
				n, err := conn.Read(data)
				if err != nil {
					return
				}
				_, _ = conn.Write(data[:n])
			}
		}()
	}
}

package stress_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// limited opens the adapter over servers of MariaDB and MySQL with options.
func limited(t *testing.T, o stores.Options, test func(t *testing.T, a *mysqltest.Handle, admin *sql.DB, server *stores.Store)) {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short starts no server")
	}
	t.Setenv(stores.EnvMariaDB, "") // the servers have options of their own
	t.Setenv("GATEHOUSE_MYSQL_9_URL", "")
	servers := wiringstest.Servers(t, o)
	for _, kind := range []stores.Kind{stores.KindMariaDB, stores.KindMySQL.Of("9")} {
		t.Run(string(kind), func(t *testing.T) {
			server, err := servers.Find(t.Context(), kind)
			if err != nil {
				wiringstest.LeaveOut(t, err)
			}
			env := must(mysqltest.Open(t.Context(), mysqltest.Settings{URL: server.URL}))(t)
			t.Cleanup(func() { assert.NoError(t, env.Close(context.WithoutCancel(t.Context()))) })
			h := env.Harness()
			a, ok := h.New(t).(*mysqltest.Handle)
			require.True(t, ok, "the harness has another adapter")
			test(t, a, env.Admin, server)
		})
	}
}

// refused checks an error of a server that could not store a value: it is the server's, no conflict, and quotes nothing.
func refused(t *testing.T, what string, err error, numbers ...uint16) {
	t.Helper()
	var server *driver.MySQLError
	if !errors.As(err, &server) || errors.Is(err, adapter.ErrConflict) || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("%s: got %.300q", what, fmt.Sprint(err))
		return
	}
	assert.Containsf(t, numbers, server.Number, "%s: the number of %v", what, err)
}

// TestFullDisk fills the disk of a server with a file: a call that needs room fails and stores nothing, what was stored before is
// found, and calls work again when there is room.
func TestFullDisk(t *testing.T) {
	limited(t, stores.Options{Fast: true, Disk: "340m", Arguments: fewFiles}, func(t *testing.T, a *mysqltest.Handle, admin *sql.DB, server *stores.Store) {
		ctx := t.Context()
		must(a.CreateUser(ctx, adapter.User{ID: "before", Email: "before@example.com"}))(t)
		var folder string
		require.NoError(t, admin.QueryRowContext(ctx, "SELECT @@datadir").Scan(&folder))
		err := server.Execute(ctx, "sh", "-c", "dd if=/dev/zero of="+folder+"/filler bs=64k 2>/dev/null || true")
		require.NoError(t, err)
		stored, failed := []string{"before"}, 0
		image := strings.Repeat("topsecret", 330) // has room in the row: without room for a page of a text MariaDB 11.8 itself ends
		for n := 0; failed < 3 && n < 5000; n++ {
			id := fmt.Sprint("user", n)
			if _, err := a.CreateUser(ctx, adapter.User{ID: id, Image: &image}); err != nil {
				refused(t, "CreateUser on a full disk", err, 1114, 1021, 3, 28)
				failed++
				u, err := a.GetUser(ctx, id)
				assert.Truef(t, u == nil && err == nil, "the user of the call that failed: %v, %v", u != nil, err)
				continue
			}
			stored = append(stored, id)
		}
		require.NotEqual(t, 0, failed, "no call failed, so the test proves nothing")
		for _, id := range stored {
			u, err := a.GetUser(ctx, id)
			assert.Truef(t, u != nil && err == nil, "%s is lost: %v", id, err)
		}
		require.NoError(t, server.Execute(ctx, "rm", folder+"/filler"))
		_, err = a.CreateUser(ctx, adapter.User{ID: "after", Image: &image})
		assert.NoError(t, err, "when there is room again")
	})
}

// fewFiles makes the files small that a server makes at its start.
var fewFiles = []string{"--innodb-log-buffer-size=1M", "--innodb-buffer-pool-size=64M"}

// TestServersPacketIsShorterThanTheValue: the server refuses a packet that is longer than its max_allowed_packet, and
// closes the connection. The error says so, nothing is stored, and the next call works.
func TestServersPacketIsShorterThanTheValue(t *testing.T) {
	limited(t, stores.Options{Fast: true, Arguments: []string{"--max-allowed-packet=1M"}},
		func(t *testing.T, a *mysqltest.Handle, _ *sql.DB, _ *stores.Store) {
			ctx := t.Context()
			for _, size := range []int{600 << 10, 3 << 20, 12 << 20} { // the literal of a value is twice as long
				image := strings.Repeat("topsecret", size/9)
				_, err := a.CreateUser(ctx, adapter.User{ID: "long", Image: &image})
				assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !strings.Contains(err.Error(), "topsecret") &&
					strings.Contains(err.Error(), "max_allowed_packet"), "a value of %d bytes: %.300q", size, fmt.Sprint(err))
				u, err := a.GetUser(ctx, "long")
				assert.Truef(t, u == nil && err == nil, "after the refusal: %v, %v", u != nil, err)
			}
			image := strings.Repeat("i", 400<<10)
			_, err := a.CreateUser(ctx, adapter.User{ID: "short", Image: &image})
			assert.NoError(t, err, "a value that fits")
		})
}

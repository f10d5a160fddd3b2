package stress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestMySQLTLS: the adapter works over TLS with a client that verifies the server's certificate. A client that does not
// trust the certificate, one that expects another host, and one without TLS get an error that says so, quotes no secret
// and keeps the driver's error. They write nothing.
func TestMySQLTLS(t *testing.T) {
	t.Setenv(stores.EnvMariaDBTLS, "")
	store := wiringstest.Server(t, stores.Options{Fast: true}, stores.KindMariaDBTLS)
	open := func(user, password, database string, config *tls.Config) *sql.DB {
		c := driver.NewConfig()
		c.Net, c.Addr, c.User, c.Passwd, c.DBName, c.TLS, c.Logger = "tcp", store.Addrs[0], user, password, database, config, &driver.NopLogger{}
		connector := must(driver.NewConnector(c))(t)
		db := sql.OpenDB(connector)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	trusted := &tls.Config{RootCAs: store.Roots, ServerName: "localhost", MinVersion: tls.VersionTLS12}
	root := open("root", "", "", trusted)
	for _, s := range []string{
		"CREATE DATABASE gatehouse", "CREATE USER ada IDENTIFIED BY 'topsecret'", "GRANT ALL ON gatehouse.* TO ada",
	} {
		must(root.ExecContext(t.Context(), s))(t)
	}
	over := func(config *tls.Config) *mysql.Adapter {
		return must(mysql.New(open("ada", "topsecret", "gatehouse", config)))(t)
	}
	a := over(trusted)
	require.NoError(t, a.EnsureSchema(t.Context()))
	must(a.CreateUser(t.Context(), adapter.User{ID: "ada"}))(t)
	for name, c := range map[string]struct {
		config *tls.Config
		kept   func(err error) bool
		want   string
	}{
		"another authority": {
			&tls.Config{RootCAs: x509.NewCertPool(), ServerName: "localhost", MinVersion: tls.VersionTLS12},
			func(err error) bool { _, ok := errors.AsType[x509.UnknownAuthorityError](err); return ok },
			"certificate signed by unknown authority",
		},
		"another host": {
			&tls.Config{RootCAs: store.Roots, ServerName: "db.example.com", MinVersion: tls.VersionTLS12},
			func(err error) bool { _, ok := errors.AsType[x509.HostnameError](err); return ok },
			"certificate is valid for localhost, not db.example.com",
		},
		"no TLS": {
			nil,
			func(err error) bool { _, ok := errors.AsType[*driver.MySQLError](err); return ok },
			"the server takes only connections with TLS",
		},
	} {
		b := over(c.config)
		for method, call := range map[string]func(context.Context) error{
			"GetUser":      func(ctx context.Context) error { _, err := b.GetUser(ctx, "ada"); return err },
			"CreateUser":   func(ctx context.Context) error { _, err := b.CreateUser(ctx, adapter.User{ID: "eve"}); return err },
			"EnsureSchema": b.EnsureSchema,
		} {
			err := call(t.Context())
			if err == nil || !c.kept(err) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "topsecret") {
				t.Errorf("%s, %s: got %v, want an error of the driver that says %q", name, method, err, c.want)
			}
		}
	}
	u, err := a.GetUser(t.Context(), "eve")
	assert.Truef(t, err == nil && u == nil, "the user of the clients that failed: got %+v, %v, want none", u, err)
}

// TestNamesInLowerCase: a server with lower_case_table_names=1 stores the table User of Prisma as user. It is found, compared
// and used there.
func TestNamesInLowerCase(t *testing.T) {
	o := stores.Options{Fast: true, Arguments: []string{"--lower-case-table-names=1"}}
	store := wiringstest.Server(t, o, stores.KindMariaDB)
	env := must(mysqltest.Open(t.Context(), mysqltest.Settings{URL: store.URL, Site: "Prisma"}))(t)
	t.Cleanup(func() { assert.NoError(t, env.Close(context.WithoutCancel(t.Context()))) })
	report, err := adaptertest.Check(t.Context(), env.Harness(), adaptertest.Options{Only: []string{"ACCT", "SITE"}, Rounds: adaptertest.QuickRounds})
	require.NoError(t, err)
	for _, r := range report.Failed() {
		t.Errorf("%s: %s %s", r.Clause.ID, r.Reason, strings.Join(r.Evidence, "\n"))
	}
}

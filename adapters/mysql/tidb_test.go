package mysql_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// tidb is what TiDB refuses and MariaDB does not.
type tidb struct {
	says string                  // follows the version
	once *mysqldriver.MySQLError // refuses the next new session
}

// bareUntil is a word that is reserved in TiDB.
var bareUntil = regexp.MustCompile("(?i)[^`]\\buntil\\b[^`]")

func (d *tidb) refuses(query string) error {
	switch {
	case strings.Contains(query, "SHARE MODE"), strings.Contains(query, "SKIP LOCKED"):
		return &mysqldriver.MySQLError{Number: 1235, Message: query}
	case bareUntil.MatchString(query):
		return &mysqldriver.MySQLError{Number: 1064, Message: query}
	case d.once != nil && strings.HasPrefix(query, "INSERT INTO `session`"):
		err := d.once
		d.once = nil
		return err
	}
	return nil
}

// TestTiDB: before TiDB the tables are made, and calls take the locks that TiDB has.
func TestTiDB(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	n, db := nodeOf(t, env)
	n.alone, n.tidb = true, &tidb{says: "-TiDB"}
	require.NoError(t, on(t, db, mysql.WithPrefix("t_")).EnsureSchema(t.Context()))
	a, ctx := on(t, db), t.Context()
	user := must(a.CreateUser(ctx, adapter.User{Email: "tidb@example.com"}))(t)
	account := adapter.Account{UserID: user.ID, Provider: "p", ProviderAccountID: "1", Type: "oidc"}
	must(a.LinkAccount(ctx, account))(t)
	refused(a.LinkAccount(ctx, account))(t, "a pair that is linked", adapter.ErrConflict)
	must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: user.ID, ProviderAccountID: "1"}))(t)
	must(a.DeleteAuthenticator(ctx, user.ID, "c", true))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: user.ID, Expires: time.Now().Add(-time.Hour)}))(t)
	if swept, err := a.DeleteExpired(ctx, time.Now()); err != nil || swept.Sessions != 1 {
		t.Errorf("clean-up removed %d sessions, error %v; want 1", swept.Sessions, err)
	}
}

// TestTiDBTriesAgain: what TiDB ends without a reason that lasts is tried again, and on another server it is an error.
func TestTiDBTriesAgain(t *testing.T) {
	t.Parallel()
	for _, says := range []string{"-TiDB", ""} {
		for _, refusal := range []*mysqldriver.MySQLError{
			{Number: 1105, Message: "pessimistic lock retry limit reached"},
			{Number: 9007, Message: "Write conflict"},
			{Number: 1062, Message: "Duplicate entry 's' for key 'session.session_sessionToken_key'"}, // and the record is gone
		} {
			n, db := nodeOf(t, open(t, mysqltest.Settings{}))
			n.alone, n.tidb = true, &tidb{says: says}
			a := on(t, db)
			user := must(a.CreateUser(t.Context(), adapter.User{Email: "tidb@example.com"}))(t)
			n.tidb.once = refusal
			_, err := a.CreateSession(t.Context(), adapter.Session{SessionToken: "s", UserID: user.ID, Expires: time.Now()})
			assert.Equalf(t, says != "", err == nil, "%q, error %d: got %v", says, refusal.Number, err)
		}
	}
}

package postgres_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestEnsureSchemaWithTimeouts adopts a database of Auth.js over connections with
// their own time limits, while an old snapshot delays the indexes. With a
// lock_timeout EnsureSchema tries again until the context ends; a
// statement_timeout is named in the error. When the snapshot has gone,
// EnsureSchema finishes over the same connections.
func TestEnsureSchemaWithTimeouts(t *testing.T) { // beside other tests, they would wait too
	for name, c := range map[string]struct {
		parameters map[string]string
		cancel     bool   // cancel when the snapshot delays an index
		want       string // the text of the error; %d is the process that holds the snapshot
	}{
		"lock_timeout":                        {map[string]string{"lock_timeout": "50ms"}, true, "process %d "},
		"statement_timeout":                   {map[string]string{"statement_timeout": "2s"}, false, "statement_timeout"},
		"idle_in_transaction_session_timeout": {map[string]string{"idle_in_transaction_session_timeout": "100ms"}, true, "process %d "},
	} {
		t.Run(name, func(t *testing.T) {
			schema := newSchema(t)
			admin := inSchema(t, schema)
			makeAuthJSTables(t, admin)
			old := must(admin.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))(t)
			t.Cleanup(func() { _ = old.Rollback(context.Background()) })
			execSQL(t, old, `SELECT FROM pg_class LIMIT 1`)
			a := newAdapter(t, withParameters(t, c.parameters), postgres.WithSchema(schema))
			soon, stop := context.WithCancel(t.Context())
			defer stop()
			if c.cancel {
				go func() {
					defer stop()
					await(t, "an index waits for the snapshot", func() bool { return waitingBuild(t, admin) })
				}()
			}
			want := c.want
			if strings.Contains(want, "%d") {
				want = fmt.Sprintf(want, old.Conn().PgConn().PID())
			}
			assert.ErrorContains(t, a.EnsureSchema(soon), want)
			require.NoError(t, old.Rollback(t.Context()))
			finish(t, name, a, admin)
		})
	}
}

// TestEnsureSchemaOnAStandby uses a connection that may only read. Complete tables
// are accepted. For incomplete tables the error says which server to use.
func TestEnsureSchemaOnAStandby(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	readOnly := newAdapter(t, withParameters(t, map[string]string{"default_transaction_read_only": "on"}), postgres.WithSchema(schema))
	assert.ErrorContains(t, readOnly.EnsureSchema(t.Context()), "call EnsureSchema on the primary")
	require.NoError(t, newAdapter(t, wiring{}.pool(t), postgres.WithSchema(schema)).EnsureSchema(t.Context()))
	assert.NoError(t, errors.Join(readOnly.EnsureSchema(t.Context()), readOnly.CheckSchema(t.Context())))
}

// TestRowSecurityIsRefused: a role is refused if row security may hide rows from
// it. A role that sees all rows is accepted.
func TestRowSecurityIsRefused(t *testing.T) {
	t.Parallel()
	a, pool, schema := wirings[0].newStore(t)
	role := newRole(t, pool, schema)
	execSQL(t, pool, `ALTER TABLE `+schema+`.sessions ENABLE ROW LEVEL SECURITY`)
	limited := newAdapter(t, asRole(t, role), postgres.WithSchema(schema))
	_, err := limited.GetSessionAndUser(t.Context(), "t")
	assert.ErrorContains(t, err, "row security may hide rows")
	assert.ErrorContains(t, limited.EnsureSchema(t.Context()), "row security may hide rows")
	assert.NoError(t, a.CheckSchema(t.Context()), "the owner")
	_, advice, _ := strings.Cut(err.Error(), "the role of the connection: ")
	for statement := range strings.SplitSeq(advice, ", or ") {
		execSQL(t, pool, statement)
		assert.NoErrorf(t, limited.CheckSchema(t.Context()), "after %s", statement)
		execSQL(t, pool, `ALTER ROLE `+role+` NOBYPASSRLS`)
	}
}

// TestRowSecurityIsTurnedOn: row security that a site turns on later hides rows, and a hidden
// record is no absent one. A call that does not find its record fails and says why, also in a
// transaction of the caller, and so does every list.
func TestRowSecurityIsTurnedOn(t *testing.T) {
	t.Parallel()
	_, pool, schema := wirings[0].newStore(t)
	role := newRole(t, pool, schema)
	fillRecords(t, pool, wiring{}, schema, 3)
	as := asRole(t, role)
	connector, err := postgrestest.Wrapped(as.Config().ConnConfig.Copy())
	db := sql.OpenDB(must(connector, err)(t))
	t.Cleanup(func() { _ = db.Close() })
	// Each call has an adapter that served before: one that meets row security does not serve on.
	serving := func() (all []*postgres.Adapter) {
		for range calls(t.Context(), nil, 0, "") {
			for _, a := range []*postgres.Adapter{newAdapter(t, as, postgres.WithSchema(schema)), must(postgres.NewSQL(db, postgres.WithSchema(schema)))(t)} {
				must(a.GetUser(t.Context(), "u1"))(t)
				all = append(all, a)
			}
		}
		return all
	}
	before, last := serving(), serving()
	every := func(what string) {
		for _, table := range []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords"} {
			execSQL(t, pool, fmt.Sprintf(what, schema+"."+table))
		}
	}
	every(`CREATE POLICY own ON %s USING (true)`)
	every(`ALTER TABLE %s ENABLE ROW LEVEL SECURITY`)
	for i, a := range before {
		c := calls(t.Context(), a, 2, "u2")[i/2]
		switch {
		case strings.HasPrefix(c.method, "Get"):
			assert.NoErrorf(t, c.do(), "%s of a record that is not hidden", c.method)
			assert.ErrorContains(t, calls(t.Context(), a, 4, "u4")[i/2].do(), "row security")
		case strings.HasPrefix(c.method, "List"):
			assert.ErrorContains(t, c.do(), "row security")
		}
	}
	every(`DROP POLICY own ON %s`)
	tx, _ := begin(t, as)
	_, err = last[0].On(tx).GetSessionAndUser(t.Context(), "s1")
	assert.ErrorContains(t, err, "row security")
	for i, a := range last {
		assert.ErrorContains(t, calls(t.Context(), a, 2, "u2")[i/2].do(), "row security")
	}
	_, err = last[0].DeleteExpired(t.Context(), time.Now())
	assert.ErrorContains(t, err, "row security")
	every(`ALTER TABLE %s DISABLE ROW LEVEL SECURITY`)
	for i, a := range last {
		if c := calls(t.Context(), a, 1, "u1")[i/2]; i%2 == 0 {
			assert.NoErrorf(t, c.do(), "%s, without row security", c.method)
		}
	}
}

// TestSequencesAreNeeded: a role may write to tables whose IDs the database
// assigns, but may not use their sequences.
func TestSequencesAreNeeded(t *testing.T) {
	t.Parallel()
	_, pool, schema := wiring{authJS: true}.newStore(t)
	role := newRole(t, pool, schema)
	limited := newAdapter(t, asRole(t, role), postgres.WithSchema(schema))
	err := limited.CheckSchema(t.Context())
	assert.ErrorContains(t, err, "GRANT USAGE ON SEQUENCE")
	for _, advice := range advised.FindAllString(err.Error(), -1) {
		execSQL(t, pool, advice)
	}
	assert.NoError(t, limited.CheckSchema(t.Context()))
}

// newRole makes a role that may read and write the tables of the schema.
func newRole(t *testing.T, pool *pgxpool.Pool, schema string) string {
	t.Helper()
	role := "gatehouse_" + strings.ToLower(rand.Text())
	execSQL(t, pool, `CREATE ROLE `+role)
	cleanup(t, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	execSQL(t, pool, `GRANT USAGE ON SCHEMA `+schema+` TO `+role)
	execSQL(t, pool, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+schema+` TO `+role)
	return role
}

// TestSearchPathThatChanges: with WithSchema no search path and no temporary table that comes later leads to
// other tables. Without it the path of each connection decides.
func TestSearchPathThatChanges(t *testing.T) {
	t.Parallel()
	ours, other := newSchema(t), newSchema(t)
	for _, schema := range []string{ours, other} {
		require.NoError(t, newAdapter(t, inSchema(t, schema)).EnsureSchema(t.Context()))
	}
	pool := inSchema(t, ours)
	follows, pinned := newAdapter(t, pool), newAdapter(t, pool, postgres.WithSchema(ours))
	ada := must(pinned.CreateUser(t.Context(), adapter.User{Email: adaEmail}))(t)
	for _, change := range []string{`SET search_path = ` + other, `CREATE TEMPORARY TABLE users (LIKE ` + other + `.users)`} {
		conn := must(pool.Acquire(t.Context()))(t)
		must(conn.Exec(t.Context(), change))(t)
		by := func(a *postgres.Adapter) *adapter.User {
			t.Helper()
			return must(a.On(conn.Conn()).GetUserByEmail(t.Context(), adaEmail))(t)
		}
		got := by(pinned)
		assert.Truef(t, got != nil && got.ID == ada.ID, "WithSchema, after %s: got %v", change, got)
		assert.Nilf(t, by(follows), "without WithSchema, after %s", change)
		assert.NoError(t, conn.Hijack().Close(t.Context()))
	}
}

// TestVersionTableEditedByHand tests a version table with a deleted row, with
// versions that were written by hand, and with an abandoned lease, and another table
// of the same name.
func TestVersionTableEditedByHand(t *testing.T) {
	t.Parallel()
	for _, edit := range []string{
		`DELETE FROM gatehouse_schema`,
		`DROP TABLE gatehouse_schema`,
		`UPDATE gatehouse_schema SET version = -1`,
		`UPDATE gatehouse_schema SET version = 99`,
		`UPDATE gatehouse_schema SET version = 0, migrating = 'nobody', until = now() + interval '1 s'`,
		`UPDATE gatehouse_schema SET version = 0, migrating = 'nobody'`,
	} {
		_, pool, schema := wirings[0].newStore(t)
		execSQL(t, inSchema(t, schema), edit)
		a := newAdapter(t, pool, postgres.WithSchema(schema))
		soon, stop := context.WithTimeout(t.Context(), 30*time.Second)
		assert.NoError(t, a.EnsureSchema(soon), edit)
		stop()
		callEveryMethod(t, a)
	}
	_, pool, schema := wirings[0].newStore(t)
	execSQL(t, pool, `DROP TABLE `+schema+`.gatehouse_schema; CREATE TABLE `+schema+`.gatehouse_schema (id integer)`)
	assert.ErrorContains(t, newAdapter(t, pool, postgres.WithSchema(schema)).EnsureSchema(t.Context()), "is not the table that this package creates")
}

// TestEncodings tests databases with other encodings. A database that can't hold
// every text is refused, a database that stores every byte is accepted.
func TestEncodings(t *testing.T) {
	t.Parallel()
	for encoding, want := range map[string]string{"LATIN1": "has the encoding LATIN1", "SQL_ASCII": ""} {
		pool := ownDatabase(t, `LOCALE 'C' ENCODING '`+encoding+`'`)
		a := newAdapter(t, pool)
		err := a.EnsureSchema(t.Context())
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		assert.NoError(t, err, encoding)
		callEveryMethod(t, a)
	}
}

// TestCatalogChangesMeanwhile: the server refuses a change once, because another process has just
// committed to the same row of the catalog, as the end of a build does. EnsureSchema looks again.
// TestProcessIsKilledInABuild meets the real event now and then.
func TestCatalogChangesMeanwhile(t *testing.T) {
	t.Parallel()
	pool := ownDatabase(t, "")
	makeAuthJSTables(t, pool)
	execSQL(t, pool, `CREATE SEQUENCE changes;
		CREATE FUNCTION refuse_once() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('changes') = 1 THEN RAISE 'tuple concurrently updated' USING ERRCODE = 'XX000'; END IF;
		END $$;
		CREATE EVENT TRIGGER refuse_once ON ddl_command_start WHEN TAG IN ('CREATE INDEX') EXECUTE FUNCTION refuse_once()`)
	finish(t, "a refusal", newAdapter(t, pool), pool)
	assert.Greater(t, value[int](t, pool, `SELECT last_value FROM changes`), 1, "changes")
}

// ownDatabase makes a database for a test alone.
func ownDatabase(t *testing.T, options string) *pgxpool.Pool {
	t.Helper()
	name := "gatehouse_" + strings.ToLower(rand.Text())
	execSQL(t, wiring{}.pool(t), `CREATE DATABASE `+name+` TEMPLATE template0 `+options)
	cleanup(t, `DROP DATABASE `+name+` WITH (FORCE)`)
	c := wiring{}.config(t)
	c.ConnConfig.Database = name
	return openPool(t, c)
}

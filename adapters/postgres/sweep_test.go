package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestSweepsDoNotWaitForTheDisk checks with which synchronous_commit the
// transactions of a sweep end: off on a pool, and the caller's setting in the
// caller's transaction and on the caller's connection. The setting of a connection
// stays.
func TestSweepsDoNotWaitForTheDisk(t *testing.T) {
	_, pool, schema := wirings[0].newStore(t)
	ctx := t.Context()
	a := newAdapter(t, pool, postgres.WithSchema(schema))
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	execSQL(t, pool, `CREATE TABLE `+schema+`.commits (setting text)`)
	execSQL(t, pool, `CREATE FUNCTION `+schema+`.note() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN INSERT INTO `+schema+`.commits VALUES (current_setting('synchronous_commit')); RETURN NULL; END$$`)
	for _, table := range []string{"sessions", "verification_token"} {
		execSQL(t, pool, `CREATE CONSTRAINT TRIGGER note AFTER DELETE ON `+schema+`.`+table+`
			DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION `+schema+`.note()`)
	}
	conn := must(pool.Acquire(ctx))(t)
	defer conn.Release()
	for name, sweep := range map[string]func() (adapter.Swept, error){
		"off": func() (adapter.Swept, error) { return a.DeleteExpired(ctx, time.Now()) },
		"on":  func() (adapter.Swept, error) { return a.On(conn).DeleteExpired(ctx, time.Now()) },
		"local": func() (swept adapter.Swept, err error) {
			err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				execSQL(t, tx, `SET LOCAL synchronous_commit = local`)
				swept, err = a.On(tx).DeleteExpired(ctx, time.Now())
				return err
			})
			return swept, err
		},
	} {
		execSQL(t, pool, `TRUNCATE `+schema+`.commits`)
		execSQL(t, pool, `INSERT INTO `+schema+`.sessions ("sessionToken", "userId", expires) VALUES ('s', $1, '2020-01-01')`, user.ID)
		execSQL(t, pool, `INSERT INTO `+schema+`.verification_token (identifier, token, expires) VALUES ('i', 't', '2020-01-01')`)
		assert.Equal(t, adapter.Swept{Sessions: 1, VerificationTokens: 1}, must(sweep())(t))
		rows := must(pool.Query(ctx, `TABLE `+schema+`.commits`))(t)
		assert.Equal(t, []string{name, name}, must(pgx.CollectRows(rows, pgx.RowTo[string]))(t),
			"the synchronous_commit that the sweep's transactions end with")
		assert.Equal(t, "on", value[string](t, pool, `SHOW synchronous_commit`), "after it, on the pool's connection")
	}
}

// TestSweepThatTheSiteRefuses: a trigger that leaves some or all records where they are is
// an error, beside the number of records that are gone.
func TestSweepThatTheSiteRefuses(t *testing.T) {
	t.Parallel()
	pool := inSchema(t, newSchema(t))
	a := newAdapter(t, pool)
	ctx := t.Context()
	require.NoError(t, a.EnsureSchema(ctx))
	ada := must(a.CreateUser(ctx, adapter.User{}))(t)
	for i := range 100 {
		token := []string{"%d", "%d kept"}[i%2]
		must(a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprintf(token, i), UserID: ada.ID, Expires: time.Now().Add(-time.Hour)}))(t)
		must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "x", Token: fmt.Sprintf(token, i), Expires: time.Now().Add(-time.Hour)}))(t)
	}
	execSQL(t, pool, `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $f$
		BEGIN RETURN CASE WHEN to_jsonb(OLD)::text LIKE '%kept%' THEN NULL ELSE OLD END; END $f$;
		CREATE TRIGGER keep BEFORE DELETE ON sessions FOR EACH ROW EXECUTE FUNCTION keep();`, pgx.QueryExecModeSimpleProtocol)
	swept, err := a.DeleteExpired(ctx, time.Now())
	kept := value[int](t, pool, `SELECT count(*)::int FROM sessions`)
	assert.Truef(t, kept == 50 && swept.Sessions == int64(100-kept), "%+v are gone, and %d sessions are left", swept, kept)
	assert.ErrorContains(t, err, "the site refused")
	execSQL(t, pool, `DROP TRIGGER keep ON sessions; CREATE TRIGGER keep BEFORE DELETE ON verification_token FOR EACH ROW EXECUTE FUNCTION keep();
		UPDATE verification_token SET token = token || 'kept'`, pgx.QueryExecModeSimpleProtocol)
	swept, err = a.DeleteExpired(ctx, time.Now())
	assert.Truef(t, swept.Sessions == int64(kept) && swept.VerificationTokens == 0, "%+v are gone", swept)
	assert.ErrorContains(t, err, "the site refused")
	_, err = a.DeleteVerificationTokens(ctx, "x")
	assert.ErrorContains(t, err, "the site refused")
}

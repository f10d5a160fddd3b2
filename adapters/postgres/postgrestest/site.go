package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// siteFields sets the fields of the harness about sites that exist.
func (e *Env) siteFields(h *adaptertest.Harness) {
	h.Foreign, h.Settings, h.ReadOnly, h.Reduced = e.foreign, e.settings, e.readOnly, e.reduced
	h.Quoting = func(t testing.TB) (adapter.Adapter, func()) {
		return e.triggered(t, `RAISE EXCEPTION USING ERRCODE = 'P0001', MESSAGE = r, DETAIL = r, HINT = r, COLUMN = r, CONSTRAINT = r, DATATYPE = r, TABLE = r, SCHEMA = r;`)
	}
	h.Refusing = func(t testing.TB) (adapter.Adapter, func()) {
		return e.triggered(t, `INSERT INTO of_site VALUES (1);`)
	}
}

// run runs a script as the administrator.
func (e *Env) run(t testing.TB, script string) {
	t.Helper()
	if _, err := e.Admin.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
}

func newName(what string) string { return "gatehouse_" + what + "_" + strings.ToLower(rand.Text()) }

// apart opens an adapter over new tables in a schema of their own.
func (e *Env) apart(t testing.TB) (h *Handle, schema string) {
	t.Helper()
	schema = newName("apart")
	a := must(e.namespace(t, e.handle(t, 0, e.Conns, false), schema))(t)
	return a.(*Handle), schema
}

// configured returns an adapter over a pool of its own that change has configured.
func (e *Env) configured(t testing.TB, change func(*pgxpool.Config), options ...postgres.Option) *Handle {
	t.Helper()
	config := must(e.config(e.Conns, false))(t)
	change(config)
	pool := must(e.newPool(t.Context(), config))(t)
	t.Cleanup(pool.close)
	a := must(pool.adapter(options...))(t)
	return &Handle{Adapter: a, Pool: pool.pgx, pool: pool, env: e, t: t, options: options, conns: e.Conns}
}

// foreign makes the tables of each product with a person in them. Without a layout the
// adapter must refuse those with other names.
func (e *Env) foreign(t testing.TB) (all []adaptertest.Foreign) {
	products := []struct {
		name, tables, person string
		layout               postgres.Layout
	}{
		{"Prisma", PrismaTables, `INSERT INTO "User" (id, email, "emailVerified", "updatedAt") VALUES ('7', $E, '2020-01-02 03:04:05.678', now());
			INSERT INTO "Account" ("userId", type, provider, "providerAccountId", "updatedAt") VALUES ('7', 'oidc', 'p', '1', now());
			INSERT INTO "Session" ("sessionToken", "userId", expires, "updatedAt") VALUES ($S, '7', '2040-01-02 12:00:00.123', now());`, postgres.Prisma()},
		{"Drizzle", DrizzleTables, `INSERT INTO "user" (id, email, "emailVerified") VALUES ('7', $E, '2020-01-02 03:04:05.678');
			INSERT INTO "account" ("userId", type, provider, "providerAccountId") VALUES ('7', 'oidc', 'p', '1');
			INSERT INTO "session" ("sessionToken", "userId", expires) VALUES ($S, '7', '2040-01-02 12:00:00.123');`, postgres.Drizzle()},
		{"pg-adapter", AuthJSTables, `INSERT INTO users (id, email, "emailVerified") VALUES (7, $E, '2020-01-02 03:04:05.678Z');
			INSERT INTO accounts ("userId", type, provider, "providerAccountId") VALUES (7, 'oidc', 'p', '1');
			INSERT INTO sessions ("sessionToken", "userId", expires) VALUES ($S, 7, '2040-01-02 12:00:00.123Z');`, postgres.PgAdapter()},
	}
	for _, p := range products {
		for _, layout := range []bool{true, false} {
			schema, email, token := newName("foreign"), newName("mail")+"@example.com", newName("session")
			person := strings.NewReplacer("$E", "'"+email+"'", "$S", "'"+token+"'").Replace(p.person)
			e.run(t, fmt.Sprintf("CREATE SCHEMA %s; SET search_path = %[1]s; %s; %s; RESET search_path", schema, p.tables, person))
			options := []postgres.Option{postgres.WithSchema(schema)}
			name := p.name
			if layout {
				options = append(options, postgres.WithLayout(p.layout))
			} else {
				name += " without WithLayout"
			}
			all = append(all, adaptertest.Foreign{
				Name: name,
				Open: func(t testing.TB) (adapter.Adapter, error) {
					a := e.configured(t, func(*pgxpool.Config) {}, options...)
					return a, a.EnsureSchema(t.Context())
				},
				User:    adapter.User{ID: "7", Email: email, EmailVerified: new(time.Date(2020, 1, 2, 3, 4, 5, 678e6, time.UTC))},
				Account: adapter.AccountKey{Provider: "p", ProviderAccountID: "1"},
				Session: adapter.Session{SessionToken: token, UserID: "7", Expires: time.Date(2040, 1, 2, 12, 0, 0, 123e6, time.UTC)},
			})
		}
	}
	return all
}

// otherSettings may change how values are read and written, how statements are planned and
// which rows a statement sees.
var otherSettings = []map[string]string{
	{"timezone": "Asia/Kathmandu", "datestyle": "SQL, DMY", "intervalstyle": "sql_standard", "quote_all_identifiers": "on", "transform_null_equals": "on"},
	{"timezone": "America/St_Johns", "datestyle": "German", "default_transaction_isolation": "serializable", "plan_cache_mode": "force_generic_plan", "extra_float_digits": "-15"},
	{"timezone": "Pacific/Kiritimati", "datestyle": "Postgres, MDY", "default_transaction_isolation": "repeatable read", "enable_indexscan": "off", "row_security": "off", "array_nulls": "off"},
}

// settings opens handles with other settings, in several execution modes.
func (e *Env) settings(t testing.TB, a adapter.Adapter) (all []adapter.Adapter) {
	for i, params := range otherSettings {
		mode := []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec, pgx.QueryExecModeCacheStatement}[i]
		other := e.configured(t, func(c *pgxpool.Config) {
			c.ConnConfig.DefaultQueryExecMode = mode
			for name, value := range params {
				c.ConnConfig.RuntimeParams[name] = value
			}
		}, a.(*Handle).options...)
		other.store = a.(*Handle).store
		all = append(all, other)
	}
	return all
}

// readOnly opens an adapter whose connections can become read-only, as those to a primary
// that was demoted.
func (e *Env) readOnly(t testing.TB) (adapter.Adapter, func()) {
	h, _ := e.apart(t)
	a := e.configured(t, func(*pgxpool.Config) {}, h.options...)
	return a, func() { a.pool.onIdle(t, "SET default_transaction_read_only = on") }
}

// triggered opens an adapter over tables on which refuse makes triggers with a body. In the
// body r is the row as text.
func (e *Env) triggered(t testing.TB, body string) (adapter.Adapter, func()) {
	h, schema := e.apart(t)
	layout := e.siteLayout()
	return h, func() {
		script := fmt.Sprintf(`CREATE TABLE %[1]s.of_site (n int UNIQUE); INSERT INTO %[1]s.of_site VALUES (1);
			CREATE FUNCTION %[1]s.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = %[1]s AS $f$
			DECLARE r text := CASE WHEN TG_OP = 'DELETE' THEN to_jsonb(OLD)::text ELSE to_jsonb(NEW)::text END; BEGIN %[2]s RETURN NULL; END $f$;`, schema, body)
		for _, table := range layout {
			script += fmt.Sprintf(`CREATE TRIGGER refuse AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION %s.refuse();`,
				pgx.Identifier{schema, table}.Sanitize(), schema)
		}
		e.run(t, script)
	}
}

// siteLayout returns the names of the tables.
func (e *Env) siteLayout() []string {
	if e.Site == "" {
		return []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords"}
	}
	l, _ := e.layout()
	tables := []string{l.Users, l.Accounts, l.Sessions, l.VerificationTokens, l.Authenticators}
	if !e.AsTheyAre {
		tables = append(tables, "passwords")
	}
	return tables
}

// reduced makes a role for each right, which has all others.
func (e *Env) reduced(t testing.TB) (all []adaptertest.Reduced) {
	witness, schema := e.apart(t)
	tables := e.siteLayout()
	for i, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE", "USAGE"} {
		role := newName("role")
		table := pgx.Identifier{schema, tables[i%len(tables)]}.Sanitize()
		script := fmt.Sprintf(`CREATE ROLE %[1]s; GRANT USAGE ON SCHEMA %[2]s TO %[1]s; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[2]s TO %[1]s;
			GRANT USAGE ON ALL SEQUENCES IN SCHEMA %[2]s TO %[1]s;`, role, schema)
		if right == "USAGE" {
			script += fmt.Sprintf(`REVOKE USAGE ON SCHEMA %s FROM %s`, schema, role)
		} else {
			script += fmt.Sprintf(`REVOKE %s ON %s FROM %s`, right, table, role)
		}
		e.run(t, script)
		t.Cleanup(func() {
			_, _ = e.Admin.Exec(context.WithoutCancel(t.Context()), fmt.Sprintf(`DROP OWNED BY %s; DROP ROLE %[1]s`, role), pgx.QueryExecModeSimpleProtocol)
		})
		var opened *Handle // its pool is for all handles of the role
		all = append(all, adaptertest.Reduced{Right: right,
			Open: func(t testing.TB) adapter.Adapter {
				if opened == nil {
					opened = e.configured(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role }, witness.options...)
				}
				a := must(opened.pool.adapter(witness.options...))(t)
				return &Handle{Adapter: a, Pool: opened.Pool, pool: opened.pool, env: e, t: t, options: witness.options, conns: e.Conns}
			},
			Prepare: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).EnsureSchema(ctx) },
			Witness: func(testing.TB) adapter.Adapter { return witness }})
	}
	return all
}

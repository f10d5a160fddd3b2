package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// recorder keeps every statement that a pool sends, with the arguments of the
// statement's first use.
type recorder struct {
	mu         sync.Mutex
	statements map[string][]any
}

func (r *recorder) note(sql string, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.statements[sql]; !there {
		r.statements[sql] = slices.DeleteFunc(slices.Clone(args), func(arg any) bool {
			_, mode := arg.(pgx.QueryExecMode)
			return mode
		})
	}
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	r.note(data.SQL, data.Args)
	return ctx
}
func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (r *recorder) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (r *recorder) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	r.note(data.SQL, data.Args)
}
func (r *recorder) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// call is a method with arguments.
type call struct {
	method string
	do     func() error
}

// calls has every method of the adapter, with arguments that belong to user n, whose ID is id.
// Each comes after the methods that make the records it needs. At the start user n has one
// record of each kind, with the key n.
func calls(ctx context.Context, a *postgres.Adapter, n int, id string) []call {
	key, soon := fmt.Sprint(n), time.Now().Add(time.Hour)
	return []call{
		{"GetUser", func() error { return there(a.GetUser(ctx, id)) }},
		{"GetUserByEmail", func() error { return there(a.GetUserByEmail(ctx, key+"@example.com")) }},
		{"GetUserByAccount", func() error {
			return there(a.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: key}))
		}},
		{"GetAccount", func() error { return there(a.GetAccount(ctx, key, "p")) }},
		{"GetSessionAndUser", func() error { return there(a.GetSessionAndUser(ctx, "s"+key)) }},
		{"GetAuthenticator", func() error { return there(a.GetAuthenticator(ctx, key)) }},
		{"ListAccountsByUserID", func() error { return some(a.ListAccountsByUserID(ctx, id)) }},
		{"ListSessionsByUserID", func() error { return some(a.ListSessionsByUserID(ctx, id)) }},
		{"ListAuthenticatorsByUserID", func() error { return some(a.ListAuthenticatorsByUserID(ctx, id)) }},
		{"UpdateUser", func() error {
			return there(a.UpdateUser(ctx, adapter.UserUpdate{ID: id, Name: adapter.To(new("x")), Email: adapter.To(key + "@example.org")}))
		}},
		{"UpdateAccount", func() error {
			return there(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: key, Scope: adapter.To(new("x"))}))
		}},
		{"UpdateSession", func() error {
			return there(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s" + key, Expires: adapter.To(soon)}))
		}},
		{"UpdateSession of the owner", func() error {
			return there(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s" + key, UserID: adapter.To(id)}))
		}},
		{"UpdateAuthenticatorCounter", func() error { return there(a.UpdateAuthenticatorCounter(ctx, key, 1)) }},
		{"TouchAuthenticator", func() error { return there(a.TouchAuthenticator(ctx, key, 1, 2, time.Now())) }},
		{"RenameAuthenticator", func() error { return there(a.RenameAuthenticator(ctx, id, key, "x")) }},
		{"CreateUser", func() error { return there(a.CreateUser(ctx, adapter.User{Email: "new" + key})) }},
		{"CreateUserWithAccount", func() error {
			return there(a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "q", ProviderAccountID: key}, nil))
		}},
		{"CreateUserWithAccount and a passkey", func() error {
			return there(a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "r", ProviderAccountID: key}, &adapter.Authenticator{CredentialID: "r" + key}))
		}},
		{"LinkAccount", func() error {
			return there(a.LinkAccount(ctx, adapter.Account{Provider: "new", ProviderAccountID: key, UserID: id}))
		}},
		{"CreateSession", func() error {
			return there(a.CreateSession(ctx, adapter.Session{SessionToken: "new" + key, UserID: id, Expires: soon}))
		}},
		{"CreateVerificationToken", func() error {
			return there(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: key, Token: "new", Expires: soon}))
		}},
		{"CreateAuthenticator", func() error {
			return there(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "new" + key, UserID: id}))
		}},
		{"CreateUserWithPassword", func() error {
			return there(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))
		}},
		{"GetPassword", func() error { return there(a.GetPassword(ctx, id)) }},
		{"SetPassword", func() error {
			return there(a.SetPassword(ctx, adapter.Password{UserID: id, Hash: "h", State: "s"}))
		}},
		{"SwapPassword", func() error {
			return there(a.SwapPassword(ctx, adapter.Password{UserID: id, Hash: "h", State: "s"}, adapter.Password{Hash: "i"}))
		}},
		{"DeletePassword", func() error { return there(a.DeletePassword(ctx, id, true)) }},
		{"UnlinkAccount", func() error {
			return there(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "new", ProviderAccountID: key}))
		}},
		{"UseVerificationToken", func() error {
			return there(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: key, Token: key}))
		}},
		{"DeleteVerificationTokens", func() error { return deleted(a.DeleteVerificationTokens(ctx, key)) }},
		{"DeleteAuthenticator", func() error { return there(a.DeleteAuthenticator(ctx, id, "new"+key, true)) }},
		{"DeleteSession", func() error { return there(a.DeleteSession(ctx, "s"+key)) }},
		{"DeleteSessionsByUserID", func() error { return deleted(a.DeleteSessionsByUserID(ctx, id, "other")) }},
		{"DeleteUser", func() error { return there(a.DeleteUser(ctx, id)) }},
	}
}

func there[T any](record *T, err error) error {
	if err == nil && record == nil {
		err = fmt.Errorf("no record was found")
	}
	return err
}

func some[T any](list []T, err error) error {
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("no record was found")
	}
	return err
}

func deleted(n int64, err error) error {
	if err == nil && n == 0 {
		err = fmt.Errorf("no record was deleted")
	}
	return err
}

// TestNoScans calls every method among 100,000 records of each kind, on our own tables
// and on tables of Auth.js. The server counts no sequential scan, not even for a
// foreign key, and few rows read. It plans no sequential scan for any statement, with
// or without knowing the arguments.
func TestNoScans(t *testing.T) {
	for _, w := range []wiring{{name: "our tables"}, {name: "tables of Auth.js", authJS: true}} {
		t.Run(w.name, func(t *testing.T) {
			_, admin, schema := w.newStore(t)
			const records = 100_000
			fillRecords(t, admin, w, schema, records)
			for _, conn := range admin.AcquireAllIdle(t.Context()) { // a busy server would count later what they have done
				_ = must(conn.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`))(t)
				conn.Release()
			}
			sent := &recorder{statements: map[string][]any{}}
			config := w.config(t)
			config.MaxConns = 1 // so that the server has counted the calls before
			config.ConnConfig.Tracer = sent
			pool := openPool(t, config)
			a := newAdapter(t, pool, postgres.WithSchema(schema))
			require.NoError(t, a.CheckSchema(t.Context()))
			clear(sent.statements) // leave out the statements that read the system catalog

			const repeated = 8 // from the sixth execution on the server may plan without the arguments
			measure := func(method string, most int64, do func()) {
				scans, rows := activity(t, pool, schema)
				do()
				scansAfter, rowsAfter := activity(t, pool, schema)
				assert.Truef(t, scansAfter <= scans && rowsAfter-rows <= most,
					"%s: %d sequential scans, %d rows read, want no scan and at most %d rows", method, scansAfter-scans, rowsAfter-rows, most)
			}
			all := calls(t.Context(), a, 0, "")
			for i, c := range all {
				measure(c.method, 20*repeated, func() {
					for n := 1; n <= repeated; n++ {
						require.NoError(t, calls(t.Context(), a, n, w.userID(n))[i].do(), c.method)
					}
				})
			}
			measure("DeleteExpired", 2*12_000+100, func() { // it reads each row that it deletes twice
				swept := must(a.DeleteExpired(t.Context(), time.Now()))(t)
				require.Truef(t, swept.Sessions >= 5000 && swept.VerificationTokens >= 5000, "swept %+v only", swept)
			})
			assert.Truef(t, len(sent.statements) >= len(all),
				"%d statements were sent, want at least %d", len(sent.statements), len(all))
			for sql, args := range maps.Clone(sent.statements) {
				explain(t, admin, schema, sql, args)
			}
		})
	}
}

// activity returns how many sequential scans of the tables the server has counted,
// and how many rows it has read in them.
func activity(t *testing.T, pool *pgxpool.Pool, schema string) (scans, rows int64) {
	t.Helper()
	execSQL(t, pool, `SELECT pg_stat_force_next_flush()`)
	execSQL(t, pool, `SELECT pg_stat_clear_snapshot()`)
	const counted = ` FROM pg_stat_user_tables WHERE schemaname = $1 AND relname <> 'gatehouse_schema'`
	return value[int64](t, pool, `SELECT sum(seq_scan)::bigint`+counted, schema),
		value[int64](t, pool, `SELECT sum(seq_tup_read + COALESCE(idx_tup_fetch, 0))::bigint`+counted, schema)
}

// explain checks the plans of a statement: the plan for its arguments, and the
// plan for any arguments.
func explain(t *testing.T, pool *pgxpool.Pool, schema, sql string, args []any) {
	t.Helper()
	if !strings.Contains(sql, schema) {
		return // a statement that reads the counters
	}
	ctx := t.Context()
	conn := must(pool.Acquire(ctx))(t)
	defer conn.Release()
	plan := func(explained string, args ...any) {
		rows, err := conn.Query(ctx, explained, append([]any{pgx.QueryExecModeExec}, args...)...)
		lines := must(pgx.CollectRows(must(rows, err)(t), pgx.RowTo[string]))(t)
		assert.NotContainsf(t, strings.Join(lines, "\n"), "Seq Scan", "%s\nhas the plan", sql)
	}
	plan("EXPLAIN "+sql, args...)
	execSQL(t, conn, `SET plan_cache_mode = force_generic_plan`)
	execSQL(t, conn, `PREPARE explained AS `+sql)
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(args)), ", ")
	plan("EXPLAIN EXECUTE explained (" + nulls + ")")
	execSQL(t, conn, `DEALLOCATE explained`)
	execSQL(t, conn, `RESET plan_cache_mode`)
}

// userID returns the ID of user n of fillRecords.
func (w wiring) userID(n int) string {
	if w.authJS {
		return fmt.Sprint(n)
	}
	return fmt.Sprint("u", n)
}

// fillRecords makes users with one record of each kind. One in twenty sessions and
// verification tokens has expired.
func fillRecords(t *testing.T, pool *pgxpool.Pool, w wiring, schema string, records int) {
	t.Helper()
	id := `'u' || n`
	if w.authJS {
		id = `n`
	}
	for _, sql := range []string{
		`INSERT INTO {s}.users (id, name, email) SELECT {id}, 'User', n || '@example.com' FROM {numbers}`,
		`INSERT INTO {s}.accounts ("userId", type, provider, "providerAccountId") SELECT {id}, 'oidc', 'p', n FROM {numbers}`,
		`INSERT INTO {s}.sessions ("userId", expires, "sessionToken") SELECT {id}, {expires}, 's' || n FROM {numbers}`,
		`INSERT INTO {s}.verification_token (identifier, expires, token) SELECT n, {expires}, n FROM {numbers}`,
		`INSERT INTO {s}.authenticators ("credentialID", "userId", "providerAccountId", "credentialPublicKey", counter, "credentialDeviceType", "credentialBackedUp")
			SELECT n, {id}, n, 'key', 0, 'singleDevice', false FROM {numbers}`,
		`INSERT INTO {s}.passwords ("userId", hash, state) SELECT {id}, 'h', '' FROM {numbers}`,
	} {
		execSQL(t, pool, strings.NewReplacer("{s}", schema, "{id}", id, "{numbers}", fmt.Sprintf("generate_series(1, %d) AS n", records),
			"{expires}", `CASE WHEN n % 20 = 19 THEN '2020-01-01'::timestamptz + n * interval '1 s' ELSE now() + interval '1 day' END`).Replace(sql))
	}
	if w.authJS {
		execSQL(t, pool, fmt.Sprintf(`ALTER SEQUENCE %s.users_id_seq RESTART WITH %d`, schema, records+1))
	}
	for _, table := range []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords"} {
		execSQL(t, pool, `ANALYZE `+schema+`.`+table)
	}
}

package mysql_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// script runs statements that end with a semicolon at the end of a line.
func script(t testing.TB, env *mysqltest.Env, text string) {
	t.Helper()
	for statement := range strings.SplitSeq(text, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		_, err := env.Admin.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// TestKeysThatTheCollationTakesForAnother: a lookup is exact, and a record whose key differs
// only in case or padding is a conflict that changes nothing.
func TestKeysThatTheCollationTakesForAnother(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{Site: "Prisma", AsTheyAre: true, NoForeignKeys: true})
	ctx, a := t.Context(), on(t, env.Admin, mysql.WithLayout(mysql.Prisma()))
	must(a.CreateUser(ctx, adapter.User{ID: "Ada", Email: "ada@example.com"}))(t)
	soon := time.Now().Add(time.Hour)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "token", UserID: "Ada", Expires: soon}))(t)
	for _, other := range []string{"TOKEN", "token "} {
		assert.Nil(t, must(a.GetSessionAndUser(ctx, other))(t), other)
		assert.Nil(t, must(a.DeleteSession(ctx, other))(t), other)
		refused(a.CreateSession(ctx, adapter.Session{SessionToken: other, UserID: "Ada", Expires: soon}))(t, other, adapter.ErrConflict)
	}
	refused(a.CreateSession(ctx, adapter.Session{SessionToken: "2", UserID: "ada",
		Expires: soon}))(t, "a session of a user whose ID differs in case", adapter.ErrNotFound)
	n, err := a.DeleteSessionsByUserID(ctx, "ADA", "")
	assert.Truef(t, n == 0 && err == nil, "deleted %d sessions of another ID, %v", n, err)
	require.NotNil(t, must(a.DeleteUser(ctx, "Ada"))(t), "DeleteUser")
	assert.Zero(t, number(t, env.Admin, "SELECT COUNT(*) FROM Session"), "sessions are left without foreign keys")
}

// TestTimestampsInAnyZone: a TIMESTAMP is the same instant whatever zone a connection has, also
// in the hour that a zone has twice.
func TestTimestampsInAnyZone(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{Site: "Drizzle", AsTheyAre: true})
	ctx := t.Context()
	database := databaseOf(t, env)
	here := on(t, env.Admin, mysql.WithLayout(mysql.Drizzle()))
	far := on(t, pool(t, database, func(c *driver.Config) { c.Params["time_zone"] = "'+13:00'" }),
		mysql.WithLayout(mysql.Drizzle()))
	must(far.CreateUser(ctx, adapter.User{ID: "u", Email: "a@example.com"}))(t)
	last := time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC)
	for token, expires := range map[string]time.Time{"a": time.Date(2030, 10, 27, 0, 30, 0, 0, time.UTC), "b": last} {
		if _, err := far.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: "u",
			Expires: expires.Add(time.Millisecond)}); err != nil {
			if token == "b" && strings.Contains(err.Error(), "2038") {
				continue
			}
			t.Fatal(err)
		}
		if s, err := here.GetSessionAndUser(ctx, token); err != nil || s == nil || !s.Session.Expires.Equal(expires) {
			t.Errorf("%s: got %+v, %v, want %v", token, s, err, expires)
		}
	}
	_, err := here.CreateSession(ctx, adapter.Session{SessionToken: "c", UserID: "u",
		Expires: last.Add(time.Second)})
	assert.ErrorContains(t, err, "2038", "a session that ends after 2038")
}

// TestRangesOfIntegers: a number for which a column has no room is refused, whatever sql_mode the connection has.
func TestRangesOfIntegers(t *testing.T) {
	t.Parallel()
	const signed, unsigned = -1 << 31, 1<<32 - 1
	for kind, c := range map[string]struct{ least, most int64 }{
		"INT": {signed, 1<<31 - 1}, "INT UNSIGNED": {0, unsigned}, "BIGINT UNSIGNED": {0, 1<<63 - 1}, "BIGINT": {-1 << 63, 1<<63 - 1},
	} {
		env := open(t, mysqltest.Settings{Site: "Prisma", AsTheyAre: true})
		ctx := t.Context()
		statement(t, env.Admin, "ALTER TABLE Account MODIFY expires_at "+kind)
		statement(t, env.Admin, "ALTER TABLE Authenticator MODIFY counter "+kind+" NOT NULL")
		lax := pool(t, databaseOf(t, env), func(c *driver.Config) { c.Params["sql_mode"] = "''" })
		a := on(t, lax, mysql.WithLayout(mysql.Prisma()))
		must(a.CreateUser(ctx, adapter.User{ID: "u", Email: "u@example.com"}))(t)
		for _, n := range []int64{-1 << 63, signed, -1, 0, 1<<31 - 1, 1 << 31, unsigned, unsigned + 1, 1<<63 - 1} {
			id, room := fmt.Sprint("n", n), c.least <= n && n <= c.most
			_, err := a.LinkAccount(ctx, adapter.Account{UserID: "u", Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: id, ExpiresAt: &n})
			assert.Equalf(t, room, err == nil, "%s: expires_at %d: %v", kind, n, err)
			if found, err := a.GetAccount(ctx, id, "p"); err != nil || (found != nil) != room || room && *found.ExpiresAt != n {
				t.Errorf("%s: stored %d as %+v, %v", kind, n, found, err)
			}
			_, err = a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: id, UserID: "u", Counter: n})
			assert.Falsef(t, n >= 0 && (err == nil) != room || n < 0 && !room && err == nil, "%s: counter %d: %v", kind, n, err)
		}
		if changes, err := a.SchemaChanges(ctx); err != nil || strings.Contains(strings.Join(changes, ";"), "`expires_at` BIGINT") == (kind == "BIGINT") {
			t.Errorf("%s: %v, %v", kind, changes, err)
		}
	}
}

// TestInstantsOfDrizzle: Drizzle writes and reads UTC, whatever zone the server takes it for. The adapter reads the same
// instants, or refuses the tables, and after the statements it reads them in any case.
func TestInstantsOfDrizzle(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"+00:00", "+02:00"} {
		env := open(t, mysqltest.Settings{Site: "Drizzle", AsTheyAre: true})
		ctx := t.Context()
		theirs := pool(t, databaseOf(t, env), func(c *driver.Config) { c.Params["time_zone"] = "'" + zone + "'" })
		const instant = "2037-07-02 12:00:00"
		statement(t, theirs, "INSERT INTO `user` (id, emailVerified) VALUES ('ada', '"+instant+"')")
		statement(t, theirs, "INSERT INTO session (sessionToken, userId, expires) VALUES ('theirs', 'ada', '"+instant+"')")
		n, db := nodeOf(t, env)
		n.alone, n.zone = true, zone
		check := func(when string) {
			t.Helper()
			found, err := on(t, db, mysql.WithLayout(mysql.Drizzle())).GetSessionAndUser(ctx, "theirs")
			assert.Truef(t, err == nil && found != nil && found.Session.Expires.Format(time.DateTime) == instant &&
				found.User.EmailVerified.Format(time.DateTime) == instant, "%s, %s: %+v, %v", zone, when, found, err)
		}
		a := on(t, db, mysql.WithLayout(mysql.Drizzle()))
		statements, err := a.SchemaChanges(ctx)
		if refused := err != nil && strings.Contains(err.Error(), "the server's time zone is not UTC"); refused != (zone != "+00:00") {
			t.Fatalf("%s: %v", zone, err)
		} else if refused {
			statements = advised.FindAllString(err.Error(), -1)
		} else {
			require.NoError(t, err)
			check("before")
		}
		runOn(t, farFromUTC(t, env), strings.Split(strings.ReplaceAll(strings.Join(statements, ";\n"), "@@GLOBAL.time_zone", "'"+zone+"'"), ";\n")...)
		require.NoError(t, on(t, db, mysql.WithLayout(mysql.Drizzle())).EnsureSchema(ctx))
		check("after")
	}
}

// TestSchemaChangesOfASite: after the statements none is left, EnsureSchema changes nothing, and
// the statements have the lines of the schema file.
func TestSchemaChangesOfASite(t *testing.T) {
	t.Parallel()
	for name, layout := range map[string]mysql.Layout{"Prisma": mysql.Prisma(), "Drizzle": mysql.Drizzle()} {
		env := open(t, mysqltest.Settings{Site: name, AsTheyAre: true})
		ctx, a := t.Context(), on(t, env.Admin, mysql.WithLayout(layout))
		before, err := a.SchemaChanges(ctx)
		require.Truef(t, err == nil && len(before) != 0, "%v %v", before, err)
		require.NoError(t, a.EnsureSchema(ctx))
		if again, err := a.SchemaChanges(ctx); err != nil || len(again) != len(before) {
			t.Errorf("%s: EnsureSchema has changed the tables of a site: %v, %v", name, again, err)
		}
		text := strings.Join(before, ";\n")
		want := map[string]string{"Prisma": "schema.prisma, User: id String @db.VarChar(255)",
			"Drizzle": `counter: bigint("counter", { mode: "number" })`}[name]
		assert.Containsf(t, text, want, "%s: the statements lack the line %s", name, want)
		script(t, env, text)
		assert.Emptyf(t, must(a.SchemaChanges(ctx))(t), "%s: after the statements", name)
	}
}

// TestSitesThatDiffer: names, columns and a table that a site has otherwise, and what is
// refused with its reason.
func TestSitesThatDiffer(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"ALTER TABLE User RENAME people, RENAME COLUMN email TO e_mail":                                  "",
		"DROP TABLE Authenticator":                                                                       "",
		"ALTER TABLE Session ADD tenant INT NOT NULL":                                                    "Session.tenant accepts no null",
		"ALTER TABLE Session DROP INDEX Session_sessionToken_key":                                        "no unique key of sessionToken",
		"ALTER TABLE VerificationToken DROP PRIMARY KEY, ADD UNIQUE KEY (token)":                         "no unique key of identifier, token (Kysely's tables have one of the token alone): ALTER TABLE",
		"ALTER TABLE Session MODIFY expires VARCHAR(255) NOT NULL":                                       "TypeORM",
		"ALTER TABLE User MODIFY name VARCHAR(191) CHARACTER SET latin1":                                 "character set is not utf8mb4, so it changes some texts: the server copies the table",
		"DROP TABLE VerificationToken":                                                                   "there is no table VerificationToken",
		"RENAME TABLE VerificationToken TO other;\nCREATE VIEW VerificationToken AS SELECT * FROM other": "VerificationToken is a view, not a table",
		"ALTER TABLE User DROP COLUMN image, ADD image VARCHAR(191) AS (lower(name))":                    "User.image is generated by the server",
		"ALTER TABLE Session MODIFY sessionToken VARBINARY(191) NOT NULL":                                "want a type for texts, such as VARCHAR",
		"ALTER TABLE Account ADD id VARCHAR(191) NOT NULL UNIQUE FIRST":                                  "",
	} {
		env := open(t, mysqltest.Settings{Site: "Prisma", AsTheyAre: true})
		site := mysql.Prisma()
		if strings.Contains(change, "people") {
			site.Users, site.Columns = "people", map[string]string{"user.email": "e_mail"}
		}
		script(t, env, change)
		a := on(t, env.Admin, mysql.WithLayout(site))
		_, err := a.CreateUserWithAccount(t.Context(), adapter.User{Email: "a@example.com"},
			adapter.Account{Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1"}, nil)
		assert.Falsef(t, want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)),
			"%s: got %v, want %q", change, err, want)
		assert.Falsef(t, strings.Contains(change, "BINARY") && strings.Contains(err.Error(), "ALTER"),
			"%s: bytes are no texts, and the error says %v", change, err)
		if strings.HasPrefix(change, "DROP TABLE Auth") {
			_, err := a.GetAuthenticator(t.Context(), "c")
			assert.Truef(t, errors.Is(err,
				adapter.ErrUnsupported) && len(a.Missing()) != 0, "without the table: %v, missing %v", err, a.Missing())
			if u, err := a.GetUserByEmail(t.Context(), "a@example.com"); err != nil || u == nil {
				t.Errorf("%v, %v", u, err)
			} else if _, err := a.DeleteUser(t.Context(), u.ID); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestProductsAreNamed: tables of products that can't be served are refused with their name.
func TestProductsAreNamed(t *testing.T) {
	t.Parallel()
	for want, tables := range map[string]string{
		"TypeORM's": "CREATE TABLE users (id VARCHAR(36) PRIMARY KEY, email VARCHAR(255));\nCREATE TABLE sessions (id VARCHAR(36) PRIMARY KEY, sessionToken VARCHAR(255), expires VARCHAR(255))",
		"Kysely's":  "CREATE TABLE User (id VARCHAR(36) PRIMARY KEY, email VARCHAR(255));\nCREATE TABLE Session (id VARCHAR(36) PRIMARY KEY, sessionToken VARCHAR(255), expires TIMESTAMP(3) NOT NULL)",
		"Prisma()":  mysqltest.PrismaTables,
	} {
		env := open(t, mysqltest.Settings{})
		script(t, env, "SET foreign_key_checks = 1;\nDROP TABLE account, session, verificationToken, authenticator, passwords, `user`;\n"+tables)
		err := on(t, env.Admin).EnsureSchema(t.Context())
		assert.ErrorContains(t, err, want)
	}
}

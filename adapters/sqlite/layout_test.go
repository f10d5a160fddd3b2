package sqlite_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is a database that another product made, with one person in it.
type site struct {
	options []sqlite.Option
	layout  sqlite.Layout
	tables  string // or a file in testdata
	person  string
	step    time.Duration // of its instants
	noKeys  bool          // it has no table of authenticators
}

const (
	adaID    = "ck1"
	adaEmail = "ada@example.com"
)

// adaExpires is the end of the session of every site's person.
var adaExpires = time.Date(2040, 1, 2, 12, 0, 0, 0, time.UTC)

func sites() map[string]site {
	t3 := sqlite.Drizzle()
	t3.VerificationTokens, t3.Instants = "verification_token", sqlite.Seconds
	text := sqlite.Layout{Users: "People", Accounts: "log ins", Sessions: "visits", VerificationTokens: "Tokens", Authenticators: "keys", Instants: sqlite.Text,
		Columns: map[string]string{"user.id": "ID", "user.emailVerified": "email verified", "account.userId": "user_id", "account.provider": "issuer",
			"account.providerAccountId": "sub", "session.sessionToken": "token", "session.expires": "until", "session.userId": "user_id",
			"authenticator.userId": "user_id", "authenticator.credentialID": "id", "authenticator.counter": "uses"}}
	drizzle := fmt.Sprintf(`
		INSERT INTO "user" (id, name, email) VALUES ('ck1', 'Ada', 'ada@example.com');
		INSERT INTO "account" ("userId", type, provider, "providerAccountId") VALUES ('ck1', 'oidc', 'p', '1');
		INSERT INTO "session" ("sessionToken", "userId", expires) VALUES ('theirs', 'ck1', %d);`, adaExpires.UnixMilli())
	strict := strings.NewReplacer("\n);", "\n) STRICT, WITHOUT ROWID;").Replace(sqlitetest.DrizzleTables)
	computed := strings.NewReplacer("`email` text,", "`email` text, `domain` text NOT NULL AS (substr(email, instr(email, '@') + 1)) STORED, `lower` text AS (lower(email)),",
		"`expires` integer NOT NULL,\n\tFOREIGN", "`expires` integer NOT NULL, `over` integer NOT NULL AS (expires < 1), `note` text NOT NULL DEFAULT 'x',\n\tFOREIGN").Replace(sqlitetest.DrizzleTables)
	plural := strings.NewReplacer("`user`", "`users`", `"user"`, `"users"`, "`account`", "`accounts`", `"account"`, `"accounts"`,
		"`session`", "`sessions`", `"session"`, `"sessions"`, "`authenticator`", "`authenticators`", "`verificationToken`", "`verification_token`")
	return map[string]site{
		"Drizzle, strict tables without rowid": {layout: sqlite.Drizzle(), tables: strict, step: time.Millisecond, person: drizzle},
		"Drizzle, computed columns":            {layout: sqlite.Drizzle(), tables: computed, step: time.Millisecond, person: drizzle},
		"Prisma": {layout: sqlite.Prisma(), tables: sqlitetest.PrismaTables, step: time.Millisecond, person: fmt.Sprintf(`
			INSERT INTO "User" (id, name, email, "updatedAt") VALUES ('ck1', 'Ada', 'ada@example.com', 1700000000000);
			INSERT INTO "Account" ("userId", type, provider, "providerAccountId", "updatedAt") VALUES ('ck1', 'oidc', 'p', '1', 1700000000000);
			INSERT INTO "Session" ("sessionToken", "userId", expires, "updatedAt") VALUES ('theirs', 'ck1', %d, 1700000000000);`, adaExpires.UnixMilli())},
		"Drizzle": {layout: sqlite.Drizzle(), tables: sqlitetest.DrizzleTables, step: time.Millisecond, person: drizzle},
		"names of pg-adapter": {layout: sqlite.PgAdapter(), step: time.Millisecond,
			tables: plural.Replace(sqlitetest.DrizzleTables), person: plural.Replace(drizzle)},
		"create-t3-app": {layout: t3, options: []sqlite.Option{sqlite.WithPrefix("p1_")}, tables: "t3.sql", step: time.Second, noKeys: true, person: fmt.Sprintf(`
			INSERT INTO p1_user VALUES ('ck1', 'Ada', 'ada@example.com', %d, NULL);
			INSERT INTO p1_account ("userId", type, provider, "providerAccountId") VALUES ('ck1', 'oidc', 'p', '1');
			INSERT INTO p1_session VALUES ('theirs', 'ck1', %[1]d);`, adaExpires.Unix())},
		"other names, texts": {layout: text, step: time.Millisecond, tables: `
			CREATE TABLE People (ID text PRIMARY KEY, name text, email text UNIQUE, "email verified" timestamp, image text, updated_at datetime NOT NULL);
			CREATE TABLE "log ins" (id text NOT NULL, user_id text NOT NULL, type text NOT NULL, issuer text NOT NULL, sub text NOT NULL, refresh_token text, access_token text,
				expires_at number, id_token text, scope text, session_state text, token_type text, authorization_details text, PRIMARY KEY (issuer, sub));
			CREATE TABLE visits (id text NOT NULL, token text PRIMARY KEY, user_id text NOT NULL, until datetime NOT NULL);
			CREATE TABLE Tokens (identifier text, token text, expires text NOT NULL, PRIMARY KEY (identifier, token));
			CREATE TABLE keys (id text PRIMARY KEY, user_id text NOT NULL, providerAccountId text NOT NULL, credentialPublicKey text NOT NULL, uses integer NOT NULL,
				credentialDeviceType text NOT NULL, credentialBackedUp boolean NOT NULL, transports text, name text, created datetime, lastUsed datetime);`, person: `
			INSERT INTO People (ID, name, email, "email verified", updated_at) VALUES ('ck1', 'Ada', 'ada@example.com', '2025-01-01 00:00:00', '2025-01-01');
			INSERT INTO "log ins" (id, user_id, type, issuer, sub) VALUES ('x', 'ck1', 'oidc', 'p', '1');
			INSERT INTO visits VALUES ('y', 'theirs', 'ck1', '2040-01-02T12:00:00Z');`},
	}
}

// make makes the site's tables in a new file.
func (s site) make(t *testing.T, w wiring) *sql.DB {
	t.Helper()
	db := w.openDB(t, filepath.Join(t.TempDir(), "site.db"))
	script := s.tables
	if strings.HasSuffix(script, ".sql") {
		script = string(must(os.ReadFile(filepath.Join("testdata", script)))(t))
	}
	run(t, db, script+s.person)
	return db
}

func (s site) adapter(t *testing.T, db sqlite.DB) *sqlite.Adapter {
	t.Helper()
	return must(sqlite.New(db, append(s.options, sqlite.WithLayout(s.layout))...))(t)
}

// objects has the definition of every object of a database by its name. The indexes that SQLite
// makes for the keys of a table are in the definition of the table.
func objects(t *testing.T, db sqlite.DB) map[string]string {
	t.Helper()
	rows := must(db.QueryContext(t.Context(), `SELECT name, type || ': ' || sql FROM sqlite_schema WHERE sql IS NOT NULL`))(t)
	defer rows.Close()
	all := make(map[string]string)
	for rows.Next() {
		var name, text string
		require.NoError(t, rows.Scan(&name, &text))
		all[name] = text
	}
	require.NoError(t, rows.Err())
	return all
}

// TestSitesAreServedAsTheyAre uses every method at the sites of other products. The
// person of the site is known, and the database has the same objects before and after.
func TestSitesAreServedAsTheyAre(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for name, s := range sites() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				db := s.make(t, w)
				before := objects(t, db)
				a := s.adapter(t, db)
				require.NoError(t, errors.Join(a.EnsureSchema(t.Context()), a.CheckSchema(t.Context())))
				s.use(t, a)
				assert.Equal(t, before, objects(t, db), "the objects of the database")
			})
		}
	})
}

// use calls every method, and compares what it says with what is stored.
func (s site) use(t *testing.T, a *sqlite.Adapter) {
	t.Helper()
	ctx := t.Context()
	ada := must(a.GetUserByEmail(ctx, adaEmail))(t)
	both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
	account := must(a.GetAccount(ctx, "1", "p"))(t)
	require.Truef(t, ada != nil && ada.ID == adaID && both != nil && both.User.ID == adaID &&
		both.Session.Expires.Equal(adaExpires) && account != nil && account.UserID == adaID,
		"the site's person: got %v, %v, %v", ada, both, account)
	kept := func(what string, got, given time.Time) {
		t.Helper()
		d := given.Sub(got)
		assert.Truef(t, d >= 0 && d < s.step, "%s is %v, want %v rounded down", what, got, given)
	}
	at := time.Date(2041, 7, 1, 3, 4, 5, 678_999_999, time.FixedZone("", -5*3600))
	past := time.Date(1931, 7, 1, 3, 4, 5, 678_999_999, time.UTC)
	bob := must(a.CreateUser(ctx, adapter.User{Name: new("Bob"), Email: "bob@example.com", EmailVerified: &past}))(t)
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), *bob)
	kept("emailVerified", *bob.EmailVerified, past)
	bob = must(a.UpdateUser(ctx, adapter.UserUpdate{ID: bob.ID, EmailVerified: adapter.To(&at), Image: adapter.To(new("i"))}))(t)
	same(t, "GetUser after UpdateUser", must(a.GetUser(ctx, bob.ID))(t), *bob)
	kept("emailVerified", *bob.EmailVerified, at)
	refused(a.CreateUser(ctx, adapter.User{Email: "bob@example.com"}))(t, "a taken address", adapter.ErrConflict)
	session := must(a.CreateSession(ctx, adapter.Session{SessionToken: "ours", UserID: bob.ID, Expires: at}))(t)
	same(t, "GetSessionAndUser", must(a.GetSessionAndUser(ctx, "ours"))(t), adapter.SessionAndUser{Session: *session, User: *bob})
	kept("expires", session.Expires, at)
	session = must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "ours", Expires: adapter.To(at.Add(time.Hour)), UserID: adapter.To(adaID)}))(t)
	assert.Truef(t, session.UserID == adaID && len(must(a.ListSessionsByUserID(ctx, adaID))(t)) == 2,
		"the session of Ada: got %v", session)
	_, err := a.CreateSession(ctx, adapter.Session{SessionToken: "x", UserID: "nobody", Expires: at})
	assert.ErrorIs(t, err, adapter.ErrNotFound, "a session of nobody")
	made := must(a.LinkAccount(ctx, adapter.Account{UserID: bob.ID, Type: adapter.AccountOAuth, Provider: "q", ProviderAccountID: "2", ExpiresAt: new(int64(1 << 40))}))(t)
	same(t, "GetAccount", must(a.GetAccount(ctx, "2", "q"))(t), *made)
	same(t, "GetUserByAccount", must(a.GetUserByAccount(ctx, made.Key()))(t), *bob)
	must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "q", ProviderAccountID: "2", Scope: adapter.To(new("s"))}))(t)
	assert.Len(t, must(a.ListAccountsByUserID(ctx, bob.ID))(t), 1, "the accounts of Bob are not listed")
	token := adapter.VerificationToken{Identifier: "x", Token: "t", Expires: adaExpires}
	same(t, "CreateVerificationToken", must(a.CreateVerificationToken(ctx, token))(t), token)
	same(t, "UseVerificationToken", must(a.UseVerificationToken(ctx, token.Key()))(t), token)
	must(a.CreateVerificationToken(ctx, token))(t)
	n := must(a.DeleteVerificationTokens(ctx, "x"))(t)
	assert.Truef(t, n == 1, "DeleteVerificationTokens: got %d", n)
	var key *adapter.Authenticator
	if !s.noKeys {
		c := adapter.Authenticator{CredentialID: "c", UserID: bob.ID, ProviderAccountID: "c", CredentialPublicKey: "k", Counter: 1 << 40, CredentialDeviceType: "singleDevice", CredentialBackedUp: true}
		same(t, "CreateAuthenticator", must(a.CreateAuthenticator(ctx, c))(t), c)
		c.Counter = 7
		same(t, "UpdateAuthenticatorCounter", must(a.UpdateAuthenticatorCounter(ctx, "c", 7))(t), c)
		touched := must(a.TouchAuthenticator(ctx, "c", 7, 8, at))(t)
		assert.Truef(t, touched != nil && touched.Counter == 8, "TouchAuthenticator: got %v", touched)
		assert.Len(t, must(a.ListAuthenticatorsByUserID(ctx, bob.ID))(t), 1, "the passkeys of Bob are not listed")
		must(a.DeleteAuthenticator(ctx, bob.ID, "c", true))(t)
		key = &adapter.Authenticator{CredentialID: "d"}
	}
	cy := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "cy@example.com"}, adapter.Account{Type: adapter.AccountWebAuthn, Provider: "r", ProviderAccountID: "3"}, key))(t)
	must(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "q", ProviderAccountID: "2"}))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "past", UserID: bob.ID, Expires: time.Now().Add(-2 * time.Second)}))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "soon", UserID: bob.ID, Expires: time.Now().Add(time.Minute)}))(t)
	must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "past", Token: "t", Expires: time.Now().Add(-2 * time.Second)}))(t)
	swept := must(a.DeleteExpired(ctx, time.Now()))(t)
	assert.Truef(t, swept.Sessions == 1 && swept.VerificationTokens == 1, "DeleteExpired: got %+v", swept)
	n = must(a.DeleteSessionsByUserID(ctx, bob.ID, ""))(t)
	assert.Truef(t, n == 1, "DeleteSessionsByUserID: got %d", n)
	must(a.DeleteUser(ctx, cy.ID))(t)
	assert.Nil(t, must(a.GetAccount(ctx, "3", "r"))(t), "an account of a deleted user is left")
	if !s.noKeys {
		assert.Nil(t, must(a.GetAuthenticator(ctx, "d"))(t), "a passkey of a deleted user is left")
	} else if _, err := a.GetAuthenticator(ctx, "d"); !errors.Is(err, adapter.ErrUnsupported) || len(a.Missing()) != 9 {
		t.Errorf("without a table of passkeys: got %v and %v", err, a.Missing())
	}
	if a.RequiresEmail() {
		_, err1 := a.CreateUser(ctx, adapter.User{})
		_, err2 := a.UpdateUser(ctx, adapter.UserUpdate{ID: adaID, Email: adapter.To("")})
		for _, err := range []error{err1, err2} {
			assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound),
				"a user without an address: got %v", err)
		}
	}
}

// TestDatesOfSites: updatedAt is the present after each insert and update of its row, in the
// encoding of the site. createdAt keeps its value, and has its default in a new row.
func TestDatesOfSites(t *testing.T) {
	prisma, t3 := sites()["Prisma"], sites()["create-t3-app"]
	texts := prisma
	texts.layout.Instants = sqlite.Text
	texts.person = strings.NewReplacer("2209118400000", "'2040-01-02T12:00:00.000+00:00'",
		"1700000000000", "'2023-11-14T22:13:20.000+00:00'").Replace(prisma.person)
	for _, table := range []string{"user", "account", "session"} {
		t3.person += `ALTER TABLE p1_` + table + ` ADD COLUMN createdAt integer; ALTER TABLE p1_` + table + ` ADD COLUMN updatedAt integer;
			UPDATE p1_` + table + ` SET createdAt = 1600000000, updatedAt = 1700000000;`
	}
	const asText = "CAST(round((julianday(%s) - 2440587.5) * 86400000) AS INTEGER)"
	for name, c := range map[string]struct {
		site      site
		tables    [3]string
		millis    string // of the column, in SQL
		noDefault int    // new rows of a table without createdAt
	}{
		"Prisma":        {prisma, [3]string{"User", "Account", "Session"}, "%s", 0},
		"Prisma, texts": {texts, [3]string{"User", "Account", "Session"}, asText, 0},
		"seconds":       {t3, [3]string{"p1_user", "p1_account", "p1_session"}, "%s * 1000", 1},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), c.site.make(t, wirings[0])
			a := c.site.adapter(t, db)
			created := func() (all string) {
				for _, table := range c.tables {
					var one sql.NullString
					err := db.QueryRowContext(ctx, `SELECT CAST(createdAt AS TEXT) FROM "`+table+`" WHERE rowid = 1`).Scan(&one)
					require.NoError(t, err)
					all += one.String + "; "
				}
				return all
			}
			stamps := func() (all [3]time.Duration) {
				for i, table := range c.tables {
					var oldest int64
					err := db.QueryRowContext(ctx, fmt.Sprintf(`SELECT min(`+c.millis+`) FROM "%s"`, "updatedAt", table)).Scan(&oldest)
					require.NoError(t, err)
					all[i] = time.Since(time.UnixMilli(oldest)).Abs()
				}
				return all
			}
			before := created()
			must(a.UpdateUser(ctx, adapter.UserUpdate{ID: adaID, Name: adapter.To(new("Ada L."))}))(t)
			s := stamps()
			assert.Truef(t, s[0] <= time.Minute && s[1] >= time.Hour && s[2] >= time.Hour,
				"after UpdateUser updatedAt is %v ago", s)
			must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", Scope: adapter.To(new("s"))}))(t)
			must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "theirs", Expires: adapter.To(time.Now())}))(t)
			bob := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "bob@example.com"},
				adapter.Account{Type: "oauth", Provider: "q", ProviderAccountID: "2"}, nil))(t)
			must(a.CreateSession(ctx, adapter.Session{SessionToken: "ours", UserID: bob.ID, Expires: time.Now()}))(t)
			s = stamps()
			assert.Truef(t, max(s[0], s[1], s[2]) <= time.Minute, "updatedAt is %v ago", s)
			assert.Equalf(t, before, created(), "createdAt was %s and", before)
			for _, table := range c.tables {
				n := number(t, db, `SELECT count(*) FROM "`+table+`" WHERE rowid > 1 AND (createdAt IS NULL OR abs(julianday(createdAt) - julianday('now')) > 0.001)`)
				assert.Equalf(t, c.noDefault, n, "%s: %d new rows without the default of createdAt, want %d", table, n, c.noDefault)
			}
		})
	}
}

// TestInstantsOfOthers: values in another encoding than the layout's are refused before
// anything is written. The statement in the error converts them, and the option reads
// them: either way every session ends when the site says.
func TestInstantsOfOthers(t *testing.T) {
	t3 := sites()["create-t3-app"]
	milliseconds, text := t3, t3
	milliseconds.layout.Instants, text.layout.Instants = sqlite.Milliseconds, sqlite.Text
	drizzle := sites()["Drizzle"]
	strictSeconds := sites()["Drizzle, strict tables without rowid"]
	strictSeconds.person = strings.ReplaceAll(strictSeconds.person, fmt.Sprint(adaExpires.UnixMilli()), fmt.Sprint(adaExpires.Unix()))
	drizzleSeconds := drizzle
	drizzleSeconds.layout.Instants = sqlite.Seconds
	for name, c := range map[string]struct {
		site     site
		adoption bool // no layout: EnsureSchema changes the tables
		edit     string
	}{
		"seconds read as milliseconds": {milliseconds, false, ""},
		"seconds, adopted":             {t3, true, `ALTER TABLE p1_verification_token RENAME TO p1_verificationToken`},
		"milliseconds read as seconds": {drizzleSeconds, false, ""},
		"a text among seconds":         {t3, false, `UPDATE p1_user SET emailVerified = CURRENT_TIMESTAMP`},
		"a text among milliseconds":    {drizzle, false, `UPDATE "user" SET emailVerified = CURRENT_TIMESTAMP`},
		"seconds in strict tables":     {strictSeconds, false, ""},
		"the same, adopted":            {strictSeconds, true, ""},
		"a fraction":                   {drizzle, false, `UPDATE "user" SET emailVerified = 1764000000000.5`},
	} {
		t.Run(name, func(t *testing.T) {
			db := c.site.make(t, wirings[0])
			if c.edit != "" {
				run(t, db, c.edit)
			}
			open := func() *sqlite.Adapter {
				if c.adoption {
					return must(sqlite.New(db, c.site.options...))(t)
				}
				return c.site.adapter(t, db)
			}
			before := objects(t, db)
			err := open().EnsureSchema(t.Context())
			require.Error(t, erred(open().DeleteExpired(t.Context(), time.Now())), "a sweep reads what EnsureSchema refuses")
			statements := regexp.MustCompile(`UPDATE [^;]*`).FindAllString(fmt.Sprint(err), -1)
			require.NotEmptyf(t, statements, "got %v, want a statement", err)
			require.Equal(t, before, objects(t, db), "the database has changed")
			for _, s := range statements {
				run(t, db, s)
			}
			a := open()
			require.NoError(t, a.EnsureSchema(t.Context()))
			must(a.DeleteExpired(t.Context(), time.Now()))(t)
			both := must(a.GetSessionAndUser(t.Context(), "theirs"))(t)
			account := must(a.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}))(t)
			assert.Truef(t, both != nil && both.User.ID == adaID && both.Session.Expires.Equal(adaExpires) && account != nil &&
				account.ID == adaID,
				"got %v, %v", both, account)
			at := both.User.EmailVerified
			assert.Falsef(t, name == "seconds, adopted" && (at == nil || !at.Equal(adaExpires)), "emailVerified is %v", at)
		})
	}
	db := text.make(t, wirings[0])
	assert.ErrorContains(t, text.adapter(t, db).CheckSchema(t.Context()), "sqlite.Seconds")
	empty := milliseconds
	empty.person = ""
	assert.ErrorContains(t, empty.adapter(t, empty.make(t, wirings[0])).CheckSchema(t.Context()), "sqlite.Seconds")
}

// TestEncodingIsAskedFor: where no value and no default tells how a site stores instants,
// every call is refused until Layout.Instants says it. Then the site reads what it wrote.
func TestEncodingIsAskedFor(t *testing.T) {
	const users = `INSERT INTO "user" (id, email) VALUES ('ck1', 'ada@example.com');` // who sign in with a JWT
	strict := sites()["Drizzle, strict tables without rowid"].tables
	const updated = `INSERT INTO "User" (id, email, "updatedAt") VALUES ('ck1', 'ada@example.com', `
	textUpdates := strings.ReplaceAll(sqlitetest.PrismaTables, `"updatedAt" DATETIME`, `"updatedAt" TEXT`)
	millisDefault := strings.Replace(sqlitetest.DrizzleTables,
		"`emailVerified` integer", "`emailVerified` integer DEFAULT (unixepoch() * 1000)", 1)
	for name, c := range map[string]struct {
		layout *sqlite.Layout
		script string
		told   bool
	}{
		"Drizzle, adopted":           {nil, sqlitetest.DrizzleTables, false},
		"Drizzle, JWT, adopted":      {nil, sqlitetest.DrizzleTables + users, false},
		"strict, adopted":            {nil, strict + users, false},
		"a number that tells not":    {nil, sqlitetest.DrizzleTables + users + `UPDATE "user" SET emailVerified = 0`, false},
		"a value, adopted":           {nil, sqlitetest.DrizzleTables + users + `UPDATE "user" SET emailVerified = 1700000000000`, true},
		"a default, adopted":         {nil, millisDefault + users, true},
		"Drizzle":                    {new(sqlite.Drizzle()), sqlitetest.DrizzleTables + users, false},
		"Prisma":                     {new(sqlite.Prisma()), sqlitetest.PrismaTables, false},
		"Prisma, a user":             {new(sqlite.Prisma()), sqlitetest.PrismaTables + updated + `1700000000000)`, true},
		"Prisma, texts in updatedAt": {new(sqlite.Prisma()), textUpdates + updated + `'2024-01-01')`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := site{tables: c.script}
			db := s.make(t, wirings[0])
			before := objects(t, db)
			open := func(instants sqlite.Encoding) *sqlite.Adapter {
				if c.layout == nil && instants == 0 {
					return must(sqlite.New(db))(t)
				}
				s := s
				if c.layout != nil {
					s.layout = *c.layout
				}
				s.layout.Instants = instants
				return s.adapter(t, db)
			}
			if c.told {
				assert.NoError(t, open(0).EnsureSchema(t.Context()))
				return
			}
			_, err := open(0).GetUserByEmail(t.Context(), adaEmail)
			for _, err := range []error{err, open(0).EnsureSchema(t.Context()), open(0).CheckSchema(t.Context())} {
				for _, value := range []string{"sqlite.Milliseconds", "sqlite.Seconds", "sqlite.Text", `"session".expires`} {
					require.Truef(t, err != nil && strings.Contains(strings.ToLower(err.Error()), strings.ToLower(value)),
						"got %v, want an error that says %s", err, value)
				}
			}
			assert.Equal(t, before, objects(t, db), "the database has changed")
			encodings := map[sqlite.Encoding]string{sqlite.Milliseconds: "2209118400000", sqlite.Seconds: "2209118400",
				sqlite.Text: "2040-01-02T12:00:00.000+00:00"}
			if strings.Contains(c.script, "STRICT") || c.layout == nil || c.layout.Users == "" {
				delete(encodings, sqlite.Text) // an integer column
			}
			for instants, want := range encodings {
				run(t, db, `DELETE FROM "session"; DELETE FROM "user"`)
				a := open(instants)
				require.NoError(t, a.EnsureSchema(t.Context()))
				u := newUser(t, a, adaEmail)
				must(a.CreateSession(t.Context(), adapter.Session{SessionToken: "ours", UserID: u.ID, Expires: adaExpires}))(t)
				var got string
				err := db.QueryRowContext(t.Context(), `SELECT CAST(expires AS TEXT) FROM "session"`).Scan(&got)
				assert.Truef(t, err == nil && got == want, "%v: stored %s, %v, want %s", instants, got, err, want)
			}
		})
	}
	// Tables that are adopted may get empty later.
	db, _ := drizzleDatabase(t, wirings[0])
	newAdapter(t, db)
	run(t, db, `DELETE FROM verificationToken`)
	newAdapter(t, db)
}

// TestValuesOfOtherTypes: keys and booleans that the adapter can't serve are refused by
// every call, and one that is stored afterwards is an error and no other value.
func TestValuesOfOtherTypes(t *testing.T) {
	const passkey = `INSERT INTO Authenticator VALUES ('c', 'ck1', '1', 'k', 0, 'singleDevice', %s, NULL)`
	for name, c := range map[string]struct{ edit, want string }{
		"text as a blob": {`PRAGMA foreign_keys = OFF; UPDATE User SET id = CAST(id AS BLOB)`, `"User".id: texts are stored as blobs`},
		"UUID as a blob": {`PRAGMA foreign_keys = OFF; UPDATE Account SET userId = x'00112233445566778899aabbccddeeff'`,
			`"Account".userId has blobs that are no text`},
		"word for a boolean": {fmt.Sprintf(passkey, "'True'"), `"Authenticator".credentialBackedUp has texts`},
		"no boolean":         {fmt.Sprintf(passkey, "'maybe'"), "are no booleans"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sites()["Prisma"]
			db := s.make(t, wirings[0])
			run(t, db, c.edit)
			_, err := s.adapter(t, db).GetUserByEmail(t.Context(), adaEmail)
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, s.adapter(t, db).EnsureSchema(t.Context()), c.want)
		})
	}
	eachWiring(t, func(t *testing.T, w wiring) {
		s := sites()["Prisma"]
		db := s.make(t, w)
		a := s.adapter(t, db)
		require.NoError(t, a.EnsureSchema(t.Context()))
		run(t, db, fmt.Sprintf(passkey, "'maybe'")+`; UPDATE Session SET expires = '2040-01-02T12:00:00Z'`)
		key, err := a.GetAuthenticator(t.Context(), "c")
		assert.Errorf(t, err, "got %v, want an error", key)
		both, err := a.GetSessionAndUser(t.Context(), "theirs")
		assert.Errorf(t, err, "got %v, want an error", both)
		run(t, db, `UPDATE Authenticator SET credentialBackedUp = 'true'`)
		assert.True(t, must(a.GetAuthenticator(t.Context(), "c"))(t).CredentialBackedUp, "'true' is read as false")
	})
}

// betterAuth are the tables that better-auth makes in SQLite.
const betterAuth = `CREATE TABLE user (id text PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE, emailVerified integer NOT NULL, image text,
	createdAt date NOT NULL, updatedAt date NOT NULL);
	CREATE TABLE session (id text PRIMARY KEY, expiresAt date NOT NULL, token text NOT NULL UNIQUE, createdAt date NOT NULL, updatedAt date NOT NULL,
	ipAddress text, userAgent text, userId text NOT NULL REFERENCES user (id) ON DELETE CASCADE);
	CREATE TABLE account (id text PRIMARY KEY, accountId text NOT NULL, providerId text NOT NULL, userId text NOT NULL REFERENCES user (id) ON DELETE CASCADE,
	accessToken text, refreshToken text, idToken text, accessTokenExpiresAt date, refreshTokenExpiresAt date, scope text, password text,
	createdAt date NOT NULL, updatedAt date NOT NULL);
	CREATE TABLE verification (id text PRIMARY KEY, identifier text NOT NULL, value text NOT NULL, expiresAt date NOT NULL);`

// TestNeverBeside: at a site of another library the adapter makes no second set of
// tables, unless an option says so.
func TestNeverBeside(t *testing.T) {
	prisma := sites()["Prisma"]
	for name, c := range map[string]struct {
		tables  string
		options []sqlite.Option
		want    string // in the error; empty if there is none
	}{
		"Prisma, with a prefix": {"", []sqlite.Option{sqlite.WithPrefix("auth_")}, "WithLayout(sqlite.Prisma())"},
		"option":                {"", []sqlite.Option{sqlite.WithPrefix("auth_"), sqlite.WithNewTables()}, ""},
		"plural": {`CREATE TABLE users (id text PRIMARY KEY, email text, emailVerified integer); CREATE TABLE sessions (sessionToken text PRIMARY KEY, userId text, expires integer);`,
			nil, `Users: "users", Sessions: "sessions"`},
		"better-auth":                    {betterAuth, nil, "tables of better-auth are there"},
		"better-auth, no verification":   {betterAuth + "DROP TABLE verification;", nil, `tables of better-auth are there: "account", "session"`},
		"better-auth, prefix and option": {betterAuth, []sqlite.Option{sqlite.WithNewTables(), sqlite.WithPrefix("auth_")}, ""},
		"better-auth, with a prefix":     {betterAuth, []sqlite.Option{sqlite.WithPrefix("auth_")}, "tables of better-auth are there"},
		"another prefix":                 {`CREATE TABLE p1_user (id text PRIMARY KEY, email text, emailVerified integer)`, nil, ""},
		"tables of other purposes":       {`CREATE TABLE users (id text PRIMARY KEY, email text); CREATE TABLE accounts (id int, balance int); CREATE TABLE sessions (sid text, sess text, expired int)`, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := prisma
			if c.tables != "" {
				s = site{tables: c.tables}
			}
			db := s.make(t, wirings[0])
			before := objects(t, db)
			a := must(sqlite.New(db, c.options...))(t)
			err := a.EnsureSchema(t.Context())
			if c.want == "" {
				assert.NoError(t, errors.Join(err, a.CheckSchema(t.Context())))
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, a.CheckSchema(t.Context()), "WithNewTables")
			assert.Equal(t, before, objects(t, db), "the database has changed")
		})
	}
	// Tables that an earlier EnsureSchema made beside those of others.
	s := sites()["create-t3-app"]
	db := s.make(t, wirings[0])
	ours := must(sqlite.New(db, sqlite.WithPrefix("auth_"), sqlite.WithNewTables()))(t)
	require.NoError(t, ours.EnsureSchema(t.Context()))
	run(t, db, sqlitetest.PrismaTables+prisma.person)
	assert.ErrorContains(t, must(sqlite.New(db, sqlite.WithPrefix("auth_")))(t).EnsureSchema(t.Context()), "Prisma()")
	newUser(t, ours, "bob@example.com")
	assert.NoError(t, must(sqlite.New(db, sqlite.WithPrefix("auth_")))(t).CheckSchema(t.Context()), "full beside full")
}

// TestNeighbors: a set of ours without a prefix hides itself, and no table of others.
func TestNeighbors(t *testing.T) {
	const plural = `CREATE TABLE users (id text PRIMARY KEY, email text, emailVerified integer);
		INSERT INTO users VALUES ('ck1', 'ada@example.com', 1);`
	for name, c := range map[string]struct{ script, want string }{
		"ours":                 {"", ""},
		"a full set of others": {plural, `"users"`},
		"better-auth":          {`CREATE TABLE passkey (id text, "credentialID" text)`, `"passkey"`},
		"Prisma where ours were dropped": {`DROP TABLE passwords; DROP TABLE authenticator; DROP TABLE session; DROP TABLE account;
			DROP TABLE user; DROP TABLE verificationToken;` + sqlitetest.PrismaTables, "WithLayout(sqlite.Prisma())"},
		"others without a version row": {`DELETE FROM gatehouse_schema`, `"user"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, db := wirings[0].newAdapter(t)
			run(t, db, c.script)
			err := must(sqlite.New(db, sqlite.WithPrefix("auth_")))(t).EnsureSchema(t.Context())
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.NotContains(t, fmt.Sprint(objects(t, db)), "auth_", "the refused call has made tables")
		})
	}
}

// TestSchemaChangesOfSites runs what SchemaChanges returns for a site. Then nothing is
// left to change, and the site is served as before.
func TestSchemaChangesOfSites(t *testing.T) {
	for name, s := range sites() {
		t.Run(name, func(t *testing.T) {
			db := s.make(t, wirings[0])
			for _, change := range must(s.adapter(t, db).SchemaChanges(t.Context()))(t) {
				run(t, db, change)
			}
			a := s.adapter(t, db)
			again := must(a.SchemaChanges(t.Context()))(t)
			assert.Truef(t, len(again) <= 0, "left to change: %v", again)
			s.noKeys = false
			s.use(t, a)
		})
	}
}

// TestNewTablesOfSites: a site gets the tables that it lacks, in its encoding and with its
// schema file's lines. What another program deletes takes the records with it.
func TestNewTablesOfSites(t *testing.T) {
	for name, c := range map[string]struct {
		drop  string
		lines []string
	}{
		"Prisma": {`DROP TABLE "Authenticator";`, []string{"-- schema.prisma, model User: passwords passwords?\n-- schema.prisma, a new model:\n-- model passwords {\n--   userId String @id\n",
			"-- schema.prisma, model User: Authenticator Authenticator[]\n", "--   credentialBackedUp Boolean\n--   transports String?\n--   name String?\n--   created DateTime?\n"}},
		"create-t3-app": {"", []string{"-- Drizzle, a new table:\n-- export const passwords = sqliteTable(\"p1_passwords\", {\n",
			`--   userId: text("userId").notNull().primaryKey().references(() => users.id, { onDelete: "cascade" }),` + "\n",
			"-- export const authenticator = sqliteTable(\"p1_authenticator\", {\n", `--   created: integer("created", { mode: "timestamp" }),` + "\n"}},
		"other names, texts": {"DROP TABLE keys;", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := sites()[name]
			db := s.make(t, wirings[0])
			run(t, db, c.drop)
			changes := must(s.adapter(t, db).SchemaChanges(t.Context()))(t)
			all := strings.Join(changes, "\n")
			for _, line := range c.lines {
				assert.Containsf(t, all, line, "got\n%s\nwithout\n%s", all, line)
			}
			for _, change := range changes {
				run(t, db, change)
			}
			s.noKeys = false
			a := s.adapter(t, db)
			left := must(a.SchemaChanges(t.Context()))(t)
			assert.Truef(t, len(left) <= 0, "left to change: %v", left)
			s.use(t, a)
			key := adapter.Authenticator{CredentialID: "k", UserID: adaID, Created: &adaExpires, CredentialBackedUp: true}
			same(t, "CreateAuthenticator", must(a.CreateAuthenticator(t.Context(), key))(t), key)
			must(a.SetPassword(t.Context(), adapter.Password{UserID: adaID, Hash: "h"}))(t)
			if !strings.HasPrefix(name, "create") { // whose foreign keys keep the user
				run(t, db, "PRAGMA foreign_keys = ON; DELETE FROM "+cmp.Or(s.layout.Users, "user"))
				assert.Nil(t, must(a.GetAuthenticator(t.Context(), "k"))(t), "the passkey of a deleted user is left")
			}
		})
	}
}

// TestLayoutsThatAreRefused: wrong layouts make nothing.
func TestLayoutsThatAreRefused(t *testing.T) {
	db := wirings[0].openDB(t, filepath.Join(t.TempDir(), "site.db"))
	for what, c := range map[string]struct {
		options []sqlite.Option
		want    string
	}{
		"two layouts":    {[]sqlite.Option{sqlite.WithLayout(sqlite.Prisma()), sqlite.WithLayout(sqlite.Drizzle())}, "given twice"},
		"quote":          {[]sqlite.Option{sqlite.WithLayout(sqlite.Layout{Users: `us"er`})}, "the table"},
		"quoted column":  {[]sqlite.Option{sqlite.WithLayout(sqlite.Layout{Columns: map[string]string{"user.email": "e`mail"}})}, "the column"},
		"unknown column": {[]sqlite.Option{sqlite.WithLayout(sqlite.Layout{Columns: map[string]string{"user.mail": "mail"}})}, `"user.mail" is no column`},
		"same tables":    {[]sqlite.Option{sqlite.WithLayout(sqlite.Layout{Users: "Account"})}, "two tables"},
		"same columns":   {[]sqlite.Option{sqlite.WithLayout(sqlite.Layout{Columns: map[string]string{"user.email": "Name"}})}, "two columns"},
		"encoding":       {[]sqlite.Option{sqlite.WithLayout(sqlite.Layout{Instants: 7})}, "Instants"},
	} {
		_, err := sqlite.New(db, c.options...)
		assert.ErrorContains(t, err, c.want, what)
	}
	half := sites()["Prisma"]
	half.layout.Sessions = "sessions"
	site := half.make(t, wirings[0])
	before := objects(t, site)
	assert.ErrorContains(t, half.adapter(t, site).EnsureSchema(t.Context()), `"sessions" of the layout is missing`)
	assert.Equal(t, before, objects(t, site), "the database has changed")
	run(t, site, `ALTER TABLE "User" ADD COLUMN tenant text NOT NULL DEFAULT ''; CREATE TABLE u2 AS SELECT * FROM "User"; DROP TABLE "User";
		CREATE TABLE "User" ("id" TEXT NOT NULL PRIMARY KEY, "name" TEXT, "email" TEXT NOT NULL UNIQUE, "emailVerified" DATETIME, "image" TEXT, tenant TEXT NOT NULL)`)
	assert.ErrorContains(t, sites()["Prisma"].adapter(t, site).EnsureSchema(t.Context()), "tenant")
}

package postgres_test

import (
	"os"
	"regexp"
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

// The code of docs/migrate.md, which shows the lines above each return.

func atPgAdapter(pool *pgxpool.Pool) (*postgres.Adapter, error) {
	store, err := postgres.New(pool)
	return store, err
}

func atPrisma(pool *pgxpool.Pool) (*postgres.Adapter, error) {
	store, err := postgres.New(pool, postgres.WithLayout(postgres.Prisma()))
	return store, err
}

func atDrizzle(pool *pgxpool.Pool) (*postgres.Adapter, error) {
	store, err := postgres.New(pool, postgres.WithLayout(postgres.Drizzle()))
	return store, err
}

func atT3(pool *pgxpool.Pool) (*postgres.Adapter, error) {
	site := postgres.Drizzle()
	site.Columns = map[string]string{
		"users.emailVerified": "email_verified", "accounts.userId": "user_id", "accounts.providerAccountId": "provider_account_id",
		"sessions.sessionToken": "session_token", "sessions.userId": "user_id",
	}
	site.VerificationTokens = "verification_token"
	store, err := postgres.New(pool, postgres.WithPrefix("project_"), postgres.WithLayout(site))
	return store, err
}

func atBetterAuth(pool *pgxpool.Pool) (*postgres.Adapter, error) {
	store, err := postgres.New(pool, postgres.WithNewTables())
	return store, err
}

// t3Tables is the schema of create-t3-app with Drizzle on PostgreSQL.
const t3Tables = `
	CREATE TABLE "project_user" ("id" varchar(255) PRIMARY KEY NOT NULL, "name" varchar(255), "email" varchar(255) NOT NULL UNIQUE,
		"email_verified" timestamp with time zone DEFAULT CURRENT_TIMESTAMP, "image" varchar(255));
	CREATE TABLE "project_account" ("user_id" varchar(255) NOT NULL, "type" varchar(255) NOT NULL, "provider" varchar(255) NOT NULL, "provider_account_id" varchar(255) NOT NULL,
		"refresh_token" text, "access_token" text, "expires_at" integer, "token_type" varchar(255), "scope" varchar(255), "id_token" text, "session_state" varchar(255),
		CONSTRAINT "project_account_provider_provider_account_id_pk" PRIMARY KEY ("provider", "provider_account_id"));
	CREATE TABLE "project_session" ("session_token" varchar(255) PRIMARY KEY NOT NULL, "user_id" varchar(255) NOT NULL, "expires" timestamp with time zone NOT NULL);
	CREATE TABLE "project_verification_token" ("identifier" varchar(255) NOT NULL, "token" varchar(255) NOT NULL, "expires" timestamp with time zone NOT NULL,
		CONSTRAINT "project_verification_token_identifier_token_pk" PRIMARY KEY ("identifier", "token"));
	ALTER TABLE "project_account" ADD CONSTRAINT "project_account_user_id_project_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "project_user" ("id");
	ALTER TABLE "project_session" ADD CONSTRAINT "project_session_user_id_project_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "project_user" ("id");`

// betterAuthTables is the schema that better-auth generates for PostgreSQL.
const betterAuthTables = `
	CREATE TABLE "user" ("id" text PRIMARY KEY, "name" text NOT NULL, "email" text NOT NULL UNIQUE, "emailVerified" boolean NOT NULL, "image" text,
		"createdAt" timestamptz DEFAULT CURRENT_TIMESTAMP NOT NULL, "updatedAt" timestamptz DEFAULT CURRENT_TIMESTAMP NOT NULL);
	CREATE TABLE "session" ("id" text PRIMARY KEY, "expiresAt" timestamptz NOT NULL, "token" text NOT NULL UNIQUE, "createdAt" timestamptz DEFAULT CURRENT_TIMESTAMP NOT NULL,
		"updatedAt" timestamptz NOT NULL, "ipAddress" text, "userAgent" text, "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE);
	CREATE TABLE "account" ("id" text PRIMARY KEY, "accountId" text NOT NULL, "providerId" text NOT NULL, "userId" text NOT NULL REFERENCES "user" ("id") ON DELETE CASCADE,
		"accessToken" text, "refreshToken" text, "idToken" text, "accessTokenExpiresAt" timestamptz, "refreshTokenExpiresAt" timestamptz, "scope" text, "password" text,
		"createdAt" timestamptz DEFAULT CURRENT_TIMESTAMP NOT NULL, "updatedAt" timestamptz NOT NULL);
	CREATE TABLE "verification" ("id" text PRIMARY KEY, "identifier" text NOT NULL, "value" text NOT NULL, "expiresAt" timestamptz NOT NULL,
		"createdAt" timestamptz DEFAULT CURRENT_TIMESTAMP NOT NULL, "updatedAt" timestamptz DEFAULT CURRENT_TIMESTAMP NOT NULL);`

// TestMigrate follows docs/migrate.md at each site: its statements are run, and then every
// user, account and session is what it was.
func TestMigrate(t *testing.T) {
	for origin, c := range map[string]struct {
		tables, person, id string
		open               func(*pgxpool.Pool) (*postgres.Adapter, error)
	}{
		"@auth/pg-adapter": {postgrestest.AuthJSTables, `INSERT INTO users (id, name, email) VALUES (7, 'Ada', 'ada@example.com');
			INSERT INTO accounts ("userId", type, provider, "providerAccountId") VALUES (7, 'oidc', 'p', '1');
			INSERT INTO sessions ("sessionToken", "userId", expires) VALUES ('theirs', 7, '2040-01-02 12:00:00.123Z');`, "7", atPgAdapter},
		"Prisma on PostgreSQL":  {sites["Prisma"].tables, sites["Prisma"].person, adaID, atPrisma},
		"Drizzle on PostgreSQL": {sites["Drizzle"].tables, sites["Drizzle"].person, adaID, atDrizzle},
		"create-t3-app on PostgreSQL": {t3Tables, `INSERT INTO project_user VALUES ('ck1', 'Ada', 'ada@example.com');
			INSERT INTO project_account VALUES ('ck1', 'oidc', 'p', '1'); INSERT INTO project_session VALUES ('theirs', 'ck1', '2040-01-02 12:00:00.123Z');`, adaID, atT3},
		"better-auth on PostgreSQL": {betterAuthTables, `INSERT INTO "user" VALUES ('ck1', 'Ada', 'ada@example.com', true);
			INSERT INTO account (id, "accountId", "providerId", "userId", "accessToken", "accessTokenExpiresAt", scope, password, "updatedAt") VALUES
				('a', '1', 'p', 'ck1', 'at', '2033-05-18 03:33:20Z', 'a,b', NULL, now()), ('b', 'ck1', 'credential', 'ck1', NULL, NULL, NULL, 'hash', now());`, adaID, atBetterAuth},
	} {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			schema := newSchema(t)
			pool := withParameters(t, map[string]string{"search_path": schema, "timezone": "America/New_York"})
			execSQL(t, pool, c.tables+c.person, pgx.QueryExecModeSimpleProtocol)
			section := guide(t, origin)
			made := strings.Contains(section, "WithNewTables")
			a := must(c.open(pool))(t)
			if made { // the copies go into new tables
				require.NoError(t, a.EnsureSchema(t.Context()))
			}
			for _, block := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(section, -1) {
				execSQL(t, pool, block[1], pgx.QueryExecModeSimpleProtocol)
			}
			a = must(c.open(pool))(t)
			require.NoError(t, a.EnsureSchema(t.Context()))
			ada := must(a.GetUserByEmail(t.Context(), adaEmail))(t)
			account := must(a.GetAccount(t.Context(), "1", "p"))(t)
			require.Truef(t, ada != nil && ada.ID == c.id && *ada.Name == "Ada" && account != nil && account.UserID == c.id,
				"got %v, %v", ada, account)
			if made { // its users sign in once more
				assert.Truef(t, ada.EmailVerified != nil && *account.ExpiresAt == 2000000000 && *account.Scope == "a b",
					"got %v, %v", ada, account)
				must(a.CreateSession(t.Context(), adapter.Session{SessionToken: "theirs", UserID: adaID, Expires: adaExpires}))(t)
			}
			both := must(a.GetSessionAndUser(t.Context(), "theirs"))(t)
			assert.Truef(t, both != nil && both.User.ID == c.id && both.Session.Expires.Equal(adaExpires),
				"the session: got %v", both)
			must(a.CreateAuthenticator(t.Context(), adapter.Authenticator{CredentialID: "c", UserID: c.id}))(t)
			must(a.CreateSession(t.Context(), adapter.Session{SessionToken: "ours", UserID: c.id, Expires: time.Now()}))(t)
			must(a.DeleteUser(t.Context(), c.id))(t)
			assert.Nil(t, must(a.GetAccount(t.Context(), "1", "p"))(t), "the account of a deleted user is left")
		})
	}
}

// guide returns a section of docs/migrate.md.
func guide(t *testing.T, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(string(must(os.ReadFile("../../docs/migrate.md"))(t)), "\n### "+heading+"\n")
	require.Truef(t, found, "the guide has no section %s", heading)
	section, _, _ = strings.Cut(section, "\n### ")
	return section
}

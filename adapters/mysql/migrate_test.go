package mysql_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/stretchr/testify/require"
)

// The code of docs/migrate.md, which shows the lines above each return.

func atPrisma(db *sql.DB) (*mysql.Adapter, error) {
	store, err := mysql.New(db, mysql.WithLayout(mysql.Prisma()))
	return store, err
}

func atDrizzle(db *sql.DB) (*mysql.Adapter, error) {
	store, err := mysql.New(db, mysql.WithLayout(mysql.Drizzle()))
	return store, err
}

// TestMigrate follows docs/migrate.md at each site. Then every user, account and session is what
// it was.
func TestMigrate(t *testing.T) {
	t.Parallel()
	page := must(os.ReadFile("../../docs/migrate.md"))(t)
	const user = "INSERT INTO `%user` (id, name, email%extra) VALUES ('ada', 'Adá', 'ada@example.com'%now);\n" +
		"INSERT INTO `%account` (userId, type, provider, providerAccountId, expires_at%extra) VALUES ('ada', 'oidc', 'p', '1', 1700000000%now);\n" +
		"INSERT INTO `%session` (sessionToken, userId, expires%extra) VALUES ('theirs', 'ada', '2037-07-02 12:00:00'%now)"
	for origin, c := range map[string]struct {
		site  string
		names *strings.Replacer
		open  func(*sql.DB) (*mysql.Adapter, error)
	}{
		"Prisma":  {"Prisma", strings.NewReplacer("%user", "User", "%account", "Account", "%session", "Session", "%extra", ", updatedAt", "%now", ", NOW(3)"), atPrisma},
		"Drizzle": {"Drizzle", strings.NewReplacer("%user", "user", "%account", "account", "%session", "session", "%extra", "", "%now", ""), atDrizzle},
	} {
		if !strings.Contains(string(page), "\n### "+origin+" on MySQL\n") {
			t.Fatalf("the guide has no section of %s", origin)
		}
		env := open(t, mysqltest.Settings{Site: c.site, AsTheyAre: true, Params: map[string]string{"time_zone": "'+00:00'"}})
		script(t, env, c.names.Replace(user))
		a := must(c.open(env.Admin))(t)
		require.NoError(t, a.EnsureSchema(t.Context()))
		found, err1 := a.GetUserByEmail(t.Context(), "ada@example.com")
		account, err2 := a.GetAccount(t.Context(), "1", "p")
		both, err3 := a.GetSessionAndUser(t.Context(), "theirs")
		if err1 != nil || err2 != nil || err3 != nil || found == nil || *found.Name != adaName || account == nil || *account.ExpiresAt != 1700000000 ||
			both == nil || both.User.ID != "ada" || both.Session.Expires.Format("2006-01-02T15:04:05Z07:00") != "2037-07-02T12:00:00Z" {
			t.Errorf("%s: got %v, %v, %v, %v, %v, %v", origin, found, account, both, err1, err2, err3)
		}
	}
}

package mysql_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/require"
)

// TestChangesMeanwhile: while the adapter runs, somebody changes the tables in ways that leave
// them usable. It keeps the clauses all the same, also those about conflicts.
func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	a := on(t, env.Admin)
	must(a.CreateUser(t.Context(), adapter.User{}))(t)
	for _, change := range []string{
		"ALTER TABLE `user` ADD own TEXT", "ALTER TABLE `session` ADD own INT NOT NULL DEFAULT 1", "ALTER TABLE `account` ADD own DATETIME DEFAULT NOW()",
		"ALTER TABLE `user` DROP own", "CREATE INDEX own ON `user` (name(20))", "ALTER TABLE `user` MODIFY image MEDIUMTEXT CHARACTER SET utf8mb4 NULL",
		"ALTER TABLE `user` RENAME INDEX user_email_key TO own_email", "ANALYZE TABLE `user`", "OPTIMIZE TABLE `session`",
	} {
		_, err := env.Admin.ExecContext(t.Context(), change)
		require.NoError(t, err, change)
		report := must(adaptertest.Check(t.Context(), adaptertest.Harness{New: func(testing.TB) adapter.Adapter { return a }},
			adaptertest.Options{Rounds: adaptertest.QuickRounds, Only: []string{
				"ACCT-06", "ACCT-16", "SESS-02", "SESS-05", "SESS-08", "USER-11", "USER-22", "ERR-05", "ERR-06", "ERR-11",
			}}))(t)
		for _, r := range report.Failed() {
			t.Errorf("%s: %s: %s %s", change, r.Clause.ID, r.Reason, strings.Join(r.Evidence, "\n"))
		}
	}
}

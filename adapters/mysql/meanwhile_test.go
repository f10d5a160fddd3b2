package mysql_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestChangesMeanwhile: while the adapter runs, somebody changes the tables in ways that leave
// them usable. No call fails, and conflicts are found.
func TestChangesMeanwhile(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	a := on(t, env.Admin)
	for i, change := range []string{
		"", "ALTER TABLE `user` ADD own TEXT", "ALTER TABLE `session` ADD own INT NOT NULL DEFAULT 1", "ALTER TABLE `account` ADD own DATETIME DEFAULT NOW()",
		"ALTER TABLE `user` DROP own", "CREATE INDEX own ON `user` (name(20))", "ALTER TABLE `user` MODIFY image MEDIUMTEXT CHARACTER SET utf8mb4 NULL",
		"ALTER TABLE `user` RENAME INDEX user_email_key TO own_email", "ANALYZE TABLE `user`", "OPTIMIZE TABLE `session`",
	} {
		if change != "" {
			if _, err := env.Admin.ExecContext(t.Context(), change); err != nil {
				t.Fatal(change, err)
			}
		}
		ctx, n := t.Context(), fmt.Sprint(i)
		check := func(what string, err, want error) {
			t.Helper()
			if !errors.Is(err, want) {
				t.Errorf("%s: %s: got %v, want %v", change, what, err, want)
			}
		}
		u, err := a.CreateUserWithAccount(ctx, adapter.User{Email: n}, adapter.Account{Provider: "p", ProviderAccountID: n}, &adapter.Authenticator{CredentialID: n})
		if err != nil {
			t.Fatal(change, err)
		}
		_, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: u.ID, Name: adapter.To(new("m"))})
		check("UpdateUser", err, nil)
		_, err = a.CreateSession(ctx, adapter.Session{SessionToken: n, UserID: u.ID, Expires: time.Now().Add(time.Hour)})
		check("CreateSession", err, nil)
		if got, err := a.GetSessionAndUser(ctx, n); err != nil || got == nil || *got.User.Name != "m" {
			t.Errorf("%s: GetSessionAndUser: got %v, %v", change, got, err)
		}
		_, err = a.CreateSession(ctx, adapter.Session{SessionToken: n, UserID: u.ID, Expires: time.Now()})
		check("a taken token", err, adapter.ErrConflict)
		_, err = a.CreateUser(ctx, adapter.User{Email: n})
		check("a taken address", err, adapter.ErrConflict)
		_, err = a.LinkAccount(ctx, adapter.Account{Provider: "q", ProviderAccountID: n, UserID: "nobody"})
		check("an account of nobody", err, adapter.ErrNotFound)
		_, err = a.DeleteExpired(ctx, time.Now())
		check("DeleteExpired", err, nil)
	}
}

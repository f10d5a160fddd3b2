package sqlexamples

import (
	"context"
	"database/sql"

	"github.com/gatehouse-go/gatehouse/auth"
)

// EnsureProfile makes the profile of a user who has none. To do it twice, or in two
// processes at once, makes one.
func EnsureProfile(ctx context.Context, db *sql.DB, userID, name string) error {
	const insert = `INSERT INTO profiles (user_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	_, err := db.ExecContext(ctx, insert, userID, name)
	return err
}

// ProfileEvents makes the profile at the end of a sign-in: also of the first one, and of the
// next one if the process has ended between the sign-up and its event.
func ProfileEvents(db *sql.DB) auth.Events {
	return auth.Events{SignIn: func(ctx context.Context, e auth.SignInEvent) error {
		return EnsureProfile(ctx, db, e.User.ID, e.User.Email)
	}}
}

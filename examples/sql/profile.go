// Package sqlexamples shows an application that keeps rows of its own beside the users, with
// the library that it has. It makes a user and the user's profile in one transaction.
package sqlexamples

// Profile is a row of the application. MakeProfiles makes its table.
type Profile struct {
	UserID string `bun:"user_id,pk" db:"user_id" gorm:"primaryKey"`
	Name   string `bun:"name" db:"name"`
}

// MakeProfiles makes the table of profiles, which go with their users.
const MakeProfiles = `CREATE TABLE profiles (
	user_id text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
	name    text NOT NULL CHECK (name <> '')
)`

package migrate

import (
	"context"
	"database/sql"
	"errors"
	"net/http"

	"golang.org/x/crypto/bcrypt"

	"github.com/gatehouse-go/gatehouse/auth"
)

// nobody is a hash that no password matches. With it a wrong name takes as long
// as a wrong password.
var nobody, _ = bcrypt.GenerateFromPassword([]byte("nobody has this password"), bcrypt.DefaultCost)

// fromAuthboss signs in with the passwords that authboss has stored: the column
// password of its table users holds bcrypt hashes.
func fromAuthboss(db *sql.DB) *auth.Credentials {
	return &auth.Credentials{
		Name:   "Password",
		Fields: []auth.Field{{Name: "email", Type: "email"}, {Name: "password", Type: "password"}},
		Authorize: func(ctx context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
			var id, name string
			hash := nobody
			row := db.QueryRowContext(ctx, "SELECT id, name, password FROM users WHERE email = ? AND confirmed AND locked IS NULL", form.Get("email"))
			if err := row.Scan(&id, &name, &hash); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, err
			}
			right := bcrypt.CompareHashAndPassword(hash, []byte(form.Get("password"))) == nil
			if !right || id == "" {
				return nil, nil
			}
			return &auth.User{ID: id, Name: name, Email: form.Get("email")}, nil
		},
	}
}

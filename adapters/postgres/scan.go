package postgres

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// errRefused means that a statement returned a row of nulls.
var errRefused = errors.New("refused")

// first returns the first row. It reads the result to its end, because only
// then has the server committed. It returns nil if there is no row.
// [FAULT-01] [FAULT-09]
func first[T any](rows rows, err error, scan func(rows) (T, error)) (*T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	refused := rows.refused()
	v := new(T)
	if !refused {
		if *v, err = scan(rows); err != nil {
			return nil, err
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if refused {
		return nil, errRefused
	}
	return v, nil
}

// collect returns all rows, in a list that is not nil. [FAULT-09]
func collect[T any](rows rows, err error, scan func(rows) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	rows.Close()
	return all, rows.Err()
}

// scanOne is the scan function for rows of one column.
func scanOne[T any](rows rows) (v T, err error) {
	err = rows.Scan(&v)
	return v, err
}

// ignoreColumns is the scan function for statements whose rows are not
// used.
func ignoreColumns(rows) (struct{}, error) { return struct{}{}, nil }

func scanUser(rows rows) (u adapter.User, err error) {
	err = rows.Scan(&u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image)
	inUTC(u.EmailVerified)
	return u, err
}

func scanAccount(rows rows) (a adapter.Account, err error) {
	var details *string
	err = rows.Scan(&a.Provider, &a.ProviderAccountID, &a.UserID, &a.Type,
		&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType,
		&a.SessionState, &a.ExpiresAt, &details)
	if details != nil {
		a.AuthorizationDetails = json.RawMessage(*details)
	}
	return a, err
}

func scanSession(rows rows) (s adapter.Session, err error) {
	err = rows.Scan(&s.SessionToken, &s.UserID, &s.Expires)
	inUTC(&s.Expires)
	return s, err
}

func scanVerificationToken(rows rows) (v adapter.VerificationToken, err error) {
	err = rows.Scan(&v.Identifier, &v.Token, &v.Expires)
	inUTC(&v.Expires)
	return v, err
}

func scanAuthenticator(rows rows) (c adapter.Authenticator, err error) {
	err = rows.Scan(&c.CredentialID, &c.UserID, &c.ProviderAccountID, &c.CredentialPublicKey,
		&c.Counter, &c.CredentialBackedUp, &c.CredentialDeviceType, &c.Transports,
		&c.Name, &c.Created, &c.LastUsed)
	inUTC(c.Created)
	inUTC(c.LastUsed)
	return c, err
}

func scanPassword(rows rows) (p adapter.Password, err error) {
	err = rows.Scan(&p.UserID, &p.Hash, &p.State)
	return p, err
}

// inUTC sets the time zone of t to UTC. The driver takes the zone from the process
// or the connection. [TIME-08]
func inUTC(t *time.Time) {
	if t != nil {
		*t = t.UTC()
	}
}

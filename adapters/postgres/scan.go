package postgres

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// errRefused means that a statement returned a row of nulls.
var errRefused = errors.New("refused")

// first returns the first row. It reads the result to its end, because only
// then has the server committed. It returns nil if there is no row.
// [FAULT-01] [FAULT-09]
func first[T any](rows rows, err error, scan func(rows, *T) error) (*T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	if !rows.Next() {
		return nil, rows.Err()
	}
	v := new(T)
	if err = scan(rows, v); err != nil && !errors.Is(err, errRefused) {
		return nil, err
	}
	rows.Close()
	if failed := rows.Err(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, errRefused
	}
	return v, nil
}

// collect returns all rows, in a list that is not nil. [FAULT-09]
func collect[T any](rows rows, err error, scan func(rows, *T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := []T{}
	for rows.Next() {
		var v T
		if err := scan(rows, &v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	rows.Close()
	return all, rows.Err()
}

// scanOne is the scan function for rows of one column.
func scanOne[T any](rows rows, v *T) error { return rows.Scan(v) }

// ignoreColumns is the scan function for statements whose rows are not
// used.
func ignoreColumns(rows, *struct{}) error { return nil }

func scanUser(rows rows, u *adapter.User) error { return scanUserAnd(rows, u) }

// scanUserAnd is scanUser for rows in which more columns follow.
func scanUserAnd(rows rows, u *adapter.User, more ...any) error {
	var email *string // the server takes longer for COALESCE than a client for a pointer
	err := rows.Scan(append([]any{&u.ID, &u.Name, &email, &u.EmailVerified, &u.Image}, more...)...)
	if email != nil {
		u.Email = *email
	}
	inUTC(u.EmailVerified)
	return err
}

func scanAccount(rows rows, a *adapter.Account) error {
	var details *string
	err := rows.Scan(&a.UserID, &a.Provider, &a.ProviderAccountID, &a.Type,
		&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType,
		&a.SessionState, &a.ExpiresAt, &details)
	if details != nil {
		a.AuthorizationDetails = json.RawMessage(*details)
	}
	return err
}

func scanSession(rows rows, s *adapter.Session) error {
	err := rows.Scan(&s.UserID, &s.SessionToken, &s.Expires)
	inUTC(&s.Expires)
	return err
}

func scanVerificationToken(rows rows, v *adapter.VerificationToken) error {
	err := rows.Scan(&v.Identifier, &v.Token, &v.Expires)
	inUTC(&v.Expires)
	return err
}

func scanAuthenticator(rows rows, c *adapter.Authenticator) error {
	err := rows.Scan(&c.UserID, &c.CredentialID, &c.ProviderAccountID, &c.CredentialPublicKey,
		&c.Counter, &c.CredentialBackedUp, &c.CredentialDeviceType, &c.Transports,
		&c.Name, &c.Created, &c.LastUsed)
	inUTC(c.Created)
	inUTC(c.LastUsed)
	return err
}

func scanPassword(rows rows, p *adapter.Password) error {
	return rows.Scan(&p.UserID, &p.Hash, &p.State)
}

// inUTC sets the time zone of t to UTC. The driver takes the zone from the process
// or the connection. [TIME-08]
func inUTC(t *time.Time) {
	if t != nil {
		*t = t.UTC()
	}
}

// readSent lets the instants among destinations be read from what shape.sent sends.
func readSent(dest []any) {
	for i, to := range dest {
		switch to := to.(type) {
		case *time.Time:
			dest[i] = (*sentTime)(to)
		case **time.Time:
			dest[i] = sentOrNull{to}
		}
	}
}

// sentTime is where an instant goes that shape.sent sends, for drivers of every kind. Like
// time.Time, it has no place for infinity.
type sentTime time.Time

// sentOrNull is a sentTime for a column that may be null.
type sentOrNull struct{ to **time.Time }

// Scan reads an instant that the driver has read, or the hexadecimal digits of the
// microseconds since the year 2000.
func (s *sentTime) Scan(src any) error {
	if t, ok := src.(time.Time); ok {
		*s = sentTime(t)
		return nil
	}
	var digits sql.NullString
	if err := digits.Scan(src); err != nil {
		return err
	}
	sent, err := strconv.ParseUint(digits.String, 16, 64)
	micros := int64(sent)
	if err != nil || micros == math.MaxInt64 || micros == math.MinInt64 { // infinity
		return errors.New("the instant is out of range")
	}
	const second, year2000 = 1_000_000, 946_684_800
	*s = sentTime(time.Unix(year2000+micros/second, micros%second*1000).UTC())
	return nil
}

// Scan reads null, or what sentTime reads.
func (s sentOrNull) Scan(src any) error {
	*s.to = nil
	if src == nil {
		return nil
	}
	t := new(sentTime)
	if err := t.Scan(src); err != nil {
		return err
	}
	*s.to = (*time.Time)(t)
	return nil
}

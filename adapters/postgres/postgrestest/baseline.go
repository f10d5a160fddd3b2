package postgrestest

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline has the nineteen methods in the least code that the driver allows on the
// same tables: each is one plain statement, and keeps no promise that needs
// more. Benchmarks compare the adapter with it. A lookup of a session or of an
// address that finds nothing returns nil, the other methods an error.
type Baseline interface {
	adapter.Adapter
	adapter.Sweeper // deletes all at once
	// AddSessions stores the sessions from from to to-1, which bench.Sessions reads,
	// and their users.
	AddSessions(ctx context.Context, from, to int) error
}

type baseline struct {
	row    func(ctx context.Context, sql string, args ...any) scanner
	rows   func(ctx context.Context, sql string, each func(scanner) error, args ...any) error
	exec   func(ctx context.Context, sql string, args ...any) (int64, error)
	prefix string
}

// scanner is a row of pgx or of database/sql.
type scanner interface{ Scan(dest ...any) error }

// NewBaseline uses the tables of a schema; "" means those in the search path.
func NewBaseline(pool *pgxpool.Pool, schema string) Baseline {
	return baseline{
		row: func(ctx context.Context, sql string, args ...any) scanner { return pool.QueryRow(ctx, sql, args...) },
		rows: func(ctx context.Context, sql string, each func(scanner) error, args ...any) error {
			rows, err := pool.Query(ctx, sql, args...)
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
				if err := each(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		},
		exec: func(ctx context.Context, sql string, args ...any) (int64, error) {
			tag, err := pool.Exec(ctx, sql, args...)
			return tag.RowsAffected(), err
		},
		prefix: prefixOf(schema),
	}
}

// NewSQLBaseline is NewBaseline in the least code that database/sql allows.
func NewSQLBaseline(db *sql.DB, schema string) Baseline {
	return baseline{
		row: func(ctx context.Context, sql string, args ...any) scanner {
			return db.QueryRowContext(ctx, sql, args...)
		},
		rows: func(ctx context.Context, sql string, each func(scanner) error, args ...any) error {
			rows, err := db.QueryContext(ctx, sql, args...)
			if err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			for rows.Next() {
				if err := each(rows); err != nil {
					return err
				}
			}
			return rows.Err()
		},
		exec: func(ctx context.Context, sql string, args ...any) (int64, error) {
			result, err := db.ExecContext(ctx, sql, args...)
			if err != nil {
				return 0, err
			}
			return result.RowsAffected()
		},
		prefix: prefixOf(schema),
	}
}

func prefixOf(schema string) string {
	if schema == "" {
		return ""
	}
	return schema + "."
}

// orAbsent is for lookups of what may be absent.
func orAbsent[T any](record *T, err error) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return record, err
}

// one runs a statement that returns one row.
func (f baseline) one(ctx context.Context, sql string, args []any, dest ...any) error {
	return f.row(ctx, sql, args...).Scan(dest...)
}

func userDest(u *adapter.User) []any {
	return []any{&u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image}
}

func accountDest(a *adapter.Account) []any {
	return []any{&a.Provider, &a.ProviderAccountID, &a.UserID, &a.Type, &a.AccessToken, &a.RefreshToken, &a.IDToken,
		&a.Scope, &a.TokenType, &a.SessionState, &a.ExpiresAt, (*[]byte)(&a.AuthorizationDetails)}
}

func sessionDest(s *adapter.Session) []any { return []any{&s.SessionToken, &s.UserID, &s.Expires} }

func tokenDest(v *adapter.VerificationToken) []any { return []any{&v.Identifier, &v.Token, &v.Expires} }

func authenticatorDest(c *adapter.Authenticator) []any {
	return []any{&c.CredentialID, &c.UserID, &c.ProviderAccountID, &c.CredentialPublicKey, &c.Counter,
		&c.CredentialBackedUp, &c.CredentialDeviceType, &c.Transports, &c.Name, &c.Created, &c.LastUsed}
}

const (
	baselineUser          = `id, name, email, "emailVerified", image`
	baselineAccount       = `provider, "providerAccountId", "userId", type, access_token, refresh_token, id_token, scope, token_type, session_state, expires_at, authorization_details`
	baselineSession       = `"sessionToken", "userId", expires`
	baselineAuthenticator = `"credentialID", "userId", "providerAccountId", "credentialPublicKey", counter, "credentialBackedUp", "credentialDeviceType", transports, name, created, "lastUsed"`
)

func (f baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `INSERT INTO `+f.prefix+`users (name, email, "emailVerified", image) VALUES ($1, $2, $3, $4) RETURNING `+baselineUser,
		[]any{u.Name, u.Email, u.EmailVerified, u.Image}, userDest(r)...)
}

func (f baseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT `+baselineUser+` FROM `+f.prefix+`users WHERE id = $1`, []any{id}, userDest(r)...)
}

func (f baseline) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	r := new(adapter.User)
	return orAbsent(r, f.one(ctx, `SELECT `+baselineUser+` FROM `+f.prefix+`users WHERE email = $1`, []any{email}, userDest(r)...))
}

func (f baseline) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT u.id, u.name, u.email, u."emailVerified", u.image FROM `+f.prefix+`users AS u JOIN `+f.prefix+`accounts AS a ON a."userId" = u.id
		WHERE a.provider = $1 AND a."providerAccountId" = $2`, []any{key.Provider, key.ProviderAccountID}, userDest(r)...)
}

func (f baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	r := new(adapter.User)
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	return r, f.one(ctx, `UPDATE `+f.prefix+`users SET name = $2, image = $3 WHERE id = $1 RETURNING `+baselineUser, []any{u.ID, name, image}, userDest(r)...)
}

func (f baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `DELETE FROM `+f.prefix+`users WHERE id = $1 RETURNING `+baselineUser, []any{id}, userDest(r)...)
}

func (f baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `INSERT INTO `+f.prefix+`accounts (`+baselineAccount+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING `+baselineAccount,
		[]any{a.Provider, a.ProviderAccountID, a.UserID, string(a.Type), a.AccessToken, a.RefreshToken, a.IDToken, a.Scope, a.TokenType, a.SessionState,
			a.ExpiresAt, a.AuthorizationDetails}, accountDest(r)...)
}

func (f baseline) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `DELETE FROM `+f.prefix+`accounts WHERE provider = $1 AND "providerAccountId" = $2 RETURNING `+baselineAccount,
		[]any{key.Provider, key.ProviderAccountID}, accountDest(r)...)
}

func (f baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `SELECT `+baselineAccount+` FROM `+f.prefix+`accounts WHERE provider = $1 AND "providerAccountId" = $2`,
		[]any{provider, id}, accountDest(r)...)
}

func (f baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.one(ctx, `INSERT INTO `+f.prefix+`sessions (`+baselineSession+`) VALUES ($1, $2, $3) RETURNING `+baselineSession,
		[]any{s.SessionToken, s.UserID, s.Expires}, sessionDest(r)...)
}

func (f baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r := new(adapter.SessionAndUser)
	r.Session.SessionToken = token
	return orAbsent(r, f.one(ctx, `SELECT u.id, u.name, u.email, u."emailVerified", u.image, s."userId", s.expires
		FROM `+f.prefix+`sessions AS s JOIN `+f.prefix+`users AS u ON u.id = s."userId" WHERE s."sessionToken" = $1`,
		[]any{token}, append(userDest(&r.User), &r.Session.UserID, &r.Session.Expires)...))
}

func (f baseline) UpdateSession(ctx context.Context, s adapter.SessionUpdate) (*adapter.Session, error) {
	r := new(adapter.Session)
	expires, _ := s.Expires.Get()
	return r, f.one(ctx, `UPDATE `+f.prefix+`sessions SET expires = $2 WHERE "sessionToken" = $1 RETURNING `+baselineSession,
		[]any{s.SessionToken, expires}, sessionDest(r)...)
}

func (f baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.one(ctx, `DELETE FROM `+f.prefix+`sessions WHERE "sessionToken" = $1 RETURNING `+baselineSession, []any{token}, sessionDest(r)...)
}

func (f baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	return r, f.one(ctx, `INSERT INTO `+f.prefix+`verification_token (identifier, token, expires) VALUES ($1, $2, $3) RETURNING identifier, token, expires`,
		[]any{v.Identifier, v.Token, v.Expires}, tokenDest(r)...)
}

func (f baseline) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	return r, f.one(ctx, `DELETE FROM `+f.prefix+`verification_token WHERE identifier = $1 AND token = $2 RETURNING identifier, token, expires`,
		[]any{key.Identifier, key.Token}, tokenDest(r)...)
}

func (f baseline) CreateAuthenticator(ctx context.Context, c adapter.Authenticator) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `INSERT INTO `+f.prefix+`authenticators (`+baselineAuthenticator+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING `+baselineAuthenticator,
		[]any{c.CredentialID, c.UserID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialBackedUp, c.CredentialDeviceType, c.Transports,
			c.Name, c.Created, c.LastUsed},
		authenticatorDest(r)...)
}

func (f baseline) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `SELECT `+baselineAuthenticator+` FROM `+f.prefix+`authenticators WHERE "credentialID" = $1`, []any{id}, authenticatorDest(r)...)
}

func (f baseline) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	var all []adapter.Authenticator
	err := f.rows(ctx, `SELECT `+baselineAuthenticator+` FROM `+f.prefix+`authenticators WHERE "userId" = $1`, func(row scanner) error {
		var c adapter.Authenticator
		err := row.Scan(authenticatorDest(&c)...)
		all = append(all, c)
		return err
	}, userID)
	return all, err
}

func (f baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `UPDATE `+f.prefix+`authenticators SET counter = $2 WHERE "credentialID" = $1 RETURNING `+baselineAuthenticator,
		[]any{id, counter}, authenticatorDest(r)...)
}

// DeleteExpired deletes at once every session that expires at or before now.
func (f baseline) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	n, err := f.exec(ctx, `DELETE FROM `+f.prefix+`sessions WHERE expires <= $1`, now)
	return adapter.Swept{Sessions: n}, err
}

// AddSessions stores the sessions from from to to-1, which bench.Sessions reads,
// and their users.
func (f baseline) AddSessions(ctx context.Context, from, to int) error {
	for _, sql := range []string{
		`INSERT INTO ` + f.prefix + `users (id, name, email) SELECT 'u' || n, 'User', 'u' || n || '@example.com' FROM generate_series($1::int / 10, $2::int / 10 - 1) AS n`,
		`INSERT INTO ` + f.prefix + `sessions ("sessionToken", "userId", expires)
			SELECT 'session-' || n, 'u' || n / 10, now() + interval '1 hour' FROM generate_series($1::int, $2::int - 1) AS n`,
	} {
		if _, err := f.exec(ctx, sql, from, to); err != nil {
			return err
		}
	}
	_, err := f.exec(ctx, `ANALYZE `+f.prefix+`users, `+f.prefix+`sessions`)
	return err
}

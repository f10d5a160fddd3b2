package sqlitetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline has the nineteen methods in the least code that database/sql allows
// on the same tables: each is one prepared statement, and keeps no promise that
// needs more. Benchmarks compare the adapter with it. A lookup of a session or
// of an address that finds nothing returns nil, the other methods an error.
type Baseline interface {
	adapter.Adapter
	adapter.Sweeper // deletes all at once
	// Close closes the statements.
	Close() error
}

type baseline struct {
	db       *sql.DB
	prepared *sync.Map // *sql.Stmt by text
}

// NewBaseline prepares statements when they are used; Close closes them.
func NewBaseline(db *sql.DB) Baseline { return baseline{db, new(sync.Map)} }

// Close closes the statements.
func (f baseline) Close() (err error) {
	f.prepared.Range(func(_, s any) bool {
		err = errors.Join(err, s.(*sql.Stmt).Close())
		return true
	})
	return err
}

// orAbsent is for lookups of what may be absent.
func orAbsent[T any](record *T, err error) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return record, err
}

func (f baseline) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := f.prepared.Load(query); ok {
		return s.(*sql.Stmt), nil
	}
	s, err := f.db.PrepareContext(ctx, query)
	if err == nil {
		f.prepared.Store(query, s)
	}
	return s, err
}

// one runs a statement that returns one row.
func (f baseline) one(ctx context.Context, query string, args []any, dest ...any) error {
	s, err := f.prepare(ctx, query) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return err
	}
	return s.QueryRowContext(ctx, args...).Scan(dest...)
}

const (
	baselineUser          = `id, name, email, emailVerified, image`
	baselineAccount       = `provider, providerAccountId, userId, type, access_token, refresh_token, id_token, scope, token_type, session_state, expires_at, authorization_details`
	baselineSession       = `sessionToken, userId, expires`
	baselineToken         = `identifier, token, expires`
	baselineAuthenticator = `credentialID, userId, providerAccountId, credentialPublicKey, counter, credentialBackedUp, credentialDeviceType, transports, name, created, lastUsed`
)

// millis reads an instant.
type millis struct{ t *time.Time }

func (m millis) Scan(v any) error {
	if ms, ok := v.(int64); ok {
		*m.t = time.UnixMilli(ms).UTC()
	}
	return nil
}

func userDest(u *adapter.User) []any {
	return []any{&u.ID, &u.Name, &u.Email, orNull{&u.EmailVerified}, &u.Image}
}

func accountDest(a *adapter.Account) []any {
	return []any{&a.Provider, &a.ProviderAccountID, &a.UserID, &a.Type, &a.AccessToken, &a.RefreshToken, &a.IDToken,
		&a.Scope, &a.TokenType, &a.SessionState, &a.ExpiresAt, (*[]byte)(&a.AuthorizationDetails)}
}

func sessionDest(s *adapter.Session) []any {
	return []any{&s.SessionToken, &s.UserID, millis{&s.Expires}}
}

func tokenDest(v *adapter.VerificationToken) []any {
	return []any{&v.Identifier, &v.Token, millis{&v.Expires}}
}

// orNull is millis for a column that may be null.
type orNull struct{ t **time.Time }

func (o orNull) Scan(v any) error {
	if ms, ok := v.(int64); ok {
		*o.t = new(time.UnixMilli(ms).UTC())
	}
	return nil
}

func (o orNull) Value() (driver.Value, error) {
	if *o.t == nil {
		return nil, nil
	}
	return (*o.t).UnixMilli(), nil
}

func authenticatorDest(c *adapter.Authenticator) []any {
	return []any{&c.CredentialID, &c.UserID, &c.ProviderAccountID, &c.CredentialPublicKey, &c.Counter,
		&c.CredentialBackedUp, &c.CredentialDeviceType, &c.Transports, &c.Name, orNull{&c.Created}, orNull{&c.LastUsed}}
}

func (f baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `INSERT INTO "user" (`+baselineUser+`) VALUES (lower(hex(randomblob(16))), ?, ?, ?, ?) RETURNING `+baselineUser,
		[]any{u.Name, u.Email, u.EmailVerified.UnixMilli(), u.Image}, userDest(r)...)
}

func (f baseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT `+baselineUser+` FROM "user" WHERE id = ?`, []any{id}, userDest(r)...)
}

func (f baseline) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	r := new(adapter.User)
	return orAbsent(r, f.one(ctx, `SELECT `+baselineUser+` FROM "user" WHERE email = ? AND email <> ''`, []any{email}, userDest(r)...)) // the index needs it
}

func (f baseline) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT u.id, u.name, u.email, u.emailVerified, u.image FROM "account" a JOIN "user" u ON u.id = a.userId
		WHERE a.provider = ? AND a.providerAccountId = ?`, []any{key.Provider, key.ProviderAccountID}, userDest(r)...)
}

func (f baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	r := new(adapter.User)
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	return r, f.one(ctx, `UPDATE "user" SET name = ?, image = ? WHERE id = ? RETURNING `+baselineUser, []any{name, image, u.ID}, userDest(r)...)
}

func (f baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `DELETE FROM "user" WHERE id = ? RETURNING `+baselineUser, []any{id}, userDest(r)...)
}

func (f baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `INSERT INTO "account" (`+baselineAccount+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING `+baselineAccount,
		[]any{a.Provider, a.ProviderAccountID, a.UserID, string(a.Type), a.AccessToken, a.RefreshToken, a.IDToken, a.Scope, a.TokenType, a.SessionState,
			a.ExpiresAt, string(a.AuthorizationDetails)}, accountDest(r)...)
}

func (f baseline) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `DELETE FROM "account" WHERE provider = ? AND providerAccountId = ? RETURNING `+baselineAccount,
		[]any{key.Provider, key.ProviderAccountID}, accountDest(r)...)
}

func (f baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `SELECT `+baselineAccount+` FROM "account" WHERE provider = ? AND providerAccountId = ?`, []any{provider, id}, accountDest(r)...)
}

func (f baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.one(ctx, `INSERT INTO "session" (`+baselineSession+`) VALUES (?, ?, ?) RETURNING `+baselineSession,
		[]any{s.SessionToken, s.UserID, s.Expires.UnixMilli()}, sessionDest(r)...)
}

func (f baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r := new(adapter.SessionAndUser)
	r.Session.SessionToken = token
	return orAbsent(r, f.one(ctx, `SELECT u.id, u.name, u.email, u.emailVerified, u.image, s.userId, s.expires
		FROM "session" s JOIN "user" u ON u.id = s.userId WHERE s.sessionToken = ?`,
		[]any{token}, append(userDest(&r.User), &r.Session.UserID, millis{&r.Session.Expires})...))
}

func (f baseline) UpdateSession(ctx context.Context, s adapter.SessionUpdate) (*adapter.Session, error) {
	r := new(adapter.Session)
	expires, _ := s.Expires.Get()
	return r, f.one(ctx, `UPDATE "session" SET expires = ? WHERE sessionToken = ? RETURNING `+baselineSession,
		[]any{expires.UnixMilli(), s.SessionToken}, sessionDest(r)...)
}

func (f baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.one(ctx, `DELETE FROM "session" WHERE sessionToken = ? RETURNING `+baselineSession, []any{token}, sessionDest(r)...)
}

func (f baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	return r, f.one(ctx, `INSERT INTO "verificationToken" (`+baselineToken+`) VALUES (?, ?, ?) RETURNING `+baselineToken,
		[]any{v.Identifier, v.Token, v.Expires.UnixMilli()}, tokenDest(r)...)
}

func (f baseline) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	return r, f.one(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND token = ? RETURNING `+baselineToken,
		[]any{key.Identifier, key.Token}, tokenDest(r)...)
}

func (f baseline) CreateAuthenticator(ctx context.Context, c adapter.Authenticator) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `INSERT INTO "authenticator" (`+baselineAuthenticator+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING `+baselineAuthenticator,
		[]any{c.CredentialID, c.UserID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialBackedUp, c.CredentialDeviceType, c.Transports,
			c.Name, orNull{&c.Created}, orNull{&c.LastUsed}},
		authenticatorDest(r)...)
}

func (f baseline) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `SELECT `+baselineAuthenticator+` FROM "authenticator" WHERE credentialID = ?`, []any{id}, authenticatorDest(r)...)
}

func (f baseline) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	s, err := f.prepare(ctx, `SELECT `+baselineAuthenticator+` FROM "authenticator" WHERE userId = ?`) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(ctx, userID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var list []adapter.Authenticator
	for rows.Next() {
		var c adapter.Authenticator
		if err := rows.Scan(authenticatorDest(&c)...); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

func (f baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `UPDATE "authenticator" SET counter = ? WHERE credentialID = ? RETURNING `+baselineAuthenticator,
		[]any{counter, id}, authenticatorDest(r)...)
}

// DeleteExpired deletes at once every session that expires at or before now.
func (f baseline) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	s, err := f.prepare(ctx, `DELETE FROM "session" WHERE expires <= ?`) //nolint:sqlclosecheck // it is kept
	if err != nil {
		return adapter.Swept{}, err
	}
	_, err = s.ExecContext(ctx, now.UnixMilli())
	return adapter.Swept{}, err
}

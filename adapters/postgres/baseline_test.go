package postgres_test

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// baseline has the nineteen methods in the least code that pgx allows on the
// same tables: each is one plain statement, and keeps no promise that needs
// more. Benchmarks compare the adapter with it.
type baseline struct {
	pool   *pgxpool.Pool
	schema string
}

// one runs a statement that returns one row.
func (f baseline) one(ctx context.Context, sql string, args []any, dest ...any) error {
	return f.pool.QueryRow(ctx, sql, args...).Scan(dest...)
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
		&c.CredentialBackedUp, &c.CredentialDeviceType, &c.Transports}
}

const (
	baselineUser          = `id, name, email, "emailVerified", image`
	baselineAccount       = `provider, "providerAccountId", "userId", type, access_token, refresh_token, id_token, scope, token_type, session_state, expires_at, authorization_details`
	baselineSession       = `"sessionToken", "userId", expires`
	baselineAuthenticator = `"credentialID", "userId", "providerAccountId", "credentialPublicKey", counter, "credentialBackedUp", "credentialDeviceType", transports`
)

func (f baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `INSERT INTO `+f.schema+`.users (name, email, "emailVerified", image) VALUES ($1, $2, $3, $4) RETURNING `+baselineUser,
		[]any{u.Name, u.Email, u.EmailVerified, u.Image}, userDest(r)...)
}

func (f baseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT `+baselineUser+` FROM `+f.schema+`.users WHERE id = $1`, []any{id}, userDest(r)...)
}

func (f baseline) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT `+baselineUser+` FROM `+f.schema+`.users WHERE email = $1`, []any{email}, userDest(r)...)
}

func (f baseline) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `SELECT u.id, u.name, u.email, u."emailVerified", u.image FROM `+f.schema+`.users AS u JOIN `+f.schema+`.accounts AS a ON a."userId" = u.id
		WHERE a.provider = $1 AND a."providerAccountId" = $2`, []any{key.Provider, key.ProviderAccountID}, userDest(r)...)
}

func (f baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	r := new(adapter.User)
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	return r, f.one(ctx, `UPDATE `+f.schema+`.users SET name = $2, image = $3 WHERE id = $1 RETURNING `+baselineUser, []any{u.ID, name, image}, userDest(r)...)
}

func (f baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.one(ctx, `DELETE FROM `+f.schema+`.users WHERE id = $1 RETURNING `+baselineUser, []any{id}, userDest(r)...)
}

func (f baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `INSERT INTO `+f.schema+`.accounts (`+baselineAccount+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) RETURNING `+baselineAccount,
		[]any{a.Provider, a.ProviderAccountID, a.UserID, string(a.Type), a.AccessToken, a.RefreshToken, a.IDToken, a.Scope, a.TokenType, a.SessionState,
			a.ExpiresAt, a.AuthorizationDetails}, accountDest(r)...)
}

func (f baseline) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `DELETE FROM `+f.schema+`.accounts WHERE provider = $1 AND "providerAccountId" = $2 RETURNING `+baselineAccount,
		[]any{key.Provider, key.ProviderAccountID}, accountDest(r)...)
}

func (f baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.one(ctx, `SELECT `+baselineAccount+` FROM `+f.schema+`.accounts WHERE provider = $1 AND "providerAccountId" = $2`,
		[]any{provider, id}, accountDest(r)...)
}

func (f baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.one(ctx, `INSERT INTO `+f.schema+`.sessions (`+baselineSession+`) VALUES ($1, $2, $3) RETURNING `+baselineSession,
		[]any{s.SessionToken, s.UserID, s.Expires}, sessionDest(r)...)
}

func (f baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r := new(adapter.SessionAndUser)
	r.Session.SessionToken = token
	return r, f.one(ctx, `SELECT u.id, u.name, u.email, u."emailVerified", u.image, s."userId", s.expires
		FROM `+f.schema+`.sessions AS s JOIN `+f.schema+`.users AS u ON u.id = s."userId" WHERE s."sessionToken" = $1`,
		[]any{token}, append(userDest(&r.User), &r.Session.UserID, &r.Session.Expires)...)
}

func (f baseline) UpdateSession(ctx context.Context, s adapter.SessionUpdate) (*adapter.Session, error) {
	r := new(adapter.Session)
	expires, _ := s.Expires.Get()
	return r, f.one(ctx, `UPDATE `+f.schema+`.sessions SET expires = $2 WHERE "sessionToken" = $1 RETURNING `+baselineSession,
		[]any{s.SessionToken, expires}, sessionDest(r)...)
}

func (f baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.one(ctx, `DELETE FROM `+f.schema+`.sessions WHERE "sessionToken" = $1 RETURNING `+baselineSession, []any{token}, sessionDest(r)...)
}

func (f baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	return r, f.one(ctx, `INSERT INTO `+f.schema+`.verification_token (identifier, token, expires) VALUES ($1, $2, $3) RETURNING identifier, token, expires`,
		[]any{v.Identifier, v.Token, v.Expires}, tokenDest(r)...)
}

func (f baseline) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	return r, f.one(ctx, `DELETE FROM `+f.schema+`.verification_token WHERE identifier = $1 AND token = $2 RETURNING identifier, token, expires`,
		[]any{key.Identifier, key.Token}, tokenDest(r)...)
}

func (f baseline) CreateAuthenticator(ctx context.Context, c adapter.Authenticator) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `INSERT INTO `+f.schema+`.authenticators (`+baselineAuthenticator+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING `+baselineAuthenticator,
		[]any{c.CredentialID, c.UserID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialBackedUp, c.CredentialDeviceType, c.Transports},
		authenticatorDest(r)...)
}

func (f baseline) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `SELECT `+baselineAuthenticator+` FROM `+f.schema+`.authenticators WHERE "credentialID" = $1`, []any{id}, authenticatorDest(r)...)
}

func (f baseline) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	rows, err := f.pool.Query(ctx, `SELECT `+baselineAuthenticator+` FROM `+f.schema+`.authenticators WHERE "userId" = $1`, userID)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c adapter.Authenticator, err error) {
		return c, row.Scan(authenticatorDest(&c)...)
	})
}

func (f baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.one(ctx, `UPDATE `+f.schema+`.authenticators SET counter = $2 WHERE "credentialID" = $1 RETURNING `+baselineAuthenticator,
		[]any{id, counter}, authenticatorDest(r)...)
}

package mysqltest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strconv"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline has methods of the adapter in the least code that the driver allows on the same
// tables: a read is one statement, and a write is the transaction that the promises need.
// Benchmarks compare the adapter with it. A lookup of a session or of an address that finds
// nothing returns nil, the other methods an error.
type Baseline struct{ db *sql.DB }

// Baseline opens the baseline over a pool whose connections interpolate parameters and parse
// times: each statement is then one round trip, as it is for the adapter.
func (e *Env) Baseline() (Baseline, error) {
	db, err := e.configured(e.Conns, func(c *driver.Config) { c.InterpolateParams, c.ParseTime = true, true })
	return Baseline{db}, err
}

// Close closes the pool.
func (f Baseline) Close() error { return f.db.Close() }

// orAbsent is for lookups of what may be absent.
func orAbsent[T any](record *T, err error) (*T, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return record, err
}

// DeleteExpired deletes at once every session that expires at or before now.
func (f Baseline) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	result, err := f.db.ExecContext(ctx, "DELETE FROM session WHERE expires <= ?", now.UTC())
	if err == nil {
		swept.Sessions, err = result.RowsAffected()
	}
	return swept, err
}

// tx runs statements in a transaction.
func (f Baseline) tx(ctx context.Context, run func(*sql.Tx) error) error {
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := run(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// exec runs one statement in a transaction.
func (f Baseline) exec(ctx context.Context, query string, args ...any) error {
	return f.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

// then locks and reads a row, and runs a statement for it.
func (f Baseline) then(ctx context.Context, find string, key []any, dest []any, query string, args ...any) error {
	return f.tx(ctx, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, find+" FOR UPDATE", key...).Scan(dest...); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

const (
	handUser    = "SELECT u.id, u.name, u.email, u.emailVerified, u.image FROM `user` u WHERE u.id = ?"
	handAccount = `SELECT userId, type, provider, providerAccountId, access_token, refresh_token, id_token, scope,
		token_type, session_state, expires_at, authorization_details FROM account WHERE provider = ? AND providerAccountId = ?`
	handSession = "SELECT sessionToken, userId, expires FROM session WHERE sessionToken = ?"
	handToken   = "SELECT identifier, token, expires FROM verificationToken WHERE pair = ? AND identifier = ? AND token = ?"
	handPasskey = `SELECT credentialID, userId, providerAccountId, credentialPublicKey, counter, credentialBackedUp,
		credentialDeviceType, transports, name, created, lastUsed FROM authenticator WHERE `
	handCredential = "credential = ? AND credentialID = ?"
)

func userDest(u *adapter.User) []any {
	return []any{&u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image}
}

func accountDest(a *adapter.Account) []any {
	return []any{&a.UserID, (*string)(&a.Type), &a.Provider, &a.ProviderAccountID, &a.AccessToken, &a.RefreshToken,
		&a.IDToken,
		&a.Scope, &a.TokenType, &a.SessionState, &a.ExpiresAt, (*[]byte)(&a.AuthorizationDetails)}
}

func passkeyDest(c *adapter.Authenticator) []any {
	return []any{&c.CredentialID, &c.UserID, &c.ProviderAccountID, &c.CredentialPublicKey, &c.Counter,
		&c.CredentialBackedUp,
		&c.CredentialDeviceType, &c.Transports, &c.Name, &c.Created, &c.LastUsed}
}

// credential is the key of a passkey: the digest has the index, and the text decides.
func credential(id string) []any {
	digest := sha256.Sum256([]byte(id))
	return []any{digest[:], id}
}

// CreateUser stores a user with the given ID, or a random one.
func (f Baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	if u.ID == "" {
		u.ID = newName("u")
	}
	return &u, f.exec(ctx, "INSERT INTO `user` (id, name, email, emailVerified, image) VALUES (?, ?, ?, ?, ?)",
		u.ID, u.Name, u.Email, u.EmailVerified, u.Image)
}

// GetUser reads a user.
func (f Baseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.db.QueryRowContext(ctx, handUser, id).Scan(userDest(r)...)
}

// GetUserByEmail reads a user.
func (f Baseline) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	r := new(adapter.User)
	return orAbsent(r, f.db.QueryRowContext(ctx,
		"SELECT u.id, u.name, u.email, u.emailVerified, u.image FROM `user` u WHERE u.email = ?",
		email).Scan(userDest(r)...))
}

// GetUserByAccount reads the owner of an account.
func (f Baseline) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.db.QueryRowContext(ctx,
		"SELECT u.id, u.name, u.email, u.emailVerified, u.image FROM account a JOIN `user` u ON u.id = a.userId "+
			"WHERE a.provider = ? AND a.providerAccountId = ?", key.Provider, key.ProviderAccountID).Scan(userDest(r)...)
}

// UpdateUser changes name and image.
func (f Baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	r := new(adapter.User)
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	return r, f.then(ctx, handUser, []any{u.ID}, userDest(r), "UPDATE `user` SET name = ?, image = ? WHERE id = ?",
		name, image, u.ID)
}

// DeleteUser deletes a user.
func (f Baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	r := new(adapter.User)
	return r, f.then(ctx, handUser, []any{id}, userDest(r), "DELETE FROM `user` WHERE id = ?", id)
}

// LinkAccount stores an account.
func (f Baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return &a, f.exec(ctx, `INSERT INTO account (userId, type, provider, providerAccountId, access_token, refresh_token,
		id_token, scope, token_type, session_state, expires_at, authorization_details)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.UserID, string(a.Type), a.Provider, a.ProviderAccountID, a.AccessToken, a.RefreshToken, a.IDToken, a.Scope,
		a.TokenType, a.SessionState, a.ExpiresAt, []byte(a.AuthorizationDetails))
}

// UnlinkAccount deletes an account.
func (f Baseline) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.then(ctx, handAccount, []any{key.Provider, key.ProviderAccountID}, accountDest(r),
		"DELETE FROM account WHERE provider = ? AND providerAccountId = ?", key.Provider, key.ProviderAccountID)
}

// GetAccount reads an account.
func (f Baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	r := new(adapter.Account)
	return r, f.db.QueryRowContext(ctx, handAccount, provider, id).Scan(accountDest(r)...)
}

// CreateSession stores a session.
func (f Baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	return &s, f.exec(ctx, "INSERT INTO session (sessionToken, userId, expires) VALUES (?, ?, ?)", s.SessionToken,
		s.UserID, s.Expires.UTC())
}

// GetSessionAndUser reads a session and its user.
func (f Baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r := new(adapter.SessionAndUser)
	r.Session.SessionToken = token
	err := f.db.QueryRowContext(ctx, "SELECT u.id, u.name, u.email, u.emailVerified, u.image, s.userId, s.expires "+
		"FROM session s JOIN `user` u ON u.id = s.userId WHERE s.sessionToken = ?",
		token).Scan(append(userDest(&r.User), &r.Session.UserID, &r.Session.Expires)...)
	return orAbsent(r, err)
}

// UpdateSession changes the end of a session.
func (f Baseline) UpdateSession(ctx context.Context, s adapter.SessionUpdate) (*adapter.Session, error) {
	r := new(adapter.Session)
	expires, _ := s.Expires.Get()
	return r, f.then(ctx, handSession, []any{s.SessionToken}, []any{&r.SessionToken, &r.UserID, &r.Expires},
		"UPDATE session SET expires = ? WHERE sessionToken = ?", expires.UTC(), s.SessionToken)
}

// DeleteSession deletes a session.
func (f Baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	r := new(adapter.Session)
	return r, f.then(ctx, handSession, []any{token}, []any{&r.SessionToken, &r.UserID, &r.Expires},
		"DELETE FROM session WHERE sessionToken = ?", token)
}

// CreateVerificationToken stores a token.
func (f Baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return &v, f.exec(ctx, "INSERT INTO verificationToken (identifier, token, expires) VALUES (?, ?, ?)", v.Identifier,
		v.Token, v.Expires.UTC())
}

// UseVerificationToken deletes a token.
func (f Baseline) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	r := new(adapter.VerificationToken)
	n := strconv.Itoa(len(k.Identifier))
	digest := sha256.Sum256([]byte(n + ":" + k.Identifier + k.Token))
	key := []any{digest[:], k.Identifier, k.Token}
	return r, f.then(ctx, handToken, key, []any{&r.Identifier, &r.Token, &r.Expires},
		"DELETE FROM verificationToken WHERE pair = ? AND identifier = ? AND token = ?", key...)
}

// CreateAuthenticator stores a passkey.
func (f Baseline) CreateAuthenticator(ctx context.Context, c adapter.Authenticator) (*adapter.Authenticator, error) {
	return &c, f.exec(ctx, `INSERT INTO authenticator (credentialID, userId, providerAccountId, credentialPublicKey, counter,
		credentialBackedUp, credentialDeviceType, transports, name, created, lastUsed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.CredentialID, c.UserID, c.ProviderAccountID, c.CredentialPublicKey, c.Counter, c.CredentialBackedUp,
		c.CredentialDeviceType, c.Transports, c.Name, c.Created, c.LastUsed)
}

// GetAuthenticator reads a passkey.
func (f Baseline) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.db.QueryRowContext(ctx, handPasskey+handCredential, credential(id)...).Scan(passkeyDest(r)...)
}

// UpdateAuthenticatorCounter changes the counter of a passkey.
func (f Baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	r := new(adapter.Authenticator)
	return r, f.then(ctx, handPasskey+handCredential, credential(id), passkeyDest(r),
		"UPDATE authenticator SET counter = ? WHERE "+handCredential, append([]any{counter}, credential(id)...)...)
}

// ListAuthenticatorsByUserID reads the passkeys of a user.
func (f Baseline) ListAuthenticatorsByUserID(ctx context.Context, userID string) (all []adapter.Authenticator, err error) {
	rows, err := f.db.QueryContext(ctx, handPasskey+"userId = ?", userID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var c adapter.Authenticator
		if err := rows.Scan(passkeyDest(&c)...); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, rows.Err()
}

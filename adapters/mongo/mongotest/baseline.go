package mongotest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline has the nineteen methods as one writes them by hand with the driver on the same
// collections. Each is one plain operation. A method that creates or finds a record with an
// owner has one more, which checks that the owner exists, because no record of a deleted
// user may be found [CASC-02] to [CASC-04]. Benchmarks compare the adapter with it. A lookup of a
// session or of an address that finds nothing returns nil, the other methods an error.
type Baseline interface {
	adapter.Adapter
	adapter.Sweeper // deletes all at once
}

type baseline struct {
	users, accounts, sessions, tokens, authenticators *mgo.Collection
}

// NewBaseline uses the collections of a database.
func NewBaseline(db *mgo.Database) Baseline {
	o := options.Collection().SetWriteConcern(writeconcern.Majority())
	return baseline{db.Collection("users", o), db.Collection("accounts", o), db.Collection("sessions", o), db.Collection("verification_tokens", o), db.Collection("authenticators", o)}
}

type baselineUser struct {
	ID            bson.ObjectID `bson:"_id"`
	Name          *string       `bson:"name"`
	Email         string        `bson:"email"`
	EmailVerified *time.Time    `bson:"emailVerified"`
	Image         *string       `bson:"image"`
}

func (u baselineUser) user() *adapter.User {
	return &adapter.User{ID: u.ID.Hex(), Name: u.Name, Email: u.Email, EmailVerified: u.EmailVerified, Image: u.Image}
}

type baselineAccount struct {
	ID                bson.ObjectID `bson:"_id"`
	UserID            bson.ObjectID `bson:"userId"`
	Type              string        `bson:"type"`
	Provider          string        `bson:"provider"`
	ProviderAccountID string        `bson:"providerAccountId"`
	AccessToken       *string       `bson:"access_token"`
	RefreshToken      *string       `bson:"refresh_token"`
	IDToken           *string       `bson:"id_token"`
	Scope             *string       `bson:"scope"`
	TokenType         *string       `bson:"token_type"`
	SessionState      *string       `bson:"session_state"`
	ExpiresAt         *int64        `bson:"expires_at"`
	Details           []bson.M      `bson:"authorization_details"`
}

func (a baselineAccount) account() (*adapter.Account, error) {
	details, err := json.Marshal(a.Details)
	return &adapter.Account{UserID: a.UserID.Hex(), Type: adapter.AccountType(a.Type), Provider: a.Provider, ProviderAccountID: a.ProviderAccountID,
		AccessToken: a.AccessToken, RefreshToken: a.RefreshToken, IDToken: a.IDToken, Scope: a.Scope, TokenType: a.TokenType, SessionState: a.SessionState,
		ExpiresAt: a.ExpiresAt, AuthorizationDetails: details}, err
}

type baselineSession struct {
	ID           bson.ObjectID `bson:"_id"`
	SessionToken string        `bson:"sessionToken"`
	UserID       bson.ObjectID `bson:"userId"`
	Expires      time.Time     `bson:"expires"`
}

func (s baselineSession) session() *adapter.Session {
	return &adapter.Session{SessionToken: s.SessionToken, UserID: s.UserID.Hex(), Expires: s.Expires}
}

type baselineToken struct {
	ID         bson.ObjectID `bson:"_id"`
	Identifier string        `bson:"identifier"`
	Token      string        `bson:"token"`
	Expires    time.Time     `bson:"expires"`
}

type baselineAuthenticator struct {
	ID         bson.ObjectID `bson:"_id"`
	UserID     bson.ObjectID `bson:"userId"`
	Credential string        `bson:"credentialID"`
	Account    string        `bson:"providerAccountId"`
	PublicKey  string        `bson:"credentialPublicKey"`
	Counter    int64         `bson:"counter"`
	BackedUp   bool          `bson:"credentialBackedUp"`
	Device     string        `bson:"credentialDeviceType"`
	Transports *string       `bson:"transports"`
}

func (w baselineAuthenticator) authenticator() adapter.Authenticator {
	return adapter.Authenticator{CredentialID: w.Credential, UserID: w.UserID.Hex(), ProviderAccountID: w.Account, CredentialPublicKey: w.PublicKey,
		Counter: w.Counter, CredentialBackedUp: w.BackedUp, CredentialDeviceType: w.Device, Transports: w.Transports}
}

func decodeOne[T any](r *mgo.SingleResult) (v T, err error) { return v, r.Decode(&v) }

func hex(id string) bson.ObjectID {
	oid, err := bson.ObjectIDFromHex(id)
	if err != nil {
		panic(err)
	}
	return oid
}

func by(key string, value any) bson.D { return bson.D{{Key: key, Value: value}} }

func set(key string, value any) bson.D { return by("$set", by(key, value)) }

func pair(key adapter.AccountKey) bson.D {
	return bson.D{{Key: "provider", Value: key.Provider}, {Key: "providerAccountId", Value: key.ProviderAccountID}}
}

// orAbsent is for lookups of what may be absent.
func orAbsent[T any](record *T, err error) (*T, error) {
	if errors.Is(err, mgo.ErrNoDocuments) {
		return nil, nil
	}
	return record, err
}

var after = options.FindOneAndUpdate().SetReturnDocument(options.After)

// owner returns an error if the user is absent.
func (f baseline) owner(ctx context.Context, id bson.ObjectID) error {
	return f.users.FindOne(ctx, by("_id", id), options.FindOne().SetProjection(by("_id", 1))).Err()
}

func (f baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	d := baselineUser{bson.NewObjectID(), u.Name, u.Email, u.EmailVerified, u.Image}
	_, err := f.users.InsertOne(ctx, d)
	return d.user(), err
}

func (f baseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	u, err := decodeOne[baselineUser](f.users.FindOne(ctx, by("_id", hex(id))))
	return u.user(), err
}

func (f baseline) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	u, err := decodeOne[baselineUser](f.users.FindOne(ctx, by("email", email)))
	return orAbsent(u.user(), err)
}

func (f baseline) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	a, err := decodeOne[baselineAccount](f.accounts.FindOne(ctx, pair(key)))
	if err != nil {
		return nil, err
	}
	u, err := decodeOne[baselineUser](f.users.FindOne(ctx, by("_id", a.UserID)))
	return u.user(), err
}

func (f baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	change := by("$set", bson.D{{Key: "name", Value: name}, {Key: "image", Value: image}})
	d, err := decodeOne[baselineUser](f.users.FindOneAndUpdate(ctx, by("_id", hex(u.ID)), change, after))
	return d.user(), err
}

func (f baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	for _, c := range []*mgo.Collection{f.sessions, f.accounts, f.authenticators} {
		if _, err := c.DeleteMany(ctx, by("userId", hex(id))); err != nil {
			return nil, err
		}
	}
	u, err := decodeOne[baselineUser](f.users.FindOneAndDelete(ctx, by("_id", hex(id))))
	return u.user(), err
}

func (f baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	d := baselineAccount{bson.NewObjectID(), hex(a.UserID), string(a.Type), a.Provider, a.ProviderAccountID, a.AccessToken, a.RefreshToken, a.IDToken, a.Scope,
		a.TokenType, a.SessionState, a.ExpiresAt, nil}
	if err := json.Unmarshal(a.AuthorizationDetails, &d.Details); err != nil {
		return nil, err
	}
	if err := f.owner(ctx, d.UserID); err != nil {
		return nil, err
	}
	_, err := f.accounts.InsertOne(ctx, d)
	return &a, err
}

func (f baseline) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	a, err := decodeOne[baselineAccount](f.accounts.FindOneAndDelete(ctx, pair(key)))
	if err != nil {
		return nil, err
	}
	return a.account()
}

func (f baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	a, err := decodeOne[baselineAccount](f.accounts.FindOne(ctx, pair(adapter.AccountKey{Provider: provider, ProviderAccountID: id})))
	if err != nil {
		return nil, err
	}
	if err := f.owner(ctx, a.UserID); err != nil {
		return nil, err
	}
	return a.account()
}

func (f baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	d := baselineSession{bson.NewObjectID(), s.SessionToken, hex(s.UserID), s.Expires}
	if err := f.owner(ctx, d.UserID); err != nil {
		return nil, err
	}
	_, err := f.sessions.InsertOne(ctx, d)
	return d.session(), err
}

func (f baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	s, err := decodeOne[baselineSession](f.sessions.FindOne(ctx, by("sessionToken", token)))
	if err != nil {
		return orAbsent[adapter.SessionAndUser](nil, err)
	}
	u, err := decodeOne[baselineUser](f.users.FindOne(ctx, by("_id", s.UserID)))
	return orAbsent(&adapter.SessionAndUser{Session: *s.session(), User: *u.user()}, err)
}

func (f baseline) UpdateSession(ctx context.Context, s adapter.SessionUpdate) (*adapter.Session, error) {
	expires, _ := s.Expires.Get()
	d, err := decodeOne[baselineSession](f.sessions.FindOneAndUpdate(ctx, by("sessionToken", s.SessionToken), set("expires", expires), after))
	return d.session(), err
}

func (f baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	s, err := decodeOne[baselineSession](f.sessions.FindOneAndDelete(ctx, by("sessionToken", token)))
	return s.session(), err
}

func (f baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	_, err := f.tokens.InsertOne(ctx, baselineToken{bson.NewObjectID(), v.Identifier, v.Token, v.Expires})
	return &v, err
}

func (f baseline) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	v, err := decodeOne[baselineToken](f.tokens.FindOneAndDelete(ctx, bson.D{{Key: "identifier", Value: key.Identifier}, {Key: "token", Value: key.Token}}))
	return &adapter.VerificationToken{Identifier: v.Identifier, Token: v.Token, Expires: v.Expires}, err
}

func (f baseline) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	if err := f.owner(ctx, hex(w.UserID)); err != nil {
		return nil, err
	}
	_, err := f.authenticators.InsertOne(ctx, baselineAuthenticator{bson.NewObjectID(), hex(w.UserID), w.CredentialID, w.ProviderAccountID, w.CredentialPublicKey,
		w.Counter, w.CredentialBackedUp, w.CredentialDeviceType, w.Transports})
	return &w, err
}

func (f baseline) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	w, err := decodeOne[baselineAuthenticator](f.authenticators.FindOne(ctx, by("credentialID", id)))
	if err != nil {
		return nil, err
	}
	return new(w.authenticator()), f.owner(ctx, w.UserID)
}

func (f baseline) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	if err := f.owner(ctx, hex(userID)); err != nil {
		return nil, err
	}
	cursor, err := f.authenticators.Find(ctx, by("userId", hex(userID)))
	if err != nil {
		return nil, err
	}
	var all []baselineAuthenticator
	if err := cursor.All(ctx, &all); err != nil {
		return nil, err
	}
	var list []adapter.Authenticator
	for _, w := range all {
		list = append(list, w.authenticator())
	}
	return list, nil
}

func (f baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	w, err := decodeOne[baselineAuthenticator](f.authenticators.FindOneAndUpdate(ctx, by("credentialID", id), set("counter", counter), after))
	return new(w.authenticator()), err
}

// DeleteExpired deletes at once every session that expires at or before now.
func (f baseline) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	_, err := f.sessions.DeleteMany(ctx, by("expires", by("$lte", now)))
	return adapter.Swept{}, err
}

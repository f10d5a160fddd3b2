package mongo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var ownCollections = []string{"users", "accounts", "sessions", "verification_tokens", "authenticators", "passwords"}

// callAll calls every method. It returns the first error with the name of its method.
func callAll(ctx context.Context, a *mongo.Adapter) error {
	tag := rand.Text()
	user, err := a.CreateUser(ctx, adapter.User{Email: tag + "@example.com"})
	if err != nil {
		return fmt.Errorf("CreateUser: %w", err)
	}
	key := adapter.AccountKey{Provider: "p", ProviderAccountID: tag}
	until := time.Now().Add(time.Hour)
	for _, call := range []func() error{
		func() error {
			return erred(a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Type: "webauthn", Provider: "q", ProviderAccountID: tag}, &adapter.Authenticator{CredentialID: "x" + tag, ProviderAccountID: tag}))
		},
		func() error {
			return erred(a.LinkAccount(ctx, adapter.Account{UserID: user.ID, Provider: "p", ProviderAccountID: tag}))
		},
		func() error { return erred(a.GetUser(ctx, user.ID)) },
		func() error { return erred(a.GetUserByEmail(ctx, user.Email)) },
		func() error { return erred(a.GetUserByAccount(ctx, key)) },
		func() error { return erred(a.GetAccount(ctx, tag, "p")) },
		func() error { return erred(a.ListAccountsByUserID(ctx, user.ID)) },
		func() error {
			return erred(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: tag, Scope: adapter.To(new("s"))}))
		},
		func() error {
			return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: user.ID, Name: adapter.To(new("Ada"))}))
		},
		func() error {
			return erred(a.CreateSession(ctx, adapter.Session{SessionToken: tag, UserID: user.ID, Expires: until}))
		},
		func() error { return erred(a.GetSessionAndUser(ctx, tag)) },
		func() error {
			return erred(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: tag, Expires: adapter.To(until)}))
		},
		func() error { return erred(a.ListSessionsByUserID(ctx, user.ID)) },
		func() error { return erred(a.DeleteSession(ctx, tag)) },
		func() error { return erred(a.DeleteSessionsByUserID(ctx, user.ID, "")) },
		func() error {
			return erred(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: tag, Token: tag, Expires: until}))
		},
		func() error {
			return erred(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: tag, Token: tag}))
		},
		func() error { return erred(a.DeleteVerificationTokens(ctx, tag)) },
		func() error {
			return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: tag, ProviderAccountID: tag}))
		},
		func() error { return erred(a.GetAuthenticator(ctx, tag)) },
		func() error { return erred(a.ListAuthenticatorsByUserID(ctx, user.ID)) },
		func() error { return erred(a.UpdateAuthenticatorCounter(ctx, tag, 1)) },
		func() error { return erred(a.UpdateAuthenticatorBackup(ctx, tag, true, "multiDevice")) },
		func() error { return erred(a.TouchAuthenticator(ctx, tag, 1, 2, time.Now())) },
		func() error { return erred(a.RenameAuthenticator(ctx, user.ID, tag, "key")) },
		func() error { return erred(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"})) },
		func() error { return erred(a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})) },
		func() error { return erred(a.GetPassword(ctx, user.ID)) },
		func() error {
			return erred(a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"}))
		},
		func() error { return erred(a.DeletePassword(ctx, user.ID, true)) },
		func() error { return erred(a.DeleteAuthenticator(ctx, user.ID, tag, true)) },
		func() error { return erred(a.UnlinkAccount(ctx, key)) },
		func() error { return erred(a.DeleteExpired(ctx, time.Now())) },
		func() error { return erred(a.DeleteUser(ctx, user.ID)) },
	} {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

// TestRights: a database user with the rights of the README can make all calls. One with the
// rights of the methods alone can make those. With one right less the first call names it.
func TestRights(t *testing.T) {
	ctx := t.Context()
	admin := withUsers.connect(t)
	signIn := func(t *testing.T, name string, allowed func(collection, action string) bool) *mongo.Adapter {
		t.Helper()
		role := "role_" + strings.ToLower(rand.Text())
		client := must(mongotest.SignIn(t, admin.Database(name), withUsers.url(t), role, ownCollections, allowed))(t)
		return newAdapter(t, client.Database(name))
	}
	all := func(string, string) bool { return true }
	t.Run("all", func(t *testing.T) {
		a := signIn(t, withUsers.newDatabase(t), all)
		assert.NoError(t, errors.Join(a.EnsureIndexes(ctx), a.CheckIndexes(ctx), callAll(ctx, a)))
	})
	t.Run("methods only", func(t *testing.T) {
		name := withUsers.newDatabase(t)
		require.NoError(t, newAdapter(t, admin.Database(name)).EnsureIndexes(ctx))
		a := signIn(t, name, func(collection, action string) bool {
			return slices.Contains([]string{"find", "insert", "remove"}, action) || action == "update" && collection != "verification_tokens"
		})
		assert.NoError(t, callAll(ctx, a))
	})
	t.Run("no sign-in", func(t *testing.T) {
		db := withUsers.connect(t, func(o *options.ClientOptions) { o.Auth = nil }).Database("nobody")
		if _, err := newAdapter(t, db).GetUserByEmail(ctx, "secret@example.com"); err == nil || !strings.Contains(err.Error(), "lacks a right: find") || strings.Contains(err.Error(), "secret@") {
			t.Errorf("got %v", err)
		}
	})
	for _, right := range []string{"find", "insert", "update", "remove", "listIndexes", "createIndex"} {
		for _, without := range ownCollections {
			if right == "update" && without == "verification_tokens" {
				continue
			}
			t.Run(right+" on "+without, func(t *testing.T) {
				t.Parallel()
				name := withUsers.newDatabase(t)
				a := signIn(t, name, func(collection, action string) bool { return collection != without || action != right })
				err := a.EnsureIndexes(ctx)
				assert.Truef(t, err != nil && strings.Contains(err.Error(), right) && strings.Contains(err.Error(), without),
					"EnsureIndexes: got %v", err)
				made := must(admin.Database(name).ListCollectionNames(ctx, bson.D{}))(t)
				assert.Truef(t, len(made) <= 0, "EnsureIndexes failed and made %v", made)
				if right == "listIndexes" || right == "createIndex" {
					follow(t, admin.Database(name), a.EnsureIndexes)
					return
				}
				defer func() { // the commands of the error are enough
					follow(t, admin.Database(name), a.EnsureIndexes)
					assert.NoError(t, callAll(ctx, a))
				}()
				if err := callAll(ctx, a); err == nil || !strings.Contains(err.Error(), right) || !strings.Contains(err.Error(), without) || !strings.Contains(err.Error(), "CreateUser") {
					t.Errorf("the first call: got %v", err)
				}
			})
		}
	}
}

// TestBesideWithFewRights: a database user with the rights of the README alone does not begin
// with nobody beside the people of another library. The error names the right that it takes to
// look at them. Where nothing else is in the database, those rights are enough.
func TestBesideWithFewRights(t *testing.T) {
	ctx := t.Context()
	admin := withUsers.connect(t)
	signIn := func(t *testing.T, name, role string) *mgo.Database {
		t.Helper()
		all := func(string, string) bool { return true }
		client := must(mongotest.SignIn(t, admin.Database(name), withUsers.url(t), role, ownCollections, all))(t)
		return client.Database(name)
	}
	lists := func(name string) bson.A {
		return bson.A{bson.M{"resource": bson.M{"db": name, "collection": ""}, "actions": bson.A{"listCollections"}}}
	}
	refusedWith := func(t *testing.T, db *mgo.Database, parts ...string) *mongo.Adapter {
		t.Helper()
		a := newAdapter(t, db)
		_, created := a.CreateUser(ctx, adapter.User{Email: "secret@example.com"})
		_, found := a.GetUserByEmail(ctx, "secret@example.com")
		for _, err := range []error{created, found, a.EnsureIndexes(ctx), a.CheckIndexes(ctx)} {
			for _, part := range append(parts, "WithNewCollections") {
				assert.Truef(t, err != nil && strings.Contains(err.Error(), part), "the error does not name %s: %v", part, err)
			}
		}
		n := must(admin.Database(db.Name()).Collection("users").CountDocuments(ctx, bson.D{}))(t)
		assert.Truef(t, n == 0, "%d users were stored", n)
		return a
	}
	for _, full := range []bool{true, false} {
		t.Run(fmt.Sprintf("collections that can't be read, with people: %v", full), func(t *testing.T) {
			t.Parallel()
			name := withUsers.newDatabase(t)
			there := admin.Database(name)
			require.NoError(t, mongotest.MakePrisma(ctx, there, ""))
			if full {
				store(t, there, ada(), map[string]string{"users": "User", "accounts": "Account", "sessions": "Session", "authenticators": "Authenticator"})
			}
			db := signIn(t, name, "role_"+strings.ToLower(rand.Text()))
			a := refusedWith(t, db, "find on "+name+".User", "listIndexes on "+name+".Account")
			require.NoError(t, mongotest.Run(ctx, there, a.EnsureIndexes(ctx).Error()))
			refusedWith(t, db, "mongo.Prisma()")
			must(newAdapter(t, db, mongo.WithNewCollections()).CreateUser(ctx, adapter.User{}))(t)
			must(newAdapter(t, db).CreateUser(ctx, adapter.User{}))(t) // somebody is known now
		})
	}
	t.Run("collections that can't be listed", func(t *testing.T) {
		t.Parallel()
		name := withUsers.newDatabase(t)
		role := "role_" + strings.ToLower(rand.Text())
		db, there := signIn(t, name, role), admin.Database(name)
		revoke := bson.D{{Key: "revokePrivilegesFromRole", Value: role}, {Key: "privileges", Value: lists(name)}}
		require.NoError(t, there.RunCommand(ctx, revoke).Err())
		a := refusedWith(t, db, "listCollections on "+name+":")
		follow(t, there, a.EnsureIndexes)
		assert.NoError(t, callAll(ctx, newAdapter(t, db)))
		must(a.CreateUser(ctx, adapter.User{}))(t)
		require.NoError(t, there.RunCommand(ctx, revoke).Err())
		must(newAdapter(t, db).CreateUser(ctx, adapter.User{}))(t)
	})
}

// TestRightsAreLost: a right that is taken away later is named, and the command is not quoted.
func TestRightsAreLost(t *testing.T) {
	ctx := t.Context()
	db := withUsers.connect(t).Database(withUsers.newDatabase(t))
	role := "role_" + strings.ToLower(rand.Text())
	client := must(mongotest.SignIn(t, db, withUsers.url(t), role, ownCollections, func(string, string) bool { return true }))(t)
	a := newAdapter(t, client.Database(db.Name()))
	require.NoError(t, a.EnsureIndexes(ctx))
	revoke := bson.D{{Key: "revokePrivilegesFromRole", Value: role}, {Key: "privileges", Value: bson.A{
		bson.M{"resource": bson.M{"db": db.Name(), "collection": "users"}, "actions": bson.A{"insert"}}}}}
	require.NoError(t, db.RunCommand(ctx, revoke).Err())
	_, err := a.CreateUser(ctx, adapter.User{Email: "secret@example.com"})
	assert.ErrorContains(t, err, "insert on the collection users (code 13)")
	quotesNothing(t, "CreateUser", err, "secret@")
}

// quotesNothing searches an error, and those that it wraps, for a secret.
func quotesNothing(t *testing.T, what string, err error, secret string) {
	t.Helper()
	assert.Errorf(t, err, "%s: got no error", what)
	var visit func(err error)
	visit = func(err error) {
		if err == nil {
			return
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%s", err)} {
			assert.NotContainsf(t, text, secret, "%s: the error quotes a value", what)
		}
		if command, ok := errors.AsType[mgo.CommandError](err); ok && strings.Contains(command.Raw.String(), secret) {
			t.Errorf("%s: the answer of the server is in the error: %s", what, command.Raw)
		}
		visit(errors.Unwrap(err))
		var joined interface{ Unwrap() []error }
		if errors.As(err, &joined) {
			for _, one := range joined.Unwrap() {
				visit(one)
			}
		}
	}
	visit(err)
}

// TestErrorsQuoteNothing: the key of a conflict, and the duplicates that EnsureIndexes finds,
// are not in the error, nor in what it wraps. The code is.
func TestErrorsQuoteNothing(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a, db := s.newStore(t)
		ctx := t.Context()
		const secret = "secret-value"
		user := must(a.CreateUser(ctx, adapter.User{Email: secret}))(t)
		until := time.Now().Add(time.Hour)
		for what, call := range map[string]func() error{
			"CreateUser": func() error { return erred(a.CreateUser(ctx, adapter.User{Email: secret})) },
			"UpdateUser": func() error {
				other := must(a.CreateUser(ctx, adapter.User{}))(t)
				_, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: other.ID, Email: adapter.To(secret)})
				return err
			},
			"CreateSession": func() error {
				_, _ = a.CreateSession(ctx, adapter.Session{SessionToken: secret, UserID: user.ID, Expires: until})
				_, err := a.CreateSession(ctx, adapter.Session{SessionToken: secret, UserID: user.ID, Expires: until})
				return err
			},
			"CreateVerificationToken": func() error {
				_, _ = a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: secret, Token: secret, Expires: until})
				_, err := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: secret, Token: secret, Expires: until})
				return err
			},
			"CreateUserWithAccount": func() error {
				_, _ = a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "p", ProviderAccountID: secret}, nil)
				_, err := a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "p", ProviderAccountID: secret}, nil)
				return err
			},
		} {
			err := call()
			assert.ErrorIsf(t, err, adapter.ErrConflict, "%s: got %v, want ErrConflict", what, err)
			if said, ok := errors.AsType[mgo.CommandError](err); what != "CreateUserWithAccount" && (!ok || said.Code != 11000) {
				t.Errorf("%s: the code is lost: %v", what, err)
			}
			quotesNothing(t, what, err, secret)
		}
		require.NoError(t, db.Collection("users").Indexes().DropOne(ctx, "email_unique"))
		must(db.Collection("users").InsertOne(ctx, bson.M{"email": secret}))(t)
		err := newAdapter(t, db).EnsureIndexes(ctx)
		assert.ErrorIs(t, err, adapter.ErrConflict, "EnsureIndexes over duplicates")
		quotesNothing(t, "EnsureIndexes", err, secret)
	})
}

// TestIndexesOfTheSite: a unique index of the site's own on our collections is no conflict,
// and nothing is stored half.
func TestIndexesOfTheSite(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a, db := s.newStore(t)
		ctx := t.Context()
		unique := func(collection string, fields ...string) {
			keys := bson.D{}
			for _, f := range fields {
				keys = append(keys, bson.E{Key: f, Value: 1})
			}
			must(db.Collection(collection).Indexes().CreateOne(ctx, mgo.IndexModel{Keys: keys, Options: options.Index().SetUnique(true)}))(t)
		}
		unique("users", "name")
		unique("sessions", "tenant")
		unique("accounts", "scope", "type")
		unique("authenticators", "transports")
		first := must(a.CreateUser(ctx, adapter.User{Name: new("Ada"), Email: "ada@example.com"}))(t)
		until := time.Now().Add(time.Hour)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "1", UserID: first.ID, Expires: until}))(t)
		must(a.LinkAccount(ctx, adapter.Account{UserID: first.ID, Type: "oidc", Provider: "p", ProviderAccountID: "1", Scope: new("s")}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: first.ID, CredentialID: "1"}))(t)
		bob := must(a.CreateUser(ctx, adapter.User{Name: new("Bob")}))(t)
		for what, call := range map[string]func() error{
			"CreateUser": func() error { return erred(a.CreateUser(ctx, adapter.User{Name: new("Ada")})) },
			"UpdateUser": func() error {
				return erred(a.UpdateUser(ctx, adapter.UserUpdate{ID: bob.ID, Name: adapter.To(new("Ada"))}))
			},
			"CreateSession": func() error {
				return erred(a.CreateSession(ctx, adapter.Session{SessionToken: "2", UserID: first.ID, Expires: until}))
			},
			"LinkAccount": func() error {
				return erred(a.LinkAccount(ctx, adapter.Account{UserID: first.ID, Type: "oidc", Provider: "p", ProviderAccountID: "2", Scope: new("s")}))
			},
			"CreateAuthenticator": func() error {
				return erred(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: first.ID, CredentialID: "2"}))
			},
			"sign-up, account": func() error {
				return erred(a.CreateUserWithAccount(ctx, adapter.User{Name: new("C")}, adapter.Account{Type: "oidc", Provider: "p", ProviderAccountID: "3", Scope: new("s")}, nil))
			},
			"sign-up, user": func() error {
				return erred(a.CreateUserWithAccount(ctx, adapter.User{Name: new("Ada")}, adapter.Account{Provider: "p", ProviderAccountID: "4"}, nil))
			},
		} {
			if err := call(); err == nil || errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) || !strings.Contains(err.Error(), "index of the site") {
				t.Errorf("%s: got %v, want a refusal that is no conflict", what, err)
			}
		}
		for collection, want := range map[string]int64{"users": 2, "accounts": 1, "sessions": 1, "authenticators": 1} {
			n := must(db.Collection(collection).CountDocuments(ctx, bson.D{}))(t)
			assert.Equalf(t, want, n, "%s has %d documents, want %d", collection, n, want)
		}
		got, err := a.CreateUser(ctx, adapter.User{Email: "ada@example.com", Name: new("D")})
		refused(got, err)(t, "an address that is taken", adapter.ErrConflict)
	})
}

package mongo_test

import (
	"errors"
	"fmt"
	"regexp"
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

var (
	adaID       = bson.NewObjectID()
	adaVerified = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	adaExpires  = time.Date(2040, 1, 2, 12, 0, 0, 0, time.UTC)
)

// ada is a person at a site: the documents of each collection.
func ada() map[string]bson.M {
	return map[string]bson.M{
		"users":    {"_id": adaID, "name": "Ada", "email": "ada@example.com", "emailVerified": adaVerified},
		"accounts": {"userId": adaID, "type": "oidc", "provider": "github", "providerAccountId": "1", "expires_at": int32(1700000000)},
		"sessions": {"userId": adaID, "sessionToken": "theirs", "expires": adaExpires},
		"authenticators": {"userId": adaID, "credentialID": "credential", "providerAccountId": "1", "credentialPublicKey": "key", "counter": int32(5),
			"credentialBackedUp": true, "credentialDeviceType": "multiDevice"},
	}
}

// store stores documents, in collections with other names if names has them.
func store(t *testing.T, db *mgo.Database, documents map[string]bson.M, names map[string]string) {
	t.Helper()
	for collection, document := range documents {
		if other, ok := names[collection]; ok {
			collection = other
		}
		must(db.Collection(collection).InsertOne(t.Context(), document))(t)
	}
}

// isAda checks that the person, the account, the session and the passkey are what they were.
func isAda(t *testing.T, a *mongo.Adapter) {
	t.Helper()
	ctx := t.Context()
	user := must(a.GetUserByEmail(ctx, "ada@example.com"))(t)
	require.Truef(t, user != nil && user.Name != nil && *user.Name == "Ada" && user.EmailVerified != nil && user.EmailVerified.Equal(adaVerified),
		"the user is %+v", user)
	byAccount := must(a.GetUserByAccount(ctx, adapter.AccountKey{Provider: "github", ProviderAccountID: "1"}))(t)
	both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
	account := must(a.GetAccount(ctx, "1", "github"))(t)
	passkey := must(a.GetAuthenticator(ctx, "credential"))(t)
	assert.Truef(t, byAccount != nil && byAccount.ID == user.ID && both != nil && both.User.ID == user.ID && both.Session.Expires.Equal(adaExpires),
		"got %v by the account, and %v by the session", byAccount, both)
	assert.Truef(t, account != nil && account.UserID == user.ID && account.ExpiresAt != nil && *account.ExpiresAt == 1700000000,
		"the account is %+v", account)
	assert.Truef(t, passkey != nil && passkey.UserID == user.ID && passkey.Counter == 5 && passkey.CredentialBackedUp,
		"the passkey is %+v", passkey)
}

// TestEncodings: values that another program stored in another form are refused by the first
// call. After the commands that the error gives, everything is found as before.
func TestEncodings(t *testing.T) {
	type documents = map[string]bson.M
	ids := func(id any, owner any) func(documents) {
		return func(d documents) {
			d["users"]["_id"] = id
			for _, collection := range []string{"accounts", "sessions", "authenticators"} {
				d[collection]["userId"] = owner
			}
		}
	}
	uuid := bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}
	set := func(collection, field string, value any) func(documents) {
		return func(d documents) { d[collection][field] = value }
	}
	for name, change := range map[string]func(documents){
		"IDs are UUIDs as texts":            ids("0b0e9a5e-5d0c-4a0b-9a57-000000000001", "0b0e9a5e-5d0c-4a0b-9a57-000000000001"),
		"IDs are binary UUIDs":              ids(uuid, uuid),
		"IDs are numbers":                   ids(int32(7), int64(7)),
		"IDs are hexadecimal texts":         ids(adaID.Hex(), adaID.Hex()),
		"IDs are texts, references not":     ids(adaID.Hex(), adaID),
		"references are texts":              ids(adaID, adaID.Hex()),
		"references of sessions are texts":  set("sessions", "userId", adaID.Hex()),
		"expires in milliseconds":           set("sessions", "expires", adaExpires.UnixMilli()),
		"expires in milliseconds, double":   set("sessions", "expires", float64(adaExpires.UnixMilli())),
		"expires in seconds":                set("sessions", "expires", adaExpires.Unix()),
		"expires as text":                   set("sessions", "expires", "2040-01-02T12:00:00Z"),
		"expires as text without a zone":    set("sessions", "expires", "2040-01-02 12:00:00"),
		"expires as text with another zone": set("sessions", "expires", "2040-01-02T14:00:00+02:00"),
		"expires as digits":                 set("sessions", "expires", fmt.Sprint(adaExpires.UnixMilli())),
		"expires as digits of seconds":      set("sessions", "expires", fmt.Sprint(adaExpires.Unix())),
		"expires as BSON timestamp":         set("sessions", "expires", bson.Timestamp{T: uint32(adaExpires.Unix())}),
		"verified in seconds":               set("users", "emailVerified", adaVerified.Unix()),
		"verified as text":                  set("users", "emailVerified", "2020-01-02T03:04:05.000Z"),
		"ID at the provider is a number":    set("accounts", "providerAccountId", int32(1)),
		"ID at the provider is a double":    set("accounts", "providerAccountId", 1.0),
		"expires_at is a text":              set("accounts", "expires_at", "1700000000"),
		"expires_at is a date":              set("accounts", "expires_at", time.Unix(1700000000, 0)),
		"expires_at is a decimal":           set("accounts", "expires_at", must(bson.ParseDecimal128("1700000000"))(t)),
		"counter is a text":                 set("authenticators", "counter", "5"),
		"backed up is a number":             set("authenticators", "credentialBackedUp", int32(1)),
		"backed up is a text":               set("authenticators", "credentialBackedUp", "true"),
		"several fields of several documents": func(d documents) {
			ids("x", "x")(d)
			d["users"]["emailVerified"] = adaVerified.Unix()
			d["sessions"]["expires"] = "2040-01-02T12:00:00Z"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			d := ada()
			change(d)
			store(t, db, d, nil)
			a := newAdapter(t, db)
			ctx := t.Context()
			_, byEmail := a.GetUserByEmail(ctx, "ada@example.com")
			_, byID := a.GetUser(ctx, "0b0e9a5e-5d0c-4a0b-9a57-000000000001")
			_, created := a.CreateUser(ctx, adapter.User{Email: "ada@example.com"})
			for _, err := range []error{byEmail, byID, created, a.EnsureIndexes(ctx), a.CheckIndexes(ctx)} {
				require.Truef(t, err != nil && strings.Contains(err.Error(), "run db.runCommand") && !errors.Is(err, adapter.ErrConflict) && !strings.Contains(err.Error(), "theirs"),
					"got %v, want a refusal with the commands", err)
			}
			n := must(db.Collection("users").CountDocuments(ctx, bson.D{}))(t)
			assert.Truef(t, n == 1, "%d users are stored", n)
			require.NoError(t, mongotest.Run(ctx, db, byEmail.Error()))
			require.NoError(t, a.EnsureIndexes(ctx))
			isAda(t, a)
			for collection, document := range d { // nothing else is lost
				n := must(db.Collection(collection).CountDocuments(ctx, bson.D{}))(t)
				assert.Truef(t, n == 1, "%s has %d documents after %v", collection, n, document)
			}
		})
	}
}

// TestValuesThatStandForNothing: no command converts them. The error has one that lists the
// documents; without them the site is served.
func TestValuesThatStandForNothing(t *testing.T) {
	for name, field := range map[string]struct {
		collection, field string
		value             any
	}{
		"an address that is an object":     {"users", "email", bson.M{"a": 1}},
		"a token that is null":             {"sessions", "sessionToken", nil},
		"a date that is an ObjectID":       {"sessions", "expires", adaID},
		"a flag that is an object":         {"authenticators", "credentialBackedUp", bson.M{"a": 1}},
		"a number that is an ObjectID":     {"accounts", "expires_at", adaID},
		"a provider that is a truth value": {"accounts", "provider", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			store(t, db, ada(), nil)
			wrong := ada()[field.collection]
			delete(wrong, "_id")
			wrong[field.field] = field.value
			store(t, db, map[string]bson.M{field.collection: wrong}, nil)
			_, err := newAdapter(t, db).GetUserByEmail(ctx, "ada@example.com")
			require.Error(t, err, "got no error")
			_, command, _ := strings.Cut(err.Error(), "run db.runCommand(")
			var list bson.D
			require.NoError(t, bson.UnmarshalExtJSON([]byte(command[:strings.LastIndex(command, ")")]), false, &list), command)
			found := must(db.RunCommandCursor(ctx, list))(t)
			var all []bson.M
			err = found.All(ctx, &all)
			require.Truef(t, err == nil && len(all) == 1, "listed are %v, %v, want one document", all, err)
			must(db.Collection(field.collection).DeleteOne(ctx, bson.M{"_id": all[0]["_id"]}))(t)
			isAda(t, newAdapter(t, db))
		})
	}
}

// TestDamagedRecord: a single value that stands for nothing does not stop a site.
func TestDamagedRecord(t *testing.T) {
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	d := ada()
	d["sessions"]["expires"] = "damaged"
	store(t, db, d, nil)
	a := newAdapter(t, db)
	assert.NotNil(t, must(a.GetUserByEmail(t.Context(), "ada@example.com"))(t), "the user is absent")
	got, err := a.GetSessionAndUser(t.Context(), "theirs")
	assert.Errorf(t, err, "the damaged session: got %v", got)
}

// TestBeside: the adapter does not begin with nobody beside the people of another library.
func TestBeside(t *testing.T) {
	prisma := map[string]string{"users": "User", "accounts": "Account", "sessions": "Session", "authenticators": "Authenticator"}
	better := map[string]bson.M{
		"user":         {"email": "ada@example.com", "emailVerified": true, "createdAt": adaVerified},
		"account":      {"providerId": "github", "accountId": "1", "userId": adaID},
		"session":      {"token": "theirs", "expiresAt": adaExpires, "userId": adaID},
		"verification": {"identifier": "x", "value": "y", "expiresAt": adaExpires},
	}
	next3 := map[string]bson.M{
		"users":    {"email": "ada@example.com", "emailVerified": adaVerified, "createdAt": adaVerified, "updatedAt": adaVerified},
		"accounts": {"compoundId": "c", "userId": adaID, "providerType": "oauth", "providerId": "github", "providerAccountId": "1", "createdAt": adaVerified},
		"sessions": {"userId": adaID, "expires": adaExpires, "sessionToken": "theirs", "accessToken": "a"},
	}
	lucia := map[string]bson.M{
		"users":    {"_id": "u", "email": "ada@example.com", "github_id": int32(1)},
		"sessions": {"_id": "s", "user_id": "u", "expires_at": adaExpires},
	}
	payload := bson.M{"email": "ada@example.com", "salt": "s", "hash": "h", "createdAt": adaVerified, "updatedAt": adaVerified, "loginAttempts": int32(0)}
	meteor := map[string]bson.M{"users": {"_id": "BTkJHGzz3Sx8YoJAd", "createdAt": adaVerified, "services": bson.M{"resume": bson.M{}},
		"emails": bson.A{bson.M{"address": "ada@example.com", "verified": true}}}}
	parse := map[string]bson.M{
		"_User":    {"_id": "vd2S4Kz0Tq", "username": "ada", "email": "ada@example.com", "emailVerified": true, "_hashed_password": "$2b$10$", "_created_at": adaVerified},
		"_Session": {"_id": "Xq1Y6g2WzB", "_session_token": "r:theirs", "_p_user": "_User$vd2S4Kz0Tq", "expiresAt": adaExpires},
	}
	atPrisma := func() map[string]bson.M {
		d := ada()
		d["authenticators"]["_id"] = "credential"
		delete(d["authenticators"], "credentialID")
		return d
	}
	own := func(t *testing.T, db *mgo.Database, opts ...mongo.Option) {
		t.Helper()
		require.NoError(t, newAdapter(t, db, append(opts, mongo.WithNewCollections())...).EnsureIndexes(t.Context()))
	}
	for name, c := range map[string]struct {
		make    func(t *testing.T, db *mgo.Database)
		options []mongo.Option
		names   []string // in the error; empty: no error
	}{
		"Prisma":             {func(t *testing.T, db *mgo.Database) { store(t, db, atPrisma(), prisma) }, nil, []string{"User", "Account", "mongo.Prisma()"}},
		"Prisma, nobody yet": {func(t *testing.T, db *mgo.Database) { _ = mongotest.MakePrisma(t.Context(), db, "") }, nil, []string{"User", "mongo.Prisma()"}},
		"better-auth":        {func(t *testing.T, db *mgo.Database) { store(t, db, better, nil) }, nil, []string{"collections of better-auth", "user", "verification", "no names serve them"}},
		"better-auth, plural": {func(t *testing.T, db *mgo.Database) {
			store(t, db, better, map[string]string{"user": "users", "account": "accounts", "session": "sessions", "verification": "verifications"})
		}, nil, []string{"another product's"}},
		"better-auth, plural, a prefix": {func(t *testing.T, db *mgo.Database) {
			store(t, db, better, map[string]string{"user": "users", "account": "accounts", "session": "sessions", "verification": "verifications"})
		}, []mongo.Option{mongo.WithPrefix("auth_")}, []string{"collections of better-auth", "accounts", "WithNewCollections"}},
		"NextAuth.js 3": {func(t *testing.T, db *mgo.Database) { store(t, db, next3, nil) }, nil, []string{"accounts.provider", "another product's"}},
		"NextAuth.js 3, a prefix": {func(t *testing.T, db *mgo.Database) { store(t, db, next3, nil) }, []mongo.Option{mongo.WithPrefix("auth_")},
			[]string{"collections of NextAuth.js 3", "users", "accounts", "WithNewCollections"}},
		"Lucia": {func(t *testing.T, db *mgo.Database) { store(t, db, lucia, nil) }, nil, []string{"sessions.sessionToken", "another product's"}},
		"Lucia, singular": {func(t *testing.T, db *mgo.Database) {
			store(t, db, lucia, map[string]string{"users": "user", "sessions": "session"})
		}, nil, []string{"collections of Lucia", "session", "WithNewCollections"}},
		"Lucia 2": {func(t *testing.T, db *mgo.Database) {
			store(t, db, map[string]bson.M{"user": {"_id": "u", "username": "ada"}, "key": {"_id": "github:1", "user_id": "u"},
				"session": {"_id": "s", "user_id": "u", "active_expires": int64(1), "idle_expires": int64(2)}}, nil)
		}, nil, []string{"collections of Lucia", "session", "WithNewCollections"}},
		"Payload, another slug": {func(t *testing.T, db *mgo.Database) {
			store(t, db, map[string]bson.M{"users": payload}, map[string]string{"users": "user"})
		}, nil, []string{"collections of Payload", "user", "WithNewCollections"}},
		"Meteor": {func(t *testing.T, db *mgo.Database) { store(t, db, meteor, nil) }, nil, []string{"users", "another product's", "Meteor"}},
		"Meteor, a prefix": {func(t *testing.T, db *mgo.Database) { store(t, db, meteor, nil) }, []mongo.Option{mongo.WithPrefix("auth_")},
			[]string{"collections of Meteor", "users", "WithNewCollections"}},
		"Parse Server": {func(t *testing.T, db *mgo.Database) { store(t, db, parse, nil) }, nil, []string{"collections of Parse Server", "_User", "_Session", "WithNewCollections"}},
		"other case": {func(t *testing.T, db *mgo.Database) {
			store(t, db, ada(), map[string]string{"users": "Users", "accounts": "ACCOUNTS"})
		}, nil, []string{`Users: "Users"`}},
		"underscores": {func(t *testing.T, db *mgo.Database) {
			store(t, db, ada(), map[string]string{"users": "user_", "accounts": "_account"})
		}, nil, []string{"user_", "_account"}},
		"ours empty":      {func(t *testing.T, db *mgo.Database) { own(t, db); store(t, db, atPrisma(), prisma) }, nil, []string{"User"}},
		"ours full":       {func(t *testing.T, db *mgo.Database) { store(t, db, ada(), nil); store(t, db, atPrisma(), prisma) }, nil, nil},
		"the option":      {func(t *testing.T, db *mgo.Database) { store(t, db, atPrisma(), prisma) }, []mongo.Option{mongo.WithNewCollections()}, nil},
		"Prisma's option": {func(t *testing.T, db *mgo.Database) { _ = mongotest.MakePrisma(t.Context(), db, "") }, []mongo.Option{mongo.WithCollections(mongo.Prisma())}, nil},
		"a prefix": {func(t *testing.T, db *mgo.Database) {
			store(t, db, ada(), map[string]string{"users": "auth_User", "accounts": "auth_account"})
		}, []mongo.Option{mongo.WithPrefix("auth_")}, []string{"auth_User"}},
		"a neighbor":        {func(t *testing.T, db *mgo.Database) { own(t, db); store(t, db, ada(), nil) }, []mongo.Option{mongo.WithPrefix("auth_")}, nil},
		"an empty neighbor": {func(t *testing.T, db *mgo.Database) { own(t, db) }, []mongo.Option{mongo.WithPrefix("auth_")}, nil},
		"a full neighbor and Prisma": {func(t *testing.T, db *mgo.Database) {
			own(t, db)
			store(t, db, map[string]bson.M{"users": {"email": "bob@example.com", "emailVerified": nil}}, nil)
			store(t, db, atPrisma(), prisma)
		}, []mongo.Option{mongo.WithPrefix("auth_")}, []string{"User", "mongo.Prisma()), without WithPrefix"}},
		"an empty neighbor and Prisma": {func(t *testing.T, db *mgo.Database) { own(t, db); store(t, db, atPrisma(), prisma) },
			[]mongo.Option{mongo.WithPrefix("auth_")}, []string{"User", "mongo.Prisma()), without WithPrefix"}},
		"an empty neighbor, ours and Prisma": {func(t *testing.T, db *mgo.Database) {
			own(t, db)
			own(t, db, mongo.WithPrefix("auth_"))
			store(t, db, atPrisma(), prisma)
		}, []mongo.Option{mongo.WithPrefix("auth_")}, []string{"User", "mongo.Prisma()), without WithPrefix"}},
		"an empty neighbor and better-auth": {func(t *testing.T, db *mgo.Database) { own(t, db); store(t, db, better, nil) },
			[]mongo.Option{mongo.WithPrefix("auth_")}, []string{"collections of better-auth", "user", "WithNewCollections"}},
		"a full neighbor, ours": {func(t *testing.T, db *mgo.Database) {
			own(t, db)
			own(t, db, mongo.WithPrefix("auth_"))
			store(t, db, ada(), nil)
		}, []mongo.Option{mongo.WithPrefix("auth_")}, nil},
		"Auth.js and a prefix": {func(t *testing.T, db *mgo.Database) { store(t, db, ada(), nil) }, []mongo.Option{mongo.WithPrefix("auth_")}, []string{"users", "accounts"}},
		"another prefix": {func(t *testing.T, db *mgo.Database) {
			store(t, db, ada(), map[string]string{"users": "shop_users", "accounts": "shop_accounts", "sessions": "shop_sessions", "authenticators": "shop_authenticators"})
		}, nil, nil},
		"customers": {func(t *testing.T, db *mgo.Database) {
			store(t, db, map[string]bson.M{"users": {"phone": "1"}}, map[string]string{"users": "User"})
		}, nil, nil},
		"half renamed": {func(t *testing.T, db *mgo.Database) { store(t, db, atPrisma(), prisma) },
			[]mongo.Option{mongo.WithCollections(mongo.Collections{Users: "User", Sessions: "Session"})}, []string{"Account", "mongo.Prisma()"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			c.make(t, db)
			ctx := t.Context()
			before := must(db.ListCollectionNames(ctx, bson.D{}))(t)
			a := newAdapter(t, db, c.options...)
			_, lookup := a.GetUserByEmail(ctx, "bob@example.com")
			_, created := a.CreateUser(ctx, adapter.User{Email: "bob@example.com"})
			for method, err := range map[string]error{"EnsureIndexes": a.EnsureIndexes(ctx), "CheckIndexes": a.CheckIndexes(ctx), "GetUserByEmail": lookup, "CreateUser": created} {
				assert.Equalf(t, len(c.names) == 0, err == nil, "%s: got %v", method, err)
				for _, part := range c.names {
					assert.Truef(t, err == nil || strings.Contains(err.Error(), part),
						"%s: the error does not name %s: %v", method, part, err)
				}
			}
			if after := must(db.ListCollectionNames(ctx, bson.D{}))(t); len(c.names) > 0 && len(after) != len(before) {
				t.Errorf("collections were made: %v, before %v", after, before)
			}
			assert.Falsef(t, lookup != nil && strings.Contains(lookup.Error(), "another product's") && strings.Contains(lookup.Error(), "runCommand"),
				"the error has commands: %v", lookup)
			if lookup != nil && strings.Contains(lookup.Error(), "serves them") { // that advice works
				b := newAdapter(t, db, mongo.WithCollections(advised(t, lookup)))
				changes := must(b.IndexChanges(ctx))(t)
				require.NoError(t, mongotest.Run(ctx, db, strings.Join(changes, "; ")))
				require.NoError(t, b.EnsureIndexes(ctx))
				if name != "Prisma, nobody yet" {
					isAda(t, b)
				}
			}
		})
	}
}

// advised returns the names that an error recommends.
func advised(t *testing.T, err error) (names mongo.Collections) {
	t.Helper()
	_, literal, _ := strings.Cut(err.Error(), "WithCollections(")
	if strings.HasPrefix(literal, "mongo.Prisma()") {
		return mongo.Prisma()
	}
	literal, _, _ = strings.Cut(literal, ")")
	fields := map[string]*string{"Users": &names.Users, "Accounts": &names.Accounts, "Sessions": &names.Sessions,
		"VerificationTokens": &names.VerificationTokens, "Authenticators": &names.Authenticators}
	for _, f := range regexp.MustCompile(`(\w+): "([^"]+)"`).FindAllStringSubmatch(literal, -1) {
		*fields[f[1]] = f[2]
	}
	return names
}

// TestPayload: the users of Payload, which have the collection's name, are known by their address, and
// their other fields stay.
func TestPayload(t *testing.T) {
	ctx := t.Context()
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	store(t, db, map[string]bson.M{"users": {"_id": adaID, "email": "ada@example.com", "salt": "s", "hash": "h", "createdAt": adaVerified, "loginAttempts": int32(0)}}, nil)
	must(db.Collection("users").Indexes().CreateOne(ctx, mgo.IndexModel{Keys: bson.D{{Key: "email", Value: int32(1)}}, Options: options.Index().SetUnique(true)}))(t)
	a := newAdapter(t, db)
	assert.ErrorContains(t, a.EnsureIndexes(ctx), "only one user have no address", "EnsureIndexes")
	user := must(a.GetUserByEmail(ctx, "ada@example.com"))(t)
	require.Truef(t, user != nil && user.ID == adaID.Hex(), "got %v", user)
	must(a.UpdateUser(ctx, adapter.UserUpdate{ID: user.ID, Name: adapter.To(new("Ada"))}))(t)
	d := must(db.Collection("users").FindOne(ctx, bson.D{}).Raw())(t)
	assert.Truef(t, d.Lookup("hash").StringValue() == "h" && d.Lookup("salt").StringValue() == "s",
		"the user is now %v", d)
}

// TestNamesThatCantBe refuses names and options before anything is made.
func TestNamesThatCantBe(t *testing.T) {
	db := standalone.connect(t).Database("never_used")
	for name, opts := range map[string][]mongo.Option{
		"dollar":      {mongo.WithCollections(mongo.Collections{Users: "a$b"})},
		"null":        {mongo.WithCollections(mongo.Collections{Accounts: "a\x00b"})},
		"system":      {mongo.WithCollections(mongo.Collections{Sessions: "system.users"})},
		"two layouts": {mongo.WithCollections(mongo.Prisma()), mongo.WithCollections(mongo.Collections{})},
		"prefix":      {mongo.WithPrefix("system.")},
	} {
		_, err := mongo.New(db, opts...)
		assert.Errorf(t, err, "%s: got no error", name)
	}
}

// TestPrisma: in the collections of Prisma the adapter writes what Prisma reads, and makes no
// collection and no index. The commands of IndexChanges make room for users without an
// address.
func TestPrisma(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		ctx := t.Context()
		db := s.connect(t).Database(s.newDatabase(t))
		require.NoError(t, mongotest.MakePrisma(ctx, db, ""))
		before := objects(t, db)
		a := newAdapter(t, db, mongo.WithCollections(mongo.Prisma()))
		require.NoError(t, errors.Join(a.EnsureIndexes(ctx), a.CheckIndexes(ctx)))
		user := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "ada@example.com"}, adapter.Account{Type: "webauthn", Provider: "passkey", ProviderAccountID: "1", ExpiresAt: new(int64(1700000000))},
			&adapter.Authenticator{CredentialID: "credential", ProviderAccountID: "1", Counter: 5}))(t)
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: user.ID, Expires: adaExpires}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: "second", ProviderAccountID: "2"}))(t)
		got, err := a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: "second", ProviderAccountID: "2"})
		refused(got, err)(t, "a credential that is taken", adapter.ErrConflict)
		document := func(collection string) bson.Raw {
			return must(db.Collection(collection).FindOne(ctx, bson.D{}).Raw())(t)
		}
		for _, collection := range []string{"User", "Account", "Session"} {
			d := document(collection)
			assert.Truef(t, d.Lookup("createdAt").Type == bson.TypeDateTime && d.Lookup("updatedAt").Type == bson.TypeDateTime,
				"%s: got %v, want createdAt and updatedAt", collection, d)
		}
		if d := document("Authenticator"); d.Lookup("_id").StringValue() != "credential" || d.Lookup("counter").Type != bson.TypeInt32 {
			t.Errorf("the passkey is %v", d)
		}
		d := document("Account")
		assert.Equalf(t, bson.TypeInt32, d.Lookup("expires_at").Type, "the account is %v", d)
		was := document("User").Lookup("updatedAt").Time()
		for !document("User").Lookup("updatedAt").Time().After(was) {
			must(a.UpdateUser(ctx, adapter.UserUpdate{ID: user.ID, Name: adapter.To(new("Ada"))}))(t)
		}
		must(a.DeleteAuthenticator(ctx, user.ID, "second", true))(t)
		n := must(db.Collection("User").CountDocuments(ctx, bson.D{{Key: "gatehouseRemovalUntil", Value: bson.D{{Key: "$exists", Value: true}}}}))(t)
		assert.True(t, n == 0, "the user is still reserved")
		assert.True(t, a.RequiresEmail(), "RequiresEmail is false over Prisma's index")
		for range 2 {
			none, err := a.CreateUser(ctx, adapter.User{})
			assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound),
				"a user without an address: got %v, %v", none, err)
		}
		after := objects(t, db)
		assert.Equalf(t, before, after, "the database has %s, before %s", after, before)

		changes := must(a.IndexChanges(ctx))(t)
		for _, line := range []string{
			`Account: @@index([userId], map: "userId_1")`, `Session: @@index([userId], map: "userId_1")`,
			`Session: @@index([expires], map: "expires_1")`, `VerificationToken: @@index([expires], map: "expires_1")`,
		} {
			line = "// schema.prisma, model " + line + "\ndb.runCommand("
			assert.Containsf(t, strings.Join(changes, "; "), line, "IndexChanges has no line %s: %q", line, changes)
		}
		require.NoError(t, mongotest.Run(ctx, db, strings.Join(changes, "; ")))
		b := newAdapter(t, db, mongo.WithCollections(mongo.Prisma()))
		require.NoError(t, b.EnsureIndexes(ctx))
		assert.Empty(t, must(b.IndexChanges(ctx))(t), "changes after IndexChanges")
		assert.False(t, b.RequiresEmail(), "RequiresEmail after IndexChanges")
		for range 2 {
			must(b.CreateUser(ctx, adapter.User{}))(t)
		}
		second, err := b.CreateUser(ctx, adapter.User{Email: "ada@example.com"})
		refused(second, err)(t, "an address that is taken", adapter.ErrConflict)
	})
}

// objects describes all collections and indexes of a database.
func objects(t *testing.T, db *mgo.Database) string {
	t.Helper()
	var all strings.Builder
	names := must(db.ListCollectionNames(t.Context(), bson.D{}))(t)
	for _, name := range names {
		for _, i := range must(db.Collection(name).Indexes().ListSpecifications(t.Context()))(t) {
			fmt.Fprintf(&all, "%s %s %v; ", name, i.Name, i.KeysDocument)
		}
	}
	return all.String()
}

// TestPrismaWithoutAnIndex: a missing unique index is named with the line for schema.prisma.
func TestPrismaWithoutAnIndex(t *testing.T) {
	ctx := t.Context()
	db := standalone.connect(t).Database(standalone.newDatabase(t))
	const index = "Account_provider_providerAccountId_key"
	const line = `model Account: @@unique([provider, providerAccountId], map: "provider_1_providerAccountId_1")`
	err := errors.Join(mongotest.MakePrisma(ctx, db, ""), db.Collection("Account").Indexes().DropOne(ctx, index))
	require.NoError(t, err)
	a := newAdapter(t, db, mongo.WithCollections(mongo.Prisma()))
	err = a.EnsureIndexes(ctx)
	assert.ErrorContains(t, err, line)
	assert.Containsf(t, strings.Join(must(a.IndexChanges(ctx))(t), "; "), line, "IndexChanges has no line %s", line)
}

// TestKindsAtTheFirstCall: collections that can't hold the records are refused by the first
// call, also without EnsureIndexes.
func TestKindsAtTheFirstCall(t *testing.T) {
	for name, o := range map[string]*options.CreateCollectionOptionsBuilder{
		"capped":    options.CreateCollection().SetCapped(true).SetSizeInBytes(4096),
		"collation": options.CreateCollection().SetCollation(&options.Collation{Locale: "en", Strength: 2}),
	} {
		db := standalone.connect(t).Database(standalone.newDatabase(t))
		require.NoError(t, db.CreateCollection(t.Context(), "sessions", o))
		_, err := newAdapter(t, db).GetUser(t.Context(), adaID.Hex())
		assert.ErrorContains(t, err, name, name)
	}
}

package mongo_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const interopDir = "../../interop"

// authJS is a process that runs the real @auth/mongodb-adapter.
type authJS struct {
	in  *json.Encoder
	out *bufio.Scanner
}

// startAuthJS starts it on the database. Without Node the test is skipped, and
// says so; with Node, the packages of interop/mongo are installed once.
func startAuthJS(t testing.TB, database string) *authJS {
	t.Helper()
	bin, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT PROVED: no record was exchanged with @auth/mongodb-adapter, because node is not in the PATH")
	}
	if out, err := exec.CommandContext(t.Context(), bin, interopDir+"/install.mjs", "mongo").CombinedOutput(); err != nil {
		t.Skipf("NOT PROVED: no record was exchanged with @auth/mongodb-adapter, because the packages of interop/mongo can't be installed: %v\n%s", err, out)
	}
	cmd := exec.Command(bin, "adapter.mjs", os.Getenv(mongoURL), database)
	cmd.Dir = interopDir + "/mongo"
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v\n%s", err, &complaints)
		}
	})
	return &authJS{json.NewEncoder(in), bufio.NewScanner(out)}
}

func (j *authJS) send(t testing.TB, method string, args ...any) {
	t.Helper()
	if err := j.in.Encode(map[string]any{"method": method, "args": args}); err != nil {
		t.Fatal(err)
	}
}

func (j *authJS) receive(t testing.TB) map[string]any {
	t.Helper()
	if !j.out.Scan() {
		t.Fatalf("node ended: %v", j.out.Err())
	}
	var answer struct {
		Result map[string]any
		Error  string
	}
	d := json.NewDecoder(bytes.NewReader(j.out.Bytes()))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil || answer.Error != "" {
		t.Fatalf("@auth/mongodb-adapter: %v %s", err, answer.Error)
	}
	return answer.Result
}

func (j *authJS) call(t testing.TB, method string, args ...any) map[string]any {
	t.Helper()
	j.send(t, method, args...)
	return j.receive(t)
}

// has compares fields of an answer as text; integer IDs are numbers over there.
func has(t *testing.T, what string, got map[string]any, want map[string]any) {
	t.Helper()
	if got == nil {
		t.Fatalf("%s: got nothing", what)
	}
	for k, v := range want {
		if fmt.Sprint(got[k]) != fmt.Sprint(v) {
			t.Errorf("%s: got %s %v, want %v", what, k, got[k], v)
		}
	}
}

// TestInterop has @auth/mongodb-adapter and this adapter take turns on one
// database.
func TestInterop(t *testing.T) {
	for _, indexes := range []bool{true, false} {
		t.Run(fmt.Sprintf("our indexes %t", indexes), func(t *testing.T) {
			db := connect(t).Database(newDatabase(t))
			a := newAdapter(t, db)
			if indexes {
				if err := a.EnsureIndexes(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			exchange(t, a, db, startAuthJS(t, db.Name()))
		})
	}
}

func exchange(t *testing.T, a *mongo.Adapter, db *mgo.Database, js *authJS) {
	ctx := t.Context()
	at := time.Date(2040, 2, 29, 23, 59, 59, 987e6, time.UTC)
	const text = "2040-02-29T23:59:59.987Z"

	// Users that Auth.js made: we read, update and delete them.
	made := js.call(t, "createUser", map[string]any{"name": "Ada", "email": "ada@example.com", "emailVerified": text, "image": nil})
	theirs := fmt.Sprint(made["id"])
	same(t, "GetUser", must(a.GetUser(ctx, theirs))(t), adapter.User{ID: theirs, Name: new("Ada"), Email: "ada@example.com", EmailVerified: &at})
	same(t, "GetUserByEmail", must(a.GetUserByEmail(ctx, "ada@example.com"))(t), *must(a.GetUser(ctx, theirs))(t))
	must(a.UpdateUser(ctx, adapter.UserUpdate{ID: theirs, Email: adapter.To("ada@example.org"), EmailVerified: adapter.To[*time.Time](nil)}))(t)
	has(t, "getUserByEmail", js.call(t, "getUserByEmail", "ada@example.org"), map[string]any{"id": theirs, "name": "Ada", "emailVerified": nil})

	// Users that we made: Auth.js reads, updates and deletes them.
	ours := must(a.CreateUser(ctx, adapter.User{Name: new("Bob"), Email: "bob@example.com", EmailVerified: &at}))(t)
	has(t, "getUser", js.call(t, "getUser", ours.ID), map[string]any{"id": ours.ID, "name": "Bob", "email": "bob@example.com", "emailVerified": text, "image": nil})
	js.call(t, "updateUser", map[string]any{"id": ours.ID, "name": "Robert"})
	same(t, "GetUser", must(a.GetUser(ctx, ours.ID))(t), adapter.User{ID: ours.ID, Name: new("Robert"), Email: "bob@example.com", EmailVerified: &at})
	if got := js.call(t, "getUser", bson.NewObjectID().Hex()); got != nil {
		t.Errorf("getUser of nobody: got %v", got)
	}

	// Accounts.
	js.call(t, "linkAccount", map[string]any{"userId": theirs, "type": "oidc", "provider": "p", "providerAccountId": "105567844949183104458", "access_token": "at",
		"refresh_token": "rt", "expires_at": 4102444800, "id_token": "it", "scope": "s", "session_state": "ss", "token_type": "bearer"})
	want := adapter.Account{UserID: theirs, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "105567844949183104458", AccessToken: new("at"),
		RefreshToken: new("rt"), ExpiresAt: new(int64(4102444800)), IDToken: new("it"), Scope: new("s"), SessionState: new("ss"), TokenType: new("bearer")}
	same(t, "GetAccount", must(a.GetAccount(ctx, "105567844949183104458", "p"))(t), want)
	if owner := must(a.GetUserByAccount(ctx, want.Key()))(t); owner == nil || owner.ID != theirs {
		t.Errorf("GetUserByAccount: got %v, want user %s", owner, theirs)
	}
	must(a.UnlinkAccount(ctx, want.Key()))(t)
	if got := js.call(t, "getUserByAccount", map[string]any{"provider": "p", "providerAccountId": "105567844949183104458"}); got != nil {
		t.Errorf("getUserByAccount after UnlinkAccount: got %v", got)
	}
	want.UserID = ours.ID
	must(a.LinkAccount(ctx, want))(t)
	has(t, "getUserByAccount", js.call(t, "getUserByAccount", map[string]any{"provider": "p", "providerAccountId": "105567844949183104458"}), map[string]any{"id": ours.ID})
	js.call(t, "unlinkAccount", map[string]any{"provider": "p", "providerAccountId": "105567844949183104458"})
	account, err := a.GetAccount(ctx, "105567844949183104458", "p")
	absent(t, "GetAccount after unlinkAccount", account, err)

	// Sessions.
	js.call(t, "createSession", map[string]any{"sessionToken": "theirs", "userId": made["id"], "expires": text})
	both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
	same(t, "GetSessionAndUser", both, adapter.SessionAndUser{Session: adapter.Session{SessionToken: "theirs", UserID: theirs, Expires: at}, User: *must(a.GetUser(ctx, theirs))(t)})
	must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "theirs", Expires: adapter.To(at.Add(time.Second))}))(t)
	has(t, "getSessionAndUser", js.call(t, "getSessionAndUser", "theirs")["session"].(map[string]any), map[string]any{"userId": theirs, "expires": "2040-03-01T00:00:00.987Z"})
	js.call(t, "deleteSession", "theirs")
	both, err = a.GetSessionAndUser(ctx, "theirs")
	absent(t, "GetSessionAndUser after deleteSession", both, err)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "ours", UserID: ours.ID, Expires: at.Add(time.Second)}))(t)
	js.call(t, "updateSession", map[string]any{"sessionToken": "ours", "expires": text})
	if got := must(a.GetSessionAndUser(ctx, "ours"))(t); !got.Session.Expires.Equal(at) {
		t.Errorf("GetSessionAndUser after updateSession: got %v", got.Session)
	}
	has(t, "getSessionAndUser", js.call(t, "getSessionAndUser", "ours")["user"].(map[string]any), map[string]any{"id": ours.ID, "name": "Robert"})
	must(a.DeleteSession(ctx, "ours"))(t)
	if got := js.call(t, "getSessionAndUser", "ours"); got != nil {
		t.Errorf("getSessionAndUser after DeleteSession: got %v", got)
	}

	// Verification tokens: whoever made it, one use by either side is the last.
	together := !askServer(t).ferretDB() // where findOneAndDelete is atomic
	const rounds = 40
	for i := range rounds {
		token := adapter.VerificationToken{Identifier: "x@example.com", Token: fmt.Sprint(i), Expires: at}
		arg := map[string]any{"identifier": "x@example.com", "token": token.Token, "expires": text}
		if i%2 == 0 {
			js.call(t, "createVerificationToken", arg)
		} else {
			must(a.CreateVerificationToken(ctx, token))(t)
		}
		uses := 0
		theirs := func() {
			if got := js.receive(t); got != nil {
				has(t, "useVerificationToken", got, arg)
				uses++
			}
		}
		key := map[string]any{"identifier": "x@example.com", "token": token.Token}
		theirsFirst := i%4 < 2
		if together || theirsFirst {
			js.send(t, "useVerificationToken", key)
		}
		if !together && theirsFirst {
			theirs()
		}
		if v := must(a.UseVerificationToken(ctx, token.Key()))(t); v != nil {
			same(t, "UseVerificationToken", v, token)
			uses++
		}
		if !together && !theirsFirst {
			js.send(t, "useVerificationToken", key)
		}
		if together || !theirsFirst {
			theirs()
		}
		if uses != 1 {
			t.Fatalf("token %d was used %d times", i, uses)
		}
	}

	// Either side deletes a user of the other, with everything. Auth.js knows
	// nothing of authenticators: that of its user is left, and finds nobody.
	for i, id := range []string{theirs, ours.ID} {
		must(a.CreateSession(ctx, adapter.Session{SessionToken: "last" + id, UserID: id, Expires: at}))(t)
		must(a.LinkAccount(ctx, adapter.Account{UserID: id, Type: adapter.AccountOAuth, Provider: "last", ProviderAccountID: id}))(t)
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "last" + id, UserID: id}))(t)
		if i == 0 {
			must(a.DeleteUser(ctx, id))(t)
		} else {
			js.call(t, "deleteUser", id)
		}
		if got := js.call(t, "getUser", id); got != nil {
			t.Errorf("getUser: got %v", got)
		}
		user, err := a.GetUser(ctx, id)
		absent(t, "GetUser", user, err)
		session, err := a.DeleteSession(ctx, "last"+id)
		absent(t, "DeleteSession", session, err)
		account, err := a.GetAccount(ctx, id, "last")
		absent(t, "GetAccount", account, err)
		credential, err := a.GetAuthenticator(ctx, "last"+id)
		absent(t, "GetAuthenticator", credential, err)
		must(a.DeleteUser(ctx, id))(t) // completes what Auth.js left
	}
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if n := must(db.Collection(name).CountDocuments(ctx, bson.D{}))(t); n != 0 {
			t.Errorf("%d documents are left in %s", n, name)
		}
	}
}

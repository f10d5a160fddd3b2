package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
)

const (
	redisURL = "GATEHOUSE_REDIS_URL"
	// asCommand is a variable with which the test program runs as the
	// command.
	asCommand = "COPYUPSTASH_TEST_COMMAND"
)

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	if os.Getenv(redisURL) == "" && os.Getenv("GATEHOUSE_SKIP_STORES") == "1" {
		fmt.Fprintf(os.Stderr, "*** SKIPPED: every test of copyupstash, since %s is not set and GATEHOUSE_SKIP_STORES=1 ***\n", redisURL)
		return
	}
	os.Exit(m.Run())
}

// site is a source and a target on one server, whose keys are removed at the
// end of the test.
type site struct {
	*testing.T
	url, base, prefix string
	client            *goredis.Client
	target            *redis.Adapter
}

func newSite(t *testing.T) *site {
	t.Helper()
	url := os.Getenv(redisURL)
	require.NotEmptyf(t, url,
		"%s is not set: this test needs a Redis server where it may write keys; GATEHOUSE_SKIP_STORES=1 leaves it out", redisURL)
	options, err := goredis.ParseURL(url)
	require.NoErrorf(t, err, "%s is not a URL of Redis", redisURL)
	options.ContextTimeoutEnabled = true
	// An adapter that begins beside the keys of Upstash refuses to, so they have a database of
	// their own.
	options.DB = 9
	url = strings.TrimRight(regexp.MustCompile(`/\d*$`).ReplaceAllString(url, ""), "/") + "/9"
	name := strings.ToLower(rand.Text())
	s := &site{T: t, url: url, base: "old-[" + name + "]*:", prefix: "new-" + name, client: goredis.NewClient(options)}
	s.target, err = redis.New(s.client, redis.WithPrefix(s.prefix), redis.WithNewKeys())
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.Background()
		err := redistest.EachKeys(ctx, s.client, "*"+name+"*", func(ctx context.Context, c goredis.Cmdable, keys []string) error {
			return c.Unlink(ctx, keys...).Err()
		})
		assert.NoError(t, err)
		_ = s.client.Close()
	})
	return s
}

func (s *site) options() string { return fmt.Sprintf(`{"baseKeyPrefix":%q}`, s.base) }

func (s *site) env(name string) string { return map[string]string{"FROM": s.url, "TO": s.url}[name] }

// run runs the command, checks its exit status, and returns its output.
func (s *site) run(status int, flags ...string) string {
	s.Helper()
	var out, errs bytes.Buffer
	if got := run(s.Context(), append([]string{"-prefix", s.prefix, "-options", s.options()}, flags...), s.env, &out, &errs); got != status {
		s.Fatalf("exit status %d, want %d:\n%s%s", got, status, &out, &errs)
	}
	return out.String()
}

func (s *site) set(key, value string) {
	s.Helper()
	require.NoError(s, s.client.Set(s.Context(), s.base+key, value, 0).Err())
}

func (s *site) want(out string, lines ...string) {
	s.Helper()
	for _, line := range lines {
		assert.Contains(s, out, line+"\n")
	}
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(*site) T {
	return func(s *site) T {
		s.Helper()
		require.NoError(s, err)
		return v
	}
}

// same compares a record with the wanted one.
func (s *site) same(what string, got, want any) {
	s.Helper()
	assert.Equal(s, string(must(json.Marshal(want))(s)), string(must(json.Marshal(got))(s)), what)
}

var (
	expires  = time.Date(2040, 2, 29, 23, 59, 59, 987e6, time.UTC)
	verified = time.Date(2024, 1, 2, 3, 4, 5, 6e6, time.UTC)
)

// TestInterop copies records that the real adapter of Auth.js wrote with the
// real client of Upstash. Later runs copy its changes and delete the records
// that it deleted.
func TestInterop(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	js := authjs.Start(t, "../../../../interop/upstash", upstash(t, s.client), s.options())
	user := func(fields authjs.Record) string { return js.Call("createUser", fields)["id"].(string) }

	ada := user(authjs.Record{"name": "Ada \"🦆\" L", "email": "ada@example.com", "image": "https://example.com/a.png", "emailVerified": verified})
	bare := user(authjs.Record{"name": nil, "email": "bare@example.com", "image": nil, "emailVerified": nil})
	role := user(authjs.Record{"email": "role@example.com", "role": "admin"})
	first := user(authjs.Record{"name": "First", "email": "twice@example.com", "emailVerified": verified})
	second := user(authjs.Record{"name": "Second", "email": "twice@example.com"})
	moved := user(authjs.Record{"name": "Moved", "email": "old@example.com"})
	js.Call("updateUser", authjs.Record{"id": moved, "email": "moved@example.com"}) // old@example.com still leads to moved
	heir := user(authjs.Record{"name": "Heir", "email": "old@example.com"})
	leaver := user(authjs.Record{"name": "Leaver", "email": "leaver@example.com"})

	account := func(provider, id, userID string) authjs.Record {
		return authjs.Record{"type": "oidc", "provider": provider, "providerAccountId": id, "userId": userID}
	}
	full := account("git:hub", "10:5", ada)
	maps.Copy(full, authjs.Record{"access_token": "at", "refresh_token": "rt", "id_token": "it", "scope": "openid", "token_type": "bearer",
		"session_state": "st", "expires_at": int64(5000000000), "refresh_token_expires_in": 3600})
	js.Call("linkAccount", full)
	js.Call("linkAccount", account("google", "1055675628", ada)) // a second one, which takes the place of the first in by-user-id
	js.Call("linkAccount", account("google", "2", first))
	js.Call("linkAccount", account("google", "3", leaver))
	session := func(token, userID string, expires time.Time) {
		js.Call("createSession", authjs.Record{"sessionToken": token, "userId": userID, "expires": expires})
	}
	session("session-of-ada", ada, expires)
	session("another-of-ada", ada, expires)
	session("12345", bare, expires) // a number to JSON
	session("over-of-ada-", ada, time.Now().Add(-time.Hour))
	session("of-leaver", leaver, expires)
	token := func(identifier, token string, expires time.Time) {
		js.Call("createVerificationToken", authjs.Record{"identifier": identifier, "token": token, "expires": expires})
	}
	token("ada@example.com", "hash", expires)
	token("ada@example.com", "hash2", expires)
	token("a:b@example.com", "c:d", expires)
	token("ada@example.com", "over", time.Now().Add(-time.Hour))

	check := func() {
		t.Helper()
		for _, id := range []string{ada, bare, role, second, moved, heir} {
			got := must(s.target.GetUser(ctx, id))(s)
			require.NotNilf(t, got, "user %s is absent", id)
			theirs := js.Call("getUser", id)
			want := map[string]any{"ID": id, "Name": theirs["name"], "Email": theirs["email"], "EmailVerified": theirs["emailVerified"], "Image": theirs["image"]}
			s.same("a user", fieldsOf(s, got), fieldsOf(s, want))
			byEmail := must(s.target.GetUserByEmail(ctx, got.Email))(s)
			assert.Truef(t, byEmail != nil && byEmail.ID == id, "%s leads to %v", got.Email, byEmail)
		}
		s.same("who lost the address", must(s.target.GetUser(ctx, first))(s), adapter.User{ID: first, Name: new("First")})
		s.same("whose account", must(s.target.GetUserByAccount(ctx, adapter.AccountKey{Provider: "google", ProviderAccountID: "2"}))(s).ID, first)
		s.same("an account", must(s.target.GetAccount(ctx, "10:5", "git:hub"))(s), adapter.Account{UserID: ada, Type: "oidc", Provider: "git:hub", ProviderAccountID: "10:5",
			AccessToken: new("at"), RefreshToken: new("rt"), IDToken: new("it"), Scope: new("openid"), TokenType: new("bearer"), SessionState: new("st"),
			ExpiresAt: new(int64(5000000000))})
		s.same("a bare account", must(s.target.GetAccount(ctx, "1055675628", "google"))(s),
			adapter.Account{UserID: ada, Type: "oidc", Provider: "google", ProviderAccountID: "1055675628"})
		for sessionToken, id := range map[string]string{"session-of-ada": ada, "another-of-ada": ada, "12345": bare} {
			got := must(s.target.GetSessionAndUser(ctx, sessionToken))(s)
			assert.Truef(t, got != nil && got.User.ID == id && got.Session.Expires.Equal(expires),
				"session %s: got %v, want one of %s until %v", sessionToken, got, id, expires)
		}
		assert.Nil(t, must(s.target.GetSessionAndUser(ctx, "over-of-ada-"))(s), "an expired session was copied")
	}
	out := s.run(1)
	check()
	s.want(out,
		fmt.Sprintf("not copied: users: %q: copied without its address: the address leads to user %s", first, second),
		`left behind: field "role" of users, which Gatehouse does not store: 1 times`,
		`left behind: field "refresh_token_expires_in" of accounts, which Gatehouse does not store: 1 times`,
		"users: 8 copied, 0 changed, 0 unchanged, 0 deleted, 0 expired, 1 refused",
		"accounts: 4 copied, 0 changed, 0 unchanged, 0 deleted, 0 expired, 0 refused",
		"sessions: 4 copied, 0 changed, 0 unchanged, 0 deleted, 1 expired, 0 refused",
		"verification tokens: 3 copied, 0 changed, 0 unchanged, 0 deleted, 1 expired, 0 refused")

	// The new site changes its records; a repeated run does not touch them.
	spent := must(s.target.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "a:b@example.com", Token: "c:d"}))(s)
	s.same("a token", spent, adapter.VerificationToken{Identifier: "a:b@example.com", Token: "c:d", Expires: expires})
	must(s.target.DeleteSession(ctx, "another-of-ada"))(s)
	must(s.target.UpdateUser(ctx, adapter.UserUpdate{ID: bare, Name: adapter.To(new("New"))}))(s)
	out = s.run(1, "-mirror")
	s.want(out,
		"users: 0 copied, 0 changed, 8 unchanged, 0 deleted, 0 expired, 1 refused",
		"sessions: 0 copied, 0 changed, 4 unchanged, 0 deleted, 1 expired, 0 refused",
		"verification tokens: 0 copied, 0 changed, 3 unchanged, 0 deleted, 1 expired, 0 refused")
	again := must(s.target.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "a:b@example.com", Token: "c:d"}))(s)
	assert.Nil(t, again, "a spent token came back")
	assert.Nil(t, must(s.target.GetSessionAndUser(ctx, "another-of-ada"))(s), "a session that was ended came back")
	s.same("the new name", must(s.target.GetUser(ctx, bare))(s).Name, "New")

	// The old site changes and deletes records; a repeated run carries both
	// over.
	js.Call("updateUser", authjs.Record{"id": ada, "name": "Ada King", "email": "king@example.com"})
	js.Call("updateSession", authjs.Record{"sessionToken": "session-of-ada", "expires": expires.Add(time.Hour)})
	js.Call("linkAccount", authjs.Record{"type": "oidc", "provider": "google", "providerAccountId": "1055675628", "userId": ada, "access_token": "fresh"})
	js.Call("useVerificationToken", authjs.Record{"identifier": "ada@example.com", "token": "hash"})
	js.Call("deleteSession", "12345")
	js.Call("unlinkAccount", authjs.Record{"provider": "git:hub", "providerAccountId": "10:5"})
	js.Call("deleteUser", leaver)
	out = s.run(1, "-mirror")
	s.want(out,
		"users: 0 copied, 1 changed, 6 unchanged, 1 deleted, 0 expired, 1 refused",
		"accounts: 0 copied, 1 changed, 1 unchanged, 2 deleted, 0 expired, 0 refused",
		"sessions: 0 copied, 1 changed, 1 unchanged, 2 deleted, 1 expired, 0 refused",
		"verification tokens: 0 copied, 0 changed, 2 unchanged, 1 deleted, 1 expired, 0 refused")
	for name, got := range map[string]any{
		"the old address": must(s.target.GetUserByEmail(ctx, "ada@example.com"))(s),
		"a user":          must(s.target.GetUser(ctx, leaver))(s),
		"an account":      must(s.target.GetAccount(ctx, "10:5", "git:hub"))(s),
		"a session":       must(s.target.GetSessionAndUser(ctx, "12345"))(s),
		"a token":         must(s.target.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "ada@example.com", Token: "hash"}))(s),
	} {
		text, _ := json.Marshal(got)
		assert.Equalf(t, "null", string(text), "%s that the source has no longer is still there: %s", name, text)
	}
	king := must(s.target.GetSessionAndUser(ctx, "session-of-ada"))(s)
	assert.Truef(t, king != nil && king.User.Email == "king@example.com" && *king.User.Name == "Ada King" && king.Session.Expires.Equal(expires.Add(time.Hour)),
		"what the source changed: got %v", king)
	s.same("a token of the provider", must(s.target.GetAccount(ctx, "1055675628", "google"))(s).AccessToken, "fresh")
}

// fieldsOf returns the JSON fields of a record, without null and empty ones.
func fieldsOf(s *site, record any) map[string]any {
	s.Helper()
	text := must(json.Marshal(record))(s)
	all := map[string]any{}
	require.NoError(s, json.Unmarshal(text, &all))
	for name, v := range all {
		if v == nil || v == "" {
			delete(all, name)
		} else if at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(v)); err == nil {
			all[name] = at.UTC().String()
		}
	}
	return all
}

// TestOddRecords: a record that can't be copied is named with the reason and
// without secrets, and the other records are copied.
func TestOddRecords(t *testing.T) {
	s := newSite(t)
	user := func(id, email string) { s.set("user:"+id, fmt.Sprintf(`{"id":%q,"email":%q}`, id, email)) }
	user("good", "good@example.com") // nothing leads to it
	user("lost1", "lost@example.com")
	user("lost2", "lost@example.com")
	user("", "nobody@example.com")
	s.set("user:none", `{"id":"none","email":null,"name":null,"emailVerified":null}`)
	s.set("user:text", `hello`)
	s.set("user:array", `[1]`)
	s.set("user:null", `null`)
	s.set("user:other", `{"id":"somebody"}`)
	s.set("user:date", `{"id":"date","emailVerified":"yesterday"}`)
	s.set("user:flag", `{"id":"flag","emailVerified":true}`)
	s.set("user:number", `{"id":"number","name":5}`)
	s.set("user:half", `{"id":"half","name":"\ud800"}`)
	s.set("user:bytes", "{\"id\":\"bytes\",\"name\":\"\xff\"}")
	s.set("user:mark", "{\"id\":\"mark\",\"name\":\"\ufffd\"}")
	require.NoError(t, s.client.HSet(t.Context(), s.base+"user:hash", "id", "hash").Err())
	account := func(id, fields string) {
		s.set("user:account:p:"+id, `{"provider":"p","providerAccountId":"`+id+`"`+fields+`}`)
	}
	account("1", `,"type":"oidc","userId":"good","expires_at":"1700000000","authorization_details":[{"type":"x"}]`)
	account("2", `,"type":"oidc","userId":"nobody"`)
	account("3", `,"userId":"good"`)
	account("4", `,"type":"oidc"`)
	account("5", `,"type":"oidc","userId":"good","expires_at":1.5`)
	s.set("user:account:p:6", `{"provider":"p","providerAccountId":"7","type":"oidc","userId":"good"}`)
	session := func(token, fields string) { s.set("user:session:"+token, `{"sessionToken":"`+token+`"`+fields+`}`) }
	session("11111111-good", `,"userId":"good","expires":"2040-01-01T00:00:00.000Z"`)
	session("22222222-secret", `,"userId":"nobody","expires":"2040-01-01T00:00:00.000Z"`)
	session("33333333-secret", `,"userId":"good"`)
	session("44444444-secret", `,"userId":"good","expires":"never"`)
	s.set("user:token:a@example.com:55555555-secret", `{"identifier":"b@example.com","token":"x","expires":"2040-01-01T00:00:00.000Z"}`)
	s.set("user:token:", `{}`)

	for range 2 { // a repeated run prints the same
		out := s.run(1)
		s.want(out,
			`not copied: users: "lost1": copied without its address: 2 users name it and it leads to none of them`,
			`not copied: users: "lost2": copied without its address: 2 users name it and it leads to none of them`,
			`not copied: users: "": id is missing`,
			`not copied: users: "text": is not a JSON object`,
			`not copied: users: "array": is not a JSON object`,
			`not copied: users: "null": is not a JSON object`,
			`not copied: users: "other": the key does not end with the id`,
			`not copied: users: "date": emailVerified is not an instant such as 2026-01-02T03:04:05.678Z`,
			`not copied: users: "flag": emailVerified is not an instant such as 2026-01-02T03:04:05.678Z`,
			`not copied: users: "number": name is not a text`,
			`not copied: users: "half": name is not UTF-8`,
			`not copied: users: "bytes": is not UTF-8`,
			`not copied: users: "hash": the value of the key is not a string`,
			`not copied: accounts: "p:2": its user is not there`,
			`not copied: accounts: "p:3": type is missing`,
			`not copied: accounts: "p:4": userId is missing`,
			`not copied: accounts: "p:5": expires_at is not a whole number`,
			`not copied: accounts: "p:6": the key does not end with provider and providerAccountId`,
			`not copied: sessions: "2222222…": its user is not there`,
			`not copied: sessions: "3333333…": expires is missing`,
			`not copied: sessions: "4444444…": expires is not an instant such as 2026-01-02T03:04:05.678Z`,
			`not copied: verification tokens: "a@exampl…": the key does not end with identifier and token`,
			`not copied: verification tokens: "…": identifier is missing`)
		assert.NotContains(t, out, "secret", "a secret is printed")
	}
	ctx := t.Context()
	for id, email := range map[string]string{"good": "good@example.com", "lost1": "", "lost2": "", "none": "", "mark": ""} {
		u := must(s.target.GetUser(ctx, id))(s)
		assert.Truef(t, u != nil && u.Email == email, "user %s: got %v, want one with the address %q", id, u, email)
	}
	got := must(s.target.GetAccount(ctx, "1", "p"))(s)
	assert.Truef(t, got != nil && *got.ExpiresAt == 1700000000 && string(got.AuthorizationDetails) == `[{"type":"x"}]`,
		"got account %v", got)
	n := must(s.client.HLen(ctx, "copyupstash:"+s.prefix).Result())(s)
	assert.Truef(t, n == 7, "%d records are entered as copied, want 7", n)

	// The next run copies a repaired record.
	s.set("user:date", `{"id":"date","emailVerified":"2026-01-02T03:04:05.678Z"}`)
	s.set("user:email:lost@example.com", "lost2")
	s.run(1)
	u := must(s.target.GetUser(ctx, "date"))(s)
	assert.Truef(t, u != nil && u.EmailVerified != nil, "a user who was repaired: got %v", u)
	u = must(s.target.GetUserByEmail(ctx, "lost@example.com"))(s)
	assert.Truef(t, u != nil && u.ID == "lost2", "an address that leads to somebody now: got %v", u)
}

// TestNewSiteGoesFirst: records that the new site made are not overwritten.
func TestNewSiteGoesFirst(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	ours := must(s.target.CreateUser(ctx, adapter.User{Name: new("Ours"), Email: "ada@example.com"}))(s)
	must(s.target.LinkAccount(ctx, adapter.Account{UserID: ours.ID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "1"}))(s)
	must(s.target.CreateUser(ctx, adapter.User{ID: "bob", Name: new("Ours")}))(s)
	s.set("user:ada", `{"id":"ada","email":"ada@example.com"}`)
	s.set("user:email:ada@example.com", "ada")
	s.set("user:bob", `{"id":"bob","name":"Theirs"}`)
	s.set("user:eve", `{"id":"eve","name":"Theirs"}`)
	s.set("user:account:p:1", `{"provider":"p","providerAccountId":"1","type":"oidc","userId":"eve"}`)
	s.want(s.run(1),
		`not copied: users: "ada": another user of the new site has the address`,
		`not copied: users: "bob": the new site has a user with this ID that was not copied`,
		`not copied: accounts: "p:1": it belongs to another user in the new site`)
	s.same("the user of the new site", must(s.target.GetUser(ctx, "bob"))(s).Name, "Ours")
	s.same("the account of the new site", must(s.target.GetAccount(ctx, "1", "p"))(s).UserID, ours.ID)

	// A record that the new site deleted stays deleted, even if the source
	// changes it.
	must(s.target.DeleteUser(ctx, "eve"))(s)
	s.set("user:eve", `{"id":"eve","name":"Changed"}`)
	s.want(s.run(1), `not copied: users: "eve": the source changed it and the new site has deleted it: it stays deleted`)
	assert.Nil(t, must(s.target.GetUser(ctx, "eve"))(s), "a user who was deleted came back")
}

// TestMigrate runs the command of docs/migrate.md, with the keys of the test. Then the user, the account and the session are what they were.
func TestMigrate(t *testing.T) {
	s := newSite(t)
	page := string(must(os.ReadFile("../../../../docs/migrate.md"))(s))
	_, section, found := strings.Cut(page, "\n### @auth/upstash-redis-adapter\n")
	_, commands, block := strings.Cut(section, "```sh\n")
	require.True(t, found && block, "the guide has no such section, or no command")
	commands, _, _ = strings.Cut(commands, "```")
	t.Cleanup(func() { // the adapter has the prefix that it has by default
		ctx := context.Background()
		err := redistest.EachKeys(ctx, s.client, "*gatehouse*", func(ctx context.Context, c goredis.Cmdable, keys []string) error {
			return c.Unlink(ctx, keys...).Err()
		})
		assert.NoError(t, err)
	})
	env := map[string]string{}
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		switch name, _, set := strings.Cut(words[1], "="); {
		case words[0] == "export" && set:
			env[name] = s.url
		case words[0] == "go":
			s.same("the command", words[1:3], []string{"run", "github.com/gatehouse-go/gatehouse/adapters/redis/cmd/copyupstash"})
			s.set("user:ada", `{"id":"ada","name":"Ada","email":"ada@example.com","emailVerified":"2024-01-02T03:04:05.006Z"}`)
			s.set("user:email:ada@example.com", "ada")
			s.set("user:account:p:1", `{"id":"p:1","provider":"p","providerAccountId":"1","type":"oidc","userId":"ada"}`)
			s.set("user:account:by-user-id:ada", "p:1")
			s.set("user:session:theirs", `{"id":"theirs","sessionToken":"theirs","userId":"ada","expires":"2040-02-29T23:59:59.987Z"}`)
			s.set("user:session:by-user-id:ada", "theirs")
			var out, errs bytes.Buffer
			arguments := append(words[3:], "-options", s.options())
			status := run(t.Context(), arguments, func(name string) string { return env[name] }, &out, &errs)
			require.Equalf(t, 0, status, "exit status %d:\n%s%s", status, &out, &errs)
		}
	}
	client := s.client
	store, err := redis.New(client)
	ada := must(must(store, err)(s).GetUserByEmail(t.Context(), "ada@example.com"))(s)
	both := must(store.GetSessionAndUser(t.Context(), "theirs"))(s)
	account := must(store.GetAccount(t.Context(), "1", "p"))(s)
	assert.Truef(t, ada != nil && ada.ID == "ada" && ada.EmailVerified.Equal(verified) && account != nil && account.UserID == "ada" && both != nil && both.Session.Expires.Equal(expires),
		"got %v, %v, %v", ada, account, both)
}

// TestRefused: the command refuses wrong arguments, with a text that does
// not contain a password.
func TestRefused(t *testing.T) {
	s := newSite(t)
	for name, c := range map[string]struct {
		env   map[string]string
		flags []string
		want  string
	}{
		"no source":          {map[string]string{"TO": s.url}, nil, "FROM: the environment variable is not set"},
		"no target":          {map[string]string{"FROM": s.url}, nil, "TO: the environment variable is not set"},
		"not a URL":          {map[string]string{"FROM": "https://:hunter2@example.com", "TO": s.url}, nil, "FROM: it is not a Redis URL"},
		"nobody listens":     {map[string]string{"FROM": "redis://:hunter2@127.0.0.1:1", "TO": s.url}, nil, "connection refused"},
		"options":            {map[string]string{"FROM": s.url, "TO": s.url}, []string{"-options", "app:"}, "-options is not a JSON object"},
		"an argument":        {nil, []string{"now"}, "usage"},
		"a mirror of nobody": {map[string]string{"FROM": s.url, "TO": s.url}, []string{"-mirror"}, "the source has no users"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			flags := append([]string{"-prefix", s.prefix, "-options", s.options()}, c.flags...)
			if got := run(t.Context(), flags, func(name string) string { return c.env[name] }, &out, &errs); got != 2 || !strings.Contains(errs.String(), c.want) {
				t.Errorf("exit status %d, want 2 and %q:\n%s", got, c.want, &errs)
			}
			assert.NotContainsf(t, errs.String()+out.String(), "hunter2", "the password is printed: %s", &errs)
		})
	}
}

// TestKilled kills the command repeatedly while it copies. After the run
// that ends normally, every record is copied exactly once.
func TestKilled(t *testing.T) {
	s := newSite(t)
	ctx := t.Context()
	const people = 1500
	pipe := s.client.Pipeline()
	set := func(key, value string) { pipe.Set(ctx, s.base+key, value, 0) }
	for i := range people {
		set(fmt.Sprint("user:u", i), fmt.Sprintf(`{"id":"u%d","name":"U","email":"u%d@example.com"}`, i, i))
		set(fmt.Sprintf("user:email:u%d@example.com", i), fmt.Sprint("u", i))
		set(fmt.Sprint("user:account:p:", i), fmt.Sprintf(`{"type":"oidc","provider":"p","providerAccountId":"%d","userId":"u%d"}`, i, i))
		set(fmt.Sprint("user:session:s", i), fmt.Sprintf(`{"sessionToken":"s%d","userId":"u%d","expires":"2040-01-01T00:00:00.000Z"}`, i, i))
	}
	must(pipe.Exec(ctx))(s)
	kills := 0
	for target := int64(100); ; target += 700 {
		cmd := exec.CommandContext(ctx, os.Args[0], "-prefix", s.prefix, "-options", s.options())
		cmd.Env = append(os.Environ(), asCommand+"=1", "FROM="+s.url, "TO="+s.url)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		var err error
		running := true
		for running && must(s.client.HLen(ctx, "copyupstash:"+s.prefix).Result())(s) < target {
			select {
			case err = <-ended:
				running = false
			default:
			}
		}
		if running {
			if target < 3*people && cmd.Process.Kill() == nil {
				kills++
			}
			err = <-ended
		}
		if err == nil {
			s.want(out.String(), "verification tokens: 0 copied, 0 changed, 0 unchanged, 0 deleted, 0 expired, 0 refused")
			break
		}
		require.Falsef(t, cmd.ProcessState.Exited(), "%v:\n%s", err, &out)
	}
	assert.Truef(t, kills >= 3, "it was killed %d times, want 3 at least", kills)
	for i := range people {
		u, err := s.target.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: fmt.Sprint(i)})
		x, err2 := s.target.GetSessionAndUser(ctx, fmt.Sprint("s", i))
		require.Truef(t, err == nil && err2 == nil && u != nil && x != nil && u.Email == fmt.Sprintf("u%d@example.com", i) && x.User.ID == u.ID,
			"person %d: %v, %v, %v, %v", i, u, x, err, err2)
	}
	want := fmt.Sprintf("users: 0 copied, 0 changed, %d unchanged, 0 deleted, 0 expired, 0 refused", people)
	s.want(s.run(0), want)
}

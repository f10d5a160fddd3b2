package began

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/once"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is what the browsers of a test share.
type site struct {
	*Sealer
	now time.Time
}

func newSite(t *testing.T) *site {
	secrets := []string{"a secret of 32 characters or more"}
	s := &site{now: time.Now().Truncate(time.Second)}
	s.Sealer = &Sealer{
		Clock: func() time.Time { return s.now }, Random: rand.Reader, Secrets: secrets, Keys: new(jwt.Keys),
		CSRF: wire.NewHashKeys(secrets), Once: once.Of(secrets, t.Name(), nil),
	}
	return s
}

// visitor is a browser that keeps cookies, the oldest first.
type visitor struct {
	*Browser
	sent []string
}

func (s *site) visitor() *visitor {
	specs := wire.NewCookieSpecs(true)
	return &visitor{Browser: &Browser{Sealer: s.Sealer, Cookies: &specs, Secure: true, Log: func(string, ...slog.Attr) {}}}
}

// keep sets cookies, or deletes them.
func (v *visitor) keep(cookies ...*http.Cookie) {
	for _, c := range cookies {
		if c == nil {
			continue
		}
		at := slices.IndexFunc(v.sent, func(sent string) bool { return strings.HasPrefix(sent, c.Name+"=") })
		switch {
		case c.MaxAge < 0 && at >= 0:
			v.sent = slices.Delete(v.sent, at, at+1)
		case c.MaxAge < 0:
		case at >= 0:
			v.sent[at] = c.Name + "=" + c.Value
		default:
			v.sent = append(v.sent, c.Name+"="+c.Value)
		}
	}
	v.Jar = wire.ParseJar([]string{strings.Join(v.sent, "; ")})
}

// withoutHost is the cookies that other hosts could set.
func (v *visitor) withoutHost() []string {
	return slices.DeleteFunc(slices.Clone(v.sent), func(c string) bool { return strings.HasPrefix(c, "__Host-") })
}

// plant sets these cookies of another browser.
func (v *visitor) plant(of *visitor) {
	v.sent = append(v.sent, of.withoutHost()...)
	v.keep()
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

var provider = Provider{ID: "idp", Server: "https://idp.example client", Checks: []Check{State, PKCE, Nonce}}

// begin begins a sign-in and returns its parameters.
func (v *visitor) begin(t *testing.T, start Start) wire.Query {
	t.Helper()
	parameters, cookies, err := v.BeginSignIn(start)
	require.NoError(t, err)
	v.keep(cookies...)
	return parameters
}

func parameter(t *testing.T, q wire.Query, name string) string {
	t.Helper()
	value, ok := q.Get(name)
	require.Truef(t, ok && value != "", "no parameter %s", name)
	return value
}

func wantReason(t *testing.T, err error, want Reason) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	assert.Truef(t, ok && e.Reason == want, "got error %v, want reason %d", err, want)
}

// TestSignIn: the answer finds its sign-in by the state, and gets the values that
// were sent. It is accepted once, also if the browser still has the cookies.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor()
	age := int64(60)
	sent := v.begin(t, Start{Provider: provider, CallbackURL: "https://app.example/a", User: "ada", MaxAge: &age})
	state := parameter(t, sent, "state")
	before := slices.Clone(v.sent)

	in, _, err := v.OpenSignIn(&provider, state)
	require.NoError(t, err)
	assert.Truef(t, in.By == (By{Bound: true, User: "ada"}) && in.CallbackURL == "https://app.example/a" && !in.LostURL &&
		in.FreshSince.Equal(s.now.Add(-time.Minute)), "got %+v", in)
	_, err = in.CheckState("another")
	wantReason(t, err, ForgedState)
	v.keep(must(in.CheckState(state))(t)...)
	verifier, cleared, err := in.Take(PKCE)
	sum := sha256.Sum256([]byte(verifier))
	assert.Truef(t, err == nil && base64.RawURLEncoding.EncodeToString(sum[:]) == parameter(t, sent, "code_challenge"),
		"PKCE: got %q, error %v", verifier, err)
	v.keep(cleared...)
	nonce, cleared, err := in.Take(Nonce)
	assert.Truef(t, err == nil && nonce == parameter(t, sent, "nonce"), "nonce: got %q, error %v", nonce, err)
	v.keep(cleared...)
	assert.Empty(t, v.withoutHost(), "the browser keeps")

	v.sent = before
	v.keep()
	in, _, err = v.OpenSignIn(&provider, state)
	require.NoError(t, err)
	_, err = in.CheckState(state)
	wantReason(t, err, InvalidCheck)
}

// TestSignInOfAnother: a sign-in can't be ended in another browser, with another
// provider, at another server, or too late.
func TestSignInOfAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor()
	state := parameter(t, v.begin(t, Start{Provider: provider}), "state")
	other := s.visitor()
	other.begin(t, Start{Provider: provider}) // it has a mark of its own
	other.plant(v)
	_, _, err := other.OpenSignIn(&provider, state)
	wantReason(t, err, InvalidCheck)
	for _, p := range []Provider{
		{ID: "idp", Server: "https://evil.example client", Checks: provider.Checks},
		{ID: "other", Server: provider.Server, Checks: provider.Checks},
	} {
		_, _, err = v.OpenSignIn(&p, state)
		wantReason(t, err, InvalidCheck)
	}
	assert.True(t, v.Knows(&provider, state), "the browser does not know its sign-in")
	assert.False(t, s.visitor().Knows(&provider, state), "a new browser knows the sign-in")
	s.now = s.now.Add(MaxAge + time.Minute)
	_, _, err = v.OpenSignIn(&provider, state)
	wantReason(t, err, InvalidCheck)
}

// TestManySignIns: a browser has four sign-ins under way, in cookies that fit into a
// header. If callback URLs do not fit, the oldest are lost.
func TestManySignIns(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor()
	long := "https://app.example/" + strings.Repeat("x", 400)
	var states []string
	for i := range 6 {
		states = append(states, parameter(t, v.begin(t, Start{Provider: provider, CallbackURL: fmt.Sprint(long, i)}), "state"))
		assert.LessOrEqualf(t, len(strings.Join(v.sent, "; ")), maxCookies, "bytes of the cookies after %d sign-ins", i+1)
	}
	for i, state := range states {
		in, _, err := v.OpenSignIn(&provider, state)
		require.NoError(t, err)
		assert.Equalf(t, i >= 2, in.ticket != nil, "sign-in %d: has a ticket: %v", i, in.ticket != nil)
		assert.Falsef(t, i >= 2 && in.LostURL == (in.CallbackURL == fmt.Sprint(long, i)),
			"sign-in %d: lost %v, leads to %.30s", i, in.LostURL, in.CallbackURL)
	}
	in, _, err := v.OpenSignIn(&provider, states[2])
	assert.Truef(t, err == nil && in.LostURL, "the oldest has not lost its URL: %+v, error %v", in, err)
	in, _, err = v.OpenSignIn(&provider, states[5])
	assert.Truef(t, err == nil && !in.LostURL, "the newest has lost its URL: %+v, error %v", in, err)
}

// TestRelay: the state for a redirect proxy says where the browser goes on, and only
// who has the secret can say it.
func TestRelay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	state := parameter(t, s.visitor().begin(t, Start{Provider: provider, Relay: "https://preview.example/auth"}), "state")
	to, err := s.RelayOf(state)
	assert.Truef(t, to == "https://preview.example/auth" && err == nil, "got %q, error %v", to, err)
	_, err = s.RelayOf("https://evil.example")
	wantReason(t, err, InvalidCheck)
}

// TestCeremonies: each tab ends its own ceremony. A challenge of another browser is
// refused, and a user who is too large for a cookie begins none.
func TestCeremonies(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v, other := s.visitor(), s.visitor()
	begin := func(v *visitor, challenge string, data *Person) error {
		cookies, err := v.BeginCeremony(Ceremony{
			Provider: "passkey", Action: Register, Challenge: challenge, RPID: "app.example",
			By: By{User: "ada"}, Data: data,
		})
		v.keep(cookies...)
		return err
	}
	for _, err := range []error{
		begin(v, "first", &Person{ID: "ada"}), begin(v, "second", nil), begin(other, "theirs", nil),
	} {
		require.NoError(t, err)
	}
	c, cleared, err := v.EndCeremony("passkey", "first")
	assert.Truef(t, err == nil && c.Challenge == "first" && c.Action == Register && c.RPID == "app.example" && !c.Foreign &&
		c.Data != nil && c.Data.ID == "ada" && c.By == (By{Bound: true, User: "ada"}),
		"got %+v, error %v", c, err)
	v.keep(cleared...)
	c, _, err = v.EndCeremony("passkey", "second")
	assert.Truef(t, err == nil && c.Challenge == "second", "got %+v, error %v", c, err)
	_, _, err = v.EndCeremony("passkey", "theirs")
	wantReason(t, err, OtherChallenge)
	_, _, err = v.EndCeremony("another provider", "second")
	wantReason(t, err, LostChallenge)
	v.sent = nil
	v.plant(other)
	_, _, err = v.EndCeremony("passkey", "theirs")
	wantReason(t, err, LostChallenge)
	wantReason(t, begin(v, "third", &Person{Name: strings.Repeat("x", 4000)}), TooLarge)
}

// TestCodes: a browser keeps the mails that it asked for, the newest first, until they
// expire or are used.
func TestCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor()
	handles := func() (list []string) {
		for _, c := range v.Codes() {
			list = append(list, c.Handle)
		}
		return list
	}
	for i := range 6 {
		expires := s.now.Add(time.Duration(10-i) * time.Minute).Unix()
		c, err := v.KeepCode(Code{Provider: "email", Address: fmt.Sprint("a", i), Handle: fmt.Sprint(i), Expires: expires})
		require.NoError(t, err)
		v.keep(c)
	}
	assert.Equal(t, []string{"5", "4", "3", "2"}, handles())
	v.keep(must(v.ForgetCodes("email", "a4"))(t)...)
	s.now = s.now.Add(6 * time.Minute)
	assert.Equal(t, []string{"3", "2"}, handles())
	assert.Nil(t, must(v.ForgetCodes("email", "nobody"))(t))
}

// TestKnown: a browser is known for who signed in there, by each of the names, with the
// same ID until the password is another one.
func TestKnown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor()
	remember := func(user, version string, names ...string) {
		v.keep(must(v.Remember(user, version, names...))(t))
	}
	remember("ada", "v1", "Ada@Example.com", "ada")
	remember("eve", "", "eve")
	first := v.KnownFor("ada@example.com ")
	require.Truef(t, first != nil && first.User == "ada" && v.KnownFor("eve") != nil, "got %+v", first)
	assert.True(t, v.KnownFor("bob") == nil && v.KnownFor("") == nil, "the browser is known for nobody")
	remember("ada", "v1", "ada")
	id := v.KnownTo("ada", "v1")
	assert.Truef(t, id == first.ID && v.KnownTo("ada", "v2") == "", "got ID %q, want %q", id, first.ID)
	remember("ada", "v2", "ada")
	id = v.KnownTo("ada", "v2")
	assert.Truef(t, id != "" && id != first.ID && v.KnownTo("ada", "v1") == "",
		"got ID %q after the password was changed", id)
	v.keep(must(v.ForgetKnown("ada"))(t))
	assert.True(t, v.KnownFor("ada") == nil && v.KnownFor("eve") != nil, "the browser forgot somebody else")
	s.now = s.now.Add(knownAge + time.Minute)
	assert.Nil(t, v.KnownFor("eve"), "the browser is known for ever")
}

// TestFinished: a browser remembers where its last sign-ins led, for the user who
// signed in by them.
func TestFinished(t *testing.T) {
	t.Parallel()
	v := newSite(t).visitor()
	for i := range 6 {
		v.keep(must(v.Finish(fmt.Sprint("state", i), "ada", fmt.Sprint("https://app.example/", i)))(t))
	}
	done := v.Finished("state5")
	assert.Truef(t, done != nil && done.By("ada") && !done.By("eve") && done.CallbackURL == "https://app.example/5",
		"got %+v", done)
	assert.True(t, v.Finished("state1") == nil && v.Finished("state2") != nil,
		"the browser does not remember the last four")
	v.keep(must(v.Finish("state6", "ada", "https://app.example/"+strings.Repeat("x", maxFinishedCookie)))(t))
	done = v.Finished("state6")
	assert.Truef(t, done != nil && done.CallbackURL == "", "got %+v, want no URL", done)
	for _, state := range []string{"state7", "state8"} { // one fits, two do not
		v.keep(must(v.Finish(state, "ada", "https://app.example/"+strings.Repeat("y", maxFinishedCookie*2/5)))(t))
	}
	if done = v.Finished("state8"); v.Finished("state7") != nil || done == nil || done.CallbackURL == "" {
		t.Errorf("of two sign-ins with long URLs the newer one must stay whole, and be alone: got %v, %v", v.Finished("state7"), done)
	}
	v.keep(v.ForgetFinished()...)
	assert.True(t, v.Finished("state8") == nil && v.ForgetFinished() == nil, "the browser did not forget")
}

// TestTyped: the sign-in page gets the name that was typed, for a minute.
func TestTyped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.visitor()
	keep := func(name string) *http.Cookie {
		c := must(v.KeepTyped(Typed{"password", name}))(t)
		v.keep(c)
		return c
	}
	assert.True(t, keep("") == nil && keep(strings.Repeat("x", maxTyped+1)) == nil,
		"a cookie keeps no name, or a very long one")
	keep("ada")
	typed, c := v.TakeTyped()
	assert.Truef(t, typed == (Typed{"password", "ada"}) && c.MaxAge < 0, "got %+v, cookie %v", typed, c)
	s.now = s.now.Add(2 * time.Minute)
	typed, c = v.TakeTyped()
	assert.Truef(t, typed == (Typed{}) && c != nil, "got %+v, cookie %v", typed, c)
	v.keep(c)
	_, c = v.TakeTyped()
	assert.Nilf(t, c, "got cookie %v of a browser without one", c)
}

package adapter_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sessionsOnly has the four session methods and implements Sweeper.
type sessionsOnly struct{}

func (sessionsOnly) CreateSession(_ context.Context, s adapter.Session) (*adapter.Session, error) {
	return &s, nil
}

func (sessionsOnly) GetSessionAndUser(context.Context, string) (*adapter.SessionAndUser, error) {
	return nil, nil
}

func (sessionsOnly) UpdateSession(context.Context, adapter.SessionUpdate) (*adapter.Session, error) {
	return nil, nil
}

func (sessionsOnly) DeleteSession(context.Context, string) (*adapter.Session, error) {
	return nil, nil
}

func (sessionsOnly) DeleteExpired(context.Context, time.Time) (adapter.Swept, error) {
	return adapter.Swept{Sessions: 7}, nil
}

type wrongSignature struct{}

func (wrongSignature) GetUser(string) (*adapter.User, error) { return nil, nil }

type pointerMethods struct{ sessionsOnly }

func TestPartialKeepsWhatIsThere(t *testing.T) {
	p, err := adapter.Partial(sessionsOnly{})
	require.NoError(t, err)
	s, err := p.CreateSession(t.Context(), adapter.Session{SessionToken: "t"})
	require.Truef(t, err == nil && s.SessionToken == "t", "CreateSession: got %v, %v", s, err)
	sw, ok := p.(adapter.Sweeper)
	require.True(t, ok, "a sweeping value is no longer a Sweeper")
	got, _ := sw.DeleteExpired(t.Context(), time.Now())
	assert.Truef(t, got.Sessions == 7, "DeleteExpired: got %v", got)
}

func TestPartialMissingMethodsFail(t *testing.T) {
	p, err := adapter.Partial(sessionsOnly{})
	require.NoError(t, err)
	missing := p.Missing()
	require.Truef(t, len(missing) == 15 && missing[0] == "CreateUser" && missing[14] == "UpdateAuthenticatorCounter",
		"Missing: got %v", missing)
	v := reflect.ValueOf(p)
	for _, name := range missing {
		m := v.MethodByName(name)
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type().NumIn(); i++ {
			in = append(in, reflect.Zero(m.Type().In(i)))
		}
		out := m.Call(in)
		err, _ := out[1].Interface().(error)
		assert.Truef(t, errors.Is(err, adapter.ErrUnsupported) && errors.Is(err, errors.ErrUnsupported) && strings.Contains(err.Error(), name),
			"%s: got error %v, want one that names it and matches ErrUnsupported", name, err)
		assert.Truef(t, out[0].IsNil(), "%s: a record came with the error", name)
	}
}

func TestPartialOfPartial(t *testing.T) {
	inner, err := adapter.Partial(sessionsOnly{})
	require.NoError(t, err)
	outer, err := adapter.Partial(inner)
	require.NoError(t, err)
	assert.Truef(t, reflect.DeepEqual(outer.Missing(), inner.Missing()) && len(adapter.Missing(outer)) == 15,
		"got %v, want %v", outer.Missing(), inner.Missing())
}

// revoking has one optional interface.
type revoking struct{ sessionsOnly }

func (revoking) ListSessionsByUserID(context.Context, string) ([]adapter.Session, error) {
	return nil, nil
}

func (revoking) DeleteSessionsByUserID(context.Context, string, string) (int64, error) {
	return 7, nil
}

func TestCapability(t *testing.T) {
	p, err := adapter.Partial(revoking{})
	require.NoError(t, err)
	lists, ok := adapter.Capability[adapter.SessionLists](p)
	require.True(t, ok, "Partial hides an optional interface")
	n, _ := lists.DeleteSessionsByUserID(t.Context(), "", "")
	assert.Truef(t, n == 7, "got %d", n)
	_, ok = adapter.Capability[adapter.Sweeper](p)
	assert.True(t, ok, "Partial hides Sweeper")
	_, ok = adapter.Capability[adapter.SignUps](p)
	assert.False(t, ok, "an interface that the value lacks was found")
	_, ok = adapter.Capability[adapter.SignUps](nil)
	assert.False(t, ok, "nil has an optional interface")
}

// unready has the methods of SessionLists, and can't serve one of them at this site.
type unready struct{ revoking }

func (unready) Missing() []string { return []string{"ListSessionsByUserID"} }

// unreadyAdapter is an adapter of its own, which Partial did not make.
type unreadyAdapter struct {
	adapter.Adapter
	unready
}

func TestCapabilityThatIsNotReady(t *testing.T) {
	p, err := adapter.Partial(unready{})
	require.NoError(t, err)
	for name, a := range map[string]adapter.Adapter{"of Partial": p, "of its own": unreadyAdapter{}} {
		lists, ok := adapter.Capability[adapter.SessionLists](a)
		assert.Truef(t, !ok && lists == nil, "%s: an interface was found, of which Missing names a method", name)
	}
	_, ok := adapter.Capability[adapter.Sweeper](p)
	assert.True(t, ok, "another interface is gone")
}

func TestPasswordCheck(t *testing.T) {
	for name, c := range map[string]struct {
		p    adapter.Password
		want string // in the error; none if it is empty
	}{
		"longest":        {adapter.Password{Hash: strings.Repeat("h", 2000), State: strings.Repeat("s", 32000)}, ""},
		"no state":       {adapter.Password{Hash: "$argon2id$…"}, ""},
		"empty hash":     {adapter.Password{State: "{}"}, "is empty"},
		"long hash":      {adapter.Password{Hash: strings.Repeat("h", 2001)}, "2001 bytes"},
		"long in UTF-8":  {adapter.Password{Hash: strings.Repeat("é", 1001)}, "2002 bytes"},
		"long state":     {adapter.Password{Hash: "h", State: strings.Repeat("s", 32001)}, "32001 bytes"},
		"not UTF-8":      {adapter.Password{Hash: "secret\xff"}, "UTF-8"},
		"U+0000":         {adapter.Password{Hash: "h", State: "secret\x00"}, "U+0000"},
		"both too long":  {adapter.Password{Hash: strings.Repeat("h", 3000), State: strings.Repeat("s", 40000)}, "40000 bytes"},
		"a UTF-16 half":  {adapter.Password{Hash: "\xed\xa0\x80"}, "UTF-8"},
		"all of Unicode": {adapter.Password{Hash: "a\u0301 日本 \U0001F511\u202e \t\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.p.Check()
			if c.want == "" {
				assert.NoError(t, err)
				return
			}
			assert.Truef(t, err != nil && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "secret"),
				"got %v, want an error with %q and without the text", err, c.want)
		})
	}
}

type wrongCapability struct{ sessionsOnly }

func (wrongCapability) DeleteVerificationTokens(context.Context, string) error { return nil }

func TestPartialRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		v    any
		want string
	}{
		"nil":                      {nil, "Partial of nil"},
		"typed nil":                {(*pointerMethods)(nil), "Partial of nil"},
		"no methods":               {struct{}{}, "none of the methods"},
		"a string":                 {"adapter", "none of the methods"},
		"wrong optional signature": {wrongCapability{}, "DeleteVerificationTokens is func(context.Context, string) error, want func(context.Context, string) (int64, error)"},
		"wrong signature":          {wrongSignature{}, "GetUser is func(string) (*adapter.User, error), want func(context.Context, string) (*adapter.User, error)"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := adapter.Partial(c.v)
			require.Truef(t, err != nil && strings.Contains(err.Error(), c.want),
				"got %v, %v; want an error containing %q", p, err, c.want)
		})
	}
}

func TestChange(t *testing.T) {
	name := "Ada"
	u := adapter.User{ID: "1", Name: &name, Email: "a@example.com"}
	adapter.UserUpdate{ID: "1", Name: adapter.To[*string](nil), Email: adapter.To("b@example.com")}.Apply(&u)
	assert.Truef(t, u.Name == nil && u.Email == "b@example.com" && u.ID == "1", "got %+v", u)
	s := adapter.Session{SessionToken: "t", UserID: "1"}
	adapter.SessionUpdate{SessionToken: "t", Expires: adapter.To(time.Unix(5, 0))}.Apply(&s)
	assert.Truef(t, s.UserID == "1" && s.Expires.Equal(time.Unix(5, 0)), "got %+v", s)
	v, ok := (adapter.Change[string]{}).Get()
	assert.True(t, !ok && v == "", "zero Change is set")
	assert.True(t, adapter.To("").IsSet(), "To is not set")
}

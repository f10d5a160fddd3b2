package adapter_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
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
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.CreateSession(t.Context(), adapter.Session{SessionToken: "t"})
	if err != nil || s.SessionToken != "t" {
		t.Fatalf("CreateSession: got %v, %v", s, err)
	}
	sw, ok := p.(adapter.Sweeper)
	if !ok {
		t.Fatal("a sweeping value is no longer a Sweeper")
	}
	if got, _ := sw.DeleteExpired(t.Context(), time.Now()); got.Sessions != 7 {
		t.Errorf("DeleteExpired: got %v", got)
	}
}

func TestPartialMissingMethodsFail(t *testing.T) {
	p, err := adapter.Partial(sessionsOnly{})
	if err != nil {
		t.Fatal(err)
	}
	missing := p.Missing()
	if len(missing) != 15 || missing[0] != "CreateUser" || missing[14] != "UpdateAuthenticatorCounter" {
		t.Fatalf("Missing: got %v", missing)
	}
	v := reflect.ValueOf(p)
	for _, name := range missing {
		m := v.MethodByName(name)
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for i := 1; i < m.Type().NumIn(); i++ {
			in = append(in, reflect.Zero(m.Type().In(i)))
		}
		out := m.Call(in)
		err, _ := out[1].Interface().(error)
		if !errors.Is(err, adapter.ErrUnsupported) || !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got error %v, want one that names it and matches ErrUnsupported", name, err)
		}
		if !out[0].IsNil() {
			t.Errorf("%s: a record came with the error", name)
		}
	}
}

func TestPartialOfPartial(t *testing.T) {
	inner, err := adapter.Partial(sessionsOnly{})
	if err != nil {
		t.Fatal(err)
	}
	outer, err := adapter.Partial(inner)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(outer.Missing(), inner.Missing()) || len(adapter.Missing(outer)) != 15 {
		t.Errorf("got %v, want %v", outer.Missing(), inner.Missing())
	}
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
	if err != nil {
		t.Fatal(err)
	}
	lists, ok := adapter.Capability[adapter.SessionLists](p)
	if !ok {
		t.Fatal("Partial hides an optional interface")
	}
	if n, _ := lists.DeleteSessionsByUserID(t.Context(), "", ""); n != 7 {
		t.Errorf("got %d", n)
	}
	if _, ok := adapter.Capability[adapter.Sweeper](p); !ok {
		t.Error("Partial hides Sweeper")
	}
	if _, ok := adapter.Capability[adapter.SignUps](p); ok {
		t.Error("an interface that the value lacks was found")
	}
	if _, ok := adapter.Capability[adapter.SignUps](nil); ok {
		t.Error("nil has an optional interface")
	}
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
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]adapter.Adapter{"of Partial": p, "of its own": unreadyAdapter{}} {
		if lists, ok := adapter.Capability[adapter.SessionLists](a); ok || lists != nil {
			t.Errorf("%s: an interface was found, of which Missing names a method", name)
		}
	}
	if _, ok := adapter.Capability[adapter.Sweeper](p); !ok {
		t.Error("another interface is gone")
	}
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
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want an error with %q and without the text", err, c.want)
			}
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
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, %v; want an error containing %q", p, err, c.want)
			}
		})
	}
}

func TestChange(t *testing.T) {
	name := "Ada"
	u := adapter.User{ID: "1", Name: &name, Email: "a@example.com"}
	adapter.UserUpdate{ID: "1", Name: adapter.To[*string](nil), Email: adapter.To("b@example.com")}.Apply(&u)
	if u.Name != nil || u.Email != "b@example.com" || u.ID != "1" {
		t.Errorf("got %+v", u)
	}
	s := adapter.Session{SessionToken: "t", UserID: "1"}
	adapter.SessionUpdate{SessionToken: "t", Expires: adapter.To(time.Unix(5, 0))}.Apply(&s)
	if s.UserID != "1" || !s.Expires.Equal(time.Unix(5, 0)) {
		t.Errorf("got %+v", s)
	}
	if v, ok := (adapter.Change[string]{}).Get(); ok || v != "" {
		t.Errorf("zero Change is set")
	}
	if !adapter.To("").IsSet() {
		t.Errorf("To is not set")
	}
}

package auth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const victim = "victim@example.com"

// stage is a site with two providers, mail links and an adapter that can do
// everything. Everybody who signs in at a provider has the victim's address
// there.
type stage struct {
	*site
	t     testing.TB
	store capable
	mail  *outbox
	// states is the claim email_verified; nil leaves it out.
	states any
	// released are the addresses that users lost.
	released []string
}

// at signs a person in at a provider.
func (st *stage) at(b *browser, provider, person string) *reply {
	b.t.Helper()
	l := st.start(b, "/auth/signin/"+provider+"?login_hint="+person)
	return b.get("/auth/callback/" + provider + "?" + st.idp.authorize(b.t, l).Encode())
}

// byMail signs in with a mail link.
func (st *stage) byMail(b *browser) *reply {
	b.t.Helper()
	return b.byMail(st.mail, victim)
}

// userOf is the user whose session a browser has.
func (st *stage) userOf(b *browser) adapter.User {
	b.t.Helper()
	c := b.cookies["__Secure-authjs.session-token"]
	require.NotNil(b.t, c, "nobody is signed in")
	return st.store.users[st.store.sessions[c.Value].UserID]
}

func (st *stage) wantPage(r *reply, texts ...string) {
	st.t.Helper()
	require.Truef(st.t, r.StatusCode == http.StatusOK && strings.Contains(r.body, "This address is in use") &&
		strings.Contains(r.Header.Get("Cache-Control"), "no-store"),
		"got status %d, location %s, want the page about a held address; log: %s", r.StatusCode, r.location(), st.log)
	for _, text := range texts {
		assert.Containsf(st.t, r.body, text, "the page does not say %q", text)
	}
}

// idOf is the ID of the user who is signed in with a browser, or "".
func (st *stage) idOf(b *browser) string {
	b.t.Helper()
	session := must(st.Session(b.request("/")))(b.t)
	if session == nil {
		return ""
	}
	return session.User.ID
}

func newStage(t testing.TB, configure func(st *stage, c *auth.Config)) *stage {
	t.Helper()
	st := &stage{t: t, store: newCapable(), mail: &outbox{}}
	st.site = newSite(t, func(p *idp, c *auth.Config, o *auth.OAuth) {
		p.claims = func(m map[string]any) {
			m["email"] = victim
			if st.states != nil {
				m["email_verified"] = st.states
			}
		}
		other := *o
		other.ID = "other"
		c.Adapter, c.Providers = st.store, append(c.Providers, &other, st.mail.provider())
		c.Events.ReleaseEmail = on(func(e auth.ReleaseEmailEvent) { st.released = append(st.released, e.User.Email) })
		if configure != nil {
			configure(st, c)
		}
	})
	return st
}

// proofs are ways to prove the address of the victim. In proofsElsewhere, the
// provider is not the one at which the attacker signed up.
var (
	proofs = map[string]func(st *stage, b *browser) *reply{
		"mail link": (*stage).byMail,
		"provider":  func(st *stage, b *browser) *reply { st.states = true; return st.at(b, "idp", "ada") },
	}
	proofsElsewhere = map[string]func(st *stage, b *browser) *reply{
		"mail link": (*stage).byMail,
		"provider":  func(st *stage, b *browser) *reply { st.states = true; return st.at(b, "other", "victim") },
	}
)

// withPasswords adds a credentials provider whose users have the password pw.
func withPasswords(ids bool, answer func() (bool, error)) func(st *stage, c *auth.Config) {
	return func(st *stage, c *auth.Config) {
		c.Session.Strategy = auth.StrategyJWT
		c.Providers = append(c.Providers, &auth.Credentials{
			UsesAdapterIDs: ids, Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
				if f.Get("password") != "pw" {
					return nil, nil
				}
				return &auth.User{ID: f.Get("id"), Email: victim}, nil
			},
		})
		if answer != nil {
			c.Callbacks.NoOtherWayIn = func(context.Context, *auth.User) (bool, error) { return answer() }
		}
	}
}

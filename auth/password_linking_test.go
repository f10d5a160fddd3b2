package auth_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hijack is a site on which an attacker, whose password is otherPassword, wants to be
// in the user whom the victim, whose password is goodPassword, uses later.
type hijack struct {
	*stage
	keeper           keeper
	mails            []pw.Mail
	attacker, victim *browser
	proof            string
}

func newHijack(t *testing.T, proof string, strategy auth.Strategy, change func(c *auth.Config)) *hijack {
	t.Helper()
	h := &hijack{proof: proof}
	h.stage = newStage(t, func(st *stage, c *auth.Config) {
		h.keeper = keeper{st.store, map[string]adapter.Password{}}
		c.Adapter, c.Session.Strategy = h.keeper, strategy
		c.Providers = append(c.Providers, pw.Provider(h.keeper, pw.Settings{
			Hashing: fastHashing, Send: on(func(m pw.Mail) { h.mails = append(h.mails, m) }),
		}))
		change(c)
	})
	h.attacker, h.victim = newBrowser(t, h.stage), newBrowser(t, h.stage)
	return h
}

// firstLink is the link of the first mail that has one.
func (h *hijack) firstLink() string {
	h.t.Helper()
	for _, m := range h.mails {
		if m.URL != "" {
			return m.URL
		}
	}
	h.t.Fatal("no mail with a link")
	return ""
}

func (h *hijack) chooseIn(b *browser, path string, fields ...string) *reply {
	h.t.Helper()
	page := b.get(path)
	if formOfPage.FindStringSubmatch(page.body) == nil {
		return page
	}
	return b.fill(page, fields...)
}

// prove proves the victim's address, with a new password after the form at path.
func (h *hijack) prove(path string) *reply {
	h.t.Helper()
	switch h.proof {
	case "password":
		h.victim.post(path, "email", victim)
		// The person opens the first link in the mailbox, whoever asked for it.
		return h.chooseIn(h.victim, h.firstLink(), "password", goodPassword)
	case "mail":
		return h.byMail(h.victim)
	}
	h.states = true
	return h.at(h.victim, "other", "victim")
}

// steps are what the attacker does, and the victim.
var hijackSteps = map[string]func(h *hijack){
	"attacker signs in at a provider": func(h *hijack) {
		h.states = nil
		h.at(h.attacker, "idp", "mallory")
	},
	"attacker sets a password": func(h *hijack) {
		h.chooseIn(h.attacker, "/auth/password/change", "password", otherPassword)
	},
	"attacker types it into forms": func(h *hijack) {
		for _, path := range []string{"/auth/password/sign-up", "/auth/password/forgot"} {
			h.attacker.post(path, "email", victim, "password", otherPassword, "new", otherPassword)
		}
		h.attacker.post("/auth/password/choose", "for", "sign-up", "email", victim, "token", "x", "password", otherPassword)
	},
	"victim": func(h *hijack) {
		r := h.prove("/auth/password/sign-up")
		if strings.Contains(r.body, "Start afresh") {
			h.victim.press(r, "Start afresh")
		}
		h.victim.wantSession(victim)
	},
}

// orders are all orders of the texts.
func orders(texts []string) [][]string {
	if len(texts) == 0 {
		return [][]string{nil}
	}
	var all [][]string
	for i, text := range texts {
		rest := slices.Delete(slices.Clone(texts), i, i+1)
		for _, order := range orders(rest) {
			all = append(all, append([]string{text}, order...))
		}
	}
	return all
}

// TestPasswordPreHijack: whatever an attacker does before or after the victim proves
// the address, in every order, with each kind of proof, the attacker is never in the
// victim's user afterwards.
func TestPasswordPreHijack(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(hijackSteps))
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		for _, proof := range []string{"password", "mail", "provider"} {
			for _, order := range orders(names) {
				t.Run(string(strategy)+" "+proof+": "+strings.Join(order, ", "), func(t *testing.T) {
					h := newHijack(t, proof, strategy, func(*auth.Config) {})
					for _, step := range order {
						hijackSteps[step](h)
					}
					h.wantSafe(t)
				})
			}
		}
	}
}

// wantSafe tries every way of the attacker.
func (h *hijack) wantSafe(t *testing.T) {
	t.Helper()
	own := h.idOf(h.victim)
	require.NotEmpty(t, own, "the victim is not signed in")
	wantOther := func(way string, b *browser) {
		t.Helper()
		assert.NotEqualf(t, own, h.idOf(b), "%s: the attacker is in the victim's user", way)
	}
	wantOther("session", h.attacker)
	b := newBrowser(t, h.stage)
	b.post("/auth/callback/password", "email", victim, "password", otherPassword)
	wantOther("password", b)
	b = newBrowser(t, h.stage)
	h.states = nil
	h.at(b, "idp", "mallory")
	wantOther("provider", b)
	if h.proof == "password" && h.keeper.passwords[own].Hash != "" {
		b = newBrowser(t, h.stage)
		b.post("/auth/callback/password", "email", victim, "password", goodPassword)
		assert.Equal(t, own, h.idOf(b), "the victim's password does not count")
	}
}

// TestPasswordIsAWayIn: a user who has a password but no proof of the address is not
// given to somebody else who proves the address. The page names the password, and a
// sign-in with it confirms the address.
func TestPasswordIsAWayIn(t *testing.T) {
	t.Parallel()
	for _, proof := range []string{"password", "mail", "provider"} {
		h := newHijack(t, proof, auth.StrategyDatabase, func(*auth.Config) {})
		hash := must(pw.NewHasher(fastHashing))(t)
		stored := must(hash.Hash(t.Context(), "", otherPassword))(t)
		h.store.users["imported"] = adapter.User{ID: "imported", Email: victim}
		h.keeper.passwords["imported"] = adapter.Password{UserID: "imported", Hash: stored}
		h.wantPage(h.prove("/auth/password/forgot"), "a password")
		assert.Equalf(t, stored, h.keeper.passwords["imported"].Hash, "%s: the password was changed", proof)
		h.victim.post("/auth/callback/password", "email", victim, "password", otherPassword).wantLocation(t, origin)
		assert.NotNilf(t, h.store.users["imported"].EmailVerified, "%s: the sign-in did not confirm the address", proof)
		assert.Equal(t, "imported", h.idOf(h.victim), proof)
	}
}

// TestPasswordResetDuringSignIn: a sign-in with the old password that is under way
// while the password is changed makes no session.
func TestPasswordResetDuringSignIn(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"createSession", "getUser", "getSessionAndUser"} {
		s := newPasswordSite(t, nil)
		id := s.member("ada@example.com", goodPassword)
		changed := false
		s.store.before = func(method string, _ ...any) error {
			if method == at && !changed {
				changed = true
				s.store.mu.Lock()
				defer s.store.mu.Unlock()
				p := s.store.passwords[id]
				p.State = `{"version":"another","changed":1}`
				s.store.passwords[id] = p
				clear(s.store.sessions)
			}
			return nil
		}
		b := s.browser()
		s.signIn(b, "ada@example.com", goodPassword)
		s.store.before = nil
		if changed {
			b.wantNoSession()
		}
		assert.Falsef(t, changed && at == "createSession" && len(s.store.sessions) != 0, "%d sessions", len(s.store.sessions))
	}
}

// TestSessionTokenOfAnotherWay: a session token of a sign-in without the password is
// over, too, once a password is chosen; one of a later sign-in is not.
func TestSessionTokenOfAnotherWay(t *testing.T) {
	t.Parallel()
	h := newHijack(t, "mail", auth.StrategyJWT, func(*auth.Config) {})
	first, second := newBrowser(t, h.stage), newBrowser(t, h.stage)
	h.byMail(first)
	h.byMail(second)
	first.post("/auth/password/forgot", "email", victim)
	h.chooseIn(first, h.firstLink(), "password", goodPassword).wantLocation(t, origin)
	first.wantSession(victim)
	second.wantNoSession()
	h.byMail(second)
	second.wantSession(victim)
}

// TestPasswordStopsDangerousLinking: an account whose address nobody has proven is not
// linked to a user who has a password, even if the provider may link by address.
func TestPasswordStopsDangerousLinking(t *testing.T) {
	t.Parallel()
	for name, has := range map[string]bool{"a password": true, "no way in": false} {
		h := newHijack(t, "provider", auth.StrategyDatabase, func(c *auth.Config) {
			c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true
		})
		h.keeper.users["imported"] = adapter.User{ID: "imported", Email: victim}
		if has {
			h.keeper.passwords["imported"] = adapter.Password{UserID: "imported", Hash: "$argon2id$"}
		}
		b := newBrowser(t, h.stage)
		r := h.at(b, "idp", "ada")
		linked := h.idOf(b) == "imported"
		assert.NotEqualf(t, has, linked, "%s: linked is %v, sent to %s", name, linked, r.location())
	}
}

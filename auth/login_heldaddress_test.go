package auth_test

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBothProofsTogetherLink: an honest person signed up with an address that the
// provider says nothing about, and proves it later. The way in which they signed
// up is the second proof.
func TestBothProofsTogetherLink(t *testing.T) {
	t.Run("mail link", func(t *testing.T) {
		st := newStage(t, nil)
		first, b := newBrowser(t, st), newBrowser(t, st)
		st.at(first, "idp", "ada").wantLocation(t, origin)
		page := st.byMail(b)
		st.wantPage(page)
		l := b.press(page, "<span>Sign in with idp</span>").location() + "&login_hint=ada"
		b.get("/auth/callback/idp?"+st.idp.authorize(t, l).Encode()).wantLocation(t, origin)
		u := st.userOf(b)
		require.Truef(t, u.ID == st.userOf(first).ID && u.EmailVerified != nil, "signed in as %+v", u)
		st.byMail(newBrowser(t, st)).wantLocation(t, origin) // and from now on the link is enough
	})
	t.Run("provider", func(t *testing.T) {
		st := newStage(t, nil)
		first, b := newBrowser(t, st), newBrowser(t, st)
		st.at(first, "idp", "ada").wantLocation(t, origin)
		st.states = true
		page := st.at(b, "other", "ada-there")
		st.wantPage(page)
		st.states = nil
		l := b.press(page, "<span>Sign in with idp</span>").location() + "&login_hint=ada"
		b.get("/auth/callback/idp?"+st.idp.authorize(t, l).Encode()).wantLocation(t, origin)
		linked := st.store.accounts[adapter.AccountKey{Provider: "other", ProviderAccountID: "ada-there"}]
		u := st.userOf(b)
		require.Truef(t, u.EmailVerified != nil && linked.UserID == u.ID && linked.AccessToken != nil,
			"signed in as %+v, linked is %+v", u, linked)
	})
}

// TestProofOfAnotherBrowserLinksNothing: what the victim has proven waits in
// the victim's browser; copied into another browser it has no effect.
func TestProofOfAnotherBrowserLinksNothing(t *testing.T) {
	st := newStage(t, nil)
	attacker, b := newBrowser(t, st), newBrowser(t, st)
	st.at(attacker, "idp", "mallory").wantLocation(t, origin)
	st.wantPage(st.byMail(b))
	const proof = "__Host-authjs.proof"
	attacker.cookies[proof] = b.cookies[proof]
	st.at(attacker, "idp", "mallory").wantLocation(t, origin)
	u := st.userOf(attacker)
	assert.Nilf(t, u.EmailVerified, "the attacker's user has a proven address: %+v", u)
	attacker.cookies[proof] = b.cookies[proof]
	attacker.post("/auth/callback/email", "startAfresh", "true").wantLocation(t, lateAnswer)
}

// TestStartAfresh: the person who has proven the address continues as a new
// user. The other user loses only the address, and an event reports it.
func TestStartAfresh(t *testing.T) {
	for name, prove := range proofsElsewhere {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			attacker, b := newBrowser(t, st), newBrowser(t, st)
			st.at(attacker, "idp", "mallory").wantLocation(t, origin)
			page := prove(st, b)
			st.wantPage(page)
			kept := b.cookies["__Host-authjs.proof"]
			target, _ := page.form(t, "Start afresh")
			b.submit(target, "startAfresh", "true").wantLocation(t, origin+"/auth/signin?error=MissingCSRF")
			b.press(page, "Start afresh").wantLocation(t, origin)
			old, fresh := st.userOf(attacker), st.userOf(b)
			assert.Truef(t, old.Email == "" && old.ID != fresh.ID && fresh.Email == victim && fresh.EmailVerified != nil,
				"the old user is %+v, the new one %+v", old, fresh)
			assert.Equal(t, []string{victim}, st.released)
			st.states = nil
			again := newBrowser(t, st)
			st.at(again, "idp", "mallory").wantLocation(t, origin) // the account is still there
			assert.Equal(t, old.ID, st.userOf(again).ID, "the old user lost the account")
			b.cookies[kept.Name] = kept
			b.post(target, "startAfresh", "true").wantLocation(t, origin) // once: the browser finished it before
		})
	}
}

package adaptertest

import (
	"errors"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// credentials makes the calls that give a user ways to sign in, of the adapter and of a
// model, and says what it did.
type credentials struct {
	c     *clauseContext
	model *model.Model
	user  string
	did   []string
}

// credentialsOfEachOrigin deletes, with keepOne, the authenticators of users who got them and
// their accounts in different ways, and compares each outcome with the model.
func (c *clauseContext) credentialsOfEachOrigin() {
	origins := []func(*credentials){(*credentials).created}
	if c.works("CreateUserWithAccount") {
		origins = append(origins, (*credentials).signedUp, (*credentials).signedUpApart, (*credentials).signedUpBare)
	}
	later := []func(*credentials){(*credentials).linked, (*credentials).registered, (*credentials).unlinked, (*credentials).connected, (*credentials).left}
	type way struct{ origin, later int } // later is a set of bits
	var ways []way
	for origin := range origins {
		for set := range 1 << len(later) {
			ways = append(ways, way{origin, set})
		}
	}
	for w := range some(&c.budget, ways) {
		k := &credentials{c: c, model: model.New()}
		origins[w.origin](k)
		for i, add := range later {
			if w.later&(1<<i) != 0 {
				add(k)
			}
		}
		k.deleteAll()
	}
}

func (k *credentials) created() {
	u := k.c.user()
	k.user, k.did = u.ID, []string{"was created"}
	_, err := k.model.CreateUser(k.c.ctx, *u)
	must(k.c, "the model", u, err)
}

// signedUp signs up with a passkey and the account that it is connected to, signedUpApart
// with a passkey and another account, and signedUpBare with an account only.
func (k *credentials) signedUp() {
	k.signUp("signed up with a passkey", k.c.newSignUp(), signUp.call)
}

func (k *credentials) signedUpApart() {
	s := k.c.newSignUp()
	s.account.Type, s.account.ProviderAccountID = adapter.AccountOIDC, k.c.unique("subject")
	k.signUp("signed up with OpenID and a passkey", s, signUp.call)
}

func (k *credentials) signedUpBare() {
	s := k.c.newSignUp()
	s.account.Type = adapter.AccountOAuth
	k.signUp("signed up with OAuth", s, signUp.withoutPasskey)
}

func (k *credentials) signUp(did string, s signUp, makes func(signUp) call) {
	u := of[*adapter.User](k.c, makes(s))
	s.user.ID = u.ID
	k.user, k.did = u.ID, []string{did}
	_, err := makes(s).do(k.c.ctx, k.model)
	must(k.c, "the model", u, err)
}

// both makes a call that must succeed.
func (k *credentials) both(m call) {
	_, err := m.do(k.c.ctx, k.c.a)
	_, wantErr := m.do(k.c.ctx, k.model)
	must(k.c, m.method+" of a user who "+strings.Join(k.did, ", "), k, errors.Join(err, wantErr))
}

func (k *credentials) linked() {
	k.both(linkAccount(k.c.newAccount(k.user)))
	k.did = append(k.did, "linked an account")
}

func (k *credentials) registered() {
	k.both(createAuthenticator(k.c.newAuthenticator(k.user)))
	k.did = append(k.did, "registered a passkey")
}

func (k *credentials) unlinked() {
	x := k.c.newAccount(k.user)
	k.both(linkAccount(x))
	k.both(unlinkAccount(x.Key()))
	k.did = append(k.did, "linked an account and unlinked it")
}

func (k *credentials) connected() {
	x, w := k.c.newAccount(k.user), k.c.newAuthenticator(k.user)
	x.Type, x.ProviderAccountID = adapter.AccountWebAuthn, w.ProviderAccountID
	k.both(createAuthenticator(w))
	k.both(linkAccount(x))
	k.did = append(k.did, "registered a passkey with an account")
}

// left unlinks an account that the user has.
func (k *credentials) left() {
	for _, x := range k.model.Accounts {
		k.both(unlinkAccount(x.Key()))
		k.did = append(k.did, "unlinked the account of type "+string(x.Type))
		return
	}
}

// deleteAll deletes one authenticator after the other, with keepOne, in any order.
func (k *credentials) deleteAll() {
	ids := sortedKeys(k.model.Authenticators)
	k.c.rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		m := deleteAuthenticator(k.user, id, true)
		got, err := m.do(k.c.ctx, k.c.a)
		want, wantErr := m.do(k.c.ctx, k.model)
		what := "DeleteAuthenticator with keepOne of a user who " + strings.Join(k.did, ", ")
		switch {
		case wantErr != nil && (err == nil || !errors.Is(err, adapter.ErrLastCredential)):
			k.c.Errorf("%s: got %s, error %v, want ErrLastCredential: nothing else is left", what, diff.Show(got), err)
		case wantErr == nil && err != nil:
			k.c.Errorf("%s: error %v, want success: a credential is left", what, err)
		case wantErr == nil:
			k.c.same(what, got, want)
		}
		k.did = append(k.did, "deleted a passkey")
		if k.c.failed() {
			return
		}
	}
}

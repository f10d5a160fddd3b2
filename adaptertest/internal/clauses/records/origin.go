package records

import (
	"errors"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// origin is how a user got ways to sign in: by calls of the adapter, and the same calls of a
// model, and what they did in words.
type origin struct {
	c     *kit.Context
	model *model.Model
	user  string
	did   []string
}

func (k *origin) created() {
	u := k.c.User()
	k.user, k.did = u.ID, []string{"was created"}
	_, err := k.model.CreateUser(k.c.Ctx, *u)
	kit.Must(k.c, "the model", u, err)
}

// signedUp signs up with a passkey and the account that it is connected to, signedUpApart
// with a passkey and another account, and signedUpBare with an account only.
func (k *origin) signedUp() {
	k.signUp("signed up with a passkey", kit.NewSignUp(k.c), (*kit.Draft).Call)
}

func (k *origin) signedUpApart() {
	s := kit.NewSignUp(k.c)
	s.Account.Type, s.Account.ProviderAccountID = adapter.AccountOIDC, k.c.Unique("subject")
	k.signUp("signed up with OpenID and a passkey", s, (*kit.Draft).Call)
}

func (k *origin) signedUpBare() {
	s := kit.NewSignUp(k.c)
	s.Account.Type = adapter.AccountOAuth
	k.signUp("signed up with OAuth", s, (*kit.Draft).WithoutPasskey)
}

func (k *origin) signUp(did string, s kit.Draft, makes func(*kit.Draft) kit.Call) {
	u := kit.Of[*adapter.User](k.c, makes(&s))
	s.User.ID = u.ID
	k.user, k.did = u.ID, []string{did}
	_, err := makes(&s).Do(k.c.Ctx, k.model)
	kit.Must(k.c, "the model", u, err)
}

// both makes calls that must succeed, through the adapter and the model.
func (k *origin) both(did string, calls ...kit.Call) {
	for _, m := range calls {
		_, err := m.Do(k.c.Ctx, k.c.Adapter)
		_, wantErr := m.Do(k.c.Ctx, k.model)
		kit.Must(k.c, m.Method+" of a user who "+strings.Join(k.did, ", "), k, errors.Join(err, wantErr))
	}
	k.did = append(k.did, did)
}

func (k *origin) linked() { k.both("linked an account", kit.LinkAccount(k.c.NewAccount(k.user))) }

func (k *origin) registered() {
	k.both("registered a passkey", kit.CreateAuthenticator(k.c.NewAuthenticator(k.user)))
}

func (k *origin) unlinked() {
	x := k.c.NewAccount(k.user)
	k.both("linked an account and unlinked it", kit.LinkAccount(x), kit.UnlinkAccount(x.Key()))
}

func (k *origin) connected() {
	w := k.c.NewAuthenticator(k.user)
	k.both("registered a passkey with an account", kit.CreateAuthenticator(w), kit.LinkAccount(connectedTo(k.c, w)))
}

// left unlinks an account that the user has.
func (k *origin) left() {
	for _, x := range k.model.Accounts {
		k.both("unlinked the account of type "+string(x.Type), kit.UnlinkAccount(x.Key()))
		return
	}
}

// deleteAll deletes one authenticator after the other, with keepOne, in any order.
func (k *origin) deleteAll() {
	ids := kit.SortedKeys(k.model.Authenticators)
	k.c.Rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	for _, id := range ids {
		m := kit.DeleteAuthenticator(k.user, id, true)
		got, err := m.Do(k.c.Ctx, k.c.Adapter)
		want, wantErr := m.Do(k.c.Ctx, k.model)
		what := "DeleteAuthenticator with keepOne of a user who " + strings.Join(k.did, ", ")
		switch {
		case wantErr != nil && (err == nil || !errors.Is(err, adapter.ErrLastCredential)):
			k.c.Errorf("%s: got %s, error %v, want ErrLastCredential: nothing else is left", what, diff.Show(got), err)
		case wantErr == nil && err != nil:
			k.c.Errorf("%s: error %v, want success: a credential is left", what, err)
		case wantErr == nil:
			k.c.Same(what, got, want)
		}
		k.did = append(k.did, "deleted a passkey")
		if k.c.Failed() {
			return
		}
	}
}

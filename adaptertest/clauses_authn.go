package adaptertest

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	authenticatorMethods = []string{"CreateUser", "CreateAuthenticator"}
	counterMethods       = []string{"CreateUser", "CreateAuthenticator", "UpdateAuthenticatorCounter"}
)

var authnClauses = []check{
	{id: "AUTHN-01", words: "create-returns-and-get-yields-the-record", requires: authenticatorMethods, run: func(c *clauseContext) {
		for _, transports := range []*string{new("usb,ble,ñfc"), nil} {
			a := c.newAuthenticator(c.user().ID)
			a.Transports = transports
			c.same("CreateAuthenticator", c.createAuthenticator(a), &a)
			c.same("GetAuthenticator", c.getAuthenticator(a.CredentialID), &a)
		}
	}},
	{id: "AUTHN-02", words: "unknown-credential-is-absent", requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}, run: func(c *clauseContext) {
		u := c.user()
		a := c.authenticator(u.ID)
		for _, id := range []string{c.unique("credential"), u.ID, a.ProviderAccountID, a.CredentialPublicKey} {
			got, err := c.a.GetAuthenticator(c.ctx, id)
			c.absent(fmt.Sprintf("GetAuthenticator(%q)", id), got, err)
		}
	}},
	{id: "AUTHN-03", words: "credential-in-use-stays-with-its-user", requires: authenticatorMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		w := c.authenticator(a.ID)
		owners := map[string]*adapter.User{"another user": b, "the same user": a}
		for _, what := range sortedKeys(owners) {
			x := c.newAuthenticator(owners[what].ID)
			x.CredentialID, x.Counter = w.CredentialID, 0
			got, err := c.a.CreateAuthenticator(c.ctx, x)
			c.fails("CreateAuthenticator with a credential in use, for "+what, got, err)
			c.same("GetAuthenticator of the credential offered for "+what, c.getAuthenticator(w.CredentialID), &w)
			if c.works("ListAuthenticatorsByUserID") {
				c.sameAuthenticators("the list of its user", c.listAuthenticators(a.ID), []adapter.Authenticator{w})
				c.sameAuthenticators("the list of the other user", c.listAuthenticators(b.ID), nil)
			}
		}
		if c.works("DeleteUser") {
			c.deleteUser(b.ID)
			c.same("GetAuthenticator after the deletion of the user who was refused", c.getAuthenticator(w.CredentialID), &w)
		}
	}},
	{id: "AUTHN-04", words: "list-yields-each-exactly-once", requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, run: func(c *clauseContext) {
		for _, n := range []int{0, 1, 2, 3, 10} {
			u := c.user()
			var want []adapter.Authenticator
			var connections []string
			for i := range n {
				a := c.newAuthenticator(u.ID)
				if i%2 == 1 { // a field of one record must not appear in the next one, which lacks it
					a.Transports, a.Name, a.Created, a.LastUsed, a.CredentialBackedUp, a.Counter = nil, nil, nil, nil, false, 0
				}
				c.createAuthenticator(a)
				want, connections = append(want, a), append(connections, a.ProviderAccountID)
			}
			c.surround(u.ID, AuthenticatorRecord, connections...)
			c.sameAuthenticators(fmt.Sprintf("the list of a user with %d", n), c.listAuthenticators(u.ID), want)
		}
		u := c.user()
		want := c.joinedAuthenticators(u.ID)
		c.sameAuthenticators("the list of a user whose credentials have separators in their ids", c.listAuthenticators(u.ID), want)
		back := c.userWith(0, 0, 3)
		c.cameBack(back)
		c.sameAuthenticators("the list after authenticators had gone and come back", c.listAuthenticators(back.user.ID), back.authenticators)
		listWhileOthersChange(c, "ListAuthenticatorsByUserID", c.listedAuthenticators())
	}},
	{id: "AUTHN-05", words: "list-holds-nobody-elses", requires: authenticatorMethods, run: func(c *clauseContext) {
		users := []*adapter.User{c.user(), c.user()}
		want := map[string][]adapter.Authenticator{}
		for range 3 {
			for _, u := range users {
				want[u.ID] = append(want[u.ID], c.authenticator(u.ID))
			}
		}
		for _, u := range users {
			c.sameAuthenticators("the list of one of two users", c.listAuthenticators(u.ID), want[u.ID])
		}
	}},
	{id: "AUTHN-06", words: "unknown-user-has-an-empty-list", requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, run: func(c *clauseContext) {
		u := c.user()
		c.authenticator(u.ID)
		for _, id := range append(malformedIDs(u.ID), c.id()) {
			list, err := c.a.ListAuthenticatorsByUserID(c.ctx, id)
			if err != nil || len(list) > 0 {
				c.Errorf("ListAuthenticatorsByUserID(%q): got %s, error %v; want an empty list", id, diff.Show(list), err)
			}
		}
	}},
	{id: "AUTHN-07", words: "empty-list-is-not-nil", requires: []string{"CreateUser", "ListAuthenticatorsByUserID"}, run: func(c *clauseContext) {
		for what, id := range map[string]string{"a user without authenticators": c.user().ID, "an unknown user": c.id()} {
			if list := c.listAuthenticators(id); list == nil {
				c.Errorf("ListAuthenticatorsByUserID of %s: got nil, want an empty slice", what)
			}
		}
	}},
	{id: "AUTHN-08", words: "counter-update-stores-the-value", requires: counterMethods, run: func(c *clauseContext) {
		a := c.newAuthenticator(c.user().ID)
		a.Counter = 3
		c.createAuthenticator(a)
		for _, counter := range []int64{7, 100} {
			a.Counter = counter
			got := c.updateCounter(a.CredentialID, counter)
			stored := c.getAuthenticator(a.CredentialID)
			c.same(fmt.Sprintf("GetAuthenticator after the counter was set to %d", counter), stored, &a)
			c.same("what UpdateAuthenticatorCounter returned, against GetAuthenticator", got, stored)
		}
	}},
	{id: "AUTHN-09", words: "counter-update-changes-nothing-else", requires: counterMethods, run: func(c *clauseContext) {
		u, v := c.user(), c.user()
		want := []adapter.Authenticator{c.authenticator(u.ID), c.authenticator(u.ID), c.authenticator(u.ID)}
		other := c.authenticator(v.ID)
		shown := c.getAuthenticator(want[0].CredentialID)
		for _, counter := range []int64{41, 42} {
			want[0].Counter = counter
			c.shownAsBefore("UpdateAuthenticatorCounter", c.updateCounter(want[0].CredentialID, counter), shown)
			c.shownAsBefore("GetAuthenticator after a counter update", c.getAuthenticator(want[0].CredentialID), shown)
			c.sameAuthenticators(fmt.Sprintf("the list after the oldest one's counter was set to %d", counter), c.listAuthenticators(u.ID), want)
			c.sameAuthenticators("the list of another user", c.listAuthenticators(v.ID), []adapter.Authenticator{other})
			for _, w := range append(want, other) {
				c.same("GetAuthenticator", c.getAuthenticator(w.CredentialID), &w)
			}
		}
	}},
	{id: "AUTHN-10", words: "counter-update-of-unknown-fails", requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorCounter"}, run: func(c *clauseContext) {
		u := c.user()
		a := c.authenticator(u.ID)
		unknown := c.unique("credential")
		got, err := c.a.UpdateAuthenticatorCounter(c.ctx, unknown, 9)
		c.fails("UpdateAuthenticatorCounter of an unknown credential", got, err)
		c.absent("GetAuthenticator afterwards", c.getAuthenticator(unknown), nil)
		if c.works("ListAuthenticatorsByUserID") {
			c.sameAuthenticators("the list of a user", c.listAuthenticators(u.ID), []adapter.Authenticator{a})
			c.sameAuthenticators("the list of no user", c.listAuthenticators(""), nil)
		}
	}},
	{id: "AUTHN-11", words: "counters-of-32-bits-come-back", requires: counterMethods, run: func(c *clauseContext) {
		c.counters(0, 1, 1<<31-1, 1<<31, 1<<32-1)
	}},
	{id: "AUTHN-12", words: "counters-of-53-bits-come-back", requires: counterMethods, run: func(c *clauseContext) {
		c.counters(1<<32, 1<<32+1, 1<<53-1)
	}},
	{id: "AUTHN-13", words: "counter-can-stay-and-become-zero", requires: counterMethods, run: func(c *clauseContext) {
		a := c.newAuthenticator(c.user().ID)
		a.Counter = 5
		c.createAuthenticator(a)
		for _, counter := range []int64{5, 5, 0, 0} {
			a.Counter = counter
			what := fmt.Sprintf("the counter set to %d", counter)
			got, err := c.a.UpdateAuthenticatorCounter(c.ctx, a.CredentialID, counter)
			if err != nil || got == nil {
				c.Errorf("%s: got %s, error %v; want the record", what, diff.Show(got), err)
			} else {
				c.same("UpdateAuthenticatorCounter, "+what, got, &a)
			}
			c.same("GetAuthenticator, "+what, c.getAuthenticator(a.CredentialID), &a)
		}
	}},
	{id: "AUTHN-14", words: "lower-counter-may-be-refused", requires: counterMethods, run: func(c *clauseContext) {
		a := c.newAuthenticator(c.user().ID)
		a.Counter = 100
		c.createAuthenticator(a)
		if _, err := c.a.UpdateAuthenticatorCounter(c.ctx, a.CredentialID, 50); err != nil {
			c.Notef("a lower counter is refused: %v", err)
		} else {
			c.Notef("a lower counter is stored")
			a.Counter = 50
		}
		c.same("GetAuthenticator after a lower counter", c.getAuthenticator(a.CredentialID), &a)
	}},
	{id: "AUTHN-15", words: "credential-ids-are-compared-byte-for-byte", requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}, run: func(c *clauseContext) {
		keys := missedKeys(func() string { return c.nearMissKey("credential") })
		for _, id := range c.base64IDs() {
			keys = append(keys, missedKey{id, nearMisses})
		}
		for _, key := range keys {
			id := key.value
			a, b := c.user(), c.user()
			w := c.newAuthenticator(a.ID)
			w.CredentialID = id
			c.createAuthenticator(w)
			misses := key.near(id)
			for _, m := range misses {
				got, err := c.a.GetAuthenticator(c.ctx, m.value)
				c.missed("GetAuthenticator", m, got, err)
				if c.works("UpdateAuthenticatorCounter") {
					got, err := c.a.UpdateAuthenticatorCounter(c.ctx, m.value, 99)
					c.fails("UpdateAuthenticatorCounter of the credential with "+m.name, got, err)
				}
			}
			c.same("GetAuthenticator after calls with near misses", c.getAuthenticator(id), &w)
			var others []adapter.Authenticator
			for _, m := range misses {
				x := c.newAuthenticator(b.ID)
				x.CredentialID = m.value
				if _, err := c.a.CreateAuthenticator(c.ctx, x); c.stored("CreateAuthenticator", m, err) {
					others = append(others, x)
				}
			}
			for _, x := range others {
				c.same("GetAuthenticator of a near miss", c.getAuthenticator(x.CredentialID), &x)
			}
			c.same("GetAuthenticator beside near misses", c.getAuthenticator(id), &w)
			if c.works("ListAuthenticatorsByUserID") {
				c.sameAuthenticators("the list of the first user", c.listAuthenticators(a.ID), []adapter.Authenticator{w})
				c.sameAuthenticators("the list of the user with the near misses", c.listAuthenticators(b.ID), others)
			}
		}
	}},
	{id: "AUTHN-16", words: "long-credential-ids-stay-whole-and-distinct", requires: authenticatorMethods, run: func(c *clauseContext) {
		u := c.user()
		create := func(id string) {
			a := c.newAuthenticator(u.ID)
			a.CredentialID = id
			if _, err := c.a.CreateAuthenticator(c.ctx, a); err != nil {
				c.Notef("a credential id of %d characters is refused: %v", len(id), err)
				return
			}
			c.same(fmt.Sprintf("GetAuthenticator with an id of %d characters", len(id)), c.getAuthenticator(id), &a)
		}
		for _, size := range []int{256, 512, 704, 1364} {
			create(c.longID(size))
		}
		shared := c.longID(1000)
		create(shared + strings.Repeat("A", 363) + "A")
		create(shared + strings.Repeat("A", 363) + "B")
		create(shared + "B" + strings.Repeat("A", 363))
		if c.works("GetAuthenticator") {
			got, err := c.a.GetAuthenticator(c.ctx, shared)
			c.absent("GetAuthenticator of what three ids begin with", got, err)
		}
	}},
	{id: "AUTHN-17", words: "long-public-keys-are-stored", requires: authenticatorMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, size := range []int{378, 2048, 8192} {
			a := c.newAuthenticator(u.ID)
			a.CredentialPublicKey = c.longID(size)
			c.createAuthenticator(a)
			c.same(fmt.Sprintf("GetAuthenticator with a public key of %d characters", size), c.getAuthenticator(a.CredentialID), &a)
		}
	}},
	{id: "AUTHN-18", words: "backed-up-comes-back-both-ways", requires: authenticatorMethods, run: func(c *clauseContext) {
		u := c.user()
		var want []adapter.Authenticator
		for _, backedUp := range []bool{true, false} {
			a := c.newAuthenticator(u.ID)
			a.CredentialBackedUp = backedUp
			c.same("CreateAuthenticator", c.createAuthenticator(a), &a)
			c.same("GetAuthenticator", c.getAuthenticator(a.CredentialID), &a)
			if c.works("UpdateAuthenticatorCounter") {
				a.Counter++
				c.same("UpdateAuthenticatorCounter", c.updateCounter(a.CredentialID, a.Counter), &a)
			}
			want = append(want, a)
		}
		if c.works("ListAuthenticatorsByUserID") {
			c.sameAuthenticators("the list", c.listAuthenticators(u.ID), want)
		}
	}},
	{id: "AUTHN-19", words: "transports-null-empty-and-list-differ", requires: authenticatorMethods, run: func(c *clauseContext) {
		u := c.user()
		var want []adapter.Authenticator
		for _, transports := range []*string{nil, new(""), new("usb,ble,nfc")} {
			a := c.newAuthenticator(u.ID)
			a.Transports = transports
			c.same("CreateAuthenticator", c.createAuthenticator(a), &a)
			c.same("GetAuthenticator", c.getAuthenticator(a.CredentialID), &a)
			want = append(want, a)
		}
		if c.works("ListAuthenticatorsByUserID") {
			c.sameAuthenticators("the list", c.listAuthenticators(u.ID), want)
		}
	}},
	{id: "AUTHN-20", words: "create-for-an-unknown-user-fails", requires: []string{"CreateAuthenticator"}, run: func(c *clauseContext) {
		for _, owner := range c.unknownOwners() {
			a := c.newAuthenticator(owner.id)
			got, err := c.a.CreateAuthenticator(c.ctx, a)
			c.fails("CreateAuthenticator for "+owner.what, got, err)
			if err != nil && c.works("GetAuthenticator") {
				c.absent("GetAuthenticator after a refused creation for "+owner.what, c.getAuthenticator(a.CredentialID), nil)
			}
			if owner.mayCome && c.works("ListAuthenticatorsByUserID") {
				c.createUserWithID(owner.id)
				c.sameAuthenticators("the list once there is a user with the id", c.listAuthenticators(owner.id), nil)
			}
		}
	}},
	{id: "AUTHN-21", words: "list-reports-failures", needs: []ability{abilityFaults}, run: func(c *clauseContext) {
		u := c.user()
		want := []adapter.Authenticator{c.authenticator(u.ID), c.authenticator(u.ID), c.authenticator(u.ID)}
		control := c.faults()
		before := control.Steps()
		c.sameAuthenticators("the list", c.listAuthenticators(u.ID), want)
		steps := int(control.Steps() - before)
		var injected int
		for _, kind := range []fault.Kind{fault.FailRequest, fault.Cut, fault.LoseReply, fault.CutReply, fault.Down} {
			for step := 1; step <= steps; step++ {
				if _, err := control.Inject(kind, step); errors.Is(err, errors.ErrUnsupported) {
					break
				} else if err != nil {
					c.Fatalf("injecting a fault: %v", err)
				}
				injected++
				list, err := c.a.ListAuthenticatorsByUserID(c.ctx, u.ID)
				control.Heal()
				if err == nil { // a list that the adapter read again must be complete
					c.sameAuthenticators(fmt.Sprintf("the list that was returned without an error, with fault %d at step %d of %d", kind, step, steps), list, want)
				}
			}
		}
		if injected == 0 {
			c.notVerified("the harness has no fault that a list meets")
		}
	}},
	{id: "AUTHN-22", words: "device-type-and-account-come-back", requires: authenticatorMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, device := range []string{"singleDevice", "multiDevice"} {
			a := c.newAuthenticator(u.ID)
			a.CredentialDeviceType = device
			c.same("CreateAuthenticator", c.createAuthenticator(a), &a)
			got := c.getAuthenticator(a.CredentialID)
			c.same("GetAuthenticator", got, &a)
			if !c.stores(AccountRecord) || got == nil {
				continue
			}
			x := c.accountWith(u.ID, adapter.AccountKey{Provider: c.unique("passkey"), ProviderAccountID: a.ProviderAccountID})
			x.Type = adapter.AccountWebAuthn
			c.linkAccount(x)
			c.same("GetAccount of the authenticator's account", c.getAccount(adapter.AccountKey{Provider: x.Provider, ProviderAccountID: got.ProviderAccountID}), &x)
		}
	}},
}

// counters creates an authenticator with each counter, and updates one to each
// in turn. The counters ascend: a lower one may be refused [AUTHN-14].
func (c *clauseContext) counters(counters ...int64) {
	u := c.user()
	updated := c.newAuthenticator(u.ID)
	updated.Counter = counters[0]
	c.createAuthenticator(updated)
	for _, counter := range counters {
		a := c.newAuthenticator(u.ID)
		a.Counter = counter
		got, err := c.a.CreateAuthenticator(c.ctx, a)
		if err != nil {
			c.Errorf("CreateAuthenticator with counter %d: %v", counter, err)
		} else {
			c.same(fmt.Sprintf("CreateAuthenticator with counter %d", counter), got, &a)
			c.same(fmt.Sprintf("GetAuthenticator with counter %d", counter), c.getAuthenticator(a.CredentialID), &a)
		}
		updated.Counter = counter
		got, err = c.a.UpdateAuthenticatorCounter(c.ctx, updated.CredentialID, counter)
		if err != nil {
			c.Errorf("UpdateAuthenticatorCounter to %d: %v", counter, err)
			continue
		}
		c.same(fmt.Sprintf("UpdateAuthenticatorCounter to %d", counter), got, &updated)
		c.same(fmt.Sprintf("GetAuthenticator after an update to %d", counter), c.getAuthenticator(updated.CredentialID), &updated)
	}
}

// base64IDs returns credential ids in both base64 alphabets, with padding and
// without, that hold the letters in which the alphabets differ.
func (c *clauseContext) base64IDs() []string {
	bytes := func() []byte {
		sum := sha256.Sum256([]byte(c.unique("credential")))
		return append([]byte{0xfb, 0xef, 0xff, 0xff, 0xfb, 0xfe}, sum[:]...) // ++//+/4... and two letters of padding less one
	}
	return []string{
		base64.StdEncoding.EncodeToString(bytes()),
		base64.RawURLEncoding.EncodeToString(bytes()),
	}
}

// longID returns a unique text of base64 letters of the length.
func (c *clauseContext) longID(length int) string {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		sum := sha256.Sum256([]byte(c.unique("long")))
		b.WriteString(base64.RawURLEncoding.EncodeToString(sum[:]))
	}
	return b.String()[:length]
}

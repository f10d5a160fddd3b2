package records

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	authenticatorMethods = []string{"CreateUser", "CreateAuthenticator"}
	counterMethods       = []string{"CreateUser", "CreateAuthenticator", "UpdateAuthenticatorCounter"}
)

var authnClauses = []kit.Check{
	{ID: "AUTHN-01", Words: "create-returns-and-get-yields-the-record", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		for _, transports := range []*string{new("usb,ble,ñfc"), nil} {
			asCreated(c, c.User().ID, func(w *adapter.Authenticator) { w.Transports = transports })
		}
	}},
	{ID: "AUTHN-02", Words: "unknown-credential-is-absent", Requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}, Test: func(c *kit.Context) {
		u := c.User()
		a := c.Authenticator(u.ID)
		for _, id := range []string{c.Unique("credential"), u.ID, a.ProviderAccountID, a.CredentialPublicKey} {
			kit.FindsNothing(c, fmt.Sprintf("GetAuthenticator(%q)", id), kit.GetAuthenticator(id))
		}
	}},
	{ID: "AUTHN-03", Words: "credential-in-use-stays-with-its-user", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		w := c.Authenticator(a.ID)
		owners := map[string]*adapter.User{"another user": b, "the same user": a}
		for _, what := range kit.SortedKeys(owners) {
			x := c.NewAuthenticator(owners[what].ID)
			x.CredentialID, x.Counter = w.CredentialID, 0
			kit.IsRefused(c, "CreateAuthenticator with a credential in use, for "+what, kit.CreateAuthenticator(x))
			c.Same("GetAuthenticator of the credential offered for "+what, c.GetAuthenticator(w.CredentialID), &w)
			kit.Sees(c, "the list of its user", kit.ListAuthenticatorsByUserID(a.ID), []adapter.Authenticator{w})
			kit.Sees(c, "the list of the other user", kit.ListAuthenticatorsByUserID(b.ID), []adapter.Authenticator{})
		}
		if c.Works("DeleteUser") {
			c.DeleteUser(b.ID)
			c.Same("GetAuthenticator after the deletion of the user who was refused", c.GetAuthenticator(w.CredentialID), &w)
		}
	}},
	{ID: "AUTHN-04", Words: "list-yields-each-exactly-once", Requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, Test: func(c *kit.Context) {
		for _, n := range []int{0, 1, 2, 3, 10} {
			u := c.User()
			var want []adapter.Authenticator
			var connections []string
			for i := range n {
				a := c.NewAuthenticator(u.ID)
				if i%2 == 1 { // a field of one record must not appear in the next one, which lacks it
					a.Transports, a.Name, a.Created, a.LastUsed, a.CredentialBackedUp, a.Counter = nil, nil, nil, nil, false, 0
				}
				c.CreateAuthenticator(a)
				want, connections = append(want, a), append(connections, a.ProviderAccountID)
			}
			surround(c, u.ID, kit.AuthenticatorRecord, connections...)
			c.Same(fmt.Sprintf("the list of a user with %d", n), c.ListAuthenticators(u.ID), want)
		}
		apart := joined(c, kit.AuthenticatorRecord, c.User())
		c.Same("the list of a user whose credentials have separators in their ids", c.ListAuthenticators(apart.User.ID), apart.Authenticators)
		back := cameBack(c, userWith(c, 0, 0, 3))
		c.Same("the list after authenticators had gone and come back", c.ListAuthenticators(back.User.ID), back.Authenticators)
		listWhileOthersChange(c, kit.AuthenticatorRecord, kit.ListAuthenticatorsByUserID)
	}},
	{ID: "AUTHN-05", Words: "list-holds-nobody-elses", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		users := []*adapter.User{c.User(), c.User()}
		want := map[string][]adapter.Authenticator{}
		for range 3 {
			for _, u := range users {
				want[u.ID] = append(want[u.ID], c.Authenticator(u.ID))
			}
		}
		for _, u := range users {
			c.Same("the list of one of two users", c.ListAuthenticators(u.ID), want[u.ID])
		}
	}},
	{ID: "AUTHN-06", Words: "unknown-user-has-an-empty-list", Requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, Test: func(c *kit.Context) {
		u := c.User()
		c.Authenticator(u.ID)
		for _, id := range append(kit.MalformedIDs(u.ID), c.ID()) {
			list, err := c.Adapter.ListAuthenticatorsByUserID(c.Ctx, id)
			if err != nil || len(list) > 0 {
				c.Errorf("ListAuthenticatorsByUserID(%q): got %s, error %v; want an empty list", id, diff.Show(list), err)
			}
		}
	}},
	{ID: "AUTHN-07", Words: "empty-list-is-not-nil", Requires: []string{"CreateUser", "ListAuthenticatorsByUserID"}, Test: func(c *kit.Context) {
		for what, id := range map[string]string{"a user without authenticators": c.User().ID, "an unknown user": c.ID()} {
			if list := c.ListAuthenticators(id); list == nil {
				c.Errorf("ListAuthenticatorsByUserID of %s: got nil, want an empty slice", what)
			}
		}
	}},
	{ID: "AUTHN-08", Words: "counter-update-stores-the-value", Requires: counterMethods, Test: func(c *kit.Context) {
		a := registeredAs(c, c.User().ID, func(w *adapter.Authenticator) { w.Counter = 3 })
		for _, counter := range []int64{7, 100} {
			a.Counter = counter
			got := c.UpdateCounter(a.CredentialID, counter)
			stored := c.GetAuthenticator(a.CredentialID)
			c.Same(fmt.Sprintf("GetAuthenticator after the counter was set to %d", counter), stored, &a)
			c.Same("what UpdateAuthenticatorCounter returned, against GetAuthenticator", got, stored)
		}
	}},
	{ID: "AUTHN-09", Words: "counter-update-changes-nothing-else", Requires: counterMethods, Test: func(c *kit.Context) {
		u, v := c.User(), c.User()
		want := []adapter.Authenticator{c.Authenticator(u.ID), c.Authenticator(u.ID), c.Authenticator(u.ID)}
		other := c.Authenticator(v.ID)
		shown := c.GetAuthenticator(want[0].CredentialID)
		for _, counter := range []int64{41, 42} {
			want[0].Counter = counter
			shownAsBefore(c, "UpdateAuthenticatorCounter", c.UpdateCounter(want[0].CredentialID, counter), shown)
			shownAsBefore(c, "GetAuthenticator after a counter update", c.GetAuthenticator(want[0].CredentialID), shown)
			c.Same(fmt.Sprintf("the list after the oldest one's counter was set to %d", counter), c.ListAuthenticators(u.ID), want)
			c.Same("the list of another user", c.ListAuthenticators(v.ID), []adapter.Authenticator{other})
			for _, w := range append(want, other) {
				c.Same("GetAuthenticator", c.GetAuthenticator(w.CredentialID), &w)
			}
		}
	}},
	{ID: "AUTHN-10", Words: "counter-update-of-unknown-fails", Requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorCounter"}, Test: func(c *kit.Context) {
		u := c.User()
		a := c.Authenticator(u.ID)
		unknown := c.Unique("credential")
		kit.IsRefused(c, "UpdateAuthenticatorCounter of an unknown credential", kit.UpdateAuthenticatorCounter(unknown, 9))
		c.Absent("GetAuthenticator afterwards", c.GetAuthenticator(unknown), nil)
		kit.Sees(c, "the list of a user", kit.ListAuthenticatorsByUserID(u.ID), []adapter.Authenticator{a})
		kit.Sees(c, "the list of no user", kit.ListAuthenticatorsByUserID(""), []adapter.Authenticator{})
	}},
	{ID: "AUTHN-11", Words: "counters-of-32-bits-come-back", Requires: counterMethods, Test: func(c *kit.Context) {
		counters(c, 0, 1, 1<<31-1, 1<<31, 1<<32-1)
	}},
	{ID: "AUTHN-12", Words: "counters-of-53-bits-come-back", Requires: counterMethods, Test: func(c *kit.Context) {
		counters(c, 1<<32, 1<<32+1, 1<<53-1)
	}},
	{ID: "AUTHN-13", Words: "counter-can-stay-and-become-zero", Requires: counterMethods, Test: func(c *kit.Context) {
		a := registeredAs(c, c.User().ID, func(w *adapter.Authenticator) { w.Counter = 5 })
		for _, counter := range []int64{5, 5, 0, 0} {
			a.Counter = counter
			what := fmt.Sprintf("the counter set to %d", counter)
			got, err := c.Adapter.UpdateAuthenticatorCounter(c.Ctx, a.CredentialID, counter)
			if err != nil || got == nil {
				c.Errorf("%s: got %s, error %v; want the record", what, diff.Show(got), err)
			} else {
				c.Same("UpdateAuthenticatorCounter, "+what, got, &a)
			}
			c.Same("GetAuthenticator, "+what, c.GetAuthenticator(a.CredentialID), &a)
		}
	}},
	{ID: "AUTHN-14", Words: "lower-counter-may-be-refused", Requires: counterMethods, Test: func(c *kit.Context) {
		a := registeredAs(c, c.User().ID, func(w *adapter.Authenticator) { w.Counter = 100 })
		if _, err := c.Adapter.UpdateAuthenticatorCounter(c.Ctx, a.CredentialID, 50); err != nil {
			c.Notef("a lower counter is refused: %v", err)
		} else {
			c.Notef("a lower counter is stored")
			a.Counter = 50
		}
		c.Same("GetAuthenticator after a lower counter", c.GetAuthenticator(a.CredentialID), &a)
	}},
	{ID: "AUTHN-15", Words: "credential-ids-are-compared-byte-for-byte", Requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}, Test: func(c *kit.Context) {
		keys := missedKeys(func() string { return nearMissKey(c, "credential") })
		for _, id := range base64IDs(c) {
			keys = append(keys, kit.MissedKey{Value: id, Near: kit.NearMisses})
		}
		for _, key := range keys {
			a, b, id := c.User(), c.User(), key.Value
			w := registeredAs(c, a.ID, func(w *adapter.Authenticator) { w.CredentialID = id })
			misses := key.Near(id)
			for _, m := range misses {
				missedBy(c, kit.GetAuthenticator(m.Value), m)
				if update := kit.UpdateAuthenticatorCounter(m.Value, 99); c.Works(update.Method) {
					kit.IsRefused(c, "UpdateAuthenticatorCounter of the credential with "+m.Name, update)
				}
			}
			c.Same("GetAuthenticator after calls with near misses", c.GetAuthenticator(id), &w)
			others := withKeys(c, kit.AuthenticatorRecord, b, misses).Authenticators
			for _, x := range others {
				c.Same("GetAuthenticator of a near miss", c.GetAuthenticator(x.CredentialID), &x)
			}
			c.Same("GetAuthenticator beside near misses", c.GetAuthenticator(id), &w)
			kit.Sees(c, "the list of the first user", kit.ListAuthenticatorsByUserID(a.ID), []adapter.Authenticator{w})
			kit.Sees(c, "the list of the user with the near misses", kit.ListAuthenticatorsByUserID(b.ID), others)
		}
	}},
	{ID: "AUTHN-16", Words: "long-credential-ids-stay-whole-and-distinct", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		u := c.User()
		create := func(id string) {
			a := c.NewAuthenticator(u.ID)
			a.CredentialID = id
			if _, err := c.Adapter.CreateAuthenticator(c.Ctx, a); err != nil {
				c.Notef("a credential id of %d characters is refused: %v", len(id), err)
				return
			}
			c.Same(fmt.Sprintf("GetAuthenticator with an id of %d characters", len(id)), c.GetAuthenticator(id), &a)
		}
		for _, size := range []int{256, 512, 704, 1364} {
			create(longID(c, size))
		}
		shared := longID(c, 1000)
		create(shared + strings.Repeat("A", 363) + "A")
		create(shared + strings.Repeat("A", 363) + "B")
		create(shared + "B" + strings.Repeat("A", 363))
		if c.Works("GetAuthenticator") {
			kit.FindsNothing(c, "GetAuthenticator of what three ids begin with", kit.GetAuthenticator(shared))
		}
	}},
	{ID: "AUTHN-17", Words: "long-public-keys-are-stored", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, size := range []int{378, 2048, 8192} {
			a := registeredAs(c, u.ID, func(w *adapter.Authenticator) { w.CredentialPublicKey = longID(c, size) })
			c.Same(fmt.Sprintf("GetAuthenticator with a public key of %d characters", size), c.GetAuthenticator(a.CredentialID), &a)
		}
	}},
	{ID: "AUTHN-18", Words: "backed-up-comes-back-both-ways", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		u := c.User()
		var want []adapter.Authenticator
		for _, backedUp := range []bool{true, false} {
			a := asCreated(c, u.ID, func(w *adapter.Authenticator) { w.CredentialBackedUp = backedUp })
			if c.Works("UpdateAuthenticatorCounter") {
				a.Counter++
				c.Same("UpdateAuthenticatorCounter", c.UpdateCounter(a.CredentialID, a.Counter), &a)
			}
			want = append(want, a)
		}
		kit.Sees(c, "the list", kit.ListAuthenticatorsByUserID(u.ID), want)
	}},
	{ID: "AUTHN-19", Words: "transports-null-empty-and-list-differ", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		u := c.User()
		want := kit.Map([]*string{nil, new(""), new("usb,ble,nfc")}, func(transports *string) adapter.Authenticator {
			return asCreated(c, u.ID, func(w *adapter.Authenticator) { w.Transports = transports })
		})
		kit.Sees(c, "the list", kit.ListAuthenticatorsByUserID(u.ID), want)
	}},
	{ID: "AUTHN-20", Words: "create-for-an-unknown-user-fails", Requires: []string{"CreateAuthenticator"}, Test: func(c *kit.Context) {
		for _, owner := range unknownOwners(c) {
			a := c.NewAuthenticator(owner.ID)
			if kit.IsRefused(c, "CreateAuthenticator for "+owner.what, kit.CreateAuthenticator(a)) {
				kit.Sees(c, "GetAuthenticator after a refused creation for "+owner.what, kit.GetAuthenticator(a.CredentialID), nil)
			}
			if owner.mayCome && c.Works("ListAuthenticatorsByUserID") {
				c.CreateUser(kit.UserNamed(c, owner.ID))
				c.Same("the list once there is a user with the id", c.ListAuthenticators(owner.ID), []adapter.Authenticator(nil))
			}
		}
	}},
	{ID: "AUTHN-21", Words: "list-reports-failures", Needs: []kit.Ability{kit.AbilityFaults}, Test: func(c *kit.Context) {
		u := c.User()
		want := []adapter.Authenticator{c.Authenticator(u.ID), c.Authenticator(u.ID), c.Authenticator(u.ID)}
		control := kit.Faults(c)
		before := control.Steps()
		c.Same("the list", c.ListAuthenticators(u.ID), want)
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
				list, err := c.Adapter.ListAuthenticatorsByUserID(c.Ctx, u.ID)
				control.Heal()
				if err == nil { // a list that the adapter read again must be complete
					c.Same(fmt.Sprintf("the list that was returned without an error, with fault %d at step %d of %d", kind, step, steps), list, want)
				}
			}
		}
		if injected == 0 {
			c.NotVerified("the harness has no fault that a list meets")
		}
	}},
	{ID: "AUTHN-22", Words: "device-type-and-account-come-back", Requires: authenticatorMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, device := range []string{"singleDevice", "multiDevice"} {
			a := asCreated(c, u.ID, func(w *adapter.Authenticator) { w.CredentialDeviceType = device })
			if !c.Stores(kit.AccountRecord) {
				continue
			}
			x := connectedTo(c, a)
			x.Provider = c.Unique("passkey")
			c.LinkAccount(x)
			c.Same("GetAccount of the authenticator's account", c.GetAccount(x.Key()), &x)
		}
	}},
}

// asCreated creates an authenticator of the user with what change gives it, and compares what is returned and stored.
func asCreated(c *kit.Context, userID string, change func(*adapter.Authenticator)) adapter.Authenticator {
	w := c.NewAuthenticator(userID)
	change(&w)
	c.Same("CreateAuthenticator", c.CreateAuthenticator(w), &w)
	c.Same("GetAuthenticator", c.GetAuthenticator(w.CredentialID), &w)
	return w
}

// counters creates an authenticator with each counter, and updates one to each
// in turn. The counters ascend: a lower one may be refused [AUTHN-14].
func counters(c *kit.Context, counters ...int64) {
	u := c.User()
	updated := registeredAs(c, u.ID, func(w *adapter.Authenticator) { w.Counter = counters[0] })
	for _, counter := range counters {
		a := c.NewAuthenticator(u.ID)
		a.Counter = counter
		got, err := c.Adapter.CreateAuthenticator(c.Ctx, a)
		if err != nil {
			c.Errorf("CreateAuthenticator with counter %d: %v", counter, err)
		} else {
			c.Same(fmt.Sprintf("CreateAuthenticator with counter %d", counter), got, &a)
			c.Same(fmt.Sprintf("GetAuthenticator with counter %d", counter), c.GetAuthenticator(a.CredentialID), &a)
		}
		updated.Counter = counter
		got, err = c.Adapter.UpdateAuthenticatorCounter(c.Ctx, updated.CredentialID, counter)
		if err != nil {
			c.Errorf("UpdateAuthenticatorCounter to %d: %v", counter, err)
			continue
		}
		c.Same(fmt.Sprintf("UpdateAuthenticatorCounter to %d", counter), got, &updated)
		c.Same(fmt.Sprintf("GetAuthenticator after an update to %d", counter), c.GetAuthenticator(updated.CredentialID), &updated)
	}
}

// base64IDs returns credential ids in both base64 alphabets, with padding and
// without, that hold the letters in which the alphabets differ.
func base64IDs(c *kit.Context) []string {
	bytes := func() []byte {
		sum := sha256.Sum256([]byte(c.Unique("credential")))
		return append([]byte{0xfb, 0xef, 0xff, 0xff, 0xfb, 0xfe}, sum[:]...) // ++//+/4... and two letters of padding less one
	}
	return []string{base64.StdEncoding.EncodeToString(bytes()), base64.RawURLEncoding.EncodeToString(bytes())}
}

// longID returns a unique text of base64 letters of the length.
func longID(c *kit.Context, length int) string {
	var b strings.Builder
	for i := 0; b.Len() < length; i++ {
		sum := sha256.Sum256([]byte(c.Unique("long")))
		b.WriteString(base64.RawURLEncoding.EncodeToString(sum[:]))
	}
	return b.String()[:length]
}

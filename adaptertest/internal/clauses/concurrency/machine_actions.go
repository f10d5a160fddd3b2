package concurrency

import (
	"errors"
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// methods returns the random calls of a machine. The name of an action is the name of its method.
func (m *machine) methods() map[string]func(*rapid.T) {
	c := m.c
	return map[string]func(*rapid.T){
		"CreateUser": func(t *rapid.T) {
			u := c.NewUser()
			u.ID, u.Email = pick(t, m.ids[:3]), pick(t, m.addresses())
			switch rapid.IntRange(0, 3).Draw(t, "shape") {
			case 0:
				u.Name, u.EmailVerified, u.Image = nil, nil, nil
			case 1:
				u.ID = ""
			}
			m.creates(t, &u, func() kit.Call { return kit.CreateUser(u) })
		},
		"GetUser":        func(t *rapid.T) { m.same(t, kit.GetUser(pick(t, m.ids)), true) },
		"GetUserByEmail": func(t *rapid.T) { m.same(t, kit.GetUserByEmail(pick(t, m.emails)), true) },
		"UpdateUser": func(t *rapid.T) {
			id := pick(t, m.ids)
			v, stored := c.NewUser(), m.model.Users[id]
			v.Email = pick(t, m.emails)
			ifEmail := pick(t, []string{"", "", stored.Email, pick(t, m.emails)})
			m.same(t, kit.UpdateUser(adapter.UserUpdate{
				ID:            id,
				IfEmail:       ifEmail,
				Name:          change(t, "name", v.Name, nil, stored.Name),
				Image:         change(t, "image", v.Image, nil, stored.Image),
				EmailVerified: change(t, "verified", v.EmailVerified, nil, stored.EmailVerified),
				Email:         change(t, "e-mail", v.Email, v.Email, stored.Email),
			}), true)
		},
		"DeleteUser": func(t *rapid.T) { m.same(t, kit.DeleteUser(pick(t, m.ids)), false) },
		"CreateUserWithAccount": func(t *rapid.T) {
			s := kit.NewSignUp(c)
			key := pick(t, m.pairs)
			s.User.ID, s.User.Email = pick(t, m.ids[:3]), pick(t, m.addresses())
			s.Account.Provider, s.Account.ProviderAccountID = key.Provider, key.ProviderAccountID
			s.Authenticator.CredentialID = pick(t, m.credentials)
			s.Authenticator.ProviderAccountID = key.ProviderAccountID
			makes := (*kit.Draft).Call
			if !c.Works("CreateAuthenticator") || rapid.Bool().Draw(t, "no passkey") {
				makes = (*kit.Draft).WithoutPasskey
			}
			m.creates(t, &s.User, func() kit.Call { return makes(&s) })
		},

		"GetUserByAccount": func(t *rapid.T) { m.same(t, kit.GetUserByAccount(pick(t, m.pairs)), true) },
		"GetAccount":       func(t *rapid.T) { m.same(t, kit.GetAccountByKey(pick(t, m.pairs)), true) },
		"LinkAccount": func(t *rapid.T) {
			a := c.NewAccount(pick(t, m.live(t)))
			key := pick(t, m.pairs)
			if m.model.Accounts[key].UserID == a.UserID {
				t.SkipNow() // linking again to the same user may fail or not [ACCT-07]
			}
			a.Provider, a.ProviderAccountID = key.Provider, key.ProviderAccountID
			a.Type = pick(t, kit.AccountTypes)
			if rapid.Bool().Draw(t, "bare") {
				a = adapter.Account{UserID: a.UserID, Type: a.Type, Provider: a.Provider, ProviderAccountID: a.ProviderAccountID}
			}
			m.same(t, kit.LinkAccount(a), false)
		},
		"UnlinkAccount":        func(t *rapid.T) { m.same(t, kit.UnlinkAccount(pick(t, m.pairs)), false) },
		"ListAccountsByUserID": func(t *rapid.T) { m.same(t, kit.ListAccountsByUserID(pick(t, m.ids)), true) },
		"UpdateAccount": func(t *rapid.T) {
			key := pick(t, m.pairs)
			fields := rapid.SliceOfDistinct(rapid.SampledFrom(kit.AccountFields), rapid.ID[string]).Draw(t, "fields")
			update, stored := kit.AccountUpdate(c, key, fields), m.model.Accounts[key]
			update.Scope = change(t, "scope", c.NewAccount("").Scope, nil, stored.Scope)
			update.RefreshToken = change(t, "refresh token", c.NewAccount("").RefreshToken, nil, stored.RefreshToken)
			m.same(t, kit.UpdateAccount(update), true)
		},

		"CreateSession": func(t *rapid.T) {
			s := c.NewSession(pick(t, m.live(t)))
			s.SessionToken, s.Expires = pick(t, m.sessions), m.expires(t)
			old, held := m.model.Sessions[s.SessionToken]
			got, err := m.do(t, kit.CreateSession(s))
			switch wasOver := held && m.over(old.Expires); {
			case err != nil && (wasOver || m.over(s.Expires)):
				return // a session that is over may be refused, or still be stored
			case wasOver:
				delete(m.model.Sessions, s.SessionToken)
			}
			m.agree(t, kit.CreateSession(s), got, err, required(!m.over(s.Expires)))
		},
		"GetSessionAndUser": func(t *rapid.T) {
			token := pick(t, m.sessions)
			m.same(t, kit.GetSessionAndUser(token), required(!m.over(m.model.Sessions[token].Expires)))
		},
		"UpdateSession": func(t *rapid.T) {
			update := adapter.SessionUpdate{SessionToken: pick(t, m.sessions)}
			stored, held := m.model.Sessions[update.SessionToken]
			if held && m.over(stored.Expires) {
				t.SkipNow() // a session that is over may be absent
			}
			if held {
				owner, expires := stored.UserID, m.expires(t)
				if m.sessionsMove {
					owner = pick(t, m.live(t))
				}
				update.UserID = change(t, "owner", owner, owner, stored.UserID)
				update.Expires = change(t, "expires", expires, expires, stored.Expires)
			}
			got, err := m.do(t, kit.UpdateSession(update))
			if expires, set := update.Expires.Get(); err != nil && set && m.over(expires) {
				return // an instant that has passed may be refused
			}
			m.agree(t, kit.UpdateSession(update), got, err, false)
		},
		"DeleteSession": func(t *rapid.T) { m.same(t, kit.DeleteSession(pick(t, m.sessions)), false) },
		"ListSessionsByUserID": func(t *rapid.T) {
			k := kit.ListSessionsByUserID(pick(t, m.ids))
			got, err := m.do(t, k)
			m.agree(t, k.Yields(m.withoutOver), m.withoutOver(got), err, true)
		},
		"DeleteSessionsByUserID": func(t *rapid.T) {
			over := countOver(m, m.model.Sessions, func(s adapter.Session) time.Time { return s.Expires })
			m.counts(t, kit.DeleteSessionsByUserID(pick(t, m.ids), pick(t, append(m.sessions, ""))), over)
		},

		"CreateVerificationToken": func(t *rapid.T) {
			key := pick(t, m.tokens)
			token := adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: m.expires(t)}
			got, err := m.do(t, kit.CreateVerificationToken(token))
			old, held := m.model.Tokens[key]
			switch {
			case err != nil && (m.over(token.Expires) || held && m.over(old.Expires)):
				return // a token that is over may be refused, or still be stored
			case err == nil:
				delete(m.model.Tokens, key) // replacing the token is allowed [VTOK-10]
			}
			m.agree(t, kit.CreateVerificationToken(token), got, err, false)
		},
		"UseVerificationToken": func(t *rapid.T) {
			key := pick(t, m.tokens)
			stored, held := m.model.Tokens[key]
			m.same(t, kit.UseVerificationToken(key), required(!held || !m.over(stored.Expires)))
		},
		"DeleteVerificationTokens": func(t *rapid.T) {
			over := countOver(m, m.model.Tokens, func(v adapter.VerificationToken) time.Time { return v.Expires })
			m.counts(t, kit.DeleteVerificationTokens(pick(t, m.tokens).Identifier), over)
		},

		"CreateAuthenticator": func(t *rapid.T) {
			w := c.NewAuthenticator(pick(t, m.live(t)))
			w.CredentialID, w.ProviderAccountID = pick(t, m.credentials), pick(t, m.pairs).ProviderAccountID
			w.CredentialBackedUp = rapid.Bool().Draw(t, "backed up")
			if rapid.Bool().Draw(t, "no transports") {
				w.Transports = nil
			}
			m.same(t, kit.CreateAuthenticator(w), true)
		},
		"GetAuthenticator":           func(t *rapid.T) { m.same(t, kit.GetAuthenticator(pick(t, m.credentials)), true) },
		"ListAuthenticatorsByUserID": func(t *rapid.T) { m.same(t, kit.ListAuthenticatorsByUserID(pick(t, m.ids)), true) },
		"UpdateAuthenticatorCounter": func(t *rapid.T) {
			id := pick(t, m.credentials)
			stored, held := m.model.Authenticators[id]
			k := kit.UpdateAuthenticatorCounter(id, stored.Counter+int64(rapid.IntRange(-1, 3).Draw(t, "step")))
			got, err := m.do(t, k)
			if held && err != nil && k.Args[1].(int64) < stored.Counter {
				return // refusing a lower counter is allowed [AUTHN-14]
			}
			m.agree(t, k, got, err, true)
		},
		"DeleteAuthenticator": func(t *rapid.T) {
			m.same(t, kit.DeleteAuthenticator(pick(t, m.ids), pick(t, m.credentials), rapid.Bool().Draw(t, "keep one")), true)
		},
		"RenameAuthenticator": func(t *rapid.T) {
			id := pick(t, m.credentials)
			stored := m.model.Authenticators[id]
			name := c.Unique("name")
			if stored.Name != nil && rapid.Bool().Draw(t, "as stored") {
				name = *stored.Name
			}
			k := kit.RenameAuthenticator(pick(t, m.ids), id, name)
			got, err := m.do(t, k)
			if errors.Is(err, adapter.ErrUnsupported) {
				return // the store has no place for names
			}
			m.agree(t, k, got, err, true)
		},
		"TouchAuthenticator": func(t *rapid.T) {
			id := pick(t, m.credentials)
			from := m.model.Authenticators[id].Counter + int64(rapid.IntRange(0, 3).Draw(t, "off")/3)
			m.same(t, kit.TouchAuthenticator(id, from, from+int64(rapid.IntRange(0, 2).Draw(t, "step")), c.Instant(-1)), true)
		},

		"CreateUserWithPassword": func(t *rapid.T) {
			e := kit.NewEntrant(c)
			e.User.ID, e.User.Email = pick(t, m.ids[:3]), pick(t, m.addresses())
			m.creates(t, &e.User, e.WithPassword)
		},
		"GetPassword": func(t *rapid.T) { m.same(t, kit.GetPassword(pick(t, m.ids)), true) },
		"SetPassword": func(t *rapid.T) { m.same(t, kit.SetPassword(kit.NewPassword(c, pick(t, m.ids))), true) },
		"SwapPassword": func(t *rapid.T) {
			id := pick(t, m.ids)
			from := m.model.Passwords[id] // as the model has it, or with another hash or state
			from.UserID = id
			switch rapid.IntRange(0, 4).Draw(t, "from") {
			case 0:
				from.Hash += " "
			case 1:
				from.State = ""
			}
			m.same(t, kit.SwapPassword(from, kit.NewPassword(c, id)), true)
		},
		"DeletePassword": func(t *rapid.T) {
			m.same(t, kit.DeletePassword(pick(t, m.ids), rapid.Bool().Draw(t, "keep one")), true)
		},
	}
}

// creates makes a call that creates the user, whose ID the adapter may replace by another one.
func (m *machine) creates(t *rapid.T, u *adapter.User, call func() kit.Call) {
	got, err := m.do(t, call())
	if made, _ := got.(*adapter.User); err == nil && made != nil && made.ID != u.ID {
		u.ID = made.ID
		m.ids = append(m.ids, u.ID)
	}
	m.agree(t, call(), got, err, true)
}

// counts makes a call that returns the number of deleted records, of which so many may have been absent.
func (m *machine) counts(t *rapid.T, k kit.Call, absent int64) {
	got, err := m.do(t, k)
	counted := k.Yields(func(want any) any {
		n, _ := got.(int64)
		if w, ok := want.(int64); ok && n < w && n >= w-absent {
			return n
		}
		return want
	})
	m.agree(t, counted, got, err, true)
}

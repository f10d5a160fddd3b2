package adaptertest

import (
	"time"

	"pgregory.net/rapid"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// optionalActions are the calls of the optional interfaces that the adapter
// supports.
func (m *machine) optionalActions() map[string]func(*rapid.T) {
	c := m.c
	// both makes a call of the adapter and of the model, and compares the results.
	both := func(t *rapid.T, k call) {
		got, err := k.do(c.ctx, c.a)
		want, wantErr := k.do(c.ctx, m.model)
		agree[struct{}](t, m, k.method, k.args, nil, err, nil, wantErr, false)
		if wantErr != nil {
			return
		}
		if d := c.unlike(got, want); d != "" {
			m.differ(t, "%s", d)
		}
	}
	return map[string]func(*rapid.T){
		"CreateUserWithAccount": func(t *rapid.T) {
			s := c.newSignUp()
			slot := rapid.IntRange(0, len(m.ids)-1).Draw(t, "id")
			key := pick(t, m.pairs)
			s.user.ID, s.user.Email = m.ids[slot], pick(t, m.emails)
			s.account.Provider, s.account.ProviderAccountID = key.Provider, key.ProviderAccountID
			s.authenticator.CredentialID = pick(t, m.credentials)
			s.authenticator.ProviderAccountID = key.ProviderAccountID
			var passkey *adapter.Authenticator
			if c.works("CreateAuthenticator") && rapid.Bool().Draw(t, "passkey") {
				passkey = &s.authenticator
			}
			got, err := optional[adapter.SignUps](c.a).CreateUserWithAccount(c.ctx, s.user, s.account, passkey)
			args := []any{s.user, s.account, passkey}
			if err == nil && got != nil && got.ID != s.user.ID { // the adapter assigns IDs
				s.user.ID = got.ID
				m.ids = append(m.ids, got.ID)
			}
			want, wantErr := m.model.CreateUserWithAccount(c.ctx, s.user, s.account, passkey)
			agree(t, m, "CreateUserWithAccount", args, got, err, want, wantErr, false)
		},
		"ListAccountsByUserID": func(t *rapid.T) { both(t, listAccounts(pick(t, m.ids))) },
		"UpdateAccount": func(t *rapid.T) {
			fields := rapid.SliceOfDistinct(rapid.SampledFrom(accountFields), rapid.ID[string]).Draw(t, "fields")
			both(t, updateAccount(c.accountUpdate(pick(t, m.pairs), fields)))
		},
		"ListSessionsByUserID":   func(t *rapid.T) { both(t, listSessions(pick(t, m.ids))) },
		"DeleteSessionsByUserID": func(t *rapid.T) { both(t, deleteSessions(pick(t, m.ids), pick(t, m.sessions))) },
		"DeleteAuthenticator": func(t *rapid.T) {
			both(t, deleteAuthenticator(pick(t, m.ids), pick(t, m.credentials), rapid.Bool().Draw(t, "keep one")))
		},
		"TouchAuthenticator": func(t *rapid.T) {
			id := pick(t, m.credentials)
			from := m.model.Authenticators[id].Counter + int64(rapid.IntRange(0, 3).Draw(t, "off")/3)
			both(t, touchAuthenticator(id, from, from+1, c.instant(-time.Minute)))
		},
		"DeleteVerificationTokens": func(t *rapid.T) { both(t, deleteTokens(pick(t, m.tokens).Identifier)) },
	}
}

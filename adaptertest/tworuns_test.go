package adaptertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/values"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// storedKeys is a model that keeps the keys of all records that were stored in it.
type storedKeys struct {
	*model.Model
	mu   *sync.Mutex
	keys map[string]string // the first record with each key
}

func (s storedKeys) add(kind Kind, record any, err error, key ...any) {
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.keys[keyText(kind, key...)] = fmt.Sprintf("%+v", record)
	}
}

func keyText(kind Kind, key ...any) string { return fmt.Sprintf("%s %q", kind, key) }

func (s storedKeys) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	made, err := s.Model.CreateUser(ctx, u)
	if s.add(UserRecord, made, err, u.Email); err == nil && made.ID == u.ID && !strings.HasPrefix(u.ID, "assigned-") { // which the model assigns
		s.add(UserRecord, made, err, made.ID)
	}
	return made, err
}

func (s storedKeys) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	made, err := s.Model.LinkAccount(ctx, a)
	s.add(AccountRecord, made, err, a.Provider, a.ProviderAccountID)
	return made, err
}

func (s storedKeys) CreateSession(ctx context.Context, x adapter.Session) (*adapter.Session, error) {
	made, err := s.Model.CreateSession(ctx, x)
	s.add(SessionRecord, made, err, x.SessionToken)
	return made, err
}

func (s storedKeys) CreateVerificationToken(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	made, err := s.Model.CreateVerificationToken(ctx, t)
	s.add(VerificationTokenRecord, made, err, t.Identifier, t.Token)
	return made, err
}

func (s storedKeys) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	made, err := s.Model.CreateAuthenticator(ctx, a)
	s.add(AuthenticatorRecord, made, err, a.CredentialID)
	return made, err
}

func (s storedKeys) CreateUserWithAccount(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
	made, err := s.Model.CreateUserWithAccount(ctx, u, a, w)
	s.add(UserRecord, made, err, u.Email)
	s.add(AccountRecord, a, err, a.Provider, a.ProviderAccountID)
	if w != nil {
		s.add(AuthenticatorRecord, w, err, w.CredentialID)
	}
	return made, err
}

func (s storedKeys) CreateUserWithPassword(ctx context.Context, u adapter.User, p adapter.Password) (*adapter.User, error) {
	made, err := s.Model.CreateUserWithPassword(ctx, u, p)
	s.add(UserRecord, made, err, u.Email)
	return made, err
}

// TestTwoRunsShareNoKeys checks that no run stores a record with a key of another run, not even
// with the same seed: the suite may run twice, and in parallel with itself, over one database.
func TestTwoRunsShareNoKeys(t *testing.T) {
	var runs [2]map[string]string
	for i := range runs {
		runs[i] = map[string]string{}
		mu := &sync.Mutex{}
		h := modelHarness(func(m *model.Model) adapter.Adapter { return storedKeys{m, mu, runs[i]} })
		h.Parallel = 4
		// Clauses about concurrency and volume make their keys like all others.
		only := []string{"USER", "ACCT", "SESS", "VTOK", "AUTHN", "CASC", "DATA", "INPUT", "ISO-05", "ALIAS", "SIGNUP", "ALIST", "SLIST", "AEDIT", "TEDIT", "PASS"}
		_, err := Check(t.Context(), h, Options{Seed: 1, Rounds: QuickRounds, Only: only, Parallel: 8})
		require.NoError(t, err)
	}
	for _, word := range append(values.Words, "") { // INPUT-13 passes over what another run stored, and a store should refuse no key
		for _, kind := range []Kind{UserRecord, SessionRecord, AuthenticatorRecord} {
			delete(runs[0], keyText(kind, word))
		}
	}
	for key, record := range runs[0] {
		_, ok := runs[1][key] // assert.NotContains compares with every key of the map
		assert.Falsef(t, ok, "both runs stored %s: %s", key, record)
	}
	assert.GreaterOrEqual(t, len(runs[0]), 4_000, "keys of a run")
}

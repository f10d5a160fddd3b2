package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// TestSignUpThatDiedHeals: the store fails between the writes of a sign-up, and
// while that is undone, too. The next sign-in that proves the address succeeds.
func TestSignUpThatDiedHeals(t *testing.T) {
	s := newCapable()
	dead := false
	s.before = func(method string, _ ...any) error {
		dead = dead || method == "linkAccount" && len(s.accounts) == 0
		if dead {
			return errors.New("connection lost")
		}
		return nil
	}
	// An adapter without SignUps.
	h := newHandler(t, auth.Config{
		Adapter:   withoutSignUps{s.store, s, s, s},
		Providers: []auth.Provider{&auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "i", ClientSecret: "s"}},
	})
	r, _ := http.NewRequest(http.MethodGet, origin, nil) //nolint:noctx // a test
	id := oauthIdentity("ada", victim)
	if _, err := h.Login(t.Context(), r, id); !errors.Is(err, auth.ErrAdapter) || len(s.users) != 1 || len(s.accounts) != 0 {
		t.Fatalf("got %v, users %v", err, s.users)
	}
	s.before = nil
	_, err := h.Login(t.Context(), r, id)
	assert.ErrorIs(t, err, auth.ErrOAuthAccountNotLinked, "without a proof")
	id.Proof = auth.EmailProven
	got, err := h.Login(t.Context(), r, id)
	assert.Truef(t, err == nil && len(s.users) == 1 && s.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}].UserID == got.User.ID,
		"got %+v, %v", got, err)
}

// withoutSignUps is an adapter that has the other capabilities.
type withoutSignUps struct {
	*store
	adapter.AccountLists
	adapter.SessionLists
	lists interface {
		ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error)
	}
}

func (w withoutSignUps) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return w.lists.ListAuthenticatorsByUserID(ctx, userID)
}

// TestSignUpIsOneCall: if the adapter supports it, user and account are stored
// in one write, so a store that dies does not leave only one of them.
func TestSignUpIsOneCall(t *testing.T) {
	st := newStage(t, nil)
	var calls []string
	st.store.before = noting(&calls)
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
	assert.Contains(t, strings.Join(calls, " "), "getUserByEmail createUserWithAccount ")
	assert.NotContains(t, calls, "getUser")
}

package values

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// accountOf has one account.
type accountOf struct {
	adapter.Adapter
	account *adapter.Account
}

func (a accountOf) GetAccount(context.Context, string, string) (*adapter.Account, error) {
	return a.account, nil
}

// The evidence shows what a call returned, also after the clause has overwritten it.
func TestEvidenceIsKeptWhenResultsAreOverwritten(t *testing.T) {
	both := []byte("[1][2]")
	account := &adapter.Account{UserID: "ada", AuthorizationDetails: json.RawMessage(both[:3])}
	c := kit.NewRun(&kit.Harness{}, 1, 1).NewContext("ALIAS-01")
	_, err := c.Observe(accountOf{account: account}).GetAccount(t.Context(), "key", "provider")
	require.NoError(t, err)
	overwrite(c, account)
	assert.Truef(t, account.UserID == "overwritten" && string(both) == "######", "not overwritten: %+v, %s", account, both)
	if said := c.Trace.String(); !strings.Contains(said, `UserID: "ada"`) || strings.Contains(said, "overwritten") {
		t.Errorf("got the evidence %s", said)
	}
}

package adaptertest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The evidence shows what a call returned, also after the clause has overwritten it.
func TestEvidenceIsKeptWhenResultsAreOverwritten(t *testing.T) {
	c := &clauseContext{trace: &trace{}}
	both := []byte("[1][2]")
	account := &adapter.Account{UserID: "ada", AuthorizationDetails: json.RawMessage(both[:3])}
	c.trace.add("GetAccount", []any{"key"}, account, nil)
	c.overwrite(account)
	if account.UserID != "overwritten" || string(both) != "######" {
		t.Errorf("not overwritten: %+v, %s", account, both)
	}
	if said := c.trace.String(); !strings.Contains(said, `UserID: "ada"`) || strings.Contains(said, "overwritten") {
		t.Errorf("got the evidence %s", said)
	}
}

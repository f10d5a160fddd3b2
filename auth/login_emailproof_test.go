package auth_test

import (
	"encoding/json"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

func TestEmailProofOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag any
		want auth.EmailProof
	}{
		{true, auth.EmailProven}, {"true", auth.EmailProven}, {"True", auth.EmailProven}, {json.Number("1"), auth.EmailProven}, {1.0, auth.EmailProven}, {"1", auth.EmailProven},
		{false, auth.EmailRefuted}, {"false", auth.EmailRefuted}, {json.Number("0"), auth.EmailRefuted}, {0.0, auth.EmailRefuted}, {"0", auth.EmailRefuted},
		{nil, auth.EmailUnstated}, {"", auth.EmailUnstated}, {"yes", auth.EmailUnstated}, {json.Number("2"), auth.EmailUnstated}, {2.0, auth.EmailUnstated},
		{map[string]any{"a": true}, auth.EmailUnstated}, {[]any{true}, auth.EmailUnstated},
	} {
		assert.Equalf(t, c.want, auth.EmailProofOf(c.flag), "%#v", c.flag)
	}
}

// TestStandardEmailProof: the flag is about the claim email, and about no other
// address.
func TestStandardEmailProof(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		profile auth.Profile
		email   string
		want    auth.EmailProof
	}{
		{"verified", auth.Profile{"email": "Ada@x.example", "email_verified": true}, "ada@x.example", auth.EmailProven},
		{"not verified", auth.Profile{"email": "ada@x.example", "email_verified": false}, "ada@x.example", auth.EmailRefuted},
		{"nothing said", auth.Profile{"email": "ada@x.example"}, "ada@x.example", auth.EmailUnstated},
		{"another claim holds the address", auth.Profile{"email": "eve@x.example", "email_verified": true, "upn": "ada@x.example"}, "ada@x.example", auth.EmailUnstated},
		{"an address that folds to another", auth.Profile{"email": "a\u017fa@x.example", "email_verified": true, "upn": "asa@x.example"}, "asa@x.example", auth.EmailUnstated},
		{"the Kelvin sign for a k", auth.Profile{"email": "\u212aim@x.example", "email_verified": true}, "kim@x.example", auth.EmailUnstated},
		{"an honest letter beyond ASCII", auth.Profile{"email": "J\u00f6rg@x.example", "email_verified": true}, "j\u00f6rg@x.example", auth.EmailProven},
		{"the other spelling of the domain", auth.Profile{"email": "ada@xn--bcher-kva.example", "email_verified": true}, "ada@b\u00fccher.example", auth.EmailProven},
		{"another letter beyond ASCII", auth.Profile{"email": "J\u00d6RG@x.example", "email_verified": true}, "j\u00f6rg@x.example", auth.EmailUnstated},
		{"a false claim about another address", auth.Profile{"email": "eve@x.example", "email_verified": false}, "ada@x.example", auth.EmailRefuted},
		{"address is no text", auth.Profile{"email": []any{"ada@x.example"}, "email_verified": true}, "ada@x.example", auth.EmailUnstated},
	} {
		assert.Equal(t, c.want, auth.StandardEmailProof(c.profile, c.email), c.name)
	}
}

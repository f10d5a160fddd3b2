package envname_test

import (
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/envname"
	"github.com/stretchr/testify/assert"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for id, want := range map[string][]string{
		"github":     {"GITHUB"},
		"my-idp":     {"MY_IDP"},
		"my_idp":     {"MY_IDP"},
		"42-school":  {"42_SCHOOL"},
		"oauth2":     {"OAUTH2"},
		"dot.ted":    {"DOT_TED", "DOT.TED"},
		"camelCase":  {"CAMEL_CASE", "CAMELCASE"},
		"Pascal":     {"PASCAL"},
		"myIDP":      {"MY_IDP", "MYIDP"},
		"HTTPServer": {"HTTP_SERVER", "HTTPSERVER"},
		"oauth2Test": {"OAUTH2_TEST", "OAUTH2TEST"},
		"UPPER":      {"UPPER"},
		"a.B-c_d~e":  {"A_B_C_D_E", "A.B_C_D~E"},
		"":           {""},
	} {
		got := envname.Of(id)
		assert.Truef(t, slices.Equal(got, want), "%s: got %q, want %q", id, got, want)
	}
}

package kit

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFixturesFillEveryField(t *testing.T) {
	c := NewRun(&Harness{}, 1, 1).NewContext("USER-01")
	for _, record := range []any{c.NewUser(), c.NewAccount("u"), c.NewSession("u"), c.NewToken(), c.NewAuthenticator("u")} {
		for field, v := range reflect.ValueOf(record).Fields() {
			assert.Falsef(t, v.IsZero() && field.Name != "ID", "%T.%s is zero", record, field.Name)
		}
	}
}

package kit

import (
	"reflect"
	"testing"
)

func TestFixturesFillEveryField(t *testing.T) {
	c := NewRun(&Harness{}, 1, 1).NewContext("USER-01")
	for _, record := range []any{c.NewUser(), c.NewAccount("u"), c.NewSession("u"), c.NewToken(), c.NewAuthenticator("u")} {
		v := reflect.ValueOf(record)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "ID" {
				t.Errorf("%v.%s is zero", v.Type(), name)
			}
		}
	}
}

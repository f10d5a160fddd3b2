package adaptertest

import (
	"reflect"
	"testing"
)

func TestFixturesFillEveryField(t *testing.T) {
	r, err := newRun(&Harness{New: newUsers}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.newC(loadClauses()[0])
	for _, record := range []any{c.newUser(), c.newAccount("u"), c.newSession("u"), c.newToken(), c.newAuthenticator("u")} {
		v := reflect.ValueOf(record)
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "ID" {
				t.Errorf("%v.%s is zero", v.Type(), name)
			}
		}
	}
}

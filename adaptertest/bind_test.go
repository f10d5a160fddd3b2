package adaptertest

import (
	"reflect"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/stretchr/testify/assert"
)

// TestBindCopiesEveryField sets each field of the harness that clauses know, and looks
// for it in what clauses get.
func TestBindCopiesEveryField(t *testing.T) {
	var h Harness
	fill(t, reflect.ValueOf(&h).Elem())
	bound := reflect.ValueOf(h.bind()).Elem()
	for _, v := range []reflect.Value{bound, bound.FieldByName("Declarations")} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is not copied", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
	ours, theirs := reflect.TypeFor[Declarations](), reflect.TypeFor[kit.Declarations]()
	assert.Equalf(t, theirs.NumField(), ours.NumField(),
		"%d declarations, and clauses know %d", ours.NumField(), theirs.NumField())
	var nothing Harness
	b := nothing.bind()
	assert.True(t, b.Clock == nil && b.Corrupt == nil && b.Inspect == nil, "a field that is not set becomes a function")
}

// fill sets every field of a struct.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		case reflect.Struct:
			fill(t, f)
		case reflect.String:
			f.SetString("x")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(1)
		case reflect.Slice:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		default:
			t.Fatalf("%s: a field of a new kind: %s", v.Type(), f.Kind())
		}
	}
}

func TestRecordOf(t *testing.T) {
	var r kit.Record
	fill(t, reflect.ValueOf(&r).Elem())
	if v := reflect.ValueOf(recordOf(r)); v.NumField() != reflect.TypeOf(r).NumField() {
		t.Error("a record has other fields")
	} else {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s is not copied", v.Type().Field(i).Name)
			}
		}
	}
}

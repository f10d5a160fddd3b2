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
	bound := h.bind()
	isFull(t, *bound)
	isFull(t, bound.Declarations)
	ours, theirs := reflect.TypeFor[Declarations](), reflect.TypeFor[kit.Declarations]()
	assert.Equal(t, theirs.NumField(), ours.NumField(), "declarations that clauses know")
	var nothing Harness
	b := nothing.bind()
	assert.True(t, b.Clock == nil && b.Corrupt == nil && b.Inspect == nil, "a field that is not set becomes a function")
}

// isFull looks for fields of a record that are not copied.
func isFull(t *testing.T, record any) {
	t.Helper()
	for field, v := range reflect.ValueOf(record).Fields() {
		assert.Falsef(t, v.IsZero(), "%T.%s is not copied", record, field.Name)
	}
}

// fill sets every field of a struct.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	for _, f := range v.Fields() {
		switch f.Kind() {
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
	assert.Equal(t, reflect.TypeOf(r).NumField(), reflect.TypeFor[Record]().NumField(), "fields")
	isFull(t, recordOf(r))
}

package sqlite_test

import (
	"reflect"
	"testing"
)

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	if got == nil {
		t.Fatalf("%s: got nil", what)
	}
	if !reflect.DeepEqual(want, *got) {
		t.Fatalf("%s: got %+v, want %+v", what, *got, want)
	}
}

package sqlite_test

import (
	"errors"
	"reflect"
	"testing"
)

// must fails the test on an error and hands the value on.
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

func absent[T any](t testing.TB, what string, got *T, err error) {
	t.Helper()
	if got != nil || err != nil {
		t.Fatalf("%s: got %v, %v, want nil, nil", what, got, err)
	}
}

func refused[T any](t testing.TB, what string, got *T, err, want error) {
	t.Helper()
	if got != nil || !errors.Is(err, want) {
		t.Fatalf("%s: got %v, %v, want %v", what, got, err, want)
	}
}

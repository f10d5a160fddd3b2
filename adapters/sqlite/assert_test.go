package sqlite_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// erred returns the error of a call.
func erred[T any](_ T, err error) error { return err }

// refused fails the test unless a call has no record and the error.
func refused[T any](got *T, err error) func(t testing.TB, what string, want error) {
	return func(t testing.TB, what string, want error) {
		t.Helper()
		assert.Truef(t, got == nil && errors.Is(err, want), "%s: got %v, %v, want %v", what, got, err, want)
	}
}

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	require.NotNilf(t, got, "%s: got nil", what)
	require.Equal(t, want, *got, what)
}

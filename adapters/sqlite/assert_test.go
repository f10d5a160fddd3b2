package sqlite_test

import (
	"testing"

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

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	require.NotNilf(t, got, "%s: got nil", what)
	require.Equal(t, want, *got, what)
}

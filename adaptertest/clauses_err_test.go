package adaptertest

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestSecretsAreFoundHoweverTheyAreWritten(t *testing.T) {
	r, err := newRun(&Harness{New: newUsers}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := r.newC(loadClauses()[0])
	public, secret, next := c.unique("id"), c.secret("sëcret"), c.unique("id")
	r.addSecret("0123456789012345678")
	search := r.secretsIn()
	for _, text := range []string{
		"duplicate key " + secret, fmt.Sprintf("duplicate key %+q", secret), "duplicate key " + secret[len(secret)/2-8:] + "x", "key 0123456789012345678",
	} {
		if search(text) == "" {
			t.Errorf("no secret is found in %q", text)
		}
	}
	for _, text := range []string{"", "no such user " + public, "no such user " + next, secret[:8]} {
		if found := search(text); found != "" {
			t.Errorf("the secret %q is found in %q", found, text)
		}
	}
}

type driverError struct{}

func (driverError) Error() string { return "driver" }

func TestWrapsCause(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("x: %w", io.EOF), fmt.Errorf("x: %w", driverError{}), errors.Join(errors.New("x"), fmt.Errorf("y: %w", driverError{})),
	} {
		if !wrapsCause(err) {
			t.Errorf("%v (%T) has a cause", err, err)
		}
	}
	hidden := fmt.Errorf("x: %v", io.EOF) //nolint:errorlint // the case is a cause that is hidden
	for _, err := range []error{errors.New("user not created"), fmt.Errorf("x: %w", errors.New("y")), hidden} {
		if wrapsCause(err) {
			t.Errorf("%v (%T) has no cause", err, err)
		}
	}
}

package faults

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/stretchr/testify/assert"
)

func TestSecretsAreFoundHoweverTheyAreWritten(t *testing.T) {
	r := kit.NewRun(&kit.Harness{}, 1, 1)
	c := r.NewContext("USER-01")
	public, secret, next := c.Unique("id"), c.Secret("sëcret"), c.Unique("id")
	r.AddSecret("0123456789012345678")
	search := secretsIn(r)
	for _, text := range []string{
		"duplicate key " + secret, fmt.Sprintf("duplicate key %+q", secret), "duplicate key " + secret[len(secret)/2-8:] + "x", "key 0123456789012345678",
	} {
		assert.NotEmptyf(t, search(text), "no secret is found in %q", text)
	}
	for _, text := range []string{"", "no such user " + public, "no such user " + next, secret[:8]} {
		found := search(text)
		assert.Emptyf(t, found, "the secret %q is found in %q", found, text)
	}
}

type driverError struct{}

func (driverError) Error() string { return "driver" }

func TestWrapsCause(t *testing.T) {
	for _, err := range []error{
		fmt.Errorf("x: %w", io.EOF), fmt.Errorf("x: %w", driverError{}), errors.Join(errors.New("x"), fmt.Errorf("y: %w", driverError{})),
	} {
		assert.Truef(t, wrapsCause(err), "%v (%T) has a cause", err, err)
	}
	hidden := fmt.Errorf("x: %v", io.EOF) //nolint:errorlint // the case is a cause that is hidden
	for _, err := range []error{errors.New("user not created"), fmt.Errorf("x: %w", errors.New("y")), hidden} {
		assert.Falsef(t, wrapsCause(err), "%v (%T) has no cause", err, err)
	}
}

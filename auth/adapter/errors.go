package adapter

import (
	"errors"
	"fmt"
)

// The errors that a store returns. CLAUSES.md explains the [clauses] in brackets.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
var (
	// ErrUnsupported is matched by the error of a method that the adapter does
	// not implement. It matches errors.ErrUnsupported too. [CAP-01]
	ErrUnsupported = fmt.Errorf("adapter: method not implemented: %w", errors.ErrUnsupported)

	// ErrConflict is matched by the error of a write that would store a unique
	// value a second time: a user's ID or e-mail address, an account key, a
	// session token, a credential ID. The error of a store that can't be
	// reached never matches it. [ERR-05] [ERR-09]
	ErrConflict = errors.New("adapter: conflict with an existing record")

	// ErrNotFound is matched by the error of an update whose record is absent
	// (UpdateUser, UpdateAccount, UpdateAuthenticatorCounter,
	// TouchAuthenticator) and of a write whose owner is absent (LinkAccount,
	// CreateSession, CreateAuthenticator, and UpdateSession with a new owner).
	// A lookup without a match is not an error. [ERR-06]
	ErrNotFound = errors.New("adapter: record not found")

	// ErrLastCredential is matched by the error of a removal after which the
	// user could not sign in any more (DeleteAuthenticator). [AEDIT-04]
	ErrLastCredential = errors.New("adapter: this is the last credential of the user")
)

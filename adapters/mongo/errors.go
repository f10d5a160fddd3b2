package mongo

import (
	"errors"
	"fmt"

	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// wrap puts the operation before an error, unless it is nil, and marks
// violations of unique indexes. The text of a violation leaves out the server's
// message, because that message quotes the key.
func wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*conflict)):
		return err
	case mgo.IsDuplicateKeyError(err):
		return &conflict{operation: operation, what: "the key is taken", cause: err}
	default:
		return fmt.Errorf("mongo: %s: %w", operation, withoutValues(err))
	}
}

// withoutValues leaves the server's details out of the text of an error. When a
// validator of the collection has refused a document, the details quote the
// document's fields.
func withoutValues(err error) error {
	refused, ok := errors.AsType[mgo.WriteException](err)
	if !ok {
		return err
	}
	for _, e := range refused.WriteErrors {
		if len(e.Details) > 0 {
			return &refusal{text: fmt.Sprintf("the server refused the document (code %d): %s", e.Code, e.Message), cause: err}
		}
	}
	return err
}

// refusal is an error of the server whose text quotes no field.
type refusal struct {
	text  string
	cause error
}

func (e *refusal) Error() string { return e.text }

func (e *refusal) Unwrap() error { return e.cause }

// conflict is the error of a violated unique index.
type conflict struct {
	operation, what string
	cause           error
}

func (e *conflict) Error() string { return "mongo: " + e.operation + ": " + e.what }

func (e *conflict) Unwrap() []error {
	if e.cause == nil {
		return []error{adapter.ErrConflict}
	}
	return []error{adapter.ErrConflict, e.cause}
}

var (
	errNoUser          = fmt.Errorf("the user does not exist: %w", adapter.ErrNotFound)
	errNoAccount       = fmt.Errorf("the account does not exist: %w", adapter.ErrNotFound)
	errNoAuthenticator = fmt.Errorf("the authenticator does not exist: %w", adapter.ErrNotFound)
)

// firstOf returns err, or otherwise if err is nil.
func firstOf(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// wrap puts the operation before an error, unless it is nil, and marks violations of the
// adapter's own unique indexes.
func wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*conflict)):
		return err
	case isTaken(err):
		return &conflict{operation: operation, what: "the key is taken", cause: err}
	default:
		return fmt.Errorf("mongo: %s: %w", operation, err)
	}
}

// Error codes of the server.
// https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml
const (
	unauthorized     = 13
	indexNotFound    = 27
	commandNotFound  = 59
	validationFailed = 121
	apiStrictError   = 323
	duplicateKey     = 11000
)

// reasons are the texts of errors, by code. The text of the server is not used: it quotes
// keys, documents and commands, and what else a validator or a proxy of the site puts there.
var reasons = map[int]string{
	2: "the server did not accept a value", 8: "the server reports an unknown error", unauthorized: "the database user lacks a right", 18: "the server did not accept the credentials",
	20: "the operation is not allowed here", 26: "the collection does not exist", indexNotFound: "the index does not exist", 43: "the cursor is gone", 48: "the collection exists",
	50: "the time limit was exceeded", commandNotFound: "the server does not know the command", 64: "no majority confirmed the write in time", 67: "the index can't be made",
	72: "the option is not valid", 79: "the server does not know the write concern", 85: "an index with these fields and other options exists",
	86: "an index with this name and other fields exists", 89: "the network timed out", 91: "the server shuts down", 100: "no majority can confirm the write", 112: "another write changed the document at the same time",
	115: "the command is not supported", validationFailed: "a validator of the collection refused the document", 133: "no server of the set is suitable",
	189: "the primary has stepped down", 211: "the server lacks keys", 251: "the transaction does not exist", 262: "the time limit was exceeded",
	apiStrictError: "the command is not in the strict API", 10003: "the collection is capped", 10058: "the server is not the primary", 10107: "the server is not the primary",
	10334: "the document is too large", duplicateKey: "a unique index has this key already", 11600: "the server shuts down", 11601: "the operation was interrupted",
	11602: "the primary has stepped down", 13388: "the router's data are stale", 13435: "the server is not the primary", 13436: "the server is not the primary, or it recovers",
	14031: "the disk is full", 17280: "a key is too large for an index",
}

// refusal is an error of the server: its code, and a text of this package.
// It wraps a mongo.CommandError with the same code and labels.
type refusal struct {
	text string
	code int
	// taken: a unique index of the adapter's own has the key. A unique index of the site
	// is no conflict.
	taken bool
	// written: the write is done, and was not confirmed.
	written bool
	// topology is the state of a server that is not the primary.
	topology bson.Raw
	cause    mgo.CommandError
}

func (e *refusal) Error() string { return e.text }

func (e *refusal) Unwrap() error { return e.cause }

// labels are the error labels that the driver and callers act on.
var labels = []string{"TransientTransactionError", "UnknownTransactionCommitResult", "RetryableWriteError", "NetworkError", "NoWritesPerformed"}

// refused returns the error of an operation on the collection, without what the server
// said. The right is the one that the operation needs. An error that is not the server's
// stays.
func (c collection) refused(right string, err error) error {
	var done *refusal
	var said mgo.ServerError
	if err == nil || errors.As(err, &done) || !errors.As(err, &said) || !answered(err) {
		return err
	}
	code, raw := codeOf(err)
	e := &refusal{code: code, taken: said.HasErrorCode(duplicateKey) && c.hasTaken(raw, err.Error())}
	e.text = reasons[code]
	if written, ok := errors.AsType[mgo.WriteException](err); ok {
		e.written, raw = written.WriteConcernError != nil, written.Raw
	}
	if topology, ok := raw.Lookup("topologyVersion").DocumentOK(); ok {
		e.topology = bytes.Clone(topology)
	}
	switch {
	case code == duplicateKey && !e.taken:
		e.text = "a unique index of the site refused the document"
	case code == unauthorized:
		e.text += fmt.Sprintf(": %s on the collection %s", right, c.Name())
	case e.text == "":
		e.text = "the server refused the command"
	}
	e.text += fmt.Sprintf(" (code %d)", code)
	e.cause = mgo.CommandError{Code: int32(code), Message: e.text, Raw: answer(code)}
	for _, label := range labels {
		if said.HasErrorLabel(label) {
			e.cause.Labels = append(e.cause.Labels, label)
		}
	}
	return e
}

// answer is the least answer with an error code.
func answer(code int) bson.Raw {
	raw, _ := bson.Marshal(bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: code}})
	return raw
}

// codeOf returns the code of a server's error, and the document that describes it.
func codeOf(err error) (code int, raw bson.Raw) {
	if command, ok := errors.AsType[mgo.CommandError](err); ok {
		return int(command.Code), command.Raw
	}
	written, ok := errors.AsType[mgo.WriteException](err)
	switch {
	case ok && len(written.WriteErrors) > 0:
		return written.WriteErrors[0].Code, written.WriteErrors[0].Raw
	case ok && written.WriteConcernError != nil:
		return written.WriteConcernError.Code, nil
	}
	if said := mgo.ServerError(nil); errors.As(err, &said) && len(said.ErrorCodes()) > 0 {
		code = said.ErrorCodes()[0]
	}
	return code, nil
}

var namesIndex = regexp.MustCompile(`index: (\S+) dup key`)

// hasTaken reports whether a violated unique index is one of the adapter's own. A server
// that describes it by its text only is asked by the index's name, if there is one.
func (c collection) hasTaken(raw bson.Raw, text string) bool {
	elements, err := raw.Lookup("keyPattern").Document().Elements()
	if err != nil || len(elements) == 0 {
		name := namesIndex.FindStringSubmatch(text)
		return name == nil || slices.ContainsFunc(c.unique, func(fields []string) bool {
			return strings.HasPrefix(name[1], strings.Join(fields, "_")) || name[1] == strings.Join(fields, "_1_")+"_1"
		})
	}
	var fields []string
	for _, e := range elements {
		fields = append(fields, e.Key())
	}
	return slices.ContainsFunc(c.unique, func(own []string) bool { return slices.Equal(own, fields) })
}

// isTaken reports whether a unique index of the adapter's own has the key already.
func isTaken(err error) bool {
	var e *refusal
	return errors.As(err, &e) && e.taken
}

// isCode reports whether err is a refusal with one of the codes.
func isCode(err error, codes ...int) bool {
	var e *refusal
	return errors.As(err, &e) && slices.Contains(codes, e.code)
}

// done returns the error of an operation: the reason why the context ended, or the error
// without what the server said.
func (c collection) done(ctx context.Context, right string, err error) error {
	return ended(ctx, c.refused(right, err))
}

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

package mongo

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// required returns an error if a key is empty [INPUT-14]. The arguments are
// names and values in turn.
func required(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return fmt.Errorf("%s is empty", fields[i])
		}
	}
	return nil
}

// storable returns an error if BSON can't hold a text.
func storable(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return errors.New("a text is not UTF-8, so MongoDB can't store it")
		}
	}
	return nil
}

// lookup reports whether all texts can be keys of a record: a key is not
// empty, and BSON can hold it.
func lookup(texts ...string) bool {
	for _, s := range texts {
		if s == "" || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// objectID parses an ID. It accepts only the form that the adapter returns:
// an ObjectID in upper-case hex is not an ID.
func objectID(id string) (bson.ObjectID, bool) {
	oid, err := bson.ObjectIDFromHex(id)
	return oid, err == nil && oid.Hex() == id
}

func optional(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func clone(s *string) *string {
	if s == nil {
		return nil
	}
	return new(*s)
}

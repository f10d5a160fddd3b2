package mongo

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// required refuses empty keys [INPUT-14]. The arguments are names and values by
// turns.
func required(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return fmt.Errorf("%s is empty", fields[i])
		}
	}
	return nil
}

// storable refuses texts that BSON can't hold.
func storable(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return errors.New("a text is not UTF-8, which MongoDB can't keep")
		}
	}
	return nil
}

// lookup reports whether texts can be keys of a record: neither empty nor
// unstorable.
func lookup(texts ...string) bool {
	for _, s := range texts {
		if s == "" || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// objectID reads an ID. Only the form that the adapter returns is one: the
// digits of an ObjectID in other letters find nobody.
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

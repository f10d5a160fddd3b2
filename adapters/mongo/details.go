package mongo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// authorization_details are kept as an array of documents, as the Auth.js
// adapter keeps them. Details that BSON would change are kept as JSON text
// instead: numbers without an exact binary form, names that MongoDB reserves,
// duplicate names, halves of surrogate pairs, deep nesting, and values that
// are neither an array nor an object.

// detailsToBSON returns the value to store.
func detailsToBSON(details json.RawMessage) (any, error) {
	text := string(details)
	if err := storable(text); err != nil {
		return nil, err
	}
	if !json.Valid(details) {
		return nil, errors.New("authorization_details is not JSON")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if errors.Is(err, errNoBSON) {
		return text, nil
	}
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case bson.A, bson.D:
		return v, nil
	default:
		return text, nil
	}
}

// errNoBSON means that BSON cannot return the same JSON.
var errNoBSON = errors.New("the value has no exact BSON form")

// maxDepth is the deepest nesting that is stored as BSON. MongoDB accepts 100
// levels.
const maxDepth = 50

func readJSON(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errNoBSON
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return readArray(d, depth)
		}
		return readObject(d, depth)
	case json.Number:
		return readNumber(string(t))
	case string:
		if strings.ContainsRune(t, utf8.RuneError) { // perhaps half of a surrogate pair
			return nil, errNoBSON
		}
		return t, nil
	default: // bool, nil
		return t, nil
	}
}

func readArray(d *json.Decoder, depth int) (any, error) {
	array := bson.A{}
	for d.More() {
		v, err := readJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, v)
	}
	_, err := d.Token()
	return array, err
}

func readObject(d *json.Decoder, depth int) (any, error) {
	object, seen := bson.D{}, map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := name.(string)
		if key == "" || seen[key] || strings.ContainsAny(key, "$.\x00\uFFFD") {
			return nil, errNoBSON
		}
		seen[key] = true
		v, err := readJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		object = append(object, bson.E{Key: key, Value: v})
	}
	_, err := d.Token()
	return object, err
}

func readNumber(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n, nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && strconv.FormatFloat(f, 'g', -1, 64) == text {
		return f, nil
	}
	return nil, errNoBSON
}

// detailsToJSON returns the JSON of a stored value.
func detailsToJSON(v bson.RawValue) (json.RawMessage, error) {
	if s, ok := v.StringValueOK(); ok {
		if !json.Valid([]byte(s)) {
			return nil, errors.New("the field authorization_details of a stored record can't be decoded")
		}
		return json.RawMessage(s), nil
	}
	var b bytes.Buffer
	if err := writeJSON(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeJSON(b *bytes.Buffer, v bson.RawValue) error {
	switch v.Type {
	case bson.TypeArray, bson.TypeEmbeddedDocument:
		open, end := byte('['), byte(']')
		var elements []bson.RawElement
		var err error
		if v.Type == bson.TypeEmbeddedDocument {
			open, end = '{', '}'
			elements, err = v.Document().Elements()
		} else {
			elements, err = bson.Raw(v.Array()).Elements()
		}
		if err != nil {
			return errors.New("the field authorization_details of a stored record can't be decoded")
		}
		b.WriteByte(open)
		for i, e := range elements {
			if i > 0 {
				b.WriteByte(',')
			}
			if open == '{' {
				name, err := json.Marshal(e.Key())
				if err != nil {
					return err
				}
				b.Write(name)
				b.WriteByte(':')
			}
			if err := writeJSON(b, e.Value()); err != nil {
				return err
			}
		}
		b.WriteByte(end)
		return nil
	case bson.TypeString:
		return writeValue(b, v.StringValue())
	case bson.TypeInt32:
		return writeValue(b, v.Int32())
	case bson.TypeInt64:
		return writeValue(b, v.Int64())
	case bson.TypeDouble:
		return writeValue(b, v.Double())
	case bson.TypeBoolean:
		return writeValue(b, v.Boolean())
	case bson.TypeNull:
		b.WriteString("null")
		return nil
	default:
		return fmt.Errorf("the field authorization_details of a stored record contains a %s", v.Type)
	}
}

func writeValue(b *bytes.Buffer, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		b.Write(text)
	}
	return err
}

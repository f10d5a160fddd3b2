package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Reading a body must not cost the server more than it costs an anonymous
// client. So the size is limited, and of a JSON object only the members that
// are asked for are decoded; the others are not copied.

// MaxValues is the largest number of fields, members and elements in a body.
// Many small values take far more memory than their bytes.
const MaxValues = 1000

// Body is the body of a POST: a form or JSON.
type Body struct {
	// Raw is the body as bytes, or nil if it was not read.
	Raw []byte
	// IsJSON says that the body is JSON, of which Fields has only some members.
	IsJSON bool
	// Fields are the fields of a form, the last value of each, or the members of a
	// JSON object that were asked for. A member that is not a text is nil.
	Fields map[string]any
	// Data is the field data, as JSON.
	Data json.RawMessage
}

// BodyError says why a body is not accepted.
type BodyError struct {
	Message string
	// TooLarge says that the body has more bytes than the limit.
	TooLarge bool
}

// Error returns the message.
func (e *BodyError) Error() string { return "the body of the request " + e.Message }

var (
	errTooLarge  = &BodyError{Message: "is too large", TooLarge: true}
	errMalformed = &BodyError{Message: "is malformed JSON"}
)

// ReadBody parses the body of a request, at most limit bytes of it. A body of
// another type than form and JSON is not read. Wanted are the members of a JSON
// object to decode.
func ReadBody(hr *http.Request, limit int64, wanted map[string]bool) (Body, error) {
	kind := strings.ToLower(hr.Header.Get("Content-Type"))
	isJSON := strings.Contains(kind, "application/json")
	if !isJSON && !strings.Contains(kind, "application/x-www-form-urlencoded") {
		return Body{}, nil
	}
	raw, err := rawBody(hr, limit)
	if err != nil {
		return Body{}, err
	}
	b := Body{Raw: raw, IsJSON: isJSON, Fields: map[string]any{}}
	if isJSON {
		return b, b.readJSON(wanted)
	}
	if bytes.Count(raw, []byte("&")) >= MaxValues {
		return b, &BodyError{Message: "has too many fields"}
	}
	values, _ := url.ParseQuery(string(raw)) // malformed fields are left out, as in the query
	for name, v := range values {
		b.Fields[name] = v[len(v)-1]
	}
	if data, ok := b.Fields["data"]; ok {
		b.Data, err = json.Marshal(data)
	}
	return b, err
}

func rawBody(hr *http.Request, limit int64) ([]byte, error) {
	size := hr.ContentLength
	if size > limit {
		return nil, errTooLarge
	}
	if hr.Body == nil {
		return []byte{}, nil
	}
	var b bytes.Buffer
	if size > 0 {
		b.Grow(int(size) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(hr.Body, limit+1)); err != nil {
		return nil, &BodyError{Message: "could not be read"}
	}
	if int64(b.Len()) > limit {
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}

// readJSON takes the wanted members of an object. Other JSON values have no
// members.
func (b *Body) readJSON(wanted map[string]bool) error {
	if !json.Valid(b.Raw) {
		return errMalformed
	}
	for key, value := range membersOf(b.Raw) {
		if key = key[1 : len(key)-1]; !wanted[string(key)] { // compared without a copy
			continue
		}
		name := string(key)
		b.Fields[name] = nil
		if value[0] == '"' {
			var s string
			if err := json.Unmarshal(value, &s); err != nil {
				return errMalformed
			}
			b.Fields[name] = s
		}
		if name == "data" {
			b.Data = value
		}
	}
	return nil
}

// Members returns all members of a JSON object, for the application.
func (b *Body) Members() (map[string]any, error) {
	if valuesIn(b.Raw) > MaxValues {
		return nil, &BodyError{Message: "has too many values"}
	}
	all := map[string]any{}
	for key, value := range membersOf(b.Raw) {
		var name string
		var v any
		if json.Unmarshal(key, &name) != nil || json.Unmarshal(value, &v) != nil {
			return nil, errMalformed
		}
		all[name] = v
	}
	return all, nil
}

// membersOf yields the members of valid JSON, if it is an object. The names, in
// quotes, and the values are parts of raw.
func membersOf(raw []byte) func(yield func(key, value []byte) bool) {
	return func(yield func(key, value []byte) bool) {
		rest := bytes.TrimLeft(raw, space)
		if len(rest) == 0 || rest[0] != '{' {
			return
		}
		for rest = bytes.TrimLeft(rest[1:], space); len(rest) > 0 && rest[0] == '"'; {
			end := valueEnd(rest)
			key := rest[:end]
			rest = bytes.TrimLeft(rest[end:], space+":")
			end = valueEnd(rest)
			if !yield(key, rest[:end:end]) {
				return
			}
			rest = bytes.TrimLeft(rest[end:], space+",")
		}
	}
}

// space is the white space of JSON (RFC 8259 section 2).
const space = " \t\r\n"

// valueEnd returns the index at which the first value of valid JSON ends.
func valueEnd(raw []byte) int {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(raw))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				if depth < 0 { // the end of the enclosing value
					return i
				}
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// valuesIn returns the number of values in valid JSON, or a larger number.
func valuesIn(raw []byte) int {
	n := 1
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[', ',':
			n++
		}
	}
	return n
}

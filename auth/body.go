package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	// defaultMaxBody is the size in bytes of the largest body that is read. The
	// largest legitimate bodies, a form or the answer of an authenticator, have a
	// few kilobytes.
	defaultMaxBody = 64 << 10
	// maxValues is the largest number of fields, members and elements in a body.
	// Many small values take far more memory than their bytes.
	maxValues = 1000
	// maxQuery is the length in bytes of the longest query that is parsed.
	maxQuery = 32 << 10
)

// Reading a body must not cost the server more than it costs an anonymous
// client. So the origin of the request is checked before, the size is limited,
// and of a JSON object only the members in read are decoded; the others are not
// copied.

// read has the members of a body that this package itself uses.
var read = map[string]bool{"csrfToken": true, "callbackUrl": true, "email": true, "action": true, "data": true, "signal": true, "id": true, "op": true, "name": true}

// errBody is the error for a body that is not accepted.
func errBody(message string) error {
	return &Error{Type: ErrUnknownAction, Message: "the body of the request " + message, client: true}
}

// tooLarge is the error for a body of more than Config.MaxBodySize bytes.
type tooLarge struct{ error }

func (t tooLarge) Unwrap() error { return t.error }

// readBody parses the body of a POST: a form or JSON. A body of another type is
// not read. The body of r.http can be read again afterwards.
func (r *request) readBody(limit int64) error {
	kind := strings.ToLower(r.http.Header.Get("Content-Type"))
	isJSON := strings.Contains(kind, "application/json")
	if !isJSON && !strings.Contains(kind, "application/x-www-form-urlencoded") {
		return nil
	}
	raw, err := r.rawBody(limit)
	if err != nil {
		return err
	}
	r.raw = raw
	r.http = r.withBody(r.http.Context())
	if isJSON {
		return r.readJSON()
	}
	if bytes.Count(raw, []byte("&")) >= maxValues {
		return errBody("has too many fields")
	}
	values, _ := url.ParseQuery(string(raw)) // malformed fields are left out, as in the query
	r.form = make(Form, len(values))
	for name, v := range values {
		r.form[name] = v[len(v)-1]
	}
	if data, ok := r.form["data"]; ok {
		if r.data, err = json.Marshal(data); err != nil {
			return err
		}
	}
	return nil
}

func (r *request) rawBody(limit int64) ([]byte, error) {
	size := r.http.ContentLength
	if size > limit {
		return nil, tooLarge{errBody("is too large")}
	}
	if r.http.Body == nil {
		return []byte{}, nil
	}
	var b bytes.Buffer
	if size > 0 {
		b.Grow(int(size) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(r.http.Body, limit+1)); err != nil {
		return nil, errBody("could not be read")
	}
	if int64(b.Len()) > limit {
		return nil, tooLarge{errBody("is too large")}
	}
	return b.Bytes(), nil
}

// readJSON takes the members of an object that this package uses. Other JSON
// values have no members.
func (r *request) readJSON() error {
	if !json.Valid(r.raw) {
		return errBody("is malformed JSON")
	}
	r.isJSON, r.form = true, Form{}
	for key, value := range membersOf(r.raw) {
		if key = key[1 : len(key)-1]; !read[string(key)] { // compared without a copy
			continue
		}
		name := string(key)
		r.form[name] = nil
		if value[0] == '"' {
			var s string
			if err := json.Unmarshal(value, &s); err != nil {
				return errBody("is malformed JSON")
			}
			r.form[name] = s
		}
		if name == "data" {
			r.data = value
		}
	}
	return nil
}

// wholeForm returns all submitted fields, for the application.
func (r *request) wholeForm() (Form, error) {
	if !r.isJSON {
		if r.form == nil {
			return Form{}, nil
		}
		return r.form, nil
	}
	if valuesIn(r.raw) > maxValues {
		return nil, errBody("has too many values")
	}
	form := Form{}
	for key, value := range membersOf(r.raw) {
		var name string
		var v any
		if json.Unmarshal(key, &name) != nil || json.Unmarshal(value, &v) != nil {
			return nil, errBody("is malformed JSON")
		}
		form[name] = v
	}
	return form, nil
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

// withBody returns the HTTP request with an unread body, for the application. A
// body that this package did not read is not changed.
func (r *request) withBody(ctx context.Context) *http.Request {
	hr := r.http.WithContext(ctx)
	if r.raw == nil {
		return hr
	}
	hr.Body = io.NopCloser(bytes.NewReader(r.raw))
	hr.ContentLength = int64(len(r.raw))
	return hr
}

package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"
)

// Members builds a JSON object member by member.
type Members struct {
	json []byte
	err  error
}

// End returns the JSON object.
func (m *Members) End() ([]byte, error) {
	if m.err != nil {
		return nil, m.err
	}
	if len(m.json) == 0 {
		return []byte("{}"), nil
	}
	return append(m.json, '}'), nil
}

// begin writes the text before a member's value: a comma or brace, and the
// name.
func (m *Members) begin(name string) {
	if len(m.json) == 0 {
		m.json = append(make([]byte, 0, 256), '{')
	} else {
		m.json = append(m.json, ',')
	}
	m.json = appendText(m.json, name)
	m.json = append(m.json, ':')
}

// Text writes a member whose value is a text, unless it is empty.
func (m *Members) Text(name, value string) {
	if value != "" {
		m.begin(name)
		m.json = appendText(m.json, value)
	}
}

// Time writes a member whose value is an instant, as JavaScript does.
func (m *Members) Time(name string, t time.Time) {
	m.begin(name)
	m.json = append(m.json, '"')
	m.json = t.UTC().AppendFormat(m.json, "2006-01-02T15:04:05.000Z")
	m.json = append(m.json, '"')
}

// Raw writes a member whose value is JSON.
func (m *Members) Raw(name string, value []byte) {
	m.begin(name)
	m.json = append(m.json, value...)
}

// Any writes a member of any value.
func (m *Members) Any(name string, v any) {
	b, err := JSON(v)
	if err != nil {
		m.err = err
		return
	}
	m.Raw(name, b)
}

// Extra writes the members that taken does not report, sorted by name.
func (m *Members) Extra(values map[string]any, taken func(name string) bool) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !taken(name) {
			m.Any(name, values[name])
		}
	}
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := JSON(s) // a string always encodes
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// JSON is v as JSON; <, > and & are not escaped.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

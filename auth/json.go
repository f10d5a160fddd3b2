package auth

import (
	"slices"
	"time"
	"unicode/utf8"
)

// members builds a JSON object member by member.
type members struct {
	json []byte
	err  error
}

// end returns the JSON object.
func (m *members) end() ([]byte, error) {
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
func (m *members) begin(name string) {
	if len(m.json) == 0 {
		m.json = append(make([]byte, 0, 256), '{')
	} else {
		m.json = append(m.json, ',')
	}
	m.json = appendText(m.json, name)
	m.json = append(m.json, ':')
}

func (m *members) text(name, value string) {
	m.begin(name)
	m.json = appendText(m.json, value)
}

func (m *members) time(name string, t time.Time) {
	m.begin(name)
	m.json = append(m.json, '"')
	m.json = t.UTC().AppendFormat(m.json, "2006-01-02T15:04:05.000Z") // as JavaScript does
	m.json = append(m.json, '"')
}

func (m *members) any(name string, v any) {
	b, err := jsonBody(v)
	if err != nil {
		m.err = err
		return
	}
	m.begin(name)
	m.json = append(m.json, b...)
}

// extra writes the members that taken does not report, sorted by name.
func (m *members) extra(values map[string]any, taken func(name string) bool) {
	if len(values) == 0 {
		return
	}
	names := make([]string, 0, len(values))
	for name := range values {
		if !taken(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		m.any(name, values[name])
	}
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			quoted, _ := jsonBody(s) // a string always encodes
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

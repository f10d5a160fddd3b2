package wire

import (
	"net/url"
	"strings"
)

// Query is a query whose parameters keep their order, as in
// URLSearchParams of JavaScript.
type Query []Parameter

// Parameter is one parameter, decoded.
type Parameter struct{ Name, Value string }

// ParseQuery parses a query. A part that is malformed is left out.
func ParseQuery(raw string) Query {
	var q Query
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		n, err := url.QueryUnescape(name)
		if err != nil {
			continue
		}
		v, err := url.QueryUnescape(value)
		if err != nil {
			continue
		}
		q.Add(n, v)
	}
	return q
}

// Add appends a parameter.
func (q *Query) Add(name, value string) {
	*q = append(*q, Parameter{name, value})
}

// Set gives a parameter these values, at the place where it first occurs, or at
// the end if it does not occur.
func (q *Query) Set(name string, values ...string) {
	var kept Query
	placed := false
	place := func() {
		for _, v := range values {
			kept.Add(name, v)
		}
		placed = true
	}
	for _, p := range *q {
		switch {
		case p.Name != name:
			kept = append(kept, p)
		case !placed:
			place()
		}
	}
	if !placed {
		place()
	}
	*q = kept
}

// Get returns the first value of a parameter.
func (q Query) Get(name string) (string, bool) {
	for _, p := range q {
		if p.Name == name {
			return p.Value, true
		}
	}
	return "", false
}

// Names returns the names in order.
func (q Query) Names() []string {
	list := make([]string, len(q))
	for i, p := range q {
		list[i] = p.Name
	}
	return list
}

// Encode returns the query as URLSearchParams writes it.
func (q Query) Encode() string {
	var b strings.Builder
	for i, p := range q {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(QueryEscape(p.Name) + "=" + QueryEscape(p.Value))
	}
	return b.String()
}

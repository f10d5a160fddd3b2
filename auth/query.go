package auth

import (
	"net/url"
	"strings"
)

// orderedQuery is a query whose parameters keep their order, as in
// URLSearchParams of JavaScript.
type orderedQuery []struct{ name, value string }

func parseQuery(raw string) orderedQuery {
	var q orderedQuery
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
		q.add(n, v)
	}
	return q
}

func (q *orderedQuery) add(name, value string) {
	*q = append(*q, struct{ name, value string }{name, value})
}

// set gives a parameter these values, at the place where it first occurs, or at
// the end if it does not occur.
func (q *orderedQuery) set(name string, values ...string) {
	var kept orderedQuery
	placed := false
	place := func() {
		for _, v := range values {
			kept.add(name, v)
		}
		placed = true
	}
	for _, p := range *q {
		switch {
		case p.name != name:
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

// get returns the first value of a parameter.
func (q orderedQuery) get(name string) (string, bool) {
	for _, p := range q {
		if p.name == name {
			return p.value, true
		}
	}
	return "", false
}

func (q orderedQuery) names() []string {
	list := make([]string, len(q))
	for i, p := range q {
		list[i] = p.name
	}
	return list
}

func (q orderedQuery) encode() string {
	var b strings.Builder
	for i, p := range q {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(queryEscape(p.name) + "=" + queryEscape(p.value))
	}
	return b.String()
}

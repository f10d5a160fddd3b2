package providers

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// mapping says where a profile has the fields of a user. A text consists of
// paths:
//
//	name | login             the first value that is present and not null
//	first + last | login     the values that are not empty, joined by a blank
//
// An empty text means that the provider does not send the field.
type mapping struct {
	id, name, email, image string
	// nameBy, emailBy and imageBy find a field that no text can describe. They
	// return an empty text if it is absent.
	nameBy, emailBy, imageBy func(*evidence) string
	// extra are further fields; they become User.Extra.
	extra map[string]string
}

// evidence is the data that a mapping reads.
type evidence struct {
	ctx     context.Context //nolint:containedctx // used for one evaluation
	profile map[string]any
	tokens  *auth.TokenSet
	// vars are the values of the options; client makes further requests.
	vars   map[string]string
	client *http.Client
}

func (m mapping) isZero() bool {
	return m.id == "" && m.name == "" && m.email == "" && m.image == "" && m.nameBy == nil && m.emailBy == nil && m.imageBy == nil && len(m.extra) == 0
}

// lacksEmail reports that the provider sends no address.
func (m mapping) lacksEmail() bool { return !m.isZero() && m.email == "" && m.emailBy == nil }

// compile makes the function that becomes OAuth.Profile.
func (m mapping) compile(vars map[string]string, client *http.Client) (func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error), error) {
	var fields [4]func(*evidence) string
	for i, f := range []struct {
		name, text string
		by         func(*evidence) string
	}{{"id", m.id, nil}, {"name", m.name, m.nameBy}, {"email", m.email, m.emailBy}, {"image", m.image, m.imageBy}} {
		var err error
		if fields[i], err = field(f.text, f.by); err != nil {
			return nil, fmt.Errorf("mapping of %s: %w", f.name, err)
		}
	}
	extra := map[string]path{}
	for name, raw := range m.extra {
		var err error
		if extra[name], err = parseAlternatives(raw); err != nil {
			return nil, fmt.Errorf("mapping of %s: %w", name, err)
		}
	}
	return func(ctx context.Context, profile auth.Profile, tokens auth.TokenSet) (*auth.User, error) {
		e := &evidence{ctx: ctx, profile: profile, tokens: &tokens, vars: vars, client: client}
		u := &auth.User{ID: fields[0](e), Name: fields[1](e), Email: fields[2](e), Image: fields[3](e)}
		for name, at := range extra {
			if v := at(e); v != nil {
				if u.Extra == nil {
					u.Extra = map[string]any{}
				}
				u.Extra[name] = v
			}
		}
		return u, nil
	}, nil
}

// field makes a function that finds a field with a text or with a function.
func field(raw string, by func(*evidence) string) (func(*evidence) string, error) {
	switch {
	case by != nil:
		return by, nil
	case raw == "":
		return func(*evidence) string { return "" }, nil
	}
	at, err := parseAlternatives(raw)
	return func(e *evidence) string { return text(at(e)) }, err
}

// parseAlternatives compiles paths. | separates alternatives, + separates paths
// whose values are joined.
func parseAlternatives(raw string) (path, error) {
	var all []path
	for alternative := range strings.SplitSeq(raw, "|") {
		var parts []path
		for part := range strings.SplitSeq(alternative, "+") {
			p, err := parsePath(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			parts = append(parts, p)
		}
		all = append(all, joined(parts))
	}
	return func(e *evidence) any {
		for _, p := range all {
			if v := p(e); v != nil {
				return v
			}
		}
		return nil
	}, nil
}

// joined finds the texts of several paths and joins those that are not empty
// with a blank. The result is nil if all are empty. For a single path it
// returns the value itself.
func joined(parts []path) path {
	if len(parts) == 1 {
		return parts[0]
	}
	return func(e *evidence) any {
		var words []string
		for _, p := range parts {
			if s := text(p(e)); s != "" {
				words = append(words, s)
			}
		}
		if len(words) == 0 {
			return nil
		}
		return strings.Join(words, " ")
	}
}

// filled finds the member first of the profile. If that is empty, zero or
// false, it finds the member second.
func filled(first, second string) func(*evidence) string {
	return func(e *evidence) string {
		if v := e.profile[first]; truthy(v) {
			return text(v)
		}
		return text(e.profile[second])
	}
}

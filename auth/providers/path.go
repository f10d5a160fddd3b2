package providers

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// path finds one value in the responses of a provider, or nil. Its text has the
// form a.b[0].c. [k=v] takes the first element whose member k is v. A path
// begins at the profile, or at the token response if its first member is
// $token.
type path func(*evidence) any

// parsePath compiles a path.
func parsePath(raw string) (path, error) {
	invalid := fmt.Errorf("%q is not a path such as a.b[0].c", raw)
	var steps []func(any) any
	for segment := range strings.SplitSeq(raw, ".") {
		name, selectors, indexed := strings.Cut(segment, "[")
		if name == "" || strings.ContainsAny(name, "]{}()\"'|+, ") {
			return nil, invalid
		}
		steps = append(steps, func(v any) any { return member(v, name) })
		for indexed {
			var selector string
			var ok bool
			if selector, selectors, ok = strings.Cut(selectors, "]"); !ok || selector == "" {
				return nil, invalid
			}
			steps = append(steps, element(selector))
			if selectors == "" {
				break
			}
			if selectors, ok = strings.CutPrefix(selectors, "["); !ok {
				return nil, invalid
			}
		}
	}
	inToken := strings.HasPrefix(raw, "$token.")
	if inToken {
		steps = steps[1:]
	}
	return func(e *evidence) any {
		var v any = e.profile
		if inToken {
			v = tokenMembers(e.tokens)
		}
		for _, step := range steps {
			v = step(v)
		}
		return v
	}, nil
}

// member follows names through nested objects, and returns nil if one is
// absent.
func member(v any, names ...string) any {
	for _, name := range names {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

// element takes an element by its index, or the first element that has a member
// with a value.
func element(selector string) func(any) any {
	name, want, filter := strings.Cut(selector, "=")
	index, err := strconv.Atoi(selector)
	return func(v any) any {
		list, _ := v.([]any)
		switch {
		case filter:
			i := slices.IndexFunc(list, func(v any) bool {
				value := member(v, name)
				return text(value) == want || value == true && want == "true"
			})
			if i >= 0 {
				return list[i]
			}
		case err == nil && index >= 0 && index < len(list):
			return list[index]
		}
		return nil
	}
}

// tokenMembers returns the members of the token response that a path can name.
func tokenMembers(t *auth.TokenSet) map[string]any {
	if t == nil {
		return nil
	}
	m := map[string]any{"access_token": t.AccessToken, "scope": t.Scope}
	maps.Copy(m, t.Extra)
	return m
}

// text returns a text, or a number as text; other values give the empty text.
func text(v any) string { return auth.Profile{"": v}.String("") }

// truthy reports whether a value is present, and not false, zero or empty.
func truthy(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case json.Number:
		f, err := v.Float64()
		return err != nil || f != 0
	case float64:
		return v != 0
	}
	return true
}

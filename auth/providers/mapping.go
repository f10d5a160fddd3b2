package providers

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

// mapping says where a profile has the fields of a user. The texts are
// expressions; an empty one means that the provider does not tell.
type mapping struct {
	id, name, email, image string
	// extra are further fields, for User.Extra.
	extra map[string]string
}

func (m mapping) isZero() bool {
	return m.id == "" && m.name == "" && m.email == "" && m.image == "" && len(m.extra) == 0
}

// compile makes the function for OAuth.Profile.
func (m mapping) compile(vars map[string]string, client *http.Client) (func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error), error) {
	fields := map[string]expression{}
	given := maps.Clone(m.extra)
	if given == nil {
		given = map[string]string{}
	}
	for name, raw := range map[string]string{"id": m.id, "name": m.name, "email": m.email, "image": m.image} {
		given[name] = raw
	}
	for name, raw := range given {
		if raw == "" {
			fields[name] = func(*evidence) any { return nil }
			continue
		}
		x, err := parse(raw)
		if err != nil {
			return nil, fmt.Errorf("mapping of %s: %w", name, err)
		}
		fields[name] = x
	}
	return func(ctx context.Context, profile auth.Profile, tokens auth.TokenSet) (*auth.User, error) {
		e := &evidence{ctx: ctx, profile: profile, tokens: &tokens, vars: vars, client: client}
		field := func(name string) string { return text(fields[name](e)) }
		u := &auth.User{ID: field("id"), Name: field("name"), Email: field("email"), Image: field("image")}
		for name := range m.extra {
			if v := fields[name](e); v != nil {
				if u.Extra == nil {
					u.Extra = map[string]any{}
				}
				u.Extra[name] = v
			}
		}
		return u, nil
	}, nil
}

package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// expression finds one value in what a provider answered, or nil. Its text is
//
//	a.b[0].c      a path; [k=v] is the first element whose member k is v
//	$token.x      a member of the token answer
//	x | y         the first value that is there and not null
//	join(x, y)    the texts that are not empty, with a blank between them
//	template(…{path}…)  text with values in it; nothing if one is missing. The
//	              braces can hold the name of an option too.
//	when(p, x)    x if p is true, not zero and not empty; unless(p, x) otherwise
//	hook(name)    code
type expression func(*evidence) any

// evidence is what an expression looks at.
type evidence struct {
	ctx     context.Context //nolint:containedctx // lives for one evaluation
	profile map[string]any
	tokens  *auth.TokenSet
	vars    map[string]string
	client  *http.Client
}

// parse compiles an expression.
func parse(text string) (expression, error) {
	p := &parser{rest: text}
	x, err := p.alternatives()
	if err == nil && p.rest != "" {
		err = fmt.Errorf("unexpected %q", p.rest)
	}
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", text, err)
	}
	return x, nil
}

// maxDepth bounds how deep expressions nest.
const maxDepth = 20

type parser struct {
	rest  string
	depth int
}

// skip takes a token that is there, after blanks.
func (p *parser) skip(token string) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	rest, ok := strings.CutPrefix(p.rest, token)
	if ok {
		p.rest = strings.TrimLeft(rest, " ")
	}
	return ok
}

func (p *parser) alternatives() (expression, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errors.New("nested too deep")
	}
	defer func() { p.depth-- }()
	var all []expression
	for {
		x, err := p.term()
		if err != nil {
			return nil, err
		}
		all = append(all, x)
		if !p.skip("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return func(e *evidence) any {
		for _, x := range all {
			if v := x(e); v != nil {
				return v
			}
		}
		return nil
	}, nil
}

func (p *parser) term() (expression, error) {
	for _, f := range []struct {
		name  string
		parse func(*parser) (expression, error)
	}{{"template(", (*parser).template}, {"join(", (*parser).join}, {"when(", when(true)}, {"unless(", when(false)}, {"hook(", (*parser).hook}} {
		if p.skip(f.name) {
			return f.parse(p)
		}
	}
	end := strings.IndexAny(p.rest, " ,|()")
	if end < 0 {
		end = len(p.rest)
	}
	text := p.rest[:end]
	p.rest = strings.TrimLeft(p.rest[end:], " ")
	return path(text)
}

// raw takes the text up to the next closing parenthesis.
func (p *parser) raw() (string, error) {
	text, rest, ok := strings.Cut(p.rest, ")")
	if !ok {
		return "", errors.New("a parenthesis is not closed")
	}
	p.rest = strings.TrimLeft(rest, " ")
	return text, nil
}

func (p *parser) hook() (expression, error) {
	name, err := p.raw()
	if err != nil {
		return nil, err
	}
	switch name {
	case "discord_avatar":
		return discordAvatar, nil
	case "graph_photo":
		return graphPhoto, nil
	case "bungie_picture":
		return bungiePicture, nil
	}
	return nil, fmt.Errorf("there is no hook %q", name)
}

// arguments takes what stands between parentheses.
func (p *parser) arguments() ([]expression, error) {
	var all []expression
	for {
		x, err := p.alternatives()
		if err != nil {
			return nil, err
		}
		all = append(all, x)
		if p.skip(")") {
			return all, nil
		}
		if !p.skip(",") {
			return nil, fmt.Errorf("expected a comma or a parenthesis at %q", p.rest)
		}
	}
}

func (p *parser) join() (expression, error) {
	all, err := p.arguments()
	return func(e *evidence) any {
		var words []string
		for _, x := range all {
			if s := text(x(e)); s != "" {
				words = append(words, s)
			}
		}
		if len(words) == 0 {
			return nil
		}
		return strings.Join(words, " ")
	}, err
}

func when(want bool) func(*parser) (expression, error) {
	return func(p *parser) (expression, error) {
		args, err := p.arguments()
		if err == nil && len(args) != 2 {
			err = errors.New("when and unless have two arguments")
		}
		return func(e *evidence) any {
			if truthy(args[0](e)) != want {
				return nil
			}
			return args[1](e)
		}, err
	}
}

func (p *parser) template() (expression, error) {
	raw, err := p.raw()
	if err != nil {
		return nil, err
	}
	return compileTemplate(raw, nil)
}

// compileTemplate makes an expression of a text with paths in braces. escape,
// if not nil, is applied to what replaces them.
func compileTemplate(raw string, escape func(string) string) (expression, error) {
	var literals []string
	var values []expression
	for {
		literal, rest, ok := strings.Cut(raw, "{")
		literals = append(literals, literal)
		if !ok {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		if !ok {
			return nil, errors.New("a brace is not closed")
		}
		x, err := path(name)
		if err != nil {
			return nil, err
		}
		values = append(values, func(e *evidence) any {
			if v, ok := e.vars[name]; ok {
				return v
			}
			s := text(x(e))
			if escape != nil {
				s = escape(s)
			}
			return s
		})
		raw = after
	}
	return func(e *evidence) any {
		var b strings.Builder
		b.WriteString(literals[0])
		for i, x := range values {
			s, _ := x(e).(string)
			if s == "" {
				return nil
			}
			b.WriteString(s + literals[i+1])
		}
		return b.String()
	}, nil
}

// path compiles a path.
func path(raw string) (expression, error) {
	var steps []func(any) any
	for segment := range strings.SplitSeq(raw, ".") {
		name, selectors, indexed := strings.Cut(segment, "[")
		if name == "" || strings.ContainsAny(name, "]{}\"'") {
			return nil, fmt.Errorf("%q is no path", raw)
		}
		steps = append(steps, member(name))
		for indexed {
			var selector string
			var ok bool
			if selector, selectors, ok = strings.Cut(selectors, "]"); !ok || selector == "" {
				return nil, fmt.Errorf("%q is no path", raw)
			}
			steps = append(steps, element(selector))
			if selectors == "" {
				break
			}
			if selectors, ok = strings.CutPrefix(selectors, "["); !ok {
				return nil, fmt.Errorf("%q is no path", raw)
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
			v = members(e.tokens)
		}
		for _, step := range steps {
			v = step(v)
		}
		return v
	}, nil
}

func member(name string) func(any) any {
	return func(v any) any {
		m, _ := v.(map[string]any)
		return m[name]
	}
}

// element takes an element by its index, or the first that has a member with a
// value.
func element(selector string) func(any) any {
	name, want, filter := strings.Cut(selector, "=")
	index, err := strconv.Atoi(selector)
	return func(v any) any {
		list, _ := v.([]any)
		switch {
		case filter:
			i := slices.IndexFunc(list, func(v any) bool {
				m, _ := v.(map[string]any)
				return text(m[name]) == want || m[name] == true && want == "true"
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

// members are the members of the token answer that mappings use.
func members(t *auth.TokenSet) map[string]any {
	if t == nil {
		return nil
	}
	m := map[string]any{"access_token": t.AccessToken, "scope": t.Scope}
	for name, v := range t.Extra {
		m[name] = v
	}
	return m
}

// text is a text or a number as text; anything else has none.
func text(v any) string { return auth.Profile{"": v}.String("") }

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

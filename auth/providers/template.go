package providers

import (
	"regexp"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// A template is a text with names in braces. {shop} is the value of an option.
// {$token.user_id} is a member of the token response, which is known when the
// userinfo request is made. Other braces are ordinary text.
var placeholder = regexp.MustCompile(`\{(\$token\.)?[A-Za-z][A-Za-z0-9_.]*\}`)

const inToken = "$token."

// expand replaces the options of a template, and reports whether each has a
// value. If one has none, the result is empty.
func expand(template string, options map[string]string) (string, bool) {
	return replace(template, func(name string) (string, bool) {
		if strings.HasPrefix(name, inToken) {
			return "{" + name + "}", true
		}
		return options[name], options[name] != ""
	})
}

// expandTokens replaces the members of the token response, escaped with escape,
// and reports whether each has a value. If one has none, the result is empty.
func expandTokens(template string, tokens *auth.TokenSet, escape func(string) string) (string, bool) {
	return replace(template, func(name string) (string, bool) {
		at, found := strings.CutPrefix(name, inToken)
		if !found {
			return "{" + name + "}", true
		}
		value := text(member(tokenMembers(tokens), strings.Split(at, ".")...))
		return escape(value), value != ""
	})
}

func replace(template string, value func(name string) (string, bool)) (string, bool) {
	complete := true
	s := placeholder.ReplaceAllStringFunc(template, func(found string) string {
		v, ok := value(strings.Trim(found, "{}"))
		complete = complete && ok
		return v
	})
	if !complete {
		return "", false
	}
	return s, true
}

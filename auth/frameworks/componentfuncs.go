package frameworks

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// Functions returns the components as functions of html/template. Each takes
// pairs of names and values:
//
//	{{SignIn "provider" "github" "redirectTo" "/inbox"}}
//	{{SignOut "submitButton" .Button}}
//
// The names are those of the properties: provider, type, signInPage,
// signOutPage, redirectTo, redirect, class, csrfToken, authorizationParams-…
// and the slots submitButton, credentials and email. The value of a slot is
// escaped unless its type is template.HTML.
func Functions() template.FuncMap {
	return template.FuncMap{
		"SignIn": func(pairs ...any) (template.HTML, error) {
			var p SignInProps
			err := eachPair(pairs, func(name string, v any) bool {
				switch name {
				case "provider":
					p.Provider = fmt.Sprint(v)
				case "type":
					p.Type = auth.ProviderType(fmt.Sprint(v))
				case "signInPage":
					p.SignInPage = fmt.Sprint(v)
				case "redirectTo":
					p.RedirectTo = fmt.Sprint(v)
				case "redirect":
					p.NoRedirect = isFalse(fmt.Sprint(v))
				case "class":
					p.Class = fmt.Sprint(v)
				case "csrfToken":
					p.CSRFToken = fmt.Sprint(v)
				case "submitButton":
					p.SubmitButton = slot(v)
				case "credentials":
					p.Credentials = slot(v)
				case "email":
					p.Email = slot(v)
				default:
					param, ok := strings.CutPrefix(name, "authorizationParams-")
					if !ok {
						return false
					}
					if p.AuthorizationParams == nil {
						p.AuthorizationParams = url.Values{}
					}
					p.AuthorizationParams.Add(param, fmt.Sprint(v))
				}
				return true
			})
			if err != nil {
				return "", fmt.Errorf("SignIn: %w", err)
			}
			return SignIn(p).HTML()
		},
		"SignOut": func(pairs ...any) (template.HTML, error) {
			var p SignOutProps
			err := eachPair(pairs, func(name string, v any) bool {
				switch name {
				case "signOutPage":
					p.SignOutPage = fmt.Sprint(v)
				case "redirectTo":
					p.RedirectTo = fmt.Sprint(v)
				case "redirect":
					p.NoRedirect = isFalse(fmt.Sprint(v))
				case "class":
					p.Class = fmt.Sprint(v)
				case "csrfToken":
					p.CSRFToken = fmt.Sprint(v)
				case "submitButton":
					p.SubmitButton = slot(v)
				default:
					return false
				}
				return true
			})
			if err != nil {
				return "", fmt.Errorf("SignOut: %w", err)
			}
			return SignOut(p).HTML()
		},
	}
}

// slot returns content for a page: HTML unchanged, other values escaped.
func slot(v any) template.HTML {
	if html, ok := v.(template.HTML); ok {
		return html
	}
	return template.HTML(template.HTMLEscaper(v))
}

func eachPair(pairs []any, take func(name string, v any) bool) error {
	if len(pairs)%2 != 0 {
		return fmt.Errorf("got %d arguments, want pairs of name and value", len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok || !take(name, pairs[i+1]) {
			return fmt.Errorf("the property %v does not exist", pairs[i])
		}
	}
	return nil
}

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
			err := fill(pairs, map[string]any{
				"provider": &p.Provider, "type": &p.Type, "signInPage": &p.SignInPage,
				"redirectTo": &p.RedirectTo, "redirect": &p.NoRedirect, "authorizationParams-": &p.AuthorizationParams,
				"class": &p.Class, "csrfToken": &p.CSRFToken,
				"submitButton": &p.SubmitButton, "credentials": &p.Credentials, "email": &p.Email,
			})
			if err != nil {
				return "", fmt.Errorf("SignIn: %w", err)
			}
			return SignIn(p).HTML()
		},
		"SignOut": func(pairs ...any) (template.HTML, error) {
			var p SignOutProps
			err := fill(pairs, map[string]any{
				"signOutPage": &p.SignOutPage, "redirectTo": &p.RedirectTo, "redirect": &p.NoRedirect,
				"class": &p.Class, "csrfToken": &p.CSRFToken, "submitButton": &p.SubmitButton,
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

// fill sets properties from pairs of name and value. The fields are pointers, by the
// names of the properties; authorizationParams- is the beginning of several names.
func fill(pairs []any, fields map[string]any) error {
	if len(pairs)%2 != 0 {
		return fmt.Errorf("got %d arguments, want pairs of name and value", len(pairs))
	}
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		param, isParam := strings.CutPrefix(name, "authorizationParams-")
		if isParam {
			name = "authorizationParams-"
		}
		text := fmt.Sprint(pairs[i+1])
		switch field := fields[name].(type) {
		case *string:
			*field = text
		case *auth.ProviderType:
			*field = auth.ProviderType(text)
		case *bool: // NoRedirect
			*field = isFalse(text)
		case *template.HTML:
			*field = slot(pairs[i+1])
		case *url.Values:
			if *field == nil {
				*field = url.Values{}
			}
			field.Add(param, text)
		default:
			return fmt.Errorf("the property %v does not exist", pairs[i])
		}
	}
	return nil
}

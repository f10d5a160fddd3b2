package frameworks

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// maxForm is the largest size in bytes of a form or JSON body that an action
// reads.
const maxForm = 64 << 10

// SignInOptions are the options of a sign-in from server code.
type SignInOptions struct {
	// RedirectTo is the path to which the browser goes after the sign-in; the
	// default is the page that the request came from, or /.
	RedirectTo string
	// NoRedirect sets the cookies and leaves the rest of the response to the
	// caller, who gets the URL.
	NoRedirect bool
	// Form holds the fields that the user submitted, such as email, or the
	// fields of a credentials provider.
	Form url.Values
	// AuthorizationParams are further parameters of the authorization request of
	// an OAuth provider.
	AuthorizationParams url.Values
}

// SignInForm makes options from a submitted form. The field redirect with the
// value "false" sets NoRedirect. redirectTo is RedirectTo. Fields whose names
// begin with authorizationParams- are AuthorizationParams. providerId is left
// out. The remaining fields are Form.
func SignInForm(form url.Values) SignInOptions {
	o := SignInOptions{Form: url.Values{}, AuthorizationParams: url.Values{}}
	for name, values := range form {
		param, isParam := strings.CutPrefix(name, "authorizationParams-")
		switch {
		case len(values) == 0 || name == "providerId":
		case name == "redirect":
			o.NoRedirect = isFalse(values[len(values)-1])
		case name == "redirectTo":
			o.RedirectTo = values[len(values)-1]
		case isParam && param != "":
			o.AuthorizationParams[param] = values
		default:
			o.Form[name] = values
		}
	}
	return o
}

func isFalse(text string) bool { return strings.EqualFold(text, "false") }

// signIn signs in, redirects unless o.NoRedirect is set, and returns the URL.
func signIn(h *auth.Handler, w http.ResponseWriter, r *http.Request, provider string, o SignInOptions) (string, error) {
	if err := h.MayChange(r, o.Form.Get("csrfToken")); err != nil {
		return "", typed(err)
	}
	result, err := h.SignIn(r, provider, auth.SignInOptions{RedirectTo: o.RedirectTo, Form: o.Form, AuthorizationParams: o.AuthorizationParams})
	if err != nil {
		return "", typed(err)
	}
	return sendOn(w, r, result, !o.NoRedirect), nil
}

// SignOutOptions are the options of a sign-out from server code.
type SignOutOptions struct {
	// RedirectTo is the path to which the browser goes; the default is the page
	// that the request came from, or /.
	RedirectTo string
	// NoRedirect sets the cookies and leaves the rest of the response to the
	// caller, who gets the URL.
	NoRedirect bool
	// CSRFToken is the CSRF token, if the form has one. It is not needed for a
	// request from a page of the same origin.
	CSRFToken string
}

// SignOutForm makes options from the fields redirect, redirectTo and csrfToken
// of a submitted form.
func SignOutForm(form url.Values) SignOutOptions {
	return SignOutOptions{RedirectTo: form.Get("redirectTo"), NoRedirect: isFalse(form.Get("redirect")), CSRFToken: form.Get("csrfToken")}
}

// signOut signs out, redirects unless o.NoRedirect is set, and returns the URL.
func signOut(h *auth.Handler, w http.ResponseWriter, r *http.Request, o SignOutOptions) (string, error) {
	if err := h.MayChange(r, o.CSRFToken); err != nil {
		return "", typed(err)
	}
	if o.CSRFToken != "" { // SignOut reads it from the form
		r = r.WithContext(r.Context())
		r.PostForm = url.Values{"csrfToken": {o.CSRFToken}}
	}
	result, err := h.SignOut(r, o.RedirectTo)
	if err != nil {
		return "", typed(err)
	}
	return sendOn(w, r, result, !o.NoRedirect), nil
}

// sendOn sets the cookies of a result and returns the URL. It redirects with
// status 303 if redirect is set; a client that requests JSON gets the URL as
// JSON.
func sendOn(w http.ResponseWriter, r *http.Request, result *auth.Result, redirect bool) string {
	if redirect && !auth.AsksForJSON(r) {
		result.Status = http.StatusSeeOther
		result.Send(w)
		return result.Location
	}
	result.SendCookies(w)
	if redirect {
		answerURL(w, result.Location)
	}
	return result.Location
}

// answerURL answers with a JSON object whose member url is the URL.
func answerURL(w http.ResponseWriter, to string) {
	body, _ := json.Marshal(map[string]string{"url": to}) // text always encodes
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
}

// typed wraps an error in an *auth.Error unless it is one already.
func typed(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*auth.Error](err); ok {
		return err
	}
	return &auth.Error{Type: auth.ErrAuth, Cause: err}
}

// readForm parses the form in the body of a request, and ignores the query.
func readForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	if r.PostForm == nil {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		parse := r.ParseForm // a form of no known type has no fields
		if strings.HasPrefix(strings.ToLower(r.Header.Get("Content-Type")), "multipart/form-data") {
			parse = func() error { return r.ParseMultipartForm(maxForm) }
		}
		if err := parse(); err != nil {
			return nil, err
		}
	}
	return r.PostForm, nil
}

package frameworks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// ResumableConfig is the configuration of ResumableAuth.
type ResumableConfig struct {
	auth.Config
	// Lazy replaces Config if the configuration depends on the request.
	Lazy *LazyConfig
}

// Resumable is the integration for applications that consist of loaders and
// actions. A loader gives a page its data. An action checks submitted data and
// says which field is wrong. See docs/frameworks.md, RS.
type Resumable struct {
	// OnError answers a request whose session could not be read. Nil answers
	// with status 503. Set it before the first request.
	OnError ErrorHandler

	site *site
}

// ResumableAuth makes the integration. It is experimental. The routes are below
// Config.BasePath; the default is /auth.
func ResumableAuth(config ResumableConfig) (*Resumable, error) {
	q := &Resumable{}
	var err error
	q.site, err = newSite(config.Config, config.Lazy, &q.OnError, ownBasePath("/auth"))
	if err != nil {
		return nil, err
	}
	return q, nil
}

// OnRequest is the hook of the whole site. It serves the routes. For every
// other request it puts the session into the request's context, where
// UseSession finds it, and renews the cookies.
func (q *Resumable) OnRequest(next http.Handler) http.Handler {
	return routesFirst(q.site, next)
}

// routesFirst serves the routes, and loads the session for all other requests.
func routesFirst(s *site, next http.Handler) http.Handler {
	next = auth.Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, err := s.handler(r)
		if err != nil {
			s.failed(w, r, err)
			return
		}
		if h.Serves(r) {
			h.ServeHTTP(w, r)
			return
		}
		if r, err = h.Load(w, r); err != nil {
			s.failed(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// UseSession is the loader of the session. It returns the session from the
// context of a request that went through OnRequest, or nil if nobody is signed
// in.
func (q *Resumable) UseSession(ctx context.Context) (*auth.Session, error) { return session(ctx) }

// SessionData is a session and the cookies that renew it.
type SessionData struct {
	// Cookie holds the values of Set-Cookie headers. It is nil if no cookie
	// needs to be renewed.
	Cookie []string `json:"cookie"`
	// Data is the session, or nil if nobody is signed in.
	Data *auth.Session `json:"data"`
}

// GetSession reads the session of a request. The caller has to set the cookies.
func (q *Resumable) GetSession(r *http.Request) (SessionData, error) {
	h, err := q.site.handler(r)
	if err != nil {
		return SessionData{}, err
	}
	header := headerOnly{}
	s, err := person(h.Refresh(header, r))
	return SessionData{Cookie: header["Set-Cookie"], Data: s}, err
}

// headerOnly is a ResponseWriter that keeps only a header.
type headerOnly http.Header

func (h headerOnly) Header() http.Header       { return http.Header(h) }
func (headerOnly) WriteHeader(int)             {}
func (headerOnly) Write(p []byte) (int, error) { return len(p), nil }

// SignInResult is the result of UseSignIn. It is zero if the submitted data is
// valid. As JSON it is then an empty object; otherwise it has all three
// members.
type SignInResult struct {
	Failed      bool              `json:"failed"`
	FieldErrors SignInFieldErrors `json:"fieldErrors"`
	FormErrors  []string          `json:"formErrors"`
}

// SignInFieldErrors says what is wrong with each field of a sign-in. A field
// that is valid is nil.
type SignInFieldErrors struct {
	AuthorizationParams []string `json:"authorizationParams,omitempty"`
	Options             []string `json:"options,omitempty"`
	ProviderID          []string `json:"providerId,omitempty"`
	RedirectTo          []string `json:"redirectTo,omitempty"`
}

// SignOutResult is the result of UseSignOut. It is zero if the submitted data
// is valid. As JSON it is then an empty object; otherwise it has all three
// members.
type SignOutResult struct {
	Failed      bool               `json:"failed"`
	FieldErrors SignOutFieldErrors `json:"fieldErrors"`
	FormErrors  []string           `json:"formErrors"`
}

// SignOutFieldErrors says what is wrong with each field of a sign-out.
type SignOutFieldErrors struct {
	RedirectTo []string `json:"redirectTo,omitempty"`
}

// MarshalJSON writes the members of a result that failed.
func (r SignInResult) MarshalJSON() ([]byte, error) {
	return failedJSON(r.Failed, r.FieldErrors, r.FormErrors)
}

// MarshalJSON writes the members of a result that failed.
func (r SignOutResult) MarshalJSON() ([]byte, error) {
	return failedJSON(r.Failed, r.FieldErrors, r.FormErrors)
}

func failedJSON(failed bool, fields any, form []string) ([]byte, error) {
	if !failed {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]any{"failed": true, "fieldErrors": fields, "formErrors": append([]string{}, form...)})
}

// UseSignIn is the action that signs in. It takes a form or JSON with these
// fields, all optional:
//
//	providerId           text
//	redirectTo           text
//	options              an object with redirectTo and the fields of the provider;
//	                     in a form options.redirectTo, options.username, …
//	authorizationParams  text as in a query, or an object of texts; in a form
//	                     authorizationParams.prompt, …
//
// If a field has the wrong kind, the action does and writes nothing, and the
// result says what is wrong. Otherwise it redirects the browser to
// options.redirectTo, to redirectTo, or to the page of the action itself. An
// error is an *auth.Error, and means that the sign-in failed; Fail answers the
// request with it, as the routes do.
func (q *Resumable) UseSignIn(w http.ResponseWriter, r *http.Request) (SignInResult, error) {
	in, problem := readInput(w, r)
	if problem != "" {
		return SignInResult{Failed: true, FormErrors: []string{problem}}, nil
	}
	var bad SignInFieldErrors
	provider := in.text("providerId", &bad.ProviderID)
	to := in.text("redirectTo", &bad.RedirectTo)
	options := in.object("options", &bad.Options)
	params := in.params("authorizationParams", &bad.AuthorizationParams)
	form := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		v := options[name]
		text, ok := asText(v)
		switch {
		case !ok:
			bad.Options = append(bad.Options, fmt.Sprintf("%s: Expected string, received %s", name, kindOf(v)))
		case name == "redirectTo":
			to = text
		default:
			form.Set(name, text)
		}
	}
	if len(bad.ProviderID)+len(bad.RedirectTo)+len(bad.Options)+len(bad.AuthorizationParams) > 0 {
		return SignInResult{Failed: true, FieldErrors: bad}, nil
	}
	if token, ok := asText(in["csrfToken"]); ok && token != "" {
		form.Set("csrfToken", token)
	}
	h, err := q.site.handler(r)
	if err != nil {
		return SignInResult{}, typed(err)
	}
	_, err = signIn(h, w, r, provider, SignInOptions{RedirectTo: cmp.Or(to, ownPage(r)), Form: form, AuthorizationParams: params})
	return SignInResult{}, err
}

// UseSignOut is the action that signs out. It takes a form or JSON with the
// field redirectTo, a text. Without that field the browser goes back to the
// page that it came from.
func (q *Resumable) UseSignOut(w http.ResponseWriter, r *http.Request) (SignOutResult, error) {
	in, problem := readInput(w, r)
	if problem != "" {
		return SignOutResult{Failed: true, FormErrors: []string{problem}}, nil
	}
	var bad SignOutFieldErrors
	to := in.text("redirectTo", &bad.RedirectTo)
	if len(bad.RedirectTo) > 0 {
		return SignOutResult{Failed: true, FieldErrors: bad}, nil
	}
	h, err := q.site.handler(r)
	if err != nil {
		return SignOutResult{}, typed(err)
	}
	token, _ := asText(in["csrfToken"])
	_, err = signOut(h, w, r, SignOutOptions{RedirectTo: to, CSRFToken: token})
	return SignOutResult{}, err
}

// Fail answers a request whose action returned an error, as the routes do.
func (q *Resumable) Fail(w http.ResponseWriter, r *http.Request, err error) {
	q.site.fail(w, r, err)
}

// ownPage returns the page of an action: its URL without the parameter that
// names the action.
func ownPage(r *http.Request) string {
	query := r.URL.Query()
	query.Del("qaction")
	u := url.URL{Path: "/" + strings.TrimLeft(wholePath(r), "/\\"), RawQuery: query.Encode()}
	return u.RequestURI()
}

// input is the data that was submitted to an action.
type input map[string]any

// readInput reads a form or a JSON object, or says what is wrong with it.
func readInput(w http.ResponseWriter, r *http.Request) (input, string) {
	if kind := strings.ToLower(r.Header.Get("Content-Type")); strings.Contains(kind, "application/json") {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
		if err != nil {
			return nil, bodyProblem(err)
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil || dec.More() {
			return nil, "Expected JSON"
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, "Expected object, received " + kindOf(v)
		}
		return object, ""
	}
	form, err := readForm(w, r)
	if err != nil {
		return nil, bodyProblem(err)
	}
	in := input{}
	for name, values := range form {
		parent, member, nested := strings.Cut(name, ".")
		text := values[len(values)-1]
		switch parent {
		case "options", "authorizationParams":
			if !nested {
				break
			}
			object, ok := in[parent].(map[string]any)
			if !ok {
				object = map[string]any{}
				in[parent] = object
			}
			if object[member] = text; parent == "authorizationParams" && len(values) > 1 {
				object[member] = values
			}
			continue
		}
		if _, taken := in[name]; !taken {
			in[name] = text
		}
	}
	return in, ""
}

func bodyProblem(err error) string {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return "The form is too large"
	}
	return "The form can't be read"
}

// text returns a field that must be a text if it is present.
func (in input) text(name string, problems *[]string) string {
	v, ok := in[name]
	if !ok {
		return ""
	}
	text, ok := v.(string)
	if !ok {
		*problems = append(*problems, "Expected string, received "+kindOf(v))
	}
	return text
}

// object returns a field that must be an object if it is present. Its member
// redirectTo must be a text.
func (in input) object(name string, problems *[]string) map[string]any {
	v, ok := in[name]
	if !ok {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		*problems = append(*problems, "Expected object, received "+kindOf(v))
		return nil
	}
	if to, ok := object["redirectTo"]; ok {
		if _, isText := to.(string); !isText {
			*problems = append(*problems, "redirectTo: Expected string, received "+kindOf(to))
			return nil
		}
	}
	return object
}

// params returns a field that must be a query as text, or an object of texts.
func (in input) params(name string, problems *[]string) url.Values {
	switch v := in[name].(type) {
	case string:
		params, err := url.ParseQuery(strings.TrimPrefix(v, "?"))
		if err != nil {
			*problems = append(*problems, "Expected a query string")
		}
		return params
	case map[string]any:
		params := url.Values{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch value := v[name].(type) {
			case string:
				params.Set(name, value)
			case []string: // a form with several fields of this name
				params[name] = value
			default:
				*problems = append(*problems, name+": Expected string, received "+kindOf(value))
			}
		}
		return params
	default:
		if _, ok := in[name]; ok {
			*problems = append(*problems, "Expected string or object, received "+kindOf(v))
		}
		return nil
	}
}

// asText returns a value as a form field would contain it.
func asText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return fmt.Sprint(v), true
	}
	return "", false
}

// kindOf names the kind of a JSON value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

package golden_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/assert"
)

// tally counts the rows of a group of vectors by outcome.
type tally struct{ exact, departed, meaningless int }

func (c tally) print(t *testing.T, group string) {
	t.Helper()
	t.Logf("%s: %d rows replayed, %d with a departure, %d have no meaning here", group, c.exact, c.departed, c.meaningless)
}

func TestIsDateVectors(t *testing.T) {
	t.Parallel()
	explained(t, "IsDate is true for every common form of a date")
	var c tally
	for _, row := range load[struct {
		IsDate []struct {
			Input  any
			Result bool
		}
	}](t, "functions.json").IsDate {
		want := row.Result
		switch row.Input {
		case "2026-02-30T12:00:00.000Z":
			want = false // this day does not exist; JavaScript reads it as 2 March
			c.departed++
		case "2026-01-15T12:00:00":
			want = true // a date without a zone can be parsed into a date
			c.departed++
		default:
			c.exact++
		}
		assert.Equalf(t, want, adapter.IsDate(row.Input), "%v", row.Input)
	}
	c.print(t, "isDate")
}

// TestDefaultCookieVectors produces every cookie that the core sets, and checks
// its name and attributes.
func TestDefaultCookieVectors(t *testing.T) {
	t.Parallel()
	var c tally
	for _, row := range load[struct {
		DefaultCookies []struct {
			UseSecureCookies bool
			Cookies          map[string]struct {
				Name    string
				Options struct {
					HTTPOnly, Secure bool
					SameSite, Path   string
					MaxAge           *int
				}
			}
		}
	}](t, "functions.json").DefaultCookies {
		made := map[string]string{}
		config := auth.Config{
			Secret: []string{liveSecret}, UseSecureCookies: &row.UseSecureCookies, SkipCSRFCheck: auth.SkipCSRFCheck,
			Providers: []auth.Provider{
				&auth.OAuth{
					ID: "idp", Type: auth.TypeOIDC, Issuer: "https://idp.example", ClientID: "id", ClientSecret: "secret",
					Authorization: auth.AuthorizationEndpoint{URL: "https://idp.example/authorize"},
					Checks:        []auth.Check{auth.CheckPKCE, auth.CheckState, auth.CheckNonce},
				},
				&auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return &auth.User{ID: "1"}, nil }},
			},
		}
		keep := func(resp *response) {
			for _, line := range resp.Header.Values("Set-Cookie") {
				name, rest, _ := strings.Cut(line, "=")
				_, made[name], _ = strings.Cut(rest, "; ")
			}
		}
		keep(serve(t, config, http.MethodPost, "/auth/signin/idp", nil, ""))
		keep(serve(t, config, http.MethodPost, "/auth/callback/credentials", nil, ""))
		config.SkipCSRFCheck = ""
		keep(serve(t, config, http.MethodGet, "/auth/csrf", nil, ""))
		for key, want := range row.Cookies {
			if key == "webauthnChallenge" {
				c.meaningless++ // the ceremonies set it; they are in another module
				continue
			}
			attributes := map[string]any{"httpOnly": want.Options.HTTPOnly, "secure": want.Options.Secure, "sameSite": "Lax", "path": want.Options.Path}
			if want.Options.MaxAge != nil {
				attributes["maxAge"] = *want.Options.MaxAge
			}
			got, ok := made[want.Name]
			// Expires is not one of the recorded options, nor is the Max-Age beside it.
			parts := slices.DeleteFunc(strings.Split(got, "; "), func(a string) bool {
				return strings.HasPrefix(a, "Expires=") || key == "sessionToken" && strings.HasPrefix(a, "Max-Age=")
			})
			assert.Truef(t, ok && want.Options.SameSite == "lax", "%s is not set, or SameSite is not lax", want.Name)
			assert.Equal(t, setCookieAttributes(attributes), strings.Join(parts, "; "), want.Name)
			c.exact++
		}
	}
	c.print(t, "defaultCookies")
}

// TestSerializeCookieVectors sets cookies. The value is a session token that
// the application made; the attributes are those of a Result.
func TestSerializeCookieVectors(t *testing.T) {
	t.Parallel()
	var c tally
	for _, row := range load[struct {
		SerializeCookie []struct {
			Name, Value, Header, Error string
			Options                    struct {
				HTTPOnly, Secure bool
				SameSite         any
				Path, Domain     string
				MaxAge           *float64
			}
		}
	}](t, "functions.json").SerializeCookie {
		o := row.Options
		var sameSite http.SameSite
		switch s := o.SameSite.(type) {
		case bool:
			sameSite = http.SameSiteStrictMode
		case string:
			sameSite = map[string]http.SameSite{"lax": http.SameSiteLaxMode, "strict": http.SameSiteStrictMode, "none": http.SameSiteNoneMode}[strings.ToLower(s)]
			if sameSite == 0 {
				c.meaningless++ // our type has no such value
				continue
			}
		}
		switch {
		case row.Name == "":
			c.meaningless++ // an empty name means the default name
		case o.MaxAge != nil && *o.MaxAge != float64(int(*o.MaxAge)):
			c.meaningless++ // a duration is cut to the second; the browser sees no difference
		case row.Error != "":
			config := auth.Config{Secret: []string{liveSecret}, URL: origin, Logger: slog.New(slog.DiscardHandler)}
			config.Cookies.SessionToken = auth.CookieConfig{Name: row.Name, Path: o.Path, Domain: o.Domain}
			_, err := auth.New(config)
			assert.Errorf(t, err, "%q with %+v: got a handler, want an error", row.Name, o)
			c.exact++
		default:
			cookie := &http.Cookie{Name: row.Name, Value: wireValue(t, row.Value), HttpOnly: o.HTTPOnly, Secure: o.Secure, SameSite: sameSite, Path: o.Path}
			if o.MaxAge != nil {
				if cookie.MaxAge = int(*o.MaxAge); cookie.MaxAge == 0 {
					cookie.MaxAge = -1 // net/http writes Max-Age=0 for this
				}
			}
			w := httptest.NewRecorder()
			(&auth.Result{Cookies: []*http.Cookie{cookie}}).SendCookies(w)
			assert.Equal(t, row.Header, w.Header().Get("Set-Cookie"))
			c.exact++
		}
	}
	c.print(t, "serializeCookie")
}

// wireValue returns a value as our cookies contain it.
func wireValue(t *testing.T, value string) string {
	t.Helper()
	if value == "" {
		return "" // this cookie is deleted
	}
	config := auth.Config{Secret: []string{liveSecret}, SkipCSRFCheck: auth.SkipCSRFCheck, Providers: []auth.Provider{
		&auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return &auth.User{ID: "1"}, nil }},
	}}
	config.JWT.Encode = func(context.Context, jwt.EncodeParams) (string, error) { return value, nil }
	config.JWT.Decode = func(context.Context, jwt.DecodeParams) (auth.Claims, error) { return nil, errors.New("not read") }
	for _, line := range serve(t, config, http.MethodPost, "/auth/callback/credentials", nil, "").Header.Values("Set-Cookie") {
		if rest, ok := strings.CutPrefix(line, jwt.CookieName+"="); ok {
			encoded, _, _ := strings.Cut(rest, "; ")
			return encoded
		}
	}
	t.Fatalf("%q: no session cookie", value)
	return ""
}

// TestMergeVectors merges options into a provider of the catalogue, which is
// where Auth.js merges. Options here have types, so an object can't be replaced
// by a text or removed.
func TestMergeVectors(t *testing.T) {
	t.Parallel()
	var c tally
	for _, row := range load[struct {
		Merge []struct {
			Inputs []map[string]any
			Result map[string]any
		}
	}](t, "functions.json").Merge {
		var opts []providers.Option
		meaningless := false
		for i, input := range row.Inputs {
			switch a := input["a"].(type) {
			case float64:
				opts = append(opts, providers.WithOptions(func(p *auth.OAuth) { p.Name = fmt.Sprint(a) }))
			case []any:
				checks := mapped(a, func(x any) auth.Check { return auth.Check(fmt.Sprint(x)) })
				opts = append(opts, providers.WithOptions(func(p *auth.OAuth) { p.Checks = checks }))
			case map[string]any:
				for name, value := range a {
					opts = append(opts, providers.WithParam(name, fmt.Sprint(value)))
				}
			case nil:
				meaningless = true
			case string:
				if a != "{{undefined}}" { // this option is not given
					meaningless = meaningless || i > 0
				}
			}
			if b, ok := input["b"]; ok {
				opts = append(opts, providers.WithParam("b", fmt.Sprint(b)))
			}
		}
		if meaningless {
			c.meaningless++
			continue
		}
		made := must(providers.ByID("github", append(opts, providers.WithClient("id", "secret"))...))(t)
		config := auth.Config{Secret: []string{liveSecret}, SkipCSRFCheck: auth.SkipCSRFCheck, Providers: []auth.Provider{made}}
		list := serve(t, config, http.MethodGet, "/auth/providers", nil, "")
		resp := serve(t, config, http.MethodPost, "/auth/signin/github", nil, "")
		u := must(url.Parse(resp.Header.Get("Location")))(t)
		switch a := row.Result["a"].(type) {
		case float64:
			want := fmt.Sprintf(`"name":"%v"`, a)
			assert.Containsf(t, string(list.body), want, "%v: got %s, want %s", row.Inputs, list.body, want)
		case map[string]any:
			for name, want := range a {
				got := u.Query().Get(name)
				assert.Equalf(t, fmt.Sprint(want), got, "%v: %s is %q, want %v", row.Inputs, name, got, want)
			}
		case []any:
			explained(t, "A list replaces another list as a whole")
			last := made.(*auth.OAuth).Checks
			want := row.Inputs[len(row.Inputs)-1]["a"].([]any)
			assert.Truef(t, len(last) == len(want) && string(last[0]) == fmt.Sprint(want[0]),
				"%v: got %v, want %v", row.Inputs, last, want)
			c.departed++
			continue
		}
		b, ok := row.Result["b"]
		assert.Falsef(t, ok && u.Query().Get("b") != fmt.Sprint(b), "%v: got %s, want %v in it", row.Inputs, u, b)
		c.exact++
	}
	c.print(t, "merge")
}

// TestErrorConstructionVectors makes the recorded errors. Every row departs in
// three ways: an Error has no name beside its type, its text has the cause and
// no link, and the cause is an error and not an object.
func TestErrorConstructionVectors(t *testing.T) {
	t.Parallel()
	explained(t, "Errors have no stack")
	var c tally
	inner := errors.New("inner")
	for _, row := range load[struct {
		ErrorConstruction []struct {
			Label, Type, Message string
			Cause                struct{ Err *struct{ Message string } }
		}
	}](t, "functions.json").ErrorConstruction {
		message, _, _ := strings.Cut(row.Message, "Read more at ")
		e := &auth.Error{Type: auth.ErrorType(row.Type), Message: strings.TrimSuffix(message, ". ")}
		want := "auth: " + row.Type
		if e.Message != "" {
			want += ": " + e.Message
		}
		if row.Cause.Err != nil {
			e.Cause = inner
			want += ": " + row.Cause.Err.Message
		}
		wrapped := fmt.Errorf("outer: %w", e)
		assert.Truef(t, e.Error() == want && errors.Is(wrapped, auth.ErrorType(row.Type)) && errors.Is(wrapped, inner) == (row.Cause.Err != nil),
			"%s: got %q, want %q", row.Label, e.Error(), want)
		c.departed++
	}
	c.print(t, "errorConstruction")
}

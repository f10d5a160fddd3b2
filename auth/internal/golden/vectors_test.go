package golden_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const origin = "http://localhost:3000"

// list is a JSON member that may be one text or a list of texts.
type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// serve answers one request with a configuration whose host is trusted.
func serve(t *testing.T, c auth.Config, method, path string, header http.Header, body string) *response {
	t.Helper()
	c.TrustHost, c.Logger = new(true), slog.New(slog.DiscardHandler)
	hr := must(http.NewRequestWithContext(t.Context(), method, origin+path, strings.NewReader(body)))(t)
	for name, values := range header {
		hr.Header[name] = values
	}
	resp := auth.Auth(hr, c)
	defer resp.Body.Close()
	read := must(io.ReadAll(resp.Body))(t)
	return &response{resp, read}
}

func credentials() auth.Provider {
	return &auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return nil, nil }}
}

// guessable reports whether a secret is one of those that we refuse on purpose.
func guessable(secrets list) bool {
	return slices.ContainsFunc(secrets, func(s string) bool { return utf8.RuneCountInString(s) < 32 })
}

func wantRefused(t *testing.T, resp *response) {
	t.Helper()
	explained(t, "Short secrets are refused")
	assert.NoError(t, wantRefusal(resp.Response, resp.body), "a secret that can be guessed is refused")
	assert.Equal(t, http.StatusInternalServerError, resp.StatusCode, "status")
}

func TestCSRFVectors(t *testing.T) {
	t.Parallel()
	file := load[struct {
		CookieName string
		Rows       []struct {
			Name      string
			Secret    list
			Cookie    *string
			Accepted  bool
			CSRFToken string
			Posts     []struct {
				Label     string
				CSRFToken any
				Verified  bool
			}
		}
	}](t, "csrf.json")
	for _, row := range file.Rows {
		t.Run(row.Name, func(t *testing.T) {
			c := auth.Config{Secret: row.Secret, Providers: []auth.Provider{credentials()}}
			header := http.Header{}
			if row.Cookie != nil {
				header.Set("Cookie", file.CookieName+"="+*row.Cookie)
			}
			resp := serve(t, c, http.MethodGet, "/auth/csrf", header, "")
			if guessable(row.Secret) {
				wantRefused(t, resp)
				return
			}
			var got struct{ CSRFToken string }
			require.NoError(t, json.Unmarshal(resp.body, &got))
			renewed := slices.ContainsFunc(resp.Cookies(), func(c *http.Cookie) bool { return c.Name == file.CookieName })
			assert.NotEqualf(t, row.Accepted, renewed,
				"got a new cookie: %v, want the old one accepted: %v", renewed, row.Accepted)
			assert.Truef(t, row.CSRFToken == "{{new}}" || got.CSRFToken == row.CSRFToken,
				"got token %q, want %q", got.CSRFToken, row.CSRFToken)
			for _, p := range row.Posts {
				body := map[string]any{"csrfToken": p.CSRFToken}
				if p.CSRFToken == "{{absent}}" {
					body = map[string]any{}
				}
				encoded := must(json.Marshal(body))(t)
				h := header.Clone()
				h.Set("Content-Type", "application/json")
				resp := serve(t, c, http.MethodPost, "/auth/signout", h, string(encoded))
				assert.Equalf(t, p.Verified, !strings.Contains(resp.Header.Get("Location"), "MissingCSRF"),
					"%s: got verified", p.Label)
			}
		})
	}
}

func TestEmailHashVectors(t *testing.T) {
	t.Parallel()
	file := load[struct {
		Rows []struct {
			Name, Email, Identifier, Token, TokenSource, Hash, Link string
			Secret                                                  list
			ProviderSecret                                          string
			Lookup                                                  map[string]any
		}
	}](t, "email_hash.json")
	for _, row := range file.Rows {
		t.Run(row.Name, func(t *testing.T) {
			s := &store{rec: &recorder{}}
			var link string
			p := &auth.Email{
				GenerateVerificationToken: func(context.Context) (string, error) { return row.Token, nil },
				SendVerificationRequest: func(_ context.Context, v auth.VerificationRequest) error {
					link = v.URL
					return nil
				},
			}
			if row.ProviderSecret != "" {
				p.Secret = []string{row.ProviderSecret}
			}
			c := auth.Config{Secret: row.Secret, Providers: []auth.Provider{p}, Adapter: editsTokens{s}, SkipCSRFCheck: auth.SkipCSRFCheck}
			form := url.Values{"email": {row.Email}}.Encode()
			resp := serve(t, c, http.MethodPost, "/auth/signin/email", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, form)
			if guessable(row.Secret) || row.ProviderSecret != "" && guessable(list{row.ProviderSecret}) {
				wantRefused(t, resp)
				return
			}
			require.Lenf(t, s.tokens, 1, "got %d stored tokens, want 1", len(s.tokens))
			if row.Token == "" {
				// Departure: Auth.js mails a link that can't work.
				assert.Truef(t, !strings.Contains(link, "&token=&") && s.tokens[0].Token != row.Hash,
					"an empty token was mailed: %s", link)
				return
			}
			assert.Equal(t, row.Identifier, s.tokens[0].Identifier, "got identifier")
			if len(row.Token) < 20 { // departure: a short token counts only with a handle, which the link contains
				u, err := url.Parse(link)
				typed := strings.NewReplacer(" ", "", "-", "").Replace(row.Token)
				assert.Truef(t, err == nil && s.tokens[0].Token != row.Hash && len(u.Query().Get("token")) == len(typed)+64 && strings.HasPrefix(u.Query().Get("token"), typed),
					"got link %s and hash %s", link, s.tokens[0].Token)
				return
			}
			assert.Equal(t, row.Link, link, "got link")
			assert.Equal(t, row.Hash, s.tokens[0].Token, "got hash")
			// A sign-in here accepts the link and the row that Auth.js made.
			s.tokens = []adapter.VerificationToken{{Identifier: row.Identifier, Token: row.Hash, Expires: time.Now().Add(time.Hour)}}
			resp = serve(t, c, http.MethodPost, strings.TrimPrefix(row.Link, origin), nil, "")
			assert.Truef(t, resp.Header.Get("Location") == origin && len(s.sessions) == 1 && len(s.tokens) == 0,
				"the link of the original led to %s, with %d sessions and %d tokens left", resp.Header.Get("Location"), len(s.sessions), len(s.tokens))
		})
	}
}

// editsTokens is the store with a method that the recording does not have.
type editsTokens struct{ *store }

func (s editsTokens) DeleteVerificationTokens(_ context.Context, identifier string) (int64, error) {
	before := len(s.tokens)
	s.tokens = slices.DeleteFunc(s.tokens, func(v adapter.VerificationToken) bool { return v.Identifier == identifier })
	return int64(before - len(s.tokens)), nil
}

// functions is the file of vectors of small functions. The vectors about
// options are in options_test.go.
type functions struct {
	CreateActionURL []struct {
		Name, Action  string
		Protocol, URL string
		BasePath      *string
		Headers, Env  map[string]string
		Warnings      []string
	}
	SetEnvDefaults []struct {
		Name                    string
		Env                     map[string]string
		Config                  map[string]json.RawMessage
		Result                  map[string]any
		SuppressBasePathWarning bool
		Warnings                []string
	}
	IsAuthAction []struct {
		Input  string
		Result bool
	}
	ParseActionAndProviderID []struct {
		Pathname, BasePath, Error string
		Action, ProviderID        *string
	}
	NormalizeIdentifier []struct{ Input, Output, Error string }
	Chunking            []struct {
		Length int
		Chunks []struct {
			Name   string
			Length int
		}
	}
	ChunkJoin []struct {
		Cookies ordered
		Value   string
	}
	ChunkReplace []struct {
		Cookies    ordered
		NewLength  int
		SetCookies []struct {
			Name        string
			ValueLength int
			Options     map[string]any
		}
	}
	ParseCookie []struct {
		Header  string
		Cookies [][2]string
	}
	Errors []struct {
		Class, Type, Page, ErrorParameter string
	}
	EmailTemplates []struct {
		URL, Subject, Text, HTML string
		Theme                    auth.Theme
	}
}

// warnings returns a log that keeps the codes of the logged warnings.
func warnings(codes *[]string) *slog.Logger {
	return slog.New(logHandler(func(r slog.Record) {
		if _, rest, ok := strings.Cut(r.Message, "auth: "); ok && r.Level == slog.LevelWarn {
			code, _, _ := strings.Cut(rest, ":")
			*codes = append(*codes, code)
		}
	}))
}

func environment(env map[string]string) auth.Env {
	return func(name string) string { return env[name] }
}

func TestCreateActionURLVectors(t *testing.T) {
	t.Parallel()
	explained(t, "AUTH_URL is the origin of the site")
	// The rows that differ from Auth.js, with our result.
	departures := map[string]string{
		"no-host":             "error: a request without a host has no URL; the original makes one of the word null",
		"auth-url-with-query": "https://env.example.com/auth/signin", // the query of AUTH_URL is dropped, not put before the path
	}
	for _, row := range load[functions](t, "functions.json").CreateActionURL {
		header := http.Header{}
		for k, v := range row.Headers {
			header.Set(k, v)
		}
		warned := []string{}
		c := auth.Config{Logger: warnings(&warned)}
		if row.BasePath != nil {
			c.BasePath = *row.BasePath
		}
		want := row.URL
		if d, ok := departures[row.Name]; ok {
			want = d
		}
		got, err := auth.CreateActionURL(auth.Action(row.Action), row.Protocol, header, environment(row.Env), c)
		switch {
		case strings.HasPrefix(want, "error"):
			assert.Errorf(t, err, "%s: got %s, want an error", row.Name, got)
		case err != nil || got.String() != want:
			t.Errorf("%s: got %v, %v, want %s", row.Name, got, err, want)
		}
		assert.Truef(t, slices.Equal(warned, row.Warnings), "%s: got warnings %v, want %v", row.Name, warned, row.Warnings)
	}
}

func TestSetEnvDefaultsVectors(t *testing.T) {
	t.Parallel()
	explained(t, "AUTH_URL is the origin of the site")
	departures := map[string]struct {
		entry  string
		result map[string]any
	}{
		"trust-host-false-string":          {"AUTH_TRUST_HOST is a boolean", map[string]any{"trustHost": false}},
		"base-path-empty-string-in-config": {"The base path has no slash at its end", map[string]any{"basePath": "/auth"}},
		"legacy-secret-not-read":           {"The variables of NextAuth.js are read everywhere", map[string]any{"secret": "old"}},
	}
	for _, row := range load[functions](t, "functions.json").SetEnvDefaults {
		warned := []string{}
		c := auth.Config{Logger: warnings(&warned)}
		r := newReplay(&scenario{})
		for name, raw := range row.Config {
			require.NoErrorf(t, options[name](r, &c, raw), "%s: %s", row.Name, name)
		}
		auth.SetEnvDefaults(environment(row.Env), &c, row.SuppressBasePathWarning)
		want := row.Result
		if d, ok := departures[row.Name]; ok {
			explained(t, d.entry)
			maps.Copy(want, d.result)
		}
		// AUTH_URL sets the origin, so that no host needs trust. A machine
		// counts as a development machine only if the environment says so.
		if _, given := row.Config["trustHost"]; !given && row.Env["AUTH_TRUST_HOST"] == "" && row.Env["VERCEL"] == "" && row.Env["CF_PAGES"] == "" && slices.Contains([]string{"", "production"}, row.Env["NODE_ENV"]) {
			want["trustHost"] = false
		}
		assert.Equalf(t, row.Env["AUTH_URL"], c.URL, "%s: got URL", row.Name)
		assert.Equalf(t, text(want, "basePath"), c.BasePath, "%s: got base path", row.Name)
		var secret list
		require.NoError(t, json.Unmarshal(must(json.Marshal(want["secret"]))(t), &secret))
		assert.Truef(t, slices.Equal(c.Secret, secret), "%s: got secrets %q, want %q", row.Name, c.Secret, secret)
		assert.Truef(t, c.TrustHost != nil && *c.TrustHost == want["trustHost"],
			"%s: got trust %v, want %v", row.Name, c.TrustHost, want["trustHost"])
		assert.Equalf(t, text(want, "redirectProxyUrl"), c.RedirectProxyURL, "%s: got redirect proxy", row.Name)
		for i, p := range items(want["providers"]) {
			compareProvider(t, row.Name, object(p), c.Providers[i])
		}
		assert.Truef(t, slices.Equal(warned, row.Warnings), "%s: got warnings %v, want %v", row.Name, warned, row.Warnings)
	}
}

func compareProvider(t *testing.T, name string, want map[string]any, got auth.Provider) {
	t.Helper()
	have := map[string]string{}
	switch p := got.(type) {
	case *auth.OAuth:
		have = map[string]string{"clientId": p.ClientID, "clientSecret": p.ClientSecret, "issuer": p.Issuer}
	case *auth.Email:
		have = map[string]string{"apiKey": p.APIKey}
	}
	for field, value := range have {
		assert.Equalf(t, text(want, field), value, "%s: got %s %q, want %v", name, field, value, want[field])
	}
}

func TestActionVectors(t *testing.T) {
	t.Parallel()
	f := load[functions](t, "functions.json")
	for _, row := range f.IsAuthAction {
		assert.Equalf(t, row.Result, auth.IsAuthAction(row.Input), "IsAuthAction(%q)", row.Input)
	}
	for _, row := range f.ParseActionAndProviderID {
		// 13: the base path is not a regular expression, and must end at a
		// slash.
		refused := row.Error != "" || row.Pathname == "/authsignin" || row.Pathname == "/axb/signin"
		resp := serve(t, auth.Config{Secret: []string{liveSecret}, BasePath: row.BasePath, Providers: []auth.Provider{credentials()}}, http.MethodGet, row.Pathname, nil, "")
		assert.Equalf(t, refused, resp.StatusCode == http.StatusBadRequest,
			"%s below %s: got status %d, want refused: %v", row.Pathname, row.BasePath, resp.StatusCode, refused)
	}
}

func TestNormalizeIdentifierVectors(t *testing.T) {
	t.Parallel()
	for _, row := range load[functions](t, "functions.json").NormalizeIdentifier {
		got, err := auth.NormalizeEmail(row.Input)
		// Departure: an address that a mail program could read as another
		// address is refused. Auth.js cuts the domain at a comma.
		odd := oddAddress(row.Input)
		// Departure: only ASCII letters become lower case.
		if folded, ok := map[string]string{"\u0130@example.com": "\u0130@example.com", "\u1e9e@example.com": "\u1e9e@example.com"}[row.Input]; ok {
			row.Output = folded
		}
		wantErr := row.Error != "" || odd
		assert.Truef(t, wantErr == (err != nil) && (wantErr || got == row.Output),
			"%q: got %q, %v, want %q, or an error: %v", row.Input, got, err, row.Output, wantErr)
	}
}

func cookieList(t *testing.T, o ordered) []jwt.Cookie {
	t.Helper()
	var cookies []jwt.Cookie
	for _, m := range o {
		var value string
		require.NoError(t, json.Unmarshal(m.value, &value))
		cookies = append(cookies, jwt.Cookie{Name: m.name, Value: value})
	}
	return cookies
}

func TestCookieVectors(t *testing.T) {
	t.Parallel()
	f := load[functions](t, "functions.json")
	for _, row := range f.ParseCookie {
		got := jwt.ParseCookies(row.Header)
		for i := range got {
			got[i].Ambiguous = false // Auth.js does not check this
		}
		want := mapped(row.Cookies, func(c [2]string) jwt.Cookie { return jwt.Cookie{Name: c[0], Value: c[1]} })
		assert.Equalf(t, want, got, "Cookie %q", row.Header)
	}
	for _, row := range f.ChunkJoin {
		cookies := cookieList(t, row.Cookies)
		want := row.Value
		if len(cookies) == 2 && cookies[1].Name == jwt.CookieName {
			want = cookies[1].Value // 26: a whole value beside chunks counts alone
		}
		got, _ := jwt.ReadChunks(cookies, jwt.CookieName)
		assert.Equalf(t, want, got, "%v", cookies)
	}
	for _, row := range f.Chunking {
		got := jwt.SplitChunks(jwt.CookieName, strings.Repeat("x", row.Length))
		require.Equalf(t, len(row.Chunks), len(got),
			"%d characters: got %d cookies, want %d", row.Length, len(got), len(row.Chunks))
		for i, c := range row.Chunks {
			assert.Truef(t, got[i].Name == c.Name && len(got[i].Value) == c.Length,
				"%d characters: got %s with %d, want %s with %d", row.Length, got[i].Name, len(got[i].Value), c.Name, c.Length)
		}
	}
}

// TestChunkReplaceVectors renews a session whose token grows or shrinks.
func TestChunkReplaceVectors(t *testing.T) {
	t.Parallel()
	for i, row := range load[functions](t, "functions.json").ChunkReplace {
		c := auth.Config{Secret: []string{liveSecret}, Providers: []auth.Provider{credentials()}}
		c.JWT.Encode = func(context.Context, jwt.EncodeParams) (string, error) {
			return strings.Repeat("x", row.NewLength), nil
		}
		c.JWT.Decode = func(context.Context, jwt.DecodeParams) (auth.Claims, error) { return auth.Claims{"sub": "1"}, nil }
		pairs := mapped(cookieList(t, row.Cookies), func(c jwt.Cookie) string { return c.Name + "=" + c.Value })
		if len(pairs) == 0 {
			continue // without a session there is nothing to renew
		}
		resp := serve(t, c, http.MethodGet, "/auth/session", http.Header{"Cookie": {strings.Join(pairs, "; ")}}, "")
		got := slices.DeleteFunc(resp.Cookies(), func(c *http.Cookie) bool { return !strings.HasPrefix(c.Name, jwt.CookieName) })
		require.Equalf(t, len(row.SetCookies), len(got), "row %d: got %d cookies, want %d", i, len(got), len(row.SetCookies))
		for j, want := range row.SetCookies {
			_, deleted := want.Options["maxAge"]
			assert.Truef(t, got[j].Name == want.Name && len(got[j].Value) == want.ValueLength && (got[j].MaxAge < 0) == deleted && got[j].Expires.IsZero() == deleted,
				"row %d: got %v, want %s with %d characters, deleted: %v", i, got[j], want.Name, want.ValueLength, deleted)
		}
	}
}

// TestErrorVectors makes a callback fail with an error of each type, and checks
// the redirect.
func TestErrorVectors(t *testing.T) {
	t.Parallel()
	for _, row := range load[functions](t, "functions.json").Errors {
		if row.Class == "SignInError" {
			continue // the base class has no error type of its own
		}
		c := auth.Config{Secret: []string{liveSecret}, SkipCSRFCheck: auth.SkipCSRFCheck, Providers: []auth.Provider{
			&auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) {
				return nil, &auth.Error{Type: auth.ErrorType(row.Type), Message: "Some message."}
			}},
		}}
		if row.Type == string(auth.ErrEmailSignIn) { // "A mistake of a person is not one of the server"
			row.ErrorParameter = row.Type
		}
		want := origin + "/auth/" + strings.ToLower(row.Page) + "?error=" + row.ErrorParameter
		resp := serve(t, c, http.MethodPost, "/auth/callback/credentials", nil, "")
		assert.Equal(t, want, resp.Header.Get("Location"), row.Class)
	}
}

// TestEmailTemplateVectors compares the visible text of the mail. The markup is
// our own.
func TestEmailTemplateVectors(t *testing.T) {
	t.Parallel()
	for _, row := range load[functions](t, "functions.json").EmailTemplates {
		got := must(auth.EmailMessage(auth.VerificationRequest{URL: row.URL, Theme: row.Theme}))(t)
		assert.Truef(t, got.Subject == row.Subject && got.Text == row.Text,
			"got %q and %q, want %q and %q", got.Subject, got.Text, row.Subject, row.Text)
		for _, want := range []string{row.Theme.BrandColor, row.Theme.ButtonText, strings.ReplaceAll(row.URL, "&", "&amp;")} {
			assert.Containsf(t, got.HTML, want, "the mail to %s does not have %s", row.URL, want)
		}
	}
}

// TestRecordedTokens reads every token of the recorded exchanges as Auth.js
// made it, and checks its hashes.
func TestRecordedTokens(t *testing.T) {
	t.Parallel()
	n := 0
	for _, s := range scenarios(t) {
		v := &values{start: time.UnixMilli(int64(s.Now * 1000)), recorded: s.Bindings, own: map[string]string{}}
		for name, b := range s.Bindings {
			if b.Kind != "jwe" || strings.Count(b.Value, ".") != 4 {
				continue
			}
			claims, err := jwt.Decode(jwt.DecodeParams{
				Token: b.Value, Salt: b.Salt, Now: func() time.Time { return v.start },
				Secrets: []string{"golden-secret-0123456789abcdef0123456789abcdef", "rotated-secret-fedcba9876543210fedcba9876543210", "short", "x", "third-secret"},
			})
			if !assert.NoErrorf(t, err, "%s: %s", s.id(), name) {
				continue
			}
			n++
			recorded := &values{start: v.start, own: map[string]string{}, found: func(diff) {}}
			for n, b := range s.Bindings {
				recorded.own[n] = b.Value
			}
			assert.Empty(t, recorded.compare(name, b.Payload, map[string]any(claims)), s.id())
		}
	}
	assert.Truef(t, n >= 300, "only %d tokens", n)
}

// TestAdapterCallSequences checks that each sequence of adapter calls that the
// recording lists occurs in an exchange that TestReplay replays.
func TestAdapterCallSequences(t *testing.T) {
	t.Parallel()
	steps := map[string][]step{}
	for _, s := range scenarios(t) {
		for _, st := range s.Steps {
			key := s.id() + ": " + st.Label
			steps[key] = append(steps[key], st)
		}
	}
	file := load[struct {
		Sequences []struct {
			Request, ProviderType, Strategy, Outcome string
			Calls, Scenarios                         []string
		}
	}](t, "adapter_calls.json")
	for _, q := range file.Sequences {
		for _, name := range q.Scenarios {
			found := slices.ContainsFunc(steps[name], func(st step) bool {
				return slices.Equal(q.Calls, mapped(st.AdapterCalls, func(c recordedCall) string { return c.Method }))
			})
			assert.Truef(t, found, "%s %s %s: %s has not the calls %v", q.Request, q.ProviderType, q.Strategy, name, q.Calls)
		}
	}
}

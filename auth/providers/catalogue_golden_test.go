package providers_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata/catalogue.txt anew")

// TestCatalogueBehaves compares each provider with testdata/catalogue.txt: the
// fields that New fills in, the requests that the provider makes, and the user
// that it makes from a profile. It tries each member of the profile absent and
// with each type of JSON. A change of the file is a change for the users of the
// provider.
func TestCatalogueBehaves(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for _, f := range facts(t) {
		recordProvider(t, &b, f)
	}
	recordOptions(t, &b)
	const name = "testdata/catalogue.txt"
	if *update {
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	}
	want := must(os.ReadFile(name))(t)
	got, expected := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	section := ""
	for i := range max(len(got), len(expected)) {
		if i >= len(got) || i >= len(expected) || got[i] != expected[i] {
			t.Fatalf("%s:%d differs, at %s\ngot  %s\nwant %s\n-update writes it", name, i+1, section, line(got, i), line(expected, i))
		}
		if strings.HasPrefix(got[i], "== ") {
			section = got[i]
		}
	}
}

func line(all []string, i int) string {
	if i < len(all) {
		return all[i]
	}
	return "the end"
}

// moreMembers are members that the samples of the facts leave out.
var moreMembers = map[string]string{
	"apple":              `{"email_verified":"true"}`,
	"azure-ad":           `{"xms_edov":true}`,
	"digitalocean":       `{"account":{"email_verified":true}}`,
	"discord":            `{"avatar":"a_83","discriminator":"1337","verified":true}`,
	"eventbrite":         `{"emails":[{"verified":true,"primary":true}]}`,
	"fitbit":             `{"user":{"encodedId":"E7"}}`,
	"gitlab":             `{"confirmed_at":"2020-01-01T00:00:00Z"}`,
	"kakao":              `{"kakao_account":{"is_email_verified":true,"is_email_valid":true}}`,
	"microsoft-entra-id": `{"xms_edov":true}`,
	"patreon":            `{"data":{"attributes":{"is_email_verified":true}}}`,
	"wikimedia":          `{"confirmed_email":true}`,
	"xero":               `{"name":"Xe Ro"}`,
	"yandex":             `{"is_avatar_empty":false}`,
	"zoom":               `{"verified":1}`,
}

// merge returns a JSON value with the members of more added.
func merge(v, more any) any {
	switch more := more.(type) {
	case map[string]any:
		m, _ := v.(map[string]any)
		m = maps.Clone(m)
		if m == nil {
			m = map[string]any{}
		}
		for name, member := range more {
			m[name] = merge(m[name], member)
		}
		return m
	case []any:
		list, _ := v.([]any)
		list = slices.Clone(list)
		for i, element := range more {
			if i < len(list) {
				list[i] = merge(list[i], element)
			} else {
				list = append(list, element)
			}
		}
		return list
	}
	return more
}

func parseJSON(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

func recordProvider(t *testing.T, b *bytes.Buffer, f fact) {
	t.Helper()
	p := completed(t, f.ID, f.options(refusing{})...)
	fmt.Fprintf(b, "== %s\n", strings.TrimSuffix(f.ID+" "+f.Variant, " "))
	recordCompleted(t, b, p)
	profile := merge(f.Profile, map[string]any{"email_verified": true})
	if more := moreMembers[f.ID]; more != "" {
		profile = merge(profile, parseJSON(t, more))
	}
	root := map[string]any{"profile": profile, "token": f.TokenExtra}
	if f.TokenExtra == nil {
		root["token"] = map[string]any{"user_id": json.Number("77"), "steamid": "76561197960287930", "membership_id": "12"}
	}
	recordUserInfo(t, b, p, f, root)
	recordMapping(t, b, p, root)
}

func optionNamed(name string) func(string) providers.Option {
	return map[string]func(string) providers.Option{
		"apiKey": providers.WithAPIKey, "accountID": providers.WithAccountID, "userInfoURL": providers.WithUserInfoURL,
		"shop": providers.WithShop, "agentID": providers.WithAgentID, "apiVersion": providers.WithAPIVersion, "baseURL": providers.WithBaseURL,
		"region": providers.WithRegion, "platform": providers.WithPlatform, "connection": providers.WithConnection, "tenant": providers.WithTenant,
	}[name]
}

// recordCompleted writes the fields that New fills in.
func recordCompleted(t *testing.T, b *bytes.Buffer, p *auth.OAuth) {
	t.Helper()
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() && !v.Field(i).IsZero() && !slices.Contains([]string{"ID", "ClientID", "ClientSecret", "HTTPClient", "Complete", "EmailVerified"}, field.Name) {
			fmt.Fprintf(b, "%s: %s\n", field.Name, plain(v.Field(i)))
		}
	}
	if p.Token.Prepare != nil {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://idp.example/token", nil))(t)
		r.Header.Set("Authorization", "Basic x")
		form := url.Values{"code": {"c"}, "redirect_uri": {"https://app.example/cb"}, "client_id": {"client-1"}, "grant_type": {"authorization_code"}}
		require.NoError(t, p.Token.Prepare(r, form))
		fmt.Fprintf(b, "token form: %s, header %v\n", form.Encode(), r.Header)
	}
	if p.Authorization.Request != nil {
		prepared := must(url.Parse("https://idp.example/authorize?scope=&state=s&redirect_uri=https%3A%2F%2Fapp.example%2Fcb"))(t)
		u, err := p.Authorization.Request(t.Context(), prepared)
		fmt.Fprintf(b, "authorization request: %v %v\n", u, err)
	}
	if p.Token.Request != nil && p.ID != "steam" && p.ID != "wecom" && p.ID != "shopify" {
		sent := &recorder{body: `{"access_token":"at"}`}
		tokens, err := p.Token.Request(t.Context(), auth.TokenRequest{Provider: *p, Client: &http.Client{Transport: sent}, Code: "c", RedirectURI: "https://app.example/cb", CodeVerifier: "v"})
		fmt.Fprintf(b, "token request: %s\ntokens: %+v %v\n", sent.sent, tokens, err)
	}
}

// plain returns a value without memory addresses.
func plain(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Func:
		if v.IsNil() {
			return "no"
		}
		return "func"
	case reflect.Struct:
		var all []string
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && !v.Field(i).IsZero() {
				all = append(all, v.Type().Field(i).Name+"="+plain(v.Field(i)))
			}
		}
		return "{" + strings.Join(all, " ") + "}"
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return plain(v.Elem())
	}
	return fmt.Sprintf("%v", v.Interface())
}

// refusing is a transport that fails every request.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }

// recorder answers every request with one body, and keeps the requests.
type recorder struct {
	body string
	sent string
}

func (s *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	s.sent += fmt.Sprintf("%s %s %v %q;", r.Method, r.URL, r.Header, body)
	return answer(r, http.StatusOK, "application/json", s.body)
}

// recordUserInfo writes the userinfo requests of a provider whose requests are
// not standard, with each member of the token response changed in turn.
func recordUserInfo(t *testing.T, b *bytes.Buffer, p *auth.OAuth, f fact, root map[string]any) {
	t.Helper()
	if p.UserInfo.Request == nil || p.ID == "wecom" {
		return
	}
	body := f.inAnswer(root["profile"])
	encoded := must(json.Marshal(body))(t)
	ask := func(tokens any, body string) string {
		sent := &recorder{body: body}
		extra, _ := tokens.(map[string]any)
		profile, err := p.UserInfo.Request(t.Context(), auth.UserInfoRequest{Provider: *p, Client: &http.Client{Transport: sent}, Tokens: auth.TokenSet{AccessToken: "at/1", Extra: extra}})
		got := must(json.Marshal(profile))(t)
		return fmt.Sprintf("%s profile %s %v", sent.sent, got, err)
	}
	tokens := root["token"]
	if f.Exchange != nil && f.Exchange.Profile != "" {
		tokens = map[string]any{f.Exchange.Profile: root["profile"]}
	}
	full := ask(tokens, string(encoded))
	fmt.Fprintf(b, "userinfo: %s\n", full)
	for at, changed := range variants(t, map[string]any{"token": tokens}) {
		if got := ask(changed["token"], string(encoded)); got != full {
			fmt.Fprintf(b, "userinfo with %s: %s\n", at, got)
		}
	}
	for at, changed := range variants(t, map[string]any{"answer": body}) {
		encoded := must(json.Marshal(changed["answer"]))(t)
		if got := ask(tokens, string(encoded)); !strings.Contains(got, " profile {") {
			fmt.Fprintf(b, "userinfo with %s: %s\n", at, got)
		}
	}
}

// recordMapping writes the user that a provider makes from a profile, and the
// fields of the user that differ when one place of the profile changes.
func recordMapping(t *testing.T, b *bytes.Buffer, p *auth.OAuth, root map[string]any) {
	t.Helper()
	full := mapped(t, p, root)
	fmt.Fprintf(b, "user: %s\n", strings.Join(full, ", "))
	type change struct{ place, result string }
	to := map[change][]string{}
	var order []change
	for at, changed := range variants(t, root) {
		var different []string
		for i, got := range mapped(t, p, changed) {
			if got != full[i] {
				different = append(different, got)
			}
		}
		if different == nil {
			continue
		}
		place, value, _ := strings.Cut(at, "=")
		c := change{place, strings.Join(different, ", ")}
		if to[c] == nil {
			order = append(order, c)
		}
		to[c] = append(to[c], value)
	}
	for _, c := range order {
		fmt.Fprintf(b, "%s=%s: %s\n", c.place, strings.Join(to[c], "|"), c.result)
	}
}

// mapped returns the user that a provider makes from a profile, one line a
// field.
func mapped(t *testing.T, p *auth.OAuth, root map[string]any) []string {
	t.Helper()
	profile, _ := root["profile"].(map[string]any)
	extra, _ := root["token"].(map[string]any)
	email, made := auth.Profile(profile).String("email"), []string(nil)
	if p.Profile != nil {
		u := must(p.Profile(t.Context(), profile, auth.TokenSet{AccessToken: "at/1", Scope: "s", Extra: extra}))(t)
		more := must(json.Marshal(u.Extra))(t)
		email, made = u.Email, []string{fmt.Sprintf("ID %q", u.ID), fmt.Sprintf("name %q", u.Name), fmt.Sprintf("email %q", u.Email), fmt.Sprintf("image %q", u.Image), "extra " + string(more)}
	}
	return append(made, fmt.Sprintf("proof %v", p.EmailVerified(profile, email)), fmt.Sprintf("of another %v", p.EmailVerified(profile, "other@x.example")))
}

// variants yields a JSON value with one place changed: absent, or with a value
// of each type.
func variants(t *testing.T, root map[string]any) iter.Seq2[string, map[string]any] {
	t.Helper()
	return func(yield func(string, map[string]any) bool) {
		for _, at := range places(root, nil) {
			if len(at) == 1 { // the profile and the token answer are objects
				continue
			}
			name := strings.Join(at, ".")
			absent, _ := change(root, at, nil, true).(map[string]any)
			if !yield(name+"=absent", absent) {
				return
			}
			for _, value := range []string{`null`, `""`, `"text"`, `0`, `true`, `["text"]`, `{"a":"b"}`} {
				changed, _ := change(root, at, parseJSON(t, value), false).(map[string]any)
				if !yield(name+"="+value, changed) {
					return
				}
			}
		}
	}
}

// places returns the paths to all values inside a value.
func places(v any, at []string) [][]string {
	var all [][]string
	step := func(name string, v any) {
		here := append(slices.Clone(at), name)
		all = append(all, here)
		all = append(all, places(v, here)...)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			step(name, v[name])
		}
	case []any:
		for i, element := range v {
			step(strconv.Itoa(i), element)
		}
	}
	return all
}

// change returns a copy of a value with another value at a path.
func change(v any, at []string, to any, absent bool) any {
	if len(at) == 0 {
		return to
	}
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		if m[at[0]] = change(v[at[0]], at[1:], to, absent); absent && len(at) == 1 {
			delete(m, at[0])
		}
		return m
	case []any:
		i, err := strconv.Atoi(at[0])
		if err != nil || i >= len(v) {
			return v
		}
		list := slices.Clone(v)
		if absent && len(at) == 1 {
			return slices.Delete(list, i, i+1)
		}
		list[i] = change(v[i], at[1:], to, absent)
		return list
	}
	return v
}

// recordOptions writes the effect of the options that no variant of the facts
// has.
func recordOptions(t *testing.T, b *bytes.Buffer) {
	t.Helper()
	client := providers.WithClient("client-1", secret)
	for _, c := range []struct {
		name string
		p    *auth.OAuth
	}{
		{"pinterest by username", providers.Pinterest(client, providers.WithDangerousUsernameKey())},
		{"slack with PKCE", providers.Slack(client, providers.WithPKCE())},
		{"tiktok without client", providers.TikTok()},
		{"shopify without secret", providers.Shopify(providers.WithClient("client-1", ""), providers.WithShop("acme"))},
		{"steam without client", providers.Steam()},
		{"google without options", providers.Google()},
		{"github with issuer", providers.GitHub(client, providers.WithOptions(func(p *auth.OAuth) { p.Issuer = "https://x.example" }))},
	} {
		err := c.p.Complete(c.p)
		fmt.Fprintf(b, "== %s\nerror: %v\n", c.name, err)
		recordCompleted(t, b, c.p)
		if c.p.Profile != nil {
			fmt.Fprintf(b, "user: %s\n", strings.Join(mapped(t, c.p, map[string]any{"profile": map[string]any{"id": "1", "username": "ada", "sub": "s"}}), ", "))
		}
	}
	for _, i := range providers.All() {
		fmt.Fprintf(b, "== info %s\n%v %v %q %v %v %v %v %q\n", i.ID, i.Name, i.Type, i.Scope, i.Checks, i.StatesEmailVerified, i.Options, i.Environment, i.Note)
	}
}

package providers

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sampleProfile = `{"id":9007199254740993,"name":null,"login":"ada","empty":"","nested":{"list":[{"k":"a","v":"first"},{"k":"b","v":"second","primary":true}],"n":0},"yes":true,"no":false}`

func sample(t testing.TB) *evidence {
	t.Helper()
	v, err := decode([]byte(sampleProfile))
	require.NoError(t, err)
	m, ok := v.(map[string]any)
	require.True(t, ok, "the sample is not an object")
	return &evidence{
		ctx: t.Context(), profile: m, tokens: &auth.TokenSet{AccessToken: "at", Extra: map[string]any{"user_id": json.Number("7")}},
		vars: map[string]string{"issuer": "https://x.example"},
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"id":                                "9007199254740993",
		"login":                             "ada",
		"name":                              "",
		"name | login":                      "ada",
		"name|login":                        "ada",
		"empty | login":                     "", // an empty text is there
		"absent | name | login":             "ada",
		"nested.list[0].v":                  "first",
		"nested.list[1].v":                  "second",
		"nested.list[2].v":                  "",
		"nested.list[k=b].v":                "second",
		"nested.list[primary=true].v":       "second",
		"nested.list[k=c].v":                "",
		"nested.list":                       "",
		"login.more":                        "",
		"login[0]":                          "",
		"yes":                               "",
		"$token.user_id":                    "7",
		"$token.access_token":               "at",
		"$token.absent":                     "",
		"login + nested.list[0].v":          "ada first",
		"absent + empty + login":            "ada",
		"absent + empty":                    "",
		"absent + empty | login":            "ada",
		"name | login + id":                 "ada 9007199254740993",
		"nested.list[0].v + yes | login":    "first",
		"yes | login":                       "", // not null, and no text
		"nested.n":                          "0",
		"nested.n | login":                  "0",
		"$token.absent | nested.list[0].v ": "first",
	} {
		at, err := parseAlternatives(raw)
		if !assert.NoError(t, err, raw) {
			continue
		}
		assert.Equal(t, want, text(at(sample(t))), raw)
	}
}

func TestPathsRefuseNonsense(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "|", "a |", "| a", "a +", "+", "a..b", ".a", "a[", "a[]", "a[0", "a[0]b", "a[0][", "a b", "join(a, b)", "{a}", "a]", `"a"`,
	} {
		_, err := parseAlternatives(raw)
		assert.Errorf(t, err, "%q is accepted", raw)
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	options := map[string]string{"shop": "acme", "issuer": "https://x.example", "empty": ""}
	tokens := &auth.TokenSet{AccessToken: "a/t", Extra: map[string]any{"user_id": json.Number("7"), "nested": map[string]any{"id": "n"}}}
	for _, c := range []struct {
		template, want string
		complete       bool
	}{
		{"", "", true},
		{"https://{shop}.example/{shop}", "https://acme.example/acme", true},
		{"{issuer}/users/{$token.user_id}", "https://x.example/users/7", true},
		{"{issuer}/{$token.nested.id}", "https://x.example/n", true},
		{"{$token.access_token}", "a%2Ft", true},
		{"{absent}", "", false},
		{"{shop}{empty}", "", false},
		{"{shop}{$token.absent}", "", false},
		{`{"id_token":{"email":null}}`, `{"id_token":{"email":null}}`, true},
		{"{shop", "{shop", true},
		{"{}", "{}", true},
	} {
		got, ok := expand(c.template, options)
		if ok {
			got, ok = expandTokens(got, tokens, url.PathEscape)
		}
		assert.Truef(t, got == c.want && ok == c.complete,
			"%s becomes %q, %v, want %q, %v", c.template, got, ok, c.want, c.complete)
	}
}

// FuzzPaths: no text makes the parser or the evaluation panic.
func FuzzPaths(f *testing.F) {
	for _, r := range table() {
		for _, raw := range []string{r.profile.id, r.profile.name, r.profile.email, r.profile.image, r.verified, r.request.root} {
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if at, err := parseAlternatives(raw); err == nil {
			_ = text(at(sample(t)))
		}
	})
}

// FuzzMapping: no profile makes a mapping of the table panic. The ID of a user
// is always in the profile or in the token response.
func FuzzMapping(f *testing.F) {
	type mapped struct {
		id  string
		run func(*evidence) *auth.User
	}
	var all []mapped
	for _, r := range table() {
		if r.profile.isZero() {
			continue
		}
		m, err := r.profile.compile(map[string]string{"issuer": "https://x.example", "photoSize": "0"}, nil)
		require.NoError(f, err)
		all = append(all, mapped{r.id, func(e *evidence) *auth.User {
			u, err := m(e.ctx, e.profile, *e.tokens)
			if err != nil {
				panic(err)
			}
			return u
		}})
	}
	f.Add([]byte(sampleProfile))
	f.Add([]byte(`{"data":{"id":1,"user":{"open_id":"x"}},"emails":[{"primary":true,"email":"a@b.c"}],"avatar":"a_1","discriminator":"0","id":"80351110224678912"}`))
	f.Add([]byte(`{"id":[],"avatar":{},"discriminator":-1,"Response":{"bungieNetUser":{"profilePicturePath":"//x"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := decode(raw)
		profile, ok := v.(map[string]any)
		if err != nil || !ok {
			return
		}
		there := map[string]bool{}
		leaves(v, there)
		for _, m := range all {
			u := m.run(&evidence{ctx: t.Context(), profile: profile, tokens: &auth.TokenSet{}})
			assert.Truef(t, u.ID == "" || there[u.ID], "%s makes the ID %q, which is not in the profile", m.id, u.ID)
		}
	})
}

// leaves collects the texts and numbers of a JSON value.
func leaves(v any, found map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			leaves(member, found)
		}
	case []any:
		for _, element := range v {
			leaves(element, found)
		}
	default:
		found[text(v)] = true
	}
}

// TestTable: the rows are in order, and the parser accepts every path.
func TestTable(t *testing.T) {
	t.Parallel()
	last := ""
	for _, r := range table() {
		assert.Truef(t, r.id > last, "%s comes after %s", r.id, last)
		last = r.id
		_, err := r.profile.compile(nil, nil)
		assert.NoError(t, err, r.id)
		for _, raw := range []string{r.verified, r.request.root} {
			_, err := parsePath(raw)
			assert.Truef(t, raw == "" || err == nil, "%s: %v", r.id, err)
		}
		for _, o := range r.options {
			assert.NotEmptyf(t, how(o.name), "%s: nobody can set the option %s", r.id, o.name)
		}
	}
}

func TestDiscordAvatar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ profile, want string }{
		{`{"id":"80351110224678912","avatar":"8342729096ea"}`, "https://cdn.discordapp.com/avatars/80351110224678912/8342729096ea.png"},
		{`{"id":"80351110224678912","avatar":"a_83"}`, "https://cdn.discordapp.com/avatars/80351110224678912/a_83.gif"},
		{`{"id":"80351110224678912","avatar":null,"discriminator":"0"}`, "https://cdn.discordapp.com/embed/avatars/5.png"},
		{`{"id":"80351110224678912","discriminator":"1337"}`, "https://cdn.discordapp.com/embed/avatars/2.png"},
		{`{"id":"not a number","discriminator":"0"}`, ""},
		{`{}`, ""},
	} {
		v, err := decode([]byte(c.profile))
		require.NoError(t, err)
		profile, ok := v.(map[string]any)
		got := discordAvatar(&evidence{profile: profile})
		assert.Truef(t, ok && got == c.want, "the picture of %s is %q, want %q", c.profile, got, c.want)
	}
}

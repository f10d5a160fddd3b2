package jwt_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCookies(t *testing.T) {
	t.Parallel()
	type pair struct{ name, value string }
	cases := map[string][]pair{
		"":                 {},
		"a":                {},
		"flag; a=b":        {{"a", "b"}},
		";a=b":             {{"a", "b"}},
		"a=b;c=d":          {{"a", "b"}, {"c", "d"}},
		" \ta = b ; c=d\t": {{"a", "b"}, {"c", "d"}},
		"a=1; a=2":         {{"a", "1"}},
		"a=%20b":           {{"a", " b"}},
		"a=x%7Cy":          {{"a", "x|y"}},
		"a=%zz":            {{"a", "%zz"}},
		"a=%ff":            {{"a", "%ff"}},
		"a=%C3%BC+":        {{"a", "ü+"}},
		`a="b"`:            {{"a", `"b"`}},
		"a=b=c":            {{"a", "b=c"}},
		"a=; b=2":          {{"a", ""}, {"b", "2"}},
		"a=b,c=d":          {{"a", "b,c=d"}},
	}
	for header, want := range cases {
		got := []pair{}
		for _, c := range jwt.ParseCookies(header) {
			got = append(got, pair{c.Name, c.Value})
			assert.Equalf(t, header == "a=1; a=2", c.Ambiguous, "%q: %s is ambiguous", header, c.Name)
		}
		assert.Equalf(t, want, got, "%q", header)
	}
	var many strings.Builder
	for i := range 200 {
		many.WriteString("n" + strconv.Itoa(i%100) + "=" + strconv.Itoa(i) + ";")
	}
	got := jwt.ParseCookies(many.String())
	assert.Truef(t, len(got) == 100 && got[99] == (jwt.Cookie{Name: "n99", Value: "99", Ambiguous: true}),
		"got %d cookies, the last %v, want 100, n99=99", len(got), got[len(got)-1])
}

func TestReadChunks(t *testing.T) {
	t.Parallel()
	const name = "authjs.session-token"
	cases := []struct {
		header, value string
		names         []string
	}{
		{"", "", nil},
		{name + "=AAA", "AAA", []string{name}},
		{name + ".1=BBB; " + name + ".0=AAA", "AAABBB", []string{name + ".1", name + ".0"}},
		{name + ".10=K; " + name + ".9=J; " + name + ".2=C", "CJK", []string{name + ".10", name + ".9", name + ".2"}},
		{name + ".0=; " + name + ".1=B", "B", []string{name + ".1"}},
		{name + "=OLD; " + name + ".0=AAA", "OLD", []string{name, name + ".0"}},
		{name + ".0=AAA; " + name + "=OLD", "OLD", []string{name + ".0", name}},
		{name + "=A; " + name + "=B", "", []string{name}},
		{name + "=; " + name + "=B", "", []string{name}},
		{name + "=A; x=1; " + name + "=A", "A", []string{name}},
		{name + ".0=A; " + name + ".1=B; " + name + ".0=C", "", []string{name + ".0", name + ".1"}},
		{"other=A; other=B; " + name + "=A", "A", []string{name}},
		{name + "-other=xyz; " + name + ".x=1; " + name + ".=1; " + name + ".00=1; " + name + ".+0=1; " + name + ".-1=1; " + name + ".0.0=1; " + name + ".12345=1; __Secure-" + name + "=1", "", nil},
	}
	for _, c := range cases {
		value, names := jwt.ReadChunks(jwt.ParseCookies(c.header), name)
		assert.Equal(t, c.value, value, c.header)
		assert.Equal(t, c.names, names, c.header)
	}
}

func TestSplitChunks(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int{0: 0, 1: 1, 3936: 1, 3937: 2, 7872: 2, 7873: 3, 43296: 11} {
		cookies := jwt.SplitChunks("c", strings.Repeat("x", length))
		require.Lenf(t, cookies, want, "%d characters", length)
		value, _ := jwt.ReadChunks(cookies, "c")
		assert.Lenf(t, value, length, "%d characters: read back", length)
		if want > 1 {
			assert.Equalf(t, "c.0", cookies[0].Name, "%d characters: the first cookie", length)
			assert.Len(t, cookies[0].Value, jwt.ChunkSize)
		}
	}
}

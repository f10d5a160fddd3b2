package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/require"
)

// FuzzCookieHeader: in any number of headers, names and copies of cookies, the
// owner of the token among them is signed in. If there are tokens of two people,
// nobody is signed in.
func FuzzCookieHeader(f *testing.F) {
	e := fuzzEngine(f)
	e.config.Session.UpdateAge = new(time.Duration)
	const name = "__Secure-authjs.session-token"
	tokens := map[string]string{}
	for _, who := range []string{"ada", "eve"} {
		token, err := jwt.Encode(jwt.EncodeParams{Token: Claims{"sub": who}, Secrets: e.config.Secret, Salt: name})
		require.NoError(f, err)
		tokens[who] = token
	}
	for _, s := range []string{
		"S=A", "S=A; S=A", "S=A; S=E", "S=E; S=A", "S=; S=A", "S.0=A", "S=A; S.0=E", "S.0=E; S=A", "S.0=A; S.0=E", "S=A\nS=E", "S=\"A\"", "s=A", "S =A", " S= A ", "S=A;S=E",
		"S=%41", "S.0=A; S.1=E", "S.00=A", "=A; S=A", ";;S=A;", "S=A; x=y; S=A; S=E", "S=x; S=A", "S=A; S=x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > 1000 || strings.ContainsAny(strings.ReplaceAll(pattern, "\n", ""), "\r\x00") {
			return
		}
		hr := httptest.NewRequest(http.MethodGet, "https://app.example.com/auth/session", nil)
		expand := strings.NewReplacer("S", name, "A", tokens["ada"], "E", tokens["eve"])
		sent := map[string]bool{}
		for line := range strings.SplitSeq(pattern, "\n") {
			hr.Header["Cookie"] = append(hr.Header["Cookie"], expand.Replace(line))
			for pair := range strings.SplitSeq(line, ";") {
				if cookie, value, ok := strings.Cut(pair, "="); ok && strings.Trim(cookie, " \t") == "S" {
					sent[strings.Trim(value, " \t")] = true
				}
			}
		}
		read := e.session(t.Context(), e.newRequest(hr, ActionSession), access{})
		require.NoErrorf(t, read.err, "%q", pattern)
		if read.session == nil {
			return
		}
		who := map[string]string{"ada": "A", "eve": "E"}[read.user.ID]
		require.Containsf(t, pattern, who, "%q signs %s in", pattern, read.user.ID)
		require.Falsef(t, sent[tokens["ada"]] && sent[tokens["eve"]],
			"%q signs %s in, although there are sessions of two people", pattern, read.user.ID)
		for _, c := range read.cookies {
			require.Truef(t, strings.HasPrefix(c.Name, name) && !strings.ContainsAny(wire.FormatCookie(c), "\r\n"),
				"%q sets %s", pattern, wire.FormatCookie(c))
		}
	})
}

package wire

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// FuzzSessionCookie: a token that was written in chunks is read back, whatever
// other cookies the browser sends. Only a second cookie of the same name with
// another value prevents that; then nobody is signed in.
func FuzzSessionCookie(f *testing.F) {
	specs := NewCookieSpecs(false)
	spec := &specs.Session
	f.Add("", 10, "authjs.session-token-hint=x")
	f.Add("a=b; ", 4000, "; authjs.session-token.9=stale")
	f.Add("", 12000, "; c=d")
	f.Add("0", 3916, "authjs.session-token=another")
	f.Fuzz(func(t *testing.T, before string, size int, after string) {
		if size < 1 || size > 40000 || strings.Contains(before, "session-token") || strings.ContainsAny(before+after, "\r\n") {
			return
		}
		value := strings.Repeat("aB3-_.", size/6+1)[:size]
		var sent []string
		for _, c := range spec.Spread(nil, value, time.Time{}, time.Time{}) {
			sent = append(sent, c.Name+"="+c.Value)
		}
		header := strings.TrimSuffix(before, ";") + "; " + strings.Join(sent, "; ")
		if len(sent) == 1 || !strings.Contains(after, "session-token") {
			header += "; " + after
		}
		jar := ParseJar([]string{header})
		want := value
		for _, c := range strings.Split(header, ";") {
			name, v, _ := strings.Cut(c, "=") // a random input is never the percent-encoded form of the same value
			if len(sent) == 1 && strings.Trim(name, " \t") == spec.Name && strings.Contains(c, "=") && strings.Trim(v, " \t") != value {
				want = ""
			}
		}
		got, names := jwt.ReadChunks(jar, spec.Name)
		if got != want || len(names) < len(sent) {
			t.Fatalf("%q: got %d characters in %q, want %d", header[:min(len(header), 200)], len(got), names, len(want))
		}
	})
}

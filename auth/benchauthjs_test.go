//go:build unix

package auth_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/authjs"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// theirs is the result of interop/bench.mjs: the number of requests, their
// duration in seconds, their CPU time in seconds, and the number of requests
// before the measurement.
type theirs struct {
	Requests     float64
	Seconds, CPU float64
	WarmUp       float64
}

// measureAuthJS measures Auth.js for as long as the loop of b took.
func measureAuthJS(b *testing.B, task string, more map[string]any) theirs {
	b.Helper()
	input := map[string]any{"task": task, "secret": benchSecret, "seconds": b.Elapsed().Seconds()}
	maps.Copy(input, more)
	var t theirs
	authjs.Call(b, "bench.mjs", input, &t)
	require.Truef(b, t.Requests != 0 && t.CPU != 0, "Auth.js answered nothing: %+v", t)
	return t
}

// BenchmarkSessionTokenAuthJS runs BenchmarkSessionToken beside the real
// Auth.js, which answers the same request with the same cookie, and renews the
// session each time. For both, the CPU time of all threads is measured.
func BenchmarkSessionTokenAuthJS(b *testing.B) {
	token, err := jwt.Encode(jwt.EncodeParams{Token: benchClaims(), Secrets: []string{benchSecret}, Salt: jwt.CookieName})
	require.NoError(b, err)
	serve := sessionRequest(b, benchHandler(b, nil), token, 0)
	n := 0
	before := cpuTime(b)
	for b.Loop() {
		serve()
		n++
	}
	ours := float64(n) / (cpuTime(b) - before).Seconds()
	t := measureAuthJS(b, "session", map[string]any{"cookie": jwt.CookieName + "=" + token})
	their := t.Requests / t.CPU
	b.ReportMetric(ours, "req/s/core")
	b.ReportMetric(their, "authjs-req/s/core")
	b.ReportMetric(ours/their, "x-authjs")
}

// flowKinds are the providers with which sign-ins are measured. The tokens are
// signed with ES256, so that signing takes the provider little time.
var flowKinds = []struct {
	name string
	set  func(p *idp, o *auth.OAuth)
	// userInfo is the number of userinfo requests of a sign-in.
	userInfo int
	// theirs returns the same configuration for Auth.js.
	theirs func(p *idp) map[string]any
}{
	{"oidc", func(*idp, *auth.OAuth) {}, 0, func(p *idp) map[string]any {
		return map[string]any{"type": "oidc", "issuer": p.URL, "checks": []string{"state", "pkce", "nonce"}}
	}},
	{"oauth", plain(token("id_token", nil)), 1, func(p *idp) map[string]any {
		return map[string]any{
			"type": "oauth", "checks": []string{"state", "pkce"},
			"authorization": p.URL + "/authorize", "token": p.URL + "/token", "userinfo": p.URL + "/userinfo",
		}
	}},
}

// BenchmarkSignInStart starts a sign-in, BenchmarkSignInComplete finishes one,
// with a provider on loopback and without a store. Metadata and keys are
// already fetched; the remaining requests are counted. The time of Auth.js with
// the same provider is reported beside the time of Gatehouse. The requests of
// Auth.js in BenchmarkSignInComplete are those of the whole sign-in.
func BenchmarkSignInStart(b *testing.B) {
	benchFlow(b, "start", func(f *flow) time.Duration {
		began := time.Now()
		f.start()
		return time.Since(began)
	})
}

func BenchmarkSignInComplete(b *testing.B) {
	benchFlow(b, "complete", func(f *flow) time.Duration {
		location, cookies := f.start()
		answer := f.idp.authorize(f.b, location)
		began := time.Now()
		f.complete(answer, cookies)
		return time.Since(began)
	})
}

func benchFlow(b *testing.B, task string, run func(f *flow) time.Duration) {
	for _, kind := range flowKinds {
		b.Run(kind.name, func(b *testing.B) {
			f := newFlow(b, kind.set)
			location, cookies := f.start()
			f.complete(f.idp.authorize(b, location), cookies) // fetches metadata and keys
			before := f.counts()
			var spent time.Duration
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				spent += run(f)
				n++
			}
			made := f.counts().since(before)
			want := requests{}
			if task == "complete" {
				want = requests{token: n, userInfo: n * kind.userInfo}
			}
			assert.Truef(b, made == want, "%d sign-ins made the requests %+v, want %+v", n, made, want)
			ours := float64(spent.Nanoseconds()) / float64(n)
			b.ReportMetric(ours, "ns/op")
			b.ReportMetric(float64(made.total())/float64(n), "round-trips/op")

			provider := kind.theirs(f.idp)
			provider["clientId"], provider["clientSecret"] = idpClient, idpSecret
			f.idp.now = time.Now
			before = f.counts()
			t := measureAuthJS(b, task, map[string]any{"provider": provider})
			their := t.Seconds * 1e9 / t.Requests
			all := t.Requests + t.WarmUp // the provider counts both
			b.ReportMetric(their, "authjs-ns/op")
			b.ReportMetric(float64(f.counts().since(before).total())/all, "authjs-round-trips/op")
			b.ReportMetric(their/ours, "x-authjs")
		})
	}
}

// requests are the numbers of requests to the endpoints of a provider.
type requests struct{ metadata, keys, token, userInfo int }

func (r requests) total() int { return r.metadata + r.keys + r.token + r.userInfo }

func (r requests) since(o requests) requests {
	return requests{r.metadata - o.metadata, r.keys - o.keys, r.token - o.token, r.userInfo - o.userInfo}
}

// flow signs people in at a site without a store.
type flow struct {
	b   *testing.B
	idp *idp
	h   *auth.Handler
}

func newFlow(b *testing.B, set func(p *idp, o *auth.OAuth)) *flow {
	p := newIDP(b, time.Now)
	p.alg, p.key = jose.ES256, ecKey()
	o := p.provider()
	set(p, o)
	h := newHandler(b, auth.Config{Secret: []string{benchSecret}, URL: "http://localhost", SkipCSRFCheck: auth.SkipCSRFCheck, Providers: []auth.Provider{o}})
	return &flow{b, p, h}
}

func (f *flow) counts() requests {
	return requests{f.idp.count("/.well-known/openid-configuration"), f.idp.count("/jwks"), f.idp.count("/token"), f.idp.count("/userinfo")}
}

// send returns the URL that the browser is sent to, and its cookies.
func (f *flow) send(method, target, cookies string) (location, set string) {
	r, err := http.NewRequestWithContext(f.b.Context(), method, target, nil)
	require.NoError(f.b, err)
	if cookies != "" {
		r.Header.Set("Cookie", cookies)
	}
	w := response{header: http.Header{}}
	f.h.ServeHTTP(&w, r)
	var pairs []string
	for _, line := range w.header["Set-Cookie"] {
		pair, _, _ := strings.Cut(line, ";")
		pairs = append(pairs, pair)
	}
	return w.header.Get("Location"), strings.Join(pairs, "; ")
}

func (f *flow) start() (location, cookies string) {
	location, cookies = f.send(http.MethodPost, "http://localhost/auth/signin/idp", "")
	require.Truef(f.b, strings.HasPrefix(location, f.idp.URL), "the sign-in does not start: %s", location)
	return location, cookies
}

func (f *flow) complete(answer url.Values, cookies string) {
	location, set := f.send(http.MethodGet, "http://localhost/auth/callback/idp?"+answer.Encode(), cookies)
	require.Truef(f.b, location == "http://localhost" && strings.Contains(set, jwt.CookieName+"="),
		"the sign-in ends at %s", location)
}

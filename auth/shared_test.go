package auth_test

import (
	"io"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// forward sends a response as the one of this site.
func forward(w http.ResponseWriter, res *http.Response) {
	defer res.Body.Close()
	maps.Copy(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	_, _ = io.Copy(w, res.Body)
}

// eachTime serves each request by a separate call of Auth or Raw.
func eachTime(raw bool, config func() auth.Config) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !raw {
			forward(w, auth.Auth(r, config())) //nolint:bodyclose // forward closes it
			return
		}
		result, err := auth.Raw(r, config())
		if err != nil {
			http.Redirect(w, r, lateAnswer, http.StatusFound)
			return
		}
		result.Send(w)
	}
}

// TestReplayAgainstAuth: a check that one call of Auth or Raw accepted is not
// accepted by the next, although each call compiles a new configuration, with
// new functions, providers and a new client.
func TestReplayAgainstAuth(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]bool{"Auth": false, "Raw": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			b := newBrowser(t, eachTime(raw, func() auth.Config {
				return auth.Config{
					Secret: []string{secret + name}, URL: origin, Clock: func() time.Time { return s.clock.Now() }, Logger: s.log.logger(), SkipCSRFCheck: auth.SkipCSRFCheck,
					Providers: []auth.Provider{s.idp.provider()},
				}
			}))
			answer := s.idp.authorize(t, b.submit("/auth/signin/idp").location())
			kept := maps.Clone(b.cookies)
			b.get(callback(answer)).wantLocation(t, origin)
			s.idp.acceptAgain(answer)
			b.cookies = kept
			before := s.idp.count("/token")
			b.get(callback(answer)).wantLocation(t, lateAnswer)
			assert.Equal(t, before, s.idp.count("/token"), "the code was sent once more")
			// Metadata and keys are fetched once. Another sign-in works.
			answer = s.idp.authorize(t, b.submit("/auth/signin/idp").location())
			b.get(callback(answer)).wantLocation(t, origin)
			assert.Equal(t, 1, s.idp.count("/.well-known/openid-configuration"), "how often the metadata was fetched")
		})
	}
}

// TestRotationForgetsNothing: what was used, or signed out, before a rotation of
// secrets stays so for handlers with the new list. A stranger who knows neither
// secret has no part in it, and what is new works.
func TestRotationForgetsNothing(t *testing.T) {
	t.Parallel()
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
				c.Secret, c.Session.Strategy = []string{oldSecret}, strategy
			})
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp"))
			kept := maps.Clone(b.cookies)
			b.get(callback(answer)).wantLocation(t, origin)
			b.wantSession("ada@example.com")
			session := b.cookies[sessionCookie]
			b.post("/auth/signout")
			b.wantNoSession()

			o := s.idp.provider()
			after := newHandler(t, auth.Config{
				Secret: []string{secret, oldSecret}, Clock: s.clock.Now, Adapter: s.store, Session: auth.SessionConfig{Strategy: strategy}, Providers: []auth.Provider{o},
			})
			thief := newBrowser(t, after)
			thief.cookies[sessionCookie] = session
			thief.wantNoSession()
			s.idp.acceptAgain(answer)
			thief = newBrowser(t, after)
			thief.cookies = kept
			thief.get(callback(answer))
			thief.wantNoSession()

			honest := newBrowser(t, after)
			s.Handler = after
			s.signIn(honest).wantLocation(t, origin)
			honest.wantSession("ada@example.com")
		})
	}
}

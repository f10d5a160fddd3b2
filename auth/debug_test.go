package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// debugMessages are the messages of Auth.js for a site without WebAuthn, and
// the adapter calls of a sign-up.
var debugMessages = []string{
	"CHUNKING_SESSION_COOKIE", "CLEAR_NONCE", "CLEAR_PKCECODEVERIFIER", "CLEAR_STATE", "CREATE_NONCE", "CREATE_PKCECODEVERIFIER", "CREATE_STATE",
	"DECODE_STATE", "OAuthCallbackError", "PARSE_NONCE", "PARSE_PKCECODEVERIFIER", "PARSE_STATE", "Proxy redirecting to", "USE_NONCE",
	"USE_PKCECODEVERIFIER", "USE_STATE", "adapter_createUser", "adapter_getUser", "adapter_getUserByAccount", "adapter_getUserByEmail", "adapter_linkAccount",
	"authorization result", "authorization url is ready", "callback route error details", "getProfile error details", "request",
	"using redirect proxy",
}

// TestDebugMessages runs everything that has a message in the debug log. At the
// level debug exactly the listed messages appear, and above it none.
func TestDebugMessages(t *testing.T) {
	for level, want := range map[slog.Level][]string{slog.LevelDebug: debugMessages, slog.LevelInfo: {}} {
		t.Run(level.String(), func(t *testing.T) {
			broken := false
			var book logBook
			logger := slog.New(slog.NewTextHandler(&book, &slog.HandlerOptions{Level: level}))
			s := newSite(t, func(p *idp, c *auth.Config, o *auth.OAuth) {
				c.RedirectProxyURL, c.Session.Strategy, c.Logger = origin+"/auth", auth.StrategyJWT, logger
				c.RedirectProxyOrigins = []string{"https://preview.example.com"}
				c.Callbacks.JWT = changingToken(func(p auth.JWTParams) { p.Token["long"] = strings.Repeat("long", 2000) })
				o.Profile = func(_ context.Context, p auth.Profile, _ auth.TokenSet) (*auth.User, error) {
					if broken {
						return nil, errors.New("no such member")
					}
					return &auth.User{ID: p.String("sub"), Email: p.String("email")}, nil
				}
			})
			preview := newHandler(t, auth.Config{
				URL: "https://preview.example.com", RedirectProxyURL: origin + "/auth", Logger: logger, Clock: s.clock.Now, Providers: []auth.Provider{s.idp.provider()},
			})
			b := newBrowser(t, s)
			s.signIn(b).wantLocation(t, origin)

			away := newBrowser(t, preview)
			away.site = "https://preview.example.com"
			b.get(callback(s.idp.authorize(t, away.post("/auth/signin/idp").location())))

			broken = true
			s.signIn(b).wantLocation(t, signInPage[:len(signInPage)-len("?error=")])
			denied := url.Values{"state": s.idp.authorize(t, s.start(b, "/auth/signin/idp"))["state"], "error": {"access_denied"}}
			b.get(callback(denied)).wantLocation(t, signInPage+"OAuthCallbackError")
			b.get("/auth/callback/idp?code=x").wantLocation(t, lateAnswer)
			s.idp.endpoints["/token"] = body(http.StatusInternalServerError, "text/plain", "oops")
			s.signIn(b).wantLocation(t, downPage)
			b.get("/auth/nothing")

			got := []string{}
			for _, m := range regexp.MustCompile(`level=DEBUG msg="?auth: ([^"\n]*?)(?:"| \w+=|\n)`).FindAllStringSubmatch(book.String(), -1) {
				got = append(got, m[1])
			}
			slices.Sort(got)
			assert.Equal(t, want, slices.Compact(got))
		})
	}
}

// TestWarnings: a configuration that works but should be changed is logged as a
// warning with its code.
func TestWarnings(t *testing.T) {
	for code, c := range map[string]auth.Config{
		"experimental-webauthn": {Experimental: auth.Experimental{EnableWebAuthn: true}},
		"short-secret":          {Secret: []string{secret, "short"}, DangerouslyAcceptShortSecrets: true},
		"csrf-disabled":         {SkipCSRFCheck: auth.SkipCSRFCheck},
		"":                      {Debug: true}, // ignored, as the logger is our own
	} {
		var book logBook
		c.Logger = book.logger()
		newBrowser(t, newHandler(t, c)).get("/auth/csrf")
		if n := strings.Count(book.String(), "level=WARN"); code == "" && n > 0 {
			t.Errorf("nothing is wrong: %s", book.String())
		} else if code != "" && (n != 1 || !strings.Contains(book.String(), "auth: "+code+": ")) {
			t.Errorf("%s: %s", code, book.String())
		}
	}
}

// TestDebugIsIgnoredWithALogger: Debug makes the default logger log more, and
// says so. A logger of the application decides itself.
func TestDebugIsIgnoredWithALogger(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	for _, own := range []bool{false, true} {
		var book logBook
		info := slog.New(slog.NewTextHandler(&book, &slog.HandlerOptions{Level: slog.LevelInfo}))
		c := auth.Config{Secret: []string{secret}, URL: origin, Debug: true}
		if slog.SetDefault(before); own {
			c.Logger = info
		} else {
			slog.SetDefault(info)
		}
		h := must(auth.New(c))(t)
		newBrowser(t, h).get("/auth/nothing")
		for _, text := range []string{"debug-enabled", "auth: request"} {
			got := strings.Contains(book.String(), text+"\"") || strings.Contains(book.String(), text+":")
			assert.Equalf(t, !own, got, "a logger of the application: %v: the log has %q: %v\n%s", own, text, got, &book)
		}
	}
}

package auth_test

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/gatehouse-go/gatehouse/auth"
)

// TestSessionThatEndsWhileLinking: a stolen session begins to link an account
// of the thief, and ends before the account is linked. Nothing is linked,
// nobody is signed in, and no user is created. If the session does not end, the
// account is linked.
func TestSessionThatEndsWhileLinking(t *testing.T) {
	for _, where := range []string{"before the callback", "at the provider", "in a callback", ""} {
		t.Run(where, func(t *testing.T) {
			var during func(ctx context.Context)
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Callbacks.SignIn = func(ctx context.Context, _ auth.SignInParams) (auth.SignInDecision, error) {
					if where == "in a callback" && during != nil {
						during(ctx)
					}
					return auth.Allow(), nil
				}
			})
			owner := newBrowser(t, st)
			st.at(owner, "other", "ada").wantLocation(t, origin)
			id := st.userOf(owner).ID
			thief := newBrowser(t, st)
			thief.cookies["__Secure-authjs.session-token"] = owner.cookies["__Secure-authjs.session-token"]
			answer := st.idp.authorize(t, st.start(thief, "/auth/signin/idp?login_hint=mallory"))
			during = func(ctx context.Context) {
				if _, err := st.store.DeleteSessionsByUserID(ctx, id, ""); err != nil {
					t.Error(err)
				}
			}
			switch where {
			case "before the callback":
				during(t.Context())
			case "at the provider":
				st.idp.endpoints["/token"] = func(w http.ResponseWriter, r *http.Request) {
					during(r.Context())
					st.idp.serveToken(w, r)
				}
			}
			end := thief.get("/auth/callback/idp?" + answer.Encode())
			if where == "" {
				end.wantLocation(t, origin)
				if len(st.store.users) != 1 || len(st.store.accounts) != 2 {
					t.Errorf("users %v, accounts %v", st.store.users, st.store.accounts)
				}
				return
			}
			end.wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
			if len(st.store.users) != 1 || len(st.store.accounts) != 1 || len(st.store.sessions) != 0 {
				t.Errorf("users %v, accounts %v, sessions %v", st.store.users, st.store.accounts, st.store.sessions)
			}
		})
	}
}

// TestUpdateBringsNoEndedSessionBack: the owner signs out during an update of
// the same session. The token in the answer to the update is not valid.
func TestUpdateBringsNoEndedSessionBack(t *testing.T) {
	var during func()
	st := newStage(t, func(_ *stage, c *auth.Config) {
		c.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
			if p.Trigger == auth.TriggerUpdate && during != nil {
				during()
			}
			return p.Session, nil
		}
	})
	b := newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	other := newBrowser(t, st)
	for name, c := range b.cookies {
		other.cookies[name] = c
	}
	b.post("/auth/session", "data", "x")
	b.wantSession(`"name":"ada"`) // the legitimate update
	during = func() { other.post("/auth/signout").wantLocation(t, origin) }
	b.post("/auth/session", "data", "x")
	b.wantNoSession()
	if len(st.store.sessions) != 0 {
		t.Errorf("sessions %v", st.store.sessions)
	}
}

// TestOneMailForOneAddress: a form names the victim's address and the
// attacker's, in each way that parsers may read differently. It sends at most
// one mail, whose link is for the address that the mail went to.
func TestOneMailForOneAddress(t *testing.T) {
	const evil = "mallory@evil.example"
	for name, r := range map[string]struct{ kind, body string }{
		"twice":             {"application/x-www-form-urlencoded", "email=" + victim + "&email=" + evil},
		"in a list":         {"application/json", `{"email":["` + victim + `","` + evil + `"]}`},
		"in an object":      {"application/json", `{"email":{"0":"` + victim + `","1":"` + evil + `"}}`},
		"a member twice":    {"application/json", `{"email":"` + victim + `","email":"` + evil + `"}`},
		"with brackets":     {"application/x-www-form-urlencoded", "email[]=" + victim + "&email[]=" + evil},
		"with a comma":      {"application/x-www-form-urlencoded", "email=" + victim + "," + evil},
		"with a semicolon":  {"application/x-www-form-urlencoded", "email=" + victim + "%3b" + evil},
		"with a comment":    {"application/x-www-form-urlencoded", "email=" + victim + "(" + evil + ")"},
		"with a name":       {"application/x-www-form-urlencoded", "email=%22" + victim + "%22 <" + evil + ">"},
		"with a line break": {"application/x-www-form-urlencoded", "email=" + victim + "%0d%0aBcc: " + evil},
		"with a null byte":  {"application/x-www-form-urlencoded", "email=" + victim + "%00" + evil},
		"with a route":      {"application/x-www-form-urlencoded", "email=" + victim + "%25" + "evil.example"},
		"in the query too":  {"application/x-www-form-urlencoded", "email=" + victim},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			b := newBrowser(t, st)
			csrf, target, body := b.csrf(), "/auth/signin/email", "csrfToken="
			if strings.HasPrefix(r.kind, "application/json") {
				body = `{"csrfToken":"` + csrf + `",` + r.body[1:]
			} else {
				body += csrf + "&" + r.body
			}
			if name == "in the query too" {
				target += "?email=" + evil
			}
			b.do("POST", target, strings.NewReader(body), http.Header{"Content-Type": {r.kind}})
			if len(st.mail.mails) > 1 {
				t.Fatalf("%d mails were sent", len(st.mail.mails))
			}
			for _, m := range st.mail.mails {
				if strings.Contains(m.Identifier, victim) == strings.Contains(m.Identifier, evil) || name == "in the query too" && m.Identifier != victim {
					t.Errorf("a mail went to %q", m.Identifier)
				}
				b.get(m.URL).wantLocation(t, origin)
				if got := st.userOf(b).Email; got != m.Identifier {
					t.Errorf("the link that was sent to %q signs in %q", m.Identifier, got)
				}
			}
			for _, u := range st.store.users {
				if u.Email == victim && (len(st.mail.mails) == 0 || st.mail.mails[0].Identifier != victim) {
					t.Error("the victim is signed in without a mail")
				}
			}
		})
	}
}

// TestParallelGuessesAreAllLimited: of many guesses at the same time, each is
// reported to Config.Limit before its password is checked.
func TestParallelGuessesAreAllLimited(t *testing.T) {
	const guesses, allowed = 50, 5
	var asked, checked atomic.Int32
	p := password()
	authorize := p.Authorize
	p.Authorize = func(ctx context.Context, f auth.Form, r *http.Request) (*auth.User, error) {
		checked.Add(1)
		return authorize(ctx, f, r)
	}
	h := newHandler(t, auth.Config{Providers: []auth.Provider{p}, Limit: func(context.Context, auth.Attempt) error {
		if asked.Add(1) > allowed {
			return &auth.TooManyAttempts{}
		}
		return nil
	}})
	var group sync.WaitGroup
	for range guesses {
		group.Go(func() { newBrowser(t, h).post("/auth/callback/credentials", "username", "ada", "password", "guess") })
	}
	group.Wait()
	if asked.Load() != guesses || checked.Load() != allowed {
		t.Errorf("Limit was asked %d times, want %d; %d passwords were checked, want %d", asked.Load(), guesses, checked.Load(), allowed)
	}
}

// TestPlantedCallbackURL: a sibling subdomain plants the cookie that keeps the
// callback URL, whose name a sibling can set. Nobody is led off the site; the
// legitimate cookie still works.
func TestPlantedCallbackURL(t *testing.T) {
	for planted, want := range map[string]string{
		"https://evil.example/": origin, "//evil.example": origin + "//evil.example", `/\evil.example`: origin + `/\evil.example`, "javascript:alert(1)": origin,
		"https://app.example.com@evil.example/": origin, "https://app.example.com\u3002evil.example/": origin, "https://app\uff0eexample.com/": origin,
		"https://app.example.com.:443/": origin, "https://app.example.com\t.evil.example/": origin, "https://sibling.example.com/": origin,
		origin + "/inbox": origin + "/inbox", "/inbox": origin + "/inbox",
	} {
		st := newStage(t, nil)
		b := newBrowser(t, st)
		answer := st.idp.authorize(t, st.start(b, "/auth/signin/idp"))
		for name := range b.cookies { // the ticket keeps the callback URL, too
			if strings.HasPrefix(name, "__Secure-authjs.state.") {
				delete(b.cookies, name)
			}
		}
		const name = "__Secure-authjs.callback-url"
		escaped := &strings.Builder{}
		for _, c := range []byte(planted) {
			escaped.WriteString("%" + string("0123456789ABCDEF"[c>>4]) + string("0123456789ABCDEF"[c&15]))
		}
		b.cookies[name] = &http.Cookie{Name: name, Value: escaped.String()}
		if got := b.get("/auth/callback/idp?" + answer.Encode()).location(); got != want {
			t.Errorf("%q leads to %q, want %q", planted, got, want)
		}
	}
}

// builtKey makes an RSA key of any length, and a signature of a text that is
// valid for it (RFC 8017 section 8.2). It needs no primes: the modulus is the
// cube of the signature minus the padded hash.
func builtKey(bits int, text string) (*rsa.PublicKey, []byte) {
	digest := sha256.Sum256([]byte(text))
	der := []byte("\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20") // the DigestInfo of SHA-256, RFC 8017 section 9.2
	padding := bytes.Repeat([]byte{0xff}, bits/8-3-len(der)-len(digest))
	encoded := new(big.Int).SetBytes(bytes.Join([][]byte{{0, 1}, padding, {0}, der, digest[:]}, nil))
	cube := []struct{ root, bits int }{{7, 9}, {5, 7}, {3, 5}}[bits%3]
	root := new(big.Int).Lsh(big.NewInt(int64(cube.root)), uint(bits-cube.bits)/3) //nolint:gosec // no RSA key is that short
	if encoded.Bit(0) == 0 {
		root.Add(root, big.NewInt(1)) // a modulus is odd
	}
	modulus := new(big.Int).Exp(root, big.NewInt(3), nil)
	return &rsa.PublicKey{N: modulus.Sub(modulus, encoded), E: 3}, root.FillBytes(make([]byte, bits/8))
}

// TestLongKeysOfAProvider: a key as long as a whole answer of the provider
// would keep a processor busy for minutes. A key longer than 4096 bits is not
// used, even if the signature is valid.
func TestLongKeysOfAProvider(t *testing.T) {
	for _, bits := range []int{16384, 4104, 4096, 2048} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			s := newSite(t, func(p *idp, _ *auth.Config, _ *auth.OAuth) {
				p.mint = func(claims map[string]any) string {
					input := strings.TrimSuffix(rawToken(map[string]any{"alg": "RS256", "kid": "long"}, claims, nil), ".")
					public, signature := builtKey(bits, input)
					p.endpoints["/jwks"] = func(w http.ResponseWriter, _ *http.Request) {
						answerJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "long"}}})
					}
					return rawToken(map[string]any{"alg": "RS256", "kid": "long"}, claims, signature)
				}
			})
			b := newBrowser(t, s)
			end := s.signIn(b)
			if bits <= 4096 {
				end.wantLocation(t, origin)
				b.wantSession(`"name":"ada"`)
				return
			}
			s.refused(t, end, "failed to verify signature")
			b.wantNoSession()
		})
	}
}

package webauthn_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var record = flag.Bool("record", false, "record testdata/authjs.json anew from the real Auth.js")

// frozen is the time of the clock in the recording.
var frozen = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// A scenario is a series of steps of one person at one site. It runs at the
// real Auth.js, where it is recorded, and here.
type scenario struct {
	name     string
	provider string // passkey by default
	strategy string // database by default
	signIn   any    // the result of Callbacks.SignIn: true by default
	newUser  string
	run      func(p *play)
}

// play is one run of a scenario.
type play struct {
	*browser
	trace func() []string
	lines []string
	keys  map[string]*softkey.Key
}

func (p *play) key(name string) *softkey.Key {
	k := p.keys[name]
	if k == nil {
		k = softkey.New(p.t, softkey.ES256)
		p.keys[name] = k
	}
	return k
}

var (
	challengeText = regexp.MustCompile(`"challenge":"[A-Za-z0-9_-]{43}"`)
	handleText    = regexp.MustCompile(`"id":"[0-9a-f]{64}"`)
)

// note records a response, without its random parts.
func (p *play) note(what string, r *reply) {
	body := r.body
	body = challengeText.ReplaceAllString(body, `"challenge":"(43)"`)
	body = handleText.ReplaceAllString(body, `"id":"(64 hex)"`)
	for name, k := range p.keys {
		body = strings.ReplaceAll(body, k.IDText(), "("+name+")")
	}
	line := fmt.Sprintf("%s: %d", what, r.StatusCode)
	if l := r.location(); l != "" {
		line += " " + l
		body = ""
	}
	if body != "" {
		line += " " + body
	}
	p.lines = append(p.lines, line)
	for _, t := range p.trace() {
		p.lines = append(p.lines, "  "+t)
	}
	var cookies []string
	for _, c := range r.Cookies() {
		if strings.Contains(c.Name, "challenge") || strings.Contains(c.Name, "session-token") {
			name, state := c.Name, "set"
			if c.Value == "" {
				state = "cleared"
			}
			if base, _, ok := strings.Cut(name, "challenge."); ok {
				name = base + "challenge.(mark)"
			}
			cookies = append(cookies, name+" "+state)
		}
	}
	if len(cookies) > 0 {
		p.lines = append(p.lines, "  cookies: "+strings.Join(cookies, ", "))
	}
}

func (p *play) ask(query string) *reply {
	r := p.get("/auth/webauthn-options/" + p.provider + query)
	p.note("options"+query, r)
	return r
}

// answer begins and ends a ceremony with a key, after change has altered the
// client or the key.
func (p *play) answer(action, query, key string, change func(c *softkey.Client, k *softkey.Key)) {
	k := *p.key(key)
	var o begun
	err := json.Unmarshal([]byte(p.get("/auth/webauthn-options/"+p.provider+"?action="+action+query).body), &o)
	require.NoError(p.t, err)
	p.trace() // the calls for the options
	c := p.client()
	if change != nil {
		change(&c, &k)
	}
	p.post(action+" with "+key, url.Values{"action": {action}, "data": {answerTo(action, &k)(p.t, o.Options, c)}})
	p.key(key).Handle = k.Handle
}

func (p *play) post(what string, form url.Values) {
	p.note(what, p.do(http.MethodPost, "/auth/callback/"+p.provider, form.Encode(), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {p.origin},
	}))
}

func refusal(action string, change func(c *softkey.Client, k *softkey.Key)) func(p *play) {
	return func(p *play) {
		p.answer("register", "&email=ada@example.com", "ada", func(_ *softkey.Client, k *softkey.Key) { k.Counter = 5 })
		p.signOut()
		p.key("ada").Counter = 6
		if action == "register" {
			p.answer("register", "&email=new@example.com", "new", change)
		} else {
			p.answer("authenticate", "", "ada", change)
		}
	}
}

func flawsOf(action string) []scenario {
	var list []scenario
	for name, change := range map[string]func(c *softkey.Client, k *softkey.Key){
		"origin":        func(c *softkey.Client, _ *softkey.Key) { c.Origin = "https://evil.example" },
		"type":          func(c *softkey.Client, _ *softkey.Key) { c.Type = "webauthn.other" },
		"challenge":     func(c *softkey.Client, _ *softkey.Key) { c.Challenge = strings.Repeat("A", 43) },
		"relying party": func(c *softkey.Client, _ *softkey.Key) { c.RPID = "evil.example" },
		"user presence": func(_ *softkey.Client, k *softkey.Key) { k.Flags &^= softkey.UP },
		"verification":  func(_ *softkey.Client, k *softkey.Key) { k.Flags &^= softkey.UV },
		"backup flags":  func(_ *softkey.Client, k *softkey.Key) { k.Flags &^= softkey.BE },
		"ID": func(c *softkey.Client, _ *softkey.Key) {
			c.ChangeAnswer = func(a map[string]any) { a["rawId"] = "AAAA" }
		},
		"type of key": func(c *softkey.Client, _ *softkey.Key) {
			c.ChangeAnswer = func(a map[string]any) { a["type"] = "password" }
		},
		"no ID": func(c *softkey.Client, _ *softkey.Key) { c.ChangeAnswer = func(a map[string]any) { delete(a, "id") } },
		"trailing bytes": func(c *softkey.Client, _ *softkey.Key) {
			c.ChangeAuthData = func(b []byte) []byte { return append(b, 0) }
		},
	} {
		list = append(list, scenario{name: action + " refused by " + name, run: refusal(action, change)})
	}
	slices.SortFunc(list, func(a, b scenario) int { return strings.Compare(a.name, b.name) })
	return list
}

func scenarios() []scenario {
	list := []scenario{}
	for _, provider := range []string{"passkey", "webauthn"} {
		for _, strategy := range []string{"database", "jwt"} {
			list = append(list,
				scenario{name: "options of " + provider + ", " + strategy, provider: provider, strategy: strategy, run: func(p *play) {
					for _, q := range []string{"", "?action=authenticate", "?action=register", "?action=other", "?email=new@example.com", "?action=register&email=new@example.com", "?action=authenticate&email=new@example.com"} {
						p.ask(q)
					}
					p.answer("register", "&email=ada@example.com", "ada", nil)
					for _, q := range []string{"", "?action=authenticate", "?action=register", "?email=ada@example.com"} {
						p.ask(q)
					}
					p.signOut()
					for _, q := range []string{"?email=ada@example.com", "?action=register&email=ada@example.com", "?action=authenticate&email=ada@example.com"} {
						p.ask(q)
					}
				}},
				scenario{name: "a life with " + provider + ", " + strategy, provider: provider, strategy: strategy, run: func(p *play) {
					p.answer("register", "&email=ada@example.com", "ada", nil)
					p.answer("register", "", "second", nil)
					p.signOut()
					p.answer("authenticate", "", "second", nil)
					p.answer("authenticate", "", "ada", nil)
				}},
			)
		}
	}
	list = append(list, flawsOf("register")...)
	list = append(list, flawsOf("authenticate")...)
	return append(list,
		scenario{name: "authenticate refused by signature", run: refusal("authenticate", func(c *softkey.Client, _ *softkey.Key) {
			c.ChangeSignature = func(s []byte) []byte { s[len(s)-1] ^= 1; return s }
		})},
		scenario{name: "authenticate refused by counter", run: refusal("authenticate", func(_ *softkey.Client, k *softkey.Key) { k.Counter = 5 })},
		scenario{name: "a passkey that nobody has", run: func(p *play) { p.answer("authenticate", "", "stranger", nil) }},
		scenario{name: "no challenge", run: func(p *play) {
			p.answer("register", "&email=ada@example.com", "ada", nil)
			p.signOut()
			data := p.key("ada").Authenticate(p.t, []byte(`{"challenge":"`+strings.Repeat("A", 43)+`","rpId":"app.example.com"}`), p.client())
			p.post("authenticate without a challenge", url.Values{"action": {"authenticate"}, "data": {data}})
		}},
		scenario{name: "no answer", run: func(p *play) {
			p.post("another action", url.Values{"action": {"other"}, "data": {"{}"}})
			p.post("no action", url.Values{"data": {"{}"}})
			p.post("no data", url.Values{"action": {"authenticate"}})
			p.post("data that is no JSON", url.Values{"action": {"register"}, "data": {"{"}})
			p.post("data without an ID", url.Values{"action": {"register"}, "data": {"{}"}})
		}},
		scenario{name: "an address that is taken in the meantime", run: func(p *play) {
			var o begun
			err := json.Unmarshal([]byte(p.get("/auth/webauthn-options/passkey?action=register&email=ada@example.com").body), &o)
			require.NoError(p.t, err)
			first := newBrowser(p.t, p.h)
			first.wantDone(first.register(softkey.New(p.t, softkey.ES256), "ada@example.com"))
			p.trace()
			p.post("register with late", url.Values{"action": {"register"}, "data": {p.key("late").Register(p.t, o.Options, p.client())}})
		}},
		scenario{name: "the first sign-in goes to the page for new users", newUser: "/welcome", run: func(p *play) {
			p.answer("register", "&email=ada@example.com", "ada", nil)
			p.signOut()
			p.answer("authenticate", "", "ada", nil)
		}},
		scenario{name: "the callback refuses", signIn: false, run: func(p *play) { p.answer("register", "&email=ada@example.com", "ada", nil) }},
		scenario{name: "the callback redirects", signIn: "/pay", run: func(p *play) { p.answer("register", "&email=ada@example.com", "ada", nil) }},
	)
}

// tracedStore records the calls of an adapter by the names of Auth.js. It has
// only the methods that Auth.js has.
type tracedStore struct {
	adapter.Adapter
	lines *[]string
}

func (s tracedStore) note(name string) { *s.lines = append(*s.lines, "adapter."+name) }

func (s tracedStore) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	s.note("createUser")
	return s.Adapter.CreateUser(ctx, u)
}

func (s tracedStore) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	s.note("getUser")
	return s.Adapter.GetUser(ctx, id)
}

func (s tracedStore) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	s.note("getUserByEmail")
	return s.Adapter.GetUserByEmail(ctx, email)
}

func (s tracedStore) GetUserByAccount(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
	s.note("getUserByAccount")
	return s.Adapter.GetUserByAccount(ctx, k)
}

func (s tracedStore) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	s.note("linkAccount")
	return s.Adapter.LinkAccount(ctx, a)
}

func (s tracedStore) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	s.note("getAccount")
	return s.Adapter.GetAccount(ctx, id, provider)
}

func (s tracedStore) CreateSession(ctx context.Context, v adapter.Session) (*adapter.Session, error) {
	s.note("createSession")
	return s.Adapter.CreateSession(ctx, v)
}

func (s tracedStore) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	s.note("deleteSession")
	return s.Adapter.DeleteSession(ctx, token)
}

func (s tracedStore) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	s.note("getSessionAndUser")
	return s.Adapter.GetSessionAndUser(ctx, token)
}

func (s tracedStore) CreateAuthenticator(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
	s.note("createAuthenticator")
	return s.Adapter.CreateAuthenticator(ctx, a)
}

func (s tracedStore) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	s.note("getAuthenticator")
	return s.Adapter.GetAuthenticator(ctx, id)
}

func (s tracedStore) ListAuthenticatorsByUserID(ctx context.Context, id string) ([]adapter.Authenticator, error) {
	s.note("listAuthenticatorsByUserId")
	return s.Adapter.ListAuthenticatorsByUserID(ctx, id)
}

func (s tracedStore) UpdateAuthenticatorCounter(ctx context.Context, id string, n int64) (*adapter.Authenticator, error) {
	s.note("updateAuthenticatorCounter")
	return s.Adapter.UpdateAuthenticatorCounter(ctx, id, n)
}

// playHere runs a scenario here and returns the transcript.
func playHere(t *testing.T, sc scenario) []string {
	t.Helper()
	var trace []string
	event := func(name string) { trace = append(trace, "event."+name) }
	provider := webauthn.Passkey
	if sc.provider == "webauthn" {
		provider = webauthn.WebAuthn
	}
	s := newSite(t, func(c *auth.Config) {
		c.Adapter = tracedStore{memory.New(), &trace}
		c.Session.Strategy = auth.Strategy(sc.strategy)
		c.Pages.NewUser = sc.newUser
		c.Clock = func() time.Time { return frozen }
		c.Providers = []auth.Provider{provider(webauthn.With(func(p *auth.WebAuthn) { p.DangerouslyListCredentials = true }))}
		c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
			trace = append(trace, "callback.signIn")
			switch to := sc.signIn.(type) {
			case bool:
				return auth.Deny(), nil
			case string:
				return auth.DenyTo(to), nil
			}
			return auth.Allow(), nil
		}
		c.Events.CreateUser = func(context.Context, auth.CreateUserEvent) error { event("createUser"); return nil }
		c.Events.LinkAccount = func(context.Context, auth.LinkAccountEvent) error { event("linkAccount"); return nil }
		c.Events.SignIn = func(context.Context, auth.SignInEvent) error { event("signIn"); return nil }
	})
	return run(t, sc, s, func() []string { defer func() { trace = nil }(); return trace })
}

func run(t *testing.T, sc scenario, h http.Handler, trace func() []string) []string {
	b := newBrowser(t, h)
	b.provider = cmp.Or(sc.provider, "passkey")
	p := &play{browser: b, keys: map[string]*softkey.Key{}, trace: func() []string {
		return slices.DeleteFunc(trace(), func(line string) bool { return strings.HasPrefix(line, "log.") })
	}}
	sc.run(p)
	return p.lines
}

// departure is a scenario in which we differ from Auth.js on purpose.
type departure struct {
	// See is the heading in docs/differences.md.
	See []string
	// Ours is our transcript.
	Ours []string
}

// TestAuthJSReplay compares each scenario with the recording of the real
// Auth.js, with a stopped clock: status, body, redirects, cookies, and the
// order of the calls of adapter, callbacks and events. Where we differ,
// docs/differences.md says why.
func TestAuthJSReplay(t *testing.T) {
	if *record {
		recordAll(t)
	}
	var theirs map[string][]string
	read(t, "authjs.json", &theirs)
	var departures map[string]departure
	read(t, "departures.json", &departures)
	page := must(os.ReadFile(filepath.Join("..", "..", "docs", "differences.md")))(t)
	all := scenarios()
	same := 0
	explains := map[string]bool{}
	for _, sc := range all {
		t.Run(sc.name, func(t *testing.T) {
			want, ok := theirs[sc.name]
			require.True(t, ok, "the scenario is not recorded: run the test with -record")
			got := playHere(t, sc)
			d, departs := departures[sc.name]
			switch {
			case slices.Equal(got, want) && departs:
				t.Error("it is as in Auth.js, and departures.json says that it is not")
			case slices.Equal(got, want):
				same++
			case departs && slices.Equal(got, d.Ours):
				for _, heading := range d.See {
					assert.Containsf(t, string(page), "### "+heading+"\n", "docs/differences.md has no heading %q", heading)
					explains[heading] = true
				}
				assert.NotEmpty(t, d.See, "departures.json does not say where the difference is explained")
			default:
				t.Errorf("we\n\t%s\nAuth.js\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
	for _, entry := range strings.Split(string(page), "\n### ")[1:] {
		heading, text, _ := strings.Cut(entry, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		assert.Equalf(t, explains[heading], strings.Contains(text, "`TestAuthJSReplay`"),
			"docs/differences.md, %q: scenarios differ by it, and it names TestAuthJSReplay", heading)
	}
	t.Logf("%d of %d scenarios are the same, %d differ on purpose", same, len(all), len(departures))
	assert.Equalf(t, len(all), len(theirs),
		"%d scenarios are recorded, there are %d: run the test with -record", len(theirs), len(all))
}

func read(t *testing.T, name string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	require.NoError(t, err)
}

func write(t *testing.T, name string, v any) {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "\t")
	if err == nil {
		err = os.WriteFile(filepath.Join("testdata", name), append(b, '\n'), 0o644)
	}
	require.NoError(t, err)
}

// The headings of docs/differences.md that explain the departures.
const (
	seeCookie   = "A passkey ceremony has a cookie of its own"
	seeAdvice   = "A refused passkey says what to do"
	seeOrder    = "A passkey is stored before the events of the sign-up"
	seeUser     = "The user of a ceremony is read from the store"
	seeCounter  = "The owner of a passkey is found before its counter is stored"
	seeRedirect = "Callbacks.SignIn may send a passkey elsewhere"
	seeRotation = "Signing in again replaces the session"
)

// explain lists the differences between the two transcripts: the lines that
// only one of them has, or has at another place.
func explain(theirs, ours []string) []string {
	count := func(list []string, part string) (n int) {
		for _, line := range list {
			n += strings.Count(line, part)
		}
		return n
	}
	exactly := func(list []string, line string) (n int) {
		for _, l := range list {
			if l == line {
				n++
			}
		}
		return n
	}
	at := func(list []string, part string) int {
		return slices.IndexFunc(list, func(line string) bool { return strings.Contains(line, part) })
	}
	var see []string
	add := func(heading string, when bool) {
		if when {
			see = append(see, heading)
		}
	}
	add(seeCookie, count(ours, "challenge.(mark)") > 0)
	add(seeAdvice, count(ours, "&code=") > 0)
	add(seeOrder, (at(ours, "createAuthenticator") < at(ours, "event.createUser")) != (at(theirs, "createAuthenticator") < at(theirs, "event.createUser")))
	add(seeUser, exactly(ours, "  adapter.getUser") != exactly(theirs, "  adapter.getUser") || count(ours, "adapter.getSessionAndUser") != count(theirs, "adapter.getSessionAndUser"))
	add(seeCounter, at(ours, "updateAuthenticatorCounter") > at(ours, "adapter.getAccount") && at(ours, "adapter.getAccount") >= 0)
	add(seeRedirect, at(ours, "/pay") >= 0)
	add(seeRotation, count(ours, "deleteSession") > 0)
	return see
}

// recordAll records each scenario from the real Auth.js, and our transcript
// where it differs. The headings of the departures are filled in by hand.
func recordAll(t *testing.T) {
	js := startAuthJS(t)
	defer js.stop()
	theirs := map[string][]string{}
	departures := map[string]departure{}
	read(t, "departures.json", &departures)
	for _, sc := range scenarios() {
		config := map[string]any{"secret": secret, "now": frozen.UnixMilli(), "newUser": sc.newUser}
		for name, v := range map[string]string{"provider": sc.provider, "strategy": sc.strategy} {
			if v != "" {
				config[name] = v
			}
		}
		if sc.signIn != nil {
			config["signIn"] = sc.signIn
		}
		js.tell(map[string]any{"config": config}, nil)
		theirs[sc.name] = run(t, sc, js, func() []string { return js.trace })
		if ours := playHere(t, sc); !slices.Equal(ours, theirs[sc.name]) {
			departures[sc.name] = departure{explain(theirs[sc.name], ours), ours}
		} else {
			delete(departures, sc.name)
		}
	}
	maps.DeleteFunc(departures, func(name string, _ departure) bool { return theirs[name] == nil })
	write(t, "authjs.json", theirs)
	write(t, "departures.json", departures)
}

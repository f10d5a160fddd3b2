package golden_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what differs to departures.json, to be named by hand")

// departure is a difference in one place of one scenario that no general fix
// describes. It says what was recorded, what happens instead, and which entries
// of docs/differences.md explain it.
type departure struct {
	Scenario string `json:"scenario"`
	Step     string `json:"step"`
	diff
	See []string `json:"see"`
}

// usesOAuth reports whether a scenario has a flow of OAuth.
func (s *scenario) usesOAuth() bool {
	return slices.ContainsFunc(s.Steps, func(st step) bool { return st.Kind == "idp.authorize" || len(st.IDPCalls) > 0 })
}

// replayed is the result of replaying a scenario.
type replayed struct {
	diffs map[string][]diff
	names map[string]bool // the entries of docs/differences.md that explain what occurred
	err   error
}

// replayScenario replays a scenario. If we refuse its configuration, it replays
// the scenario with the configuration that we require instead, as far as there
// is one.
func replayScenario(s *scenario, viaNew bool) replayed {
	start := func() *replay {
		r := newReplay(s.copy())
		r.viaNew = viaNew
		r.respell()
		return r
	}
	r := start()
	diffs, err := r.run()
	names := r.applied
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		return replayed{diffs, names, err}
	}
	if odd := unrefused(err); odd != nil {
		return replayed{diffs, names, odd}
	}
	names = map[string]bool{refused.entry: true}
	if refused.instead == nil || s.signsInWithCredentials() {
		r = start()
		return replayed{nil, names, r.allRefused(refused)}
	}
	r = start()
	for option, raw := range refused.instead {
		r.config[option] = json.RawMessage(raw)
	}
	diffs, err = r.run()
	maps.Copy(names, r.applied)
	return replayed{diffs, names, err}
}

// copy returns a copy that a replay may change.
func (s *scenario) copy() *scenario {
	var c scenario
	if err := json.Unmarshal(s.raw, &c); err != nil {
		panic(err) // the same text was decoded before
	}
	c.raw = s.raw
	return &c
}

// TestReplay replays every scenario twice: with Auth, which compiles the
// configuration for each request, and with handlers that New makes. Both must
// give the same result.
func TestReplay(t *testing.T) {
	known := load[[]departure](t, "departures.json")
	met := map[string]int{}
	var found []departure
	used := make([]bool, len(known))
	for _, form := range []string{"Auth", "New"} {
		var exact, named, failed int
		for _, s := range scenarios(t) {
			t.Run(form+"/"+s.id(), func(t *testing.T) {
				var result replayed
				synctest.Test(t, func(*testing.T) { result = replayScenario(s, form == "New") }) // waiting takes no time in it
				assert.NoError(t, result.err)
				for _, step := range slices.Sorted(maps.Keys(result.diffs)) {
					for _, d := range result.diffs[step] {
						i := slices.IndexFunc(known, func(k departure) bool { return k.Scenario == s.id() && k.Step == step && k.diff == d })
						if i >= 0 {
							if !used[i] {
								found = append(found, known[i])
							}
							used[i] = true
							for _, entry := range known[i].See {
								result.names[entry] = true
							}
							continue
						}
						if !slices.ContainsFunc(found, func(f departure) bool { return f.Scenario == s.id() && f.Step == step && f.diff == d }) {
							found = append(found, departure{s.id(), step, d, nil})
						}
						t.Errorf("%s: %s\nwant %s\n got %s", step, d.At, d.Want, d.Got)
					}
				}
				for name := range result.names {
					met[name]++
				}
				switch {
				case t.Failed():
					failed++
				case len(result.names) > 0:
					named++
				default:
					exact++
				}
			})
		}
		fmt.Printf("golden by %s: %d scenarios replay exactly, %d with a named departure, %d fail\n", form, exact, named, failed)
	}
	for i, k := range known {
		assert.Truef(t, used[i], "departures.json: %s, %s, %s is not met any more", k.Scenario, k.Step, k.At)
		assert.NotEmptyf(t, k.See,
			"departures.json: %s, %s, %s does not say where the difference is explained", k.Scenario, k.Step, k.At)
	}
	if *update {
		writeDepartures(t, found)
	}
	for _, name := range slices.Sorted(maps.Keys(met)) {
		t.Logf("%3d replays: %s", met[name], name)
	}
	checkPage(t, slices.Collect(maps.Keys(met)))
}

// unrefused returns an error that is not the refusal alone, or nil.
func unrefused(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) > 1 {
		return err
	}
	return nil
}

func writeDepartures(t *testing.T, found []departure) {
	t.Helper()
	lines := mapped(found, func(d departure) string { return string(must(json.Marshal(d))(t)) })
	file := "[\n" + strings.Join(lines, ",\n") + "\n]\n"
	require.NoError(t, os.WriteFile(filepath.Join(dataDir, "departures.json"), []byte(file), 0o644))
}

// TestDefaultChecks checks which checks a provider has if none are configured.
// TestReplay always configures them.
func TestDefaultChecks(t *testing.T) {
	t.Parallel()
	p := &auth.OAuth{
		ID: "idp", ClientID: "id", ClientSecret: "secret", Authorization: auth.AuthorizationEndpoint{URL: "https://idp.example.com/authorize"},
		Token: auth.TokenEndpoint{URL: "https://idp.example.com/token"}, UserInfo: auth.UserInfoEndpoint{URL: "https://idp.example.com/userinfo"},
	}
	c := auth.Config{Secret: []string{liveSecret}, SkipCSRFCheck: auth.SkipCSRFCheck, Providers: []auth.Provider{p}}
	resp := serve(t, c, http.MethodPost, "/auth/signin/idp", nil, "")
	location := must(resp.Location())(t)
	for _, name := range []string{"state", "code_challenge", "code_challenge_method"} {
		assert.NotEmptyf(t, location.Query().Get(name), "got %s, want a %s in it", location, name)
	}
	for _, name := range []string{"authjs.state", "authjs.pkce.code_verifier"} {
		assert.Truef(t, slices.ContainsFunc(resp.Cookies(), func(c *http.Cookie) bool { return c.Name == name }),
			"got cookies %v, want %s", resp.Cookies(), name)
	}
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

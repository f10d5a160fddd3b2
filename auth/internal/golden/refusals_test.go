package golden_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth"
)

// refusal is a kind of configuration that the original serves and we refuse on
// purpose.
type refusal struct {
	name    string
	problem auth.ErrorType
	message *regexp.Regexp
	// instead has the options, in JSON, with which the rest of the scenario can be
	// replayed all the same.
	instead map[string]string
}

// Error makes a refusal the error by which a replay ends.
func (f *refusal) Error() string { return "refused: " + f.name }

var refusals = []*refusal{
	{
		"18: credentials with database sessions are refused, as they make no database session",
		auth.ErrUnsupportedStrategy, regexp.MustCompile("credentials"), map[string]string{"session": `{"strategy":"jwt"}`},
	},
	{"34: all methods that will be called are asked of the adapter at start", auth.ErrMissingAdapterMethods, regexp.MustCompile("."), nil},
	{"two providers with one ID are refused", auth.ErrInvalidProvider, regexp.MustCompile("another provider"), nil},
	{"a redirect proxy URL that is not a URL is refused at start", auth.ErrAuth, regexp.MustCompile("RedirectProxyURL"), nil},
	{"a Partitioned cookie without Secure is refused, as browsers refuse it", auth.ErrAuth, regexp.MustCompile("[Pp]artitioned"), nil},
}

// refusal is the one by which the last request failed, or nil.
func (r *replay) refusal() *refusal {
	for _, f := range refusals {
		for _, err := range r.rec.errors {
			if errors.Is(err, f.problem) && f.message.MatchString(err.Error()) {
				return f
			}
		}
	}
	return nil
}

// wantRefusal reports what is wrong with the answer to a request whose
// configuration is refused: it says no more than that, and sets no cookie.
func wantRefusal(resp *http.Response, body []byte) error {
	const message = `{"message":"There was a problem with the server configuration. Check the server logs for more information."}`
	switch kind := resp.Header.Get("Content-Type"); {
	case len(resp.Header["Set-Cookie"]) > 0:
		return errors.New("a refused configuration sets cookies")
	case kind == "application/json" && string(body) == message:
		return nil
	case kind == "text/html" && strings.Contains(string(body), "<h1>Server error</h1>"):
		return nil
	}
	return fmt.Errorf("a refused configuration is answered with %.200s", body)
}

// respelled are options whose recorded value ours does not have, with the value
// that means the same.
var respelled = []struct{ name, option, recorded, ours string }{
	{"an empty base path is the default one; the root is /", "basePath", `""`, `"/"`},
}

// respell writes the configuration with our values.
func (r *replay) respell() {
	for _, o := range respelled {
		if string(r.config[o.option]) == o.recorded {
			r.config[o.option] = json.RawMessage(o.ours)
			r.applied[o.name] = true
		}
	}
}

// signsInWithCredentials reports whether a scenario needs a credentials provider
// to work.
func (s *scenario) signsInWithCredentials() bool {
	for i := range s.Steps {
		if s.Steps[i].Request.Method == http.MethodPost && strings.HasSuffix(s.Steps[i].Request.URL, "/callback/credentials") {
			return true
		}
	}
	return false
}

// allRefused checks that every request of a scenario is answered with the
// refusal.
func (r *replay) allRefused(f *refusal) error {
	for i := range r.scenario.Steps {
		s := &r.scenario.Steps[i]
		if s.Kind == "csrf" {
			s = &step{Request: recordedRequest{Method: http.MethodGet, URL: s.URL}}
		} else if s.Kind != "request" {
			continue
		}
		if _, err := r.send(s); !errors.Is(err, f) {
			return fmt.Errorf("step %d is not refused", i)
		}
	}
	return nil
}

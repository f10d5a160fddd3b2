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

// refusal is a kind of configuration that Auth.js serves and that we refuse on
// purpose.
type refusal struct {
	entry   string // the heading in docs/differences.md
	problem auth.ErrorType
	message *regexp.Regexp
	// instead holds the options, in JSON, with which the rest of the scenario
	// can still be replayed.
	instead map[string]string
}

// Error implements error: a refusal is the error with which a replay ends.
func (f *refusal) Error() string { return "refused: " + f.entry }

var refusals = []*refusal{
	{
		"Credentials make database sessions",
		auth.ErrUnsupportedStrategy, regexp.MustCompile("credentials"), map[string]string{"session": `{"strategy":"jwt"}`},
	},
	{"All missing adapter methods are named", auth.ErrMissingAdapterMethods, regexp.MustCompile("."), nil},
	{"Settings that can't work are refused at the start", auth.ErrInvalidProvider, regexp.MustCompile("another provider"), nil},
	{"Settings that can't work are refused at the start", auth.ErrAuth, regexp.MustCompile("RedirectProxyURL"), nil},
	{"Short secrets are refused", auth.ErrMissingSecret, regexp.MustCompile("fewer than 32 characters"), nil},
}

// refusal returns the refusal that made the last request fail, or nil.
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

// wantRefusal checks the response to a request whose configuration is refused:
// it only says that there is a problem with the configuration, and sets no
// cookie.
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

// respell replaces an empty base path, which our options do not have, with our
// value of the same meaning.
func (r *replay) respell() {
	if string(r.config["basePath"]) == `""` {
		r.config["basePath"] = json.RawMessage(`"/"`)
		r.applied["The base path has no slash at its end"] = true
	}
}

// signsInWithCredentials reports whether a scenario needs a working credentials
// provider.
func (s *scenario) signsInWithCredentials() bool {
	for i := range s.Steps {
		if s.Steps[i].Request.Method == http.MethodPost && strings.HasSuffix(s.Steps[i].Request.URL, "/callback/credentials") {
			return true
		}
	}
	return false
}

// allRefused checks that every request of a scenario is answered with the
// refusal, from the first one that has a refused configuration.
func (r *replay) allRefused(f *refusal) error {
	refused := false
	for i := range r.scenario.Steps {
		s := &r.scenario.Steps[i]
		if s.Kind == "csrf" {
			s = &step{Request: recordedRequest{Method: http.MethodGet, URL: s.URL}}
		} else if s.Kind == "config" {
			if err := r.replayStep(s); err != nil {
				return err
			}
			continue
		} else if s.Kind != "request" {
			continue
		}
		s.Response.Status = 0 // whatever Auth.js answered
		if _, err := r.send(s); errors.Is(err, f) {
			refused = true
		} else if refused || err != nil {
			return fmt.Errorf("step %d is not refused", i)
		}
	}
	if !refused {
		return errors.New("no step is refused")
	}
	return nil
}

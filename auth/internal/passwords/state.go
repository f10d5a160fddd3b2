package passwords

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// MaxFailures is how many wrong passwords in a row turn a password off where they
// come from (NIST SP 800-63B-4 section 3.2.2).
const MaxFailures = 100

// maxBrowsers is how many browsers that signed in before are counted apart. The
// rest of them share one count.
const maxBrowsers = 64

const (
	strange = ""  // the key of browsers that did not sign in before
	others  = "*" // that of browsers beyond maxBrowsers
)

// State is what the core keeps beside the hash of a password. A record that
// somebody brought along has the zero value.
type State struct {
	// Version is another random text after each change of the password.
	Version string `json:"version,omitempty"`
	// Changed is when it was chosen, in seconds since the epoch.
	Changed int64 `json:"changed,omitempty"`
	// Failures are the wrong passwords since the last right one, by browser.
	Failures map[string]int `json:"failures,omitempty"`
}

// StateOf reads the state of a record. A text that is none counts as the zero value.
func StateOf(p *adapter.Password) State {
	var s State
	if p == nil || json.Unmarshal([]byte(p.State), &s) != nil {
		return State{}
	}
	return s
}

// New is the record of a new password.
func New(userID, hash, version string, now time.Time) adapter.Password {
	return adapter.Password{UserID: userID, Hash: hash, State: State{Version: version, Changed: now.Unix()}.text()}
}

func (s State) text() string {
	text, err := json.Marshal(s)
	if err != nil || string(text) == "{}" { // it always encodes
		return ""
	}
	return string(text)
}

// key is where failures of a browser are counted.
func (s State) key(browser string) string {
	if _, listed := s.Failures[browser]; browser != strange && !listed && len(s.Failures) >= maxBrowsers {
		return others
	}
	return browser
}

// Off says that passwords do not count in the browser; strange browsers have the
// empty name.
func (s State) Off(browser string) bool { return s.Failures[s.key(browser)] >= MaxFailures }

// counted is the state with n more failures of a browser.
func (s State) counted(browser string, n int) State {
	failures := map[string]int{}
	maps.Copy(failures, s.Failures)
	key := s.key(browser)
	if failures[key] += n; failures[key] <= 0 {
		delete(failures, key)
	}
	s.Failures = failures
	return s
}

// cleared is the state without the failures of a browser.
func (s State) cleared(browser string) State { return s.counted(browser, -s.Failures[s.key(browser)]) }

// Package golden_test replays recordings of Auth.js against this module: HTTP
// exchanges with all the calls and changes that they caused, and vectors of
// small functions. The data is in auth/testdata/golden.
package golden_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const dataDir = "../../testdata/golden"

// scenario is one browser with one configuration.
type scenario struct {
	Name, Topic string
	Now         float64
	Origin      string
	Config      map[string]json.RawMessage
	Seed        storeRows
	IDP         idpOptions
	Steps       []step
	FinalStore  *storeRows
	Bindings    map[string]binding

	raw json.RawMessage
}

func (s *scenario) id() string { return s.Topic + "/" + s.Name }

// storeRows are the rows of the store, as JSON objects.
type storeRows struct {
	Users, Accounts, Sessions, VerificationTokens []map[string]any
}

// binding is the recorded value of a placeholder.
type binding struct {
	Value   string
	Kind    string // jwe, jws, or empty
	Salt    string
	Payload map[string]any
}

// step is one event of a scenario.
type step struct {
	Kind, Label string

	// request and csrf
	Request       recordedRequest
	Response      recordedResponse
	URL           string
	CSRFToken     string
	SetCookies    []string
	Trace         []string
	AdapterCalls  []recordedCall
	CallbackCalls []recordedCall
	ProviderCalls []recordedCall
	Events        []recordedEvent
	Emails        []any
	IDPCalls      []recordedIDPCall
	Logs          []recordedLog

	// the rest
	Seconds           float64
	Patch             map[string]json.RawMessage
	Bind, Name, Value string
}

type recordedRequest struct {
	Method, URL  string
	Headers      map[string]string
	Cookies      ordered
	CookieSource string
	Body         *struct {
		Type, ContentType string
		Fields            [][2]string
		Value             any
	}
}

type recordedResponse struct {
	Status     int
	Headers    map[string]string
	SetCookies []recordedCookie
	Body       map[string]any
	Internal   map[string]any
}

type recordedCookie struct {
	Name, Value string
	Attributes  map[string]any
}

type recordedCall struct {
	Method, Callback, Call string
	Args, Result, Throws   any
}

type recordedEvent struct {
	Event   string
	Message any
}

type recordedIDPCall struct {
	Method, URL string
	Headers     map[string]string
	Body        any
	Response    struct {
		Status      int
		ContentType string
		Body        any
	}
}

type recordedLog struct{ Level, Type string }

// ordered is a JSON object of texts that keeps the order of its members.
type ordered []member

type member struct {
	name  string
	value json.RawMessage
}

func (o *ordered) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		*o = append(*o, member{name.(string), value})
	}
	return nil
}

// load reads a file of the recording.
func load[T any](t testing.TB, name string) T {
	t.Helper()
	data := must(os.ReadFile(filepath.Join(dataDir, name)))(t)
	var v T
	require.NoError(t, json.Unmarshal(data, &v), name)
	return v
}

// scenarios returns all recorded scenarios, topic by topic.
func scenarios(t testing.TB) []*scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dataDir, "http", "*.json"))
	require.Truef(t, err == nil && len(files) != 0, "no recorded scenarios: %v", err)
	var all []*scenario
	for _, f := range files {
		for _, raw := range load[struct{ Scenarios []json.RawMessage }](t, filepath.Join("http", filepath.Base(f))).Scenarios {
			s := &scenario{raw: raw}
			require.NoError(t, json.Unmarshal(raw, s), f)
			all = append(all, s)
		}
	}
	return all
}

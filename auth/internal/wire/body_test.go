package wire

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzJSONBody: the members of a JSON body are read as encoding/json reads
// them. Nothing is read from JSON that is not an object, or that is too large.
func FuzzJSONBody(f *testing.F) {
	for _, s := range []string{
		"", "null", "[]", "{}", `{"csrfToken":"x","callbackUrl":"/a"}`, `{"data":{"a":[1,2,{"b":"}"}]},"csrfToken":"\u0041"}`, `{"a":"\\\"","email":7}`,
		` { "email" : "a" , "email" : "b" } `, `{"data":"x","data":null}`, `{"":1,"csrfToken":""}`, `{"csrf\u0054oken":"x"}`, `{"data":1e5}`, `{"data":true}`, "{\"a\":\"\xff\"}",
		`{"a":1,}`, `{"a":1}x`, `{"a":` + strings.Repeat("[", 50) + strings.Repeat("]", 50) + `}`, `[{"csrfToken":"x"}]`,
	} {
		f.Add([]byte(s))
	}
	const limit = 64 << 10
	wanted := map[string]bool{"csrfToken": true, "callbackUrl": true, "email": true, "action": true, "data": true, "signal": true}
	f.Fuzz(func(t *testing.T, raw []byte) {
		hr := httptest.NewRequest(http.MethodPost, "/auth/session", bytes.NewReader(raw))
		hr.Header.Set("Content-Type", "application/json")
		b, err := ReadBody(hr, limit, wanted)
		require.Equalf(t, json.Valid(raw) && len(raw) <= limit, err == nil, "%q: %v", raw, err)
		if err != nil {
			return
		}
		var want map[string]any
		if json.Unmarshal(raw, &want) != nil {
			want = nil // not an object
		}
		for name := range wanted {
			text, _ := want[name].(string)
			if got, _ := b.Fields[name].(string); got != text && !strings.Contains(string(raw), `\`) { // an escaped name is another name
				t.Fatalf("%q: %s is %q, want %q", raw, name, got, text)
			}
		}
		require.Falsef(t, b.Data != nil && !json.Valid(b.Data), "%q: data is %q", raw, b.Data)
		whole, err := b.Members()
		if err != nil {
			require.Truef(t, valuesIn(raw) > MaxValues, "%q: %v", raw, err)
			return
		}
		require.Falsef(t, len(whole) != len(want) || len(want) > 0 && !reflect.DeepEqual(whole, want),
			"%q: the form is %v, want %v", raw, whole, want)
	})
}

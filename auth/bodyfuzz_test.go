package auth

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
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
	f.Fuzz(func(t *testing.T, raw []byte) {
		hr := httptest.NewRequest(http.MethodPost, "/auth/session", bytes.NewReader(raw))
		hr.Header.Set("Content-Type", "application/json")
		r := &request{http: hr, method: http.MethodPost}
		err := r.readBody(defaultMaxBody)
		if (err == nil) != (json.Valid(raw) && len(raw) <= defaultMaxBody) {
			t.Fatalf("%q: %v", raw, err)
		}
		if err != nil {
			return
		}
		var want map[string]any
		if json.Unmarshal(raw, &want) != nil {
			want = nil // not an object
		}
		for name := range read {
			text, _ := want[name].(string)
			if got := r.form.Get(name); got != text && !strings.Contains(string(raw), `\`) { // an escaped name is another name
				t.Fatalf("%q: %s is %q, want %q", raw, name, got, text)
			}
		}
		if r.data != nil && !json.Valid(r.data) {
			t.Fatalf("%q: data is %q", raw, r.data)
		}
		whole, err := r.wholeForm()
		if err != nil {
			if valuesIn(raw) <= maxValues {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		if len(whole) != len(want) || len(want) > 0 && !reflect.DeepEqual(map[string]any(whole), want) {
			t.Fatalf("%q: the form is %v, want %v", raw, whole, want)
		}
	})
}

// FuzzCookieHeader: in any number of headers, names and copies of cookies, the
// owner of the token among them is signed in. If there are two tokens that
// differ, nobody is signed in.
func FuzzCookieHeader(f *testing.F) {
	e := fuzzEngine(f)
	e.config.Session.UpdateAge = new(time.Duration)
	const name = "__Secure-authjs.session-token"
	tokens := map[string]string{}
	for _, who := range []string{"ada", "eve"} {
		token, err := jwt.Encode(jwt.EncodeParams{Token: Claims{"sub": who}, Secrets: e.config.Secret, Salt: name})
		if err != nil {
			f.Fatal(err)
		}
		tokens[who] = token
	}
	for _, s := range []string{
		"S=A", "S=A; S=A", "S=A; S=E", "S=E; S=A", "S=; S=A", "S.0=A", "S=A; S.0=E", "S.0=E; S=A", "S.0=A; S.0=E", "S=A\nS=E", "S=\"A\"", "s=A", "S =A", " S= A ", "S=A;S=E",
		"S=%41", "S.0=A; S.1=E", "S.00=A", "=A; S=A", ";;S=A;", "S=A; x=y; S=A; S=E", "S=x; S=A", "S=A; S=x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		if len(pattern) > 1000 || strings.ContainsAny(strings.ReplaceAll(pattern, "\n", ""), "\r\x00") {
			return
		}
		hr := httptest.NewRequest(http.MethodGet, "https://app.example.com/auth/session", nil)
		expand := strings.NewReplacer("S", name, "A", tokens["ada"], "E", tokens["eve"])
		sent := map[string]bool{}
		for line := range strings.SplitSeq(pattern, "\n") {
			hr.Header["Cookie"] = append(hr.Header["Cookie"], expand.Replace(line))
			for pair := range strings.SplitSeq(line, ";") {
				if cookie, value, ok := strings.Cut(pair, "="); ok && strings.Trim(cookie, " \t") == "S" {
					sent[strings.Trim(value, " \t")] = true
				}
			}
		}
		read := e.session(t.Context(), e.newRequest(hr, ActionSession), access{})
		if read.err != nil {
			t.Fatalf("%q: %v", pattern, read.err)
		}
		if read.session == nil {
			return
		}
		who := map[string]string{"ada": "A", "eve": "E"}[read.user.ID]
		if !strings.Contains(pattern, who) {
			t.Fatalf("%q signs %s in", pattern, read.user.ID)
		}
		if len(sent) > 2 {
			t.Fatalf("%q signs %s in, although the cookies differ", pattern, read.user.ID)
		}
		for _, c := range read.cookies {
			if !strings.HasPrefix(c.Name, name) || strings.ContainsAny(formatCookie(c), "\r\n") {
				t.Fatalf("%q sets %s", pattern, formatCookie(c))
			}
		}
	})
}

package golden_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// values holds two values for each placeholder of a scenario: the recorded one,
// and the one that this module made in its place.
type values struct {
	start    time.Time
	recorded map[string]binding
	own      map[string]string
	secrets  []string        // all that were configured, to read our own tokens with
	applied  map[string]bool // the entries of docs/differences.md that explain what occurred
	// found is called for each difference in the payload of one of our tokens.
	found func(d diff)
}

// diff is one place where a replay differs from the recording. Both sides are
// written with placeholders.
type diff struct {
	At   string `json:"at"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

var placeholder = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// patterns are the forms of randomly generated values, by the name of their
// placeholder.
var patterns = map[string]string{
	"csrfToken": hex64, "csrfHash": hex64, "verificationToken": hex64, "verificationTokenHash": hex64,
	"sessionToken": uuid, "uuid": uuid,
	"jwe": compactJWE, "state": compactJWE + "|" + base64url43, "idToken": `[\w-]+\.[\w-]+\.[\w-]*`,
	"stateRandom": base64url43, "codeVerifier": base64url43, "codeChallenge": base64url43, "nonce": base64url43,
}

const (
	hex64       = `[0-9a-f]{64}`
	uuid        = `[0-9a-f]{8}-[0-9a-f]{4}-[48][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	compactJWE  = `[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+`
	base64url43 = `[\w-]{43}`
	chunk       = `[\w.-]+`
)

// pattern returns the form of the values of a placeholder, or "" if its values
// are not random.
func pattern(name string) string {
	if strings.HasPrefix(name, "jwe.") && strings.HasSuffix(name, "]") {
		return chunk
	}
	kind, _, _ := strings.Cut(name, ".")
	return patterns[kind]
}

// fixed returns the value of a placeholder whose value is not random.
func (v *values) fixed(name string) (string, bool) {
	kind, arg, ok := strings.Cut(name, ":")
	if !ok {
		return "", false
	}
	if kind == "repeat" {
		text, times, _ := strings.Cut(arg, ":")
		n, err := strconv.Atoi(times)
		return strings.Repeat(text, max(n, 0)), err == nil
	}
	seconds, err := strconv.ParseFloat(arg, 64)
	if err != nil {
		return "", false
	}
	at := v.start.Add(time.Duration(seconds * float64(time.Second)))
	switch kind {
	case "date":
		return date(at), true
	case "iso":
		return at.UTC().Format("2006-01-02T15:04:05.000Z"), true
	case "httpDate":
		return at.UTC().Format(http.TimeFormat), true
	case "epoch":
		return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64), true
	}
	return "", false
}

// date writes an instant that was not recorded as text.
func date(t time.Time) string { return "date " + t.UTC().Format("2006-01-02T15:04:05.000Z") }

// lookup returns the value of a placeholder, if it has one yet.
func (v *values) lookup(name string) (string, bool) {
	if s, ok := v.fixed(name); ok {
		return s, true
	}
	if s, ok := v.own[name]; ok {
		return s, true
	}
	if base, ok := strings.CutSuffix(name, "|pctdots"); ok {
		s, ok := v.lookup(base)
		return strings.ReplaceAll(s, ".", "%2E"), ok
	}
	if base, index, ok := strings.Cut(name, "["); ok {
		if s, ok := v.lookup(base); ok {
			i, _ := strconv.Atoi(strings.TrimSuffix(index, "]"))
			return chunkOf(s, i), true
		}
	}
	return "", false
}

func chunkOf(s string, i int) string {
	from := min(i*jwt.ChunkSize, len(s))
	return s[from:min(from+jwt.ChunkSize, len(s))]
}

// expand replaces the placeholders of a recorded text with our own values. A
// placeholder without a value of ours gets the recorded value, because tokens
// of Auth.js must be accepted too.
func (v *values) expand(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(p string) string {
		name := p[2 : len(p)-2]
		if own, ok := v.lookup(name); ok {
			return own
		}
		recorded := &values{start: v.start, own: map[string]string{}}
		for n, b := range v.recorded {
			recorded.own[n] = b.Value
		}
		if s, ok := recorded.lookup(name); ok {
			return s
		}
		return p
	})
}

// expandAll expands all texts in a JSON value. Numbers that were recorded as
// text become numbers.
func (v *values) expandAll(x any) any {
	return copied(x, func(leaf any) any {
		s, ok := leaf.(string)
		if !ok {
			return leaf
		}
		if strings.HasPrefix(s, "{{epoch:") && strings.HasSuffix(s, "}}") {
			if f, err := strconv.ParseFloat(v.expand(s), 64); err == nil {
				return f
			}
		}
		return v.expand(s)
	})
}

// match compares a text with a recorded one, and binds the placeholders that
// have no value yet.
func (v *values) match(want, got string) bool {
	var re strings.Builder
	var fresh []string
	end := 0
	for _, loc := range placeholder.FindAllStringSubmatchIndex(want, -1) {
		re.WriteString(regexp.QuoteMeta(want[end:loc[0]]))
		name := want[loc[2]:loc[3]]
		form := pattern(name)
		known, ok := v.lookup(name)
		switch {
		case ok:
			re.WriteString(regexp.QuoteMeta(known))
		case form != "":
			fresh = append(fresh, name)
			re.WriteString("(" + form + ")")
		default:
			re.WriteString(regexp.QuoteMeta(want[loc[0]:loc[1]]))
		}
		end = loc[1]
	}
	re.WriteString(regexp.QuoteMeta(want[end:]))
	if len(fresh) == 0 {
		return v.expand(want) == got || want == got
	}
	if len(fresh) == 1 && want == "{{"+fresh[0]+"}}" && got == v.recorded[fresh[0]].Value {
		v.own[fresh[0]] = got // a fixed value where the recording has a random one
		return true
	}
	m := regexp.MustCompile(`^(?s:` + re.String() + `)$`).FindStringSubmatch(got)
	if m == nil {
		return false
	}
	for i, name := range fresh {
		if old, ok := v.own[name]; ok && old != m[i+1] {
			return false
		}
		v.bind(name, m[i+1])
	}
	return true
}

// bind records our value of a placeholder. If the value is a token, bind
// decrypts it and compares its payload.
func (v *values) bind(name, value string) {
	v.own[name] = value
	b := v.recorded[name]
	if value == b.Value {
		return
	}
	if b.Kind == "jwe" && !strings.HasSuffix(name, "[0]") { // openChunks reads chunks
		v.open(name, value, b)
	}
}

// openChunks joins and decrypts our tokens that were split into chunks.
func (v *values) openChunks() {
	for name := range v.own {
		base, ok := strings.CutSuffix(name, "[0]")
		if _, whole := v.own[base]; !ok || whole || v.recorded[base].Kind != "jwe" {
			continue
		}
		var token strings.Builder
		for i := 0; ; i++ {
			chunk, ok := v.own[base+"["+strconv.Itoa(i)+"]"]
			if !ok {
				break
			}
			token.WriteString(chunk)
		}
		v.own[base] = token.String()
		if token.String() != v.recorded[base].Value {
			v.open(base, token.String(), v.recorded[base])
		}
	}
}

const randomState = "A state is sealed only for a redirect proxy"

// open compares the payload of one of our tokens with the recorded payload.
func (v *values) open(name, token string, b binding) {
	if strings.HasPrefix(name, "state") && b.Payload["origin"] == nil && !strings.Contains(token, ".") {
		v.applied[randomState] = true
		return
	}
	claims, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: v.secrets, Salt: b.Salt, Now: func() time.Time { return v.start }})
	if err != nil {
		v.found(diff{"payload of " + name, "a token that can be read", err.Error()})
		return
	}
	for _, d := range v.compare("payload of "+name, b.Payload, map[string]any(claims)) {
		v.found(d)
	}
}

// ownClaim reports whether a claim is one that Auth.js does not write and
// ignores.
func (v *values) ownClaim(at, name string, value any) bool {
	fix := ""
	switch text, isText := value.(string); {
	case name == "b" && isText && len(text) == 16 && strings.HasPrefix(at, "payload of jwe."),
		name == "u" && isText && text != "" && strings.HasPrefix(at, "payload of jwe."):
		fix = "A sign-in ends in the browser that began it"
	case name == "adapterId":
		if _, ok := value.(bool); ok {
			fix = "A token says whether its subject is a user of the adapter"
		}
	}
	if fix != "" {
		v.applied[fix] = true
	}
	return fix != ""
}

// compare lists the differences between a JSON value and a recorded one. In
// objects, null and absent are the same.
func (v *values) compare(at string, want, got any) []diff {
	if s, ok := want.(string); ok {
		if n, isNumber := got.(float64); isNumber && strings.HasPrefix(s, "{{epoch:") {
			got = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if g, isText := got.(string); isText && v.match(s, g) {
			return nil
		}
		return []diff{{at, v.show(want), v.show(got)}}
	}
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		var diffs []diff
		both := map[string]any{}
		maps.Copy(both, want)
		maps.Copy(both, g)
		for _, k := range slices.Sorted(maps.Keys(both)) {
			w, g := want[k], g[k]
			if w == "{{undefined}}" {
				w = nil
			}
			if w == nil && g == nil || w == "{{function}}" || w == nil && v.ownClaim(at, k, g) {
				continue
			}
			diffs = append(diffs, v.compare(at+"."+k, w, g)...)
		}
		return diffs
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			break
		}
		var diffs []diff
		for i := range want {
			diffs = append(diffs, v.compare(fmt.Sprintf("%s[%d]", at, i), want[i], g[i])...)
		}
		return diffs
	default:
		if want == got {
			return nil
		}
	}
	return []diff{{at, v.show(want), v.show(got)}}
}

var (
	randomJWE  = regexp.MustCompile(`[\w-]{20,}\.\.[\w-]{16,}\.[\w-]+\.[\w-]+`)
	randomHex  = regexp.MustCompile(`\b` + hex64 + `\b`)
	randomUUID = regexp.MustCompile(uuid)
	instant    = regexp.MustCompile(`date \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
)

// show writes a value as text that is the same in every run: our own values
// become placeholders again, and other random values become the name of their
// form.
func (v *values) show(x any) string {
	s, ok := x.(string)
	if !ok {
		if x == nil {
			return "absent"
		}
		b, _ := json.Marshal(x)
		s = string(b)
	}
	longestFirst := func(a, b string) int {
		return cmp.Or(len(v.own[b])-len(v.own[a]), strings.Compare(a, b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(v.own), longestFirst) {
		if value := v.own[name]; len(value) > 8 {
			s = strings.ReplaceAll(s, value, "{{"+name+"}}")
		}
	}
	s = randomJWE.ReplaceAllString(s, "(JWE)")
	s = randomHex.ReplaceAllString(s, "(hex)")
	s = randomUUID.ReplaceAllString(s, "(UUID)")
	return instant.ReplaceAllStringFunc(s, func(d string) string {
		at, err := time.Parse("2006-01-02T15:04:05.000Z", strings.TrimPrefix(d, "date "))
		if err != nil {
			return d
		}
		return "{{date:" + strconv.FormatFloat(at.Sub(v.start).Seconds(), 'f', -1, 64) + "}}"
	})
}

package golden_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// replay is the state while one scenario is replayed.
type replay struct {
	scenario *scenario
	values   *values
	rec      *recorder
	store    *store
	browser  browser
	now      time.Time

	config        map[string]json.RawMessage
	providers     []auth.Provider // of the last configuration
	env           map[string]string
	raw           bool
	callbacks     map[string]*recordedCallback
	failingEvents []string
	idpQueue      []recordedIDPCall

	step    int
	diffs   map[string][]diff // by step
	applied map[string]bool   // the entries of docs/differences.md that explain what occurred

	sent        []jwt.Cookie // the cookies of the last request
	sentCookies []string     // their names
	// viaNew says that handlers made by New serve the requests, and not Auth.
	// One handler serves all requests of a configuration.
	viaNew   bool
	handlers map[string]*madeHandler
	// hasMetadata says that a handler has cached the metadata of the identity
	// provider.
	hasMetadata   bool
	unknownHashes int
	subjects      map[string]string // the placeholder of the user's ID by account
	// peeking says that the browser discards the cookies that it receives.
	peeking bool
}

func newReplay(s *scenario) *replay {
	start := time.UnixMilli(int64(s.Now * 1000)).UTC()
	r := &replay{
		scenario: s, rec: &recorder{}, now: start, config: maps.Clone(s.Config), diffs: map[string][]diff{}, applied: map[string]bool{},
		handlers: map[string]*madeHandler{}, subjects: map[string]string{},
		values: &values{start: start, recorded: s.Bindings, own: map[string]string{}},
	}
	r.values.applied = r.applied
	r.store = &store{rec: r.rec}
	r.values.found = r.found
	return r
}

// stepName names the step that is being replayed.
func (r *replay) stepName() string {
	if r.step >= len(r.scenario.Steps) {
		return "end"
	}
	s := r.scenario.Steps[r.step]
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.step, s.Label))
}

func (r *replay) found(d diff) {
	if strings.HasSuffix(d.At, ".auth_time") && d.Want == "absent" {
		if at, err := strconv.ParseInt(d.Got, 10, 64); err == nil && at <= r.now.Unix() {
			r.applied["A session token is replaced once per UpdateAge"] = true
			return
		}
	}
	r.diffs[r.stepName()] = append(r.diffs[r.stepName()], d)
}

func (r *replay) check(at string, want, got any) {
	for _, d := range r.values.compare(at, want, got) {
		r.found(d)
	}
}

// run replays all steps and returns the differences, by step.
func (r *replay) run() (map[string][]diff, error) {
	if err := r.store.seed(r.values, r.scenario.Seed); err != nil {
		return nil, err
	}
	for i := range r.scenario.Steps {
		r.step = i
		if err := r.replayStep(&r.scenario.Steps[i]); err != nil {
			return r.diffs, fmt.Errorf("step %s: %w", r.stepName(), err)
		}
	}
	r.step++
	if want := r.scenario.FinalStore; want != nil {
		got := r.store.rows()
		r.check("store.users", rows(want.Users), got["users"])
		r.check("store.accounts", rows(want.Accounts), got["accounts"])
		r.check("store.sessions", anyList(want.Sessions), got["sessions"])
		r.check("store.verificationTokens", anyList(want.VerificationTokens), got["verificationTokens"])
	}
	return r.diffs, nil
}

// rows returns rows with only the fields that the contract has.
func rows(list []map[string]any) []any {
	out := []any{}
	for _, row := range list {
		stored(row)
		out = append(out, row)
	}
	return out
}

func (r *replay) replayStep(s *step) error {
	switch s.Kind {
	case "request":
		return r.request(s)
	case "csrf":
		return r.csrf(s)
	case "idp.authorize": // the later requests show its effect
	case "clock":
		r.now = r.now.Add(seconds(s.Seconds))
	case "config":
		for name, raw := range s.Patch {
			r.config[name] = raw
		}
	case "mint":
		// The recorded token, made by Auth.js, must be accepted.
		r.values.own[s.Bind] = r.values.recorded[s.Bind].Value
	case "setCookie":
		r.dropTickets(s.Name)
		r.browser.put(s.Name, r.values.expand(s.Value))
	case "dropCookie":
		r.dropTickets(s.Name)
		r.browser.drop(s.Name)
	case "clearCookies":
		r.browser.cookies = nil
	default:
		return fmt.Errorf("unknown kind of step %q", s.Kind)
	}
	return nil
}

// csrf is a shorthand for the first GET of the csrf route.
func (r *replay) csrf(s *step) error {
	long := &step{Kind: "request", Request: recordedRequest{Method: http.MethodGet, URL: s.URL}}
	long.Response.Status = http.StatusOK
	resp, err := r.send(long)
	if err != nil {
		return err
	}
	var got struct{ CSRFToken string }
	if err := json.Unmarshal(resp.body, &got); err != nil {
		return fmt.Errorf("csrf: %w in %q", err, resp.body)
	}
	r.check("status", float64(200), float64(resp.StatusCode))
	r.check("body.csrfToken", s.CSRFToken, got.CSRFToken)
	names := mapped(resp.Cookies(), func(c *http.Cookie) any { return c.Name })
	r.check("setCookies", anyList(s.SetCookies), names)
	if len(resp.Cookies()) > 0 {
		hash := strings.ReplaceAll(s.CSRFToken, "csrfToken", "csrfHash")
		value, err := url.PathUnescape(resp.Cookies()[0].Value)
		if err != nil {
			return err
		}
		r.check("setCookies[0].value", s.CSRFToken+"|"+hash, value)
	}
	return nil
}

func anyList[T any](list []T) []any {
	return mapped(list, func(x T) any { return x })
}

// mapped returns what f makes of each element.
func mapped[S, T any](list []S, f func(S) T) []T {
	out := []T{}
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// response is a response whose body was read.
type response struct {
	*http.Response
	body []byte
}

// send sends a request with the cookies of the browser, and stores the cookies
// of the response in the browser.
func (r *replay) send(s *step) (*response, error) {
	hr, err := r.httpRequest(&s.Request)
	if err != nil {
		return nil, err
	}
	r.sent = jwt.ParseCookies(hr.Header.Get("Cookie"))
	r.sentCookies = mapped(r.sent, func(c jwt.Cookie) string { return c.Name })
	r.rec.reset()
	r.env, r.raw, r.callbacks, r.failingEvents = nil, false, nil, nil
	r.idpQueue = slices.Clone(s.IDPCalls)
	c, err := r.configured()
	if err != nil {
		return nil, err
	}
	r.asRedirectProxy(hr, &c)
	r.providers = c.Providers
	resp, err := r.answer(hr, c)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if s.Request.CookieSource == "" && !r.peeking {
		r.browser.receive(resp)
	}
	if resp.StatusCode == http.StatusInternalServerError && s.Response.Status != http.StatusInternalServerError {
		if refused := r.refusal(); refused != nil {
			return nil, errors.Join(refused, wantRefusal(resp, body))
		}
	}
	return &response{resp, body}, err
}

// asRedirectProxy configures two values that our redirect proxy needs and that
// of Auth.js does not: its own URL and the deployments that it relays to.
func (r *replay) asRedirectProxy(hr *http.Request, c *auth.Config) {
	if u, err := url.Parse(c.RedirectProxyURL); err == nil && u.Host == hr.URL.Host && u.Host != "" {
		c.URL, c.RedirectProxyOrigins = u.Scheme+"://"+u.Host, []string{"https://*.example.com"}
		r.applied["A redirect proxy relays to listed origins"] = true
	}
}

// answer calls the form of Auth that the scenario uses, or a handler of New.
func (r *replay) answer(hr *http.Request, c auth.Config) (*http.Response, error) {
	if r.viaNew && !r.raw {
		return r.answerOfHandler(hr, c)
	}
	if !r.raw {
		return auth.Auth(hr, c), nil
	}
	result, err := auth.Raw(hr, c)
	if err != nil {
		return nil, err
	}
	return result.Response(hr), nil
}

func (r *replay) httpRequest(q *recordedRequest) (*http.Request, error) {
	var body io.Reader
	contentType := ""
	if b := q.Body; b != nil {
		switch b.Type {
		case "form":
			pairs := mapped(b.Fields, func(f [2]string) string {
				return url.QueryEscape(f[0]) + "=" + url.QueryEscape(r.values.expand(f[1]))
			})
			body, contentType = strings.NewReader(strings.Join(pairs, "&")), "application/x-www-form-urlencoded"
		case "json":
			encoded, err := json.Marshal(r.values.expandAll(b.Value))
			if err != nil {
				return nil, err
			}
			body, contentType = bytes.NewReader(encoded), "application/json"
		case "raw":
			text, _ := b.Value.(string)
			body, contentType = strings.NewReader(r.values.expand(text)), b.ContentType
		default:
			return nil, fmt.Errorf("unknown body %q", b.Type)
		}
	}
	hr, err := http.NewRequest(q.Method, r.values.expand(q.URL), body) //nolint:noctx // the request is served, not sent
	if err != nil {
		return nil, err
	}
	if hr.URL.Host, err = asciiHost(hr); err != nil {
		return nil, err
	}
	hr.Host = hr.URL.Host
	for name, value := range q.Headers {
		hr.Header.Set(name, r.values.expand(value))
	}
	if contentType != "" {
		hr.Header.Set("Content-Type", contentType)
	}
	switch q.CookieSource {
	case "":
		if h := r.browser.header(hr.URL); h != "" {
			hr.Header.Set("Cookie", h)
		}
	case "explicit":
		var pairs []string
		for _, c := range q.Cookies {
			var value string
			if err := json.Unmarshal(c.value, &value); err != nil {
				return nil, err
			}
			pairs = append(pairs, c.name+"="+r.values.expand(value))
		}
		hr.Header.Set("Cookie", strings.Join(pairs, "; "))
	}
	return hr, nil
}

// asciiHost returns the host of a request in its form on the wire.
func asciiHost(hr *http.Request) (string, error) {
	var b bytes.Buffer
	if err := (&http.Request{Method: http.MethodGet, URL: hr.URL}).Write(&b); err != nil {
		return "", err
	}
	sent, err := http.ReadRequest(bufio.NewReader(&b))
	if err != nil {
		return "", err
	}
	return sent.Host, nil
}

// request sends a request and compares everything that happened.
func (r *replay) request(s *step) error {
	for _, f := range fixes {
		if f.rewrite(r, s) {
			r.applied[f.entry] = true
		}
	}
	if without, ok := r.withoutBadCallbackURL(s); ok {
		return r.sameAs(s, without)
	}
	resp, err := r.send(s)
	if err != nil {
		return err
	}
	r.addCachedMetadata(s)
	r.dropKeyFetches(s)
	if err := r.compareResponse(s, resp); err != nil {
		return err
	}
	r.compareCalls("adapter", s.AdapterCalls, r.rec.adapterCalls, func(c recordedCall) string { return c.Method })
	r.compareCalls("callbacks", r.visible(s.CallbackCalls), r.rec.callbackCalls, func(c recordedCall) string { return c.Callback })
	r.compareCalls("provider", s.ProviderCalls, r.rec.providerCalls, func(c recordedCall) string { return c.Call })
	events := mapped(s.Events, func(e recordedEvent) recordedCall { return recordedCall{Call: e.Event, Args: e.Message} })
	r.compareCalls("events", events, r.rec.events, func(c recordedCall) string { return c.Call })
	for _, e := range s.Emails {
		fillTheme(object(object(e)["theme"]))
	}
	r.check("emails", anyList(s.Emails), anyList(r.rec.emails))
	r.check("idp", mapped(s.IDPCalls, recordedIDPCall.wanted), anyList(r.rec.idpCalls))
	var trace []string
	for _, line := range s.Trace {
		if strings.HasPrefix(line, "log.") || line == "callback.redirect" && r.callbacks["redirect"] == nil {
			continue
		}
		line, _, _ = strings.Cut(line, "?")
		trace = append(trace, line)
	}
	r.check("trace", strings.Join(trace, ", "), strings.Join(r.rec.trace, ", "))
	r.compareLogs(s.Logs)
	return nil
}

// compareLogs compares the types of the logged errors. For an error of the
// JavaScript runtime, any of our errors is accepted.
func (r *replay) compareLogs(want []recordedLog) {
	var types []string
	for _, l := range want {
		if l.Level != "error" {
			continue
		}
		if i := len(types); !ofLibrary(l.Type) && i < len(r.rec.errorTypes) {
			l.Type = r.rec.errorTypes[i]
		}
		types = append(types, l.Type)
	}
	r.check("logs", strings.Join(types, ", "), strings.Join(r.rec.errorTypes, ", "))
}

// fillTheme adds the members that a theme does not set: Go has no undefined.
func fillTheme(theme map[string]any) {
	for name, value := range map[string]string{"colorScheme": "auto", "logo": "", "brandColor": "", "buttonText": ""} {
		if _, ok := theme[name]; theme != nil && !ok {
			theme[name] = value
		}
	}
}

// visible leaves out the calls of the default redirect callback, which is our
// own in the replay.
func (r *replay) visible(calls []recordedCall) []recordedCall {
	return slices.DeleteFunc(slices.Clone(calls), func(c recordedCall) bool {
		return c.Callback == "redirect" && r.callbacks["redirect"] == nil
	})
}

// compareCalls compares calls pairwise as long as their names agree.
func (r *replay) compareCalls(at string, want []recordedCall, got []call, name func(recordedCall) string) {
	wanted, made := mapped(want, name), mapped(got, func(c call) string { return c.name })
	r.check(at, strings.Join(wanted, ", "), strings.Join(made, ", "))
	used := make([]bool, len(got))
	for i, c := range want {
		for j, g := range got {
			if !used[j] && g.name == wanted[i] {
				used[j] = true
				r.check(fmt.Sprintf("%s[%d] %s", at, i, g.name), r.adapted(at, g.name, c.Args), g.args)
				break
			}
		}
	}
}

// dropKeyFetches removes from a recorded request the calls that fetch the keys
// of the identity provider to verify an ID token. It removes the call for the
// metadata too if the metadata was used for nothing else.
func (r *replay) dropKeyFetches(s *step) {
	token := slices.ContainsFunc(s.IDPCalls, func(c recordedIDPCall) bool { return object(c.Response.Body)["id_token"] != nil })
	keys := slices.Index(r.rec.trace, "idp.GET /jwks")
	if !token || keys < 0 {
		return
	}
	r.applied["Signatures of ID tokens are verified"] = true
	drop := []string{"/jwks"}
	if !slices.ContainsFunc(s.IDPCalls, func(c recordedIDPCall) bool { return strings.HasSuffix(c.URL, metadataPath) }) {
		drop = append(drop, metadataPath)
	}
	dropped := func(text string) bool {
		return slices.ContainsFunc(drop, func(path string) bool { return strings.HasSuffix(text, path) })
	}
	r.rec.trace = slices.DeleteFunc(r.rec.trace, func(line string) bool { return strings.HasPrefix(line, "idp.GET") && dropped(line) })
	r.rec.idpCalls = slices.DeleteFunc(r.rec.idpCalls, func(c any) bool { return dropped(text(object(c), "url")) })
}

const metadataPath = "/.well-known/openid-configuration"

// wanted returns the call in the form in which we record calls.
func (c recordedIDPCall) wanted() any {
	headers := map[string]any{}
	for _, name := range []string{"accept", "authorization", "content-type"} {
		setText(headers, name, strings.TrimSuffix(c.Headers[name], ";charset=UTF-8")) // a form has no other charset
	}
	return map[string]any{"method": c.Method, "url": c.URL, "headers": headers, "body": c.Body}
}

func (r *replay) compareResponse(s *step, resp *response) error {
	want := s.Response
	if want.Internal != nil {
		r.compareInternal(want.Internal, resp)
		return nil
	}
	r.check("status", float64(want.Status), float64(resp.StatusCode))
	for _, name := range slices.Sorted(maps.Keys(want.Headers)) {
		wanted, got := want.Headers[name], headerOf(resp.Header, name)
		if location, ok := got.(string); ok && name == "location" {
			wanted, got = byName(wanted), byName(location)
		}
		r.check("header "+name, wanted, got)
	}
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		switch _, ok := want.Headers[strings.ToLower(name)]; {
		case ok, name == "Set-Cookie":
		case name == "Content-Security-Policy":
			r.applied["Pages load nothing from other sites"] = true
		case name == "Vary":
			r.applied[ownPages] = true
		default:
			r.check("header "+strings.ToLower(name), nil, resp.Header.Get(name))
		}
	}
	r.compareCookies(want.SetCookies, resp)
	return r.compareBody(want.Body, resp)
}

// byName sorts the parameters of a URL at the identity provider by name. Our
// parameters are url.Values, which have no other order.
func byName(location string) string {
	page, query, ok := strings.Cut(location, "?")
	if !ok || !strings.HasPrefix(location, "https://idp.example.com/") {
		return location
	}
	pairs := strings.Split(query, "&")
	slices.Sort(pairs)
	return page + "?" + strings.Join(pairs, "&")
}

func headerOf(h http.Header, name string) any {
	if v := h.Values(name); len(v) > 0 {
		return strings.Join(v, ", ")
	}
	return nil
}

func (r *replay) compareBody(want map[string]any, resp *response) error {
	got := string(resp.body)
	if strings.HasPrefix(got, "<!DOCTYPE html>") && want["type"] != "html" {
		got = "a page"
	}
	switch want["type"] {
	case nil, "empty":
		r.check("body", "", got)
	case "text":
		r.check("body", want["value"], got)
	case "json":
		var value any
		if err := json.Unmarshal(resp.body, &value); err != nil {
			value = "not JSON: " + got
		}
		r.checkExactly("body", want["value"], value)
	case "html":
		shown, err := page(got)
		if err != nil {
			return fmt.Errorf("HTML: %w", err)
		}
		r.applied[ownPages] = true
		r.check("page", comparedPage(want, want["errorText"] != nil), shown)
	default:
		return fmt.Errorf("unknown body %v", want["type"])
	}
	return nil
}

// checkExactly compares JSON bodies, and treats null and absent as different.
func (r *replay) checkExactly(at string, want, got any) {
	markNull := func(leaf any) any {
		if leaf == nil {
			return "null"
		}
		return leaf
	}
	r.check(at, copied(want, markNull), copied(got, markNull))
}

// compareCookies compares the Set-Cookie headers in order, and the attributes
// of each in order.
func (r *replay) compareCookies(want []recordedCookie, resp *response) {
	got := r.withoutTickets(resp.Header.Values("Set-Cookie"))
	if len(want) == 0 && (strings.Contains(resp.Header.Get("Location"), "error=") || strings.Contains(string(resp.body), "error=")) {
		got = r.withoutSpentChecks(got)
	}
	wanted := mapped(want, func(c recordedCookie) string { return c.Name })
	made := mapped(got, func(line string) string { return splitSetCookie(line).name })
	r.check("cookies", strings.Join(wanted, ", "), strings.Join(made, ", "))
	for _, c := range want {
		i := slices.Index(made, c.Name)
		if i < 0 {
			continue
		}
		_, line, _ := strings.Cut(got[i], "=")
		value, attributes, _ := strings.Cut(line, "; ")
		plain, err := url.PathUnescape(value)
		if err != nil || encodeURIComponent(plain) != value {
			r.found(diff{"cookie " + c.Name, "a value in the form of encodeURIComponent", r.values.show(value)})
		}
		r.check("cookie "+c.Name, c.Value, plain)
		if _, recorded := c.Attributes["maxAge"]; !recorded {
			attributes = r.withoutMaxAge(c.Name, attributes)
		}
		r.check("cookie "+c.Name+" attributes", setCookieAttributes(c.Attributes), attributes)
	}
	r.values.openChunks()
}

// withoutMaxAge removes Max-Age from the attributes of a session cookie, which
// has it beside Expires, and checks that both say one instant.
func (r *replay) withoutMaxAge(name, attributes string) string {
	found := sessionMaxAge.FindStringSubmatch(attributes)
	if found == nil {
		return attributes
	}
	seconds, _ := strconv.Atoi(found[1])
	at, err := time.Parse(http.TimeFormat, found[3])
	if left := at.Sub(r.now); err != nil || left < time.Duration(seconds)*time.Second || left > time.Duration(seconds+1)*time.Second {
		r.found(diff{"cookie " + name, "Max-Age and Expires that say one instant", attributes})
	}
	r.applied["The session cookie has Max-Age"] = true
	return found[2] + "Expires=" + found[3] + found[4]
}

var sessionMaxAge = regexp.MustCompile(`^Max-Age=([1-9]\d*); (.*)Expires=([^;]*)(.*)$`)

// withoutSpentChecks removes from the cookies of a failed callback those that
// delete check cookies of the request.
func (r *replay) withoutSpentChecks(cookies []string) []string {
	return slices.DeleteFunc(slices.Clone(cookies), func(line string) bool {
		name, rest, _ := strings.Cut(line, "=")
		spent := strings.HasPrefix(rest, "; Max-Age=0; ") && slices.Contains(r.sentCookies, name) && isCheckCookie(name)
		if spent {
			r.applied["The checks of a failed sign-in are deleted"] = true
		}
		return spent
	})
}

// dropTickets deletes the ticket if a scenario changes a check cookie, so that
// the check cookie is read.
func (r *replay) dropTickets(changed string) {
	if isCheckCookie(changed) {
		r.browser.cookies = slices.DeleteFunc(r.browser.cookies, func(c *http.Cookie) bool { return ticketCookie.MatchString(c.Name) })
	}
}

func isCheckCookie(name string) bool {
	return slices.ContainsFunc([]string{"state", "pkce", "nonce", "challenge"}, func(s string) bool { return strings.Contains(name, s) })
}

// setCookieAttributes writes recorded attributes in the form of a Set-Cookie
// header.
func setCookieAttributes(a map[string]any) string {
	var parts []string
	add := func(name, format string) {
		if v, ok := a[name]; ok && v != false {
			parts = append(parts, strings.ReplaceAll(format, "%", fmt.Sprint(v)))
		}
	}
	add("maxAge", "Max-Age=%")
	add("domain", "Domain=%")
	add("path", "Path=%")
	add("expires", "Expires=%")
	add("httpOnly", "HttpOnly")
	add("secure", "Secure")
	add("partitioned", "Partitioned")
	add("priority", "Priority=%")
	add("sameSite", "SameSite=%")
	return strings.Join(parts, "; ")
}

// encodeURIComponent is the JavaScript function of that name.
func encodeURIComponent(s string) string {
	s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
	for _, c := range []string{"!", "'", "(", ")", "*"} {
		s = strings.ReplaceAll(s, url.QueryEscape(c), c)
	}
	return s
}

// compareInternal compares a result that Auth.js did not turn into a response.
// Our result has the same parts in other types, so the response that it makes
// is compared.
func (r *replay) compareInternal(want map[string]any, resp *response) {
	if location, ok := want["redirect"]; ok {
		r.check("redirect", location, resp.Header.Get("Location"))
	}
	headers, _ := want["headers"].(map[string]any)
	for name, value := range headers {
		r.check("header "+strings.ToLower(name), value, headerOf(resp.Header, name))
	}
	if body, ok := want["body"]; ok {
		var got any
		if err := json.Unmarshal(resp.body, &got); err != nil {
			got = "not JSON: " + string(resp.body)
		}
		r.checkExactly("body", body, got)
	}
	var cookies []recordedCookie
	list, _ := want["cookies"].([]any)
	for _, c := range list {
		c := c.(map[string]any)
		options := c["options"].(map[string]any)
		if at, ok := options["expires"].(string); ok {
			options["expires"] = strings.ReplaceAll(at, "{{date:", "{{httpDate:")
		}
		if s, ok := options["sameSite"].(string); ok {
			options["sameSite"] = capital(s)
		}
		cookies = append(cookies, recordedCookie{Name: text(c, "name"), Value: text(c, "value"), Attributes: options})
	}
	r.compareCookies(cookies, resp)
}

// adapted rewrites recorded arguments, in place, for the differences between the
// two interfaces, which are the same everywhere:
//
//   - false and absent are the same, because Go has no undefined;
//   - with database sessions the session callback gets the session that the
//     client will see, with the ID of the owner, and the stored user beside it,
//     but not the session token;
//   - the adapter, not the core, assigns the ID of a new user;
//   - members of a user that the contract has no field for (role) are not stored,
//     and neither is the extra member of an account;
//   - a lifetime of zero equals no lifetime;
//   - a value that was recorded as it is but depends on a random value, such as
//     the hash of a hash, matches any value of its form.
func (r *replay) adapted(at, name string, args any) any {
	m, _ := args.(map[string]any)
	switch {
	case at == "adapter" && name == "useVerificationToken":
		key := object(items(args)[0])
		if randomHex.FindString(text(key, "token")) == key["token"] {
			r.unknownHashes++
			key["token"] = fmt.Sprintf("{{verificationTokenHash.unknown%d}}", r.unknownHashes)
		}
	case at == "callbacks" && name == "jwt", at == "events" && name == "signIn":
		if m["isNewUser"] == false {
			delete(m, "isNewUser")
		}
	case at == "adapter" && name == "createUser", at == "adapter" && name == "linkAccount":
		stored(object(items(args)[0]))
	case at == "callbacks" && name == "session":
		if s, ok := m["session"].(map[string]any); ok && s["sessionToken"] != nil {
			user, _ := s["user"].(map[string]any)
			if at, ok := s["expires"].(string); ok {
				at = strings.ReplaceAll(at, "{{date:", "{{iso:")
				s["expires"] = at
			}
			m["session"] = map[string]any{"expires": s["expires"], "userId": s["userId"], "user": pick(user, "name", "email", "image")}
		}
	}
	if account := object(m["account"]); account["expires_in"] == 0.0 {
		delete(account, "expires_in")
	}
	if at == "events" && name != "signOut" && r.store.used {
		stored(object(m["user"]))
	}
	return args
}

// stored removes the members of a user or an account for which the contract has
// no field.
func stored(row map[string]any) {
	for k := range row {
		if !slices.Contains(columns, k) {
			delete(row, k)
		}
	}
}

var columns = []string{
	"id", "name", "email", "emailVerified", "image",
	"userId", "type", "provider", "providerAccountId", "access_token", "refresh_token", "id_token", "scope", "token_type",
	"session_state", "expires_at", "authorization_details",
}

// copied returns a copy of a JSON value, without the members that are undefined.
// f gives the values that contain no others.
func copied(x any, f func(leaf any) any) any {
	switch x := x.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, v := range x {
			if v != "{{undefined}}" {
				out[k] = copied(v, f)
			}
		}
		return out
	case []any:
		return mapped(x, func(v any) any { return copied(v, f) })
	}
	return f(x)
}

package golden_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/gatehouse-go/gatehouse/auth"
)

// fix is a place where this module differs from Auth.js on purpose. Its
// function rewrites the recording of a step to the right behaviour, and reports
// whether it changed anything. The function therefore defines exactly what
// differs, also for exchanges that are recorded later.
type fix struct {
	// entry is the heading in docs/differences.md.
	entry   string
	rewrite func(r *replay, s *step) bool
}

// fixes are applied to each step before it is replayed, in this order.
var fixes = []fix{
	{"The error page links to the sign-in page", fixSignInLink},
	{"The query does not reach the page", fixPageOverrides},
	{"The session callback gets every update", fixUpdateToSessionCallback},
	{"The token is stored before the mail is sent", fixMailOrder},
	{"A sign-in that can't be started leads to the sign-in page", fixSignInErrors},
	{"Addresses are normalised more strictly", fixOddAddresses},
	{"A sign-in by e-mail replaces the session of the browser", fixReplacedSession},
	{"An extended session shows its new expiry", fixExtendedExpiry},
	{"A rotation of secrets keeps tokens valid", fixRotatedCSRF},
	{"Error URLs are well-formed", fixCustomPageQuery},
	{"The base path has no slash at its end", fixRootBasePath},
	{"Linking an account tells of no new user", fixNoUserCreated},
	{"User and account are stored together", fixToldAfterStored},
	{"An address needs a proof", fixLookedAtAgain},
	{"User and account are stored together", fixUndoneUser},
	{"A refusal takes the same time for every address", fixPatientRefusal},
	{"Configured parameters are sorted", fixParameterOrder},
	{"Without an adapter a person has the same ID at each sign-in", fixStableSubject},
	{"A session that can't be read has not ended", fixUnreadSession},
	{"A page with a CSRF token is not stored", fixUnstoredToken},
	{"An error is logged once, by its type", fixLoggedOnce},
	{"A missing secret is called MissingSecretError", fixMissingSecret},
	{"An account names its owner", fixAccountOwner},
	{"The first proof of an address stays", fixFirstProof},
	{"HEAD is answered, and other methods get status 405", fixMethods},
}

func fixMethods(r *replay, s *step) bool {
	switch method := s.Request.Method; {
	case method == "" || method == http.MethodGet || method == http.MethodPost:
		return false
	case method != http.MethodHead:
		s.Response.Status, s.Response.Headers["allow"] = http.StatusMethodNotAllowed, "GET, HEAD, POST"
		s.Response.Body["value"] = "Method not allowed."
		return true
	}
	s.Response.Status, s.Logs = http.StatusOK, nil
	if action, _ := r.path(s); action == "session" {
		maps.Copy(s.Response.Headers, notCached)
	}
	s.Response.Body = nil
	return true
}

// notCached are the headers of a session.
var notCached = map[string]string{"cache-control": "private, no-cache, no-store", "expires": "0", "pragma": "no-cache"}

func items(x any) []any {
	l, _ := x.([]any)
	return l
}

func object(x any) map[string]any {
	m, _ := x.(map[string]any)
	return m
}

// path returns the action and the provider in the path of a request.
func (r *replay) path(s *step) (action, provider string) {
	u, err := url.Parse(s.Request.URL)
	if err != nil {
		return "", ""
	}
	segments := strings.Split(strings.Trim(strings.TrimPrefix(u.Path, r.basePath()), "/"), "/")
	if len(segments) > 1 {
		provider = segments[1]
	}
	return segments[0], provider
}

func (r *replay) basePath() string {
	var s string
	if json.Unmarshal(r.config["basePath"], &s) != nil || s == "" {
		return "/auth"
	}
	return s
}

func fixSignInLink(r *replay, s *step) bool {
	changed := false
	for _, l := range items(s.Response.Body["links"]) {
		link := object(l)
		if href := text(link, "href"); href == s.Request.URL+"/signin" {
			u, err := url.Parse(s.Request.URL)
			if err != nil {
				return false
			}
			link["href"] = u.Scheme + "://" + u.Host + strings.TrimSuffix(r.basePath(), "/") + "/signin"
			changed = true
		}
	}
	return changed
}

func fixMailOrder(_ *replay, s *step) bool {
	mail, token := slices.Index(s.Trace, "email.send"), slices.Index(s.Trace, "adapter.createVerificationToken")
	if mail < 0 || token < mail {
		return false
	}
	s.Trace = slices.Delete(s.Trace, mail, mail+1)
	for _, c := range s.AdapterCalls {
		if c.Method == "createVerificationToken" && c.Throws != nil {
			s.Emails = nil
			return true
		}
	}
	s.Trace = slices.Insert(s.Trace, token, "email.send")
	return true
}

func fixPageOverrides(r *replay, s *step) bool {
	u, err := url.Parse(s.Request.URL)
	if err != nil {
		return false
	}
	changed := false
	for _, f := range items(s.Response.Body["forms"]) {
		for _, i := range items(object(f)["inputs"]) {
			input := object(i)
			name := text(input, "name")
			given := u.Query().Get(name)
			if given == "" || input["type"] != "hidden" || input["value"] != given {
				continue
			}
			right := "{{csrfToken}}"
			if name == "callbackUrl" {
				right = r.callbackURLAfter(s)
			}
			changed = changed || right != given
			input["value"] = right
		}
	}
	return changed
}

// callbackURLAfter returns the callback URL that the browser has after a step.
func (r *replay) callbackURLAfter(s *step) string {
	name := r.callbackCookie(s)
	for _, c := range s.Response.SetCookies {
		if c.Name == name {
			return c.Value
		}
	}
	if i := r.browser.find(name); i >= 0 {
		if v, err := url.PathUnescape(r.browser.cookies[i].Value); err == nil {
			return v
		}
	}
	return r.scenario.Origin
}

func fixUpdateToSessionCallback(_ *replay, s *step) bool {
	var update map[string]any
	for _, c := range s.CallbackCalls {
		if args := object(c.Args); c.Callback == "jwt" && args["trigger"] == "update" {
			update = args
		}
	}
	if update == nil {
		return false
	}
	changed := false
	for _, c := range s.CallbackCalls {
		if args := object(c.Args); c.Callback == "session" && args["trigger"] == nil {
			args["trigger"], args["newSession"] = "update", update["session"]
			changed = true
		}
	}
	return changed
}

// ofLibrary reports whether a recorded error has one of the library's types.
func ofLibrary(name string) bool { return !slices.Contains(foreignErrors, name) }

var foreignErrors = []string{"Error", "TypeError", "SyntaxError", "OperationProcessingError"}

func fixSignInErrors(r *replay, s *step) bool {
	action, id := r.path(s)
	if action != "signin" || s.Request.Method != http.MethodPost || len(s.Logs) != 1 || ofLibrary(s.Logs[0].Type) {
		return false
	}
	switch r.providerType(id) {
	case auth.TypeEmail:
		s.Logs[0].Type = string(auth.ErrEmailSignIn)
	case auth.TypeOAuth, auth.TypeOIDC:
		s.Logs[0].Type = string(auth.ErrOAuthSignIn)
	default:
		return false
	}
	s.Response.Headers["location"] = strings.Replace(s.Response.Headers["location"], "/error?", "/signin?", 1)
	return true
}

// providerType returns the type of a provider of the configuration.
func (r *replay) providerType(id string) auth.ProviderType {
	var all []struct {
		ID          string
		Type        auth.ProviderType
		WrapOptions struct{ ID string }
	}
	if json.Unmarshal(r.config["providers"], &all) != nil {
		return ""
	}
	for _, p := range all {
		if p.ID == id || p.WrapOptions.ID == id {
			return p.Type
		}
	}
	return ""
}

// oddAddress reports whether s contains a character that no address may
// contain.
func oddAddress(s string) bool {
	return strings.ContainsFunc(strings.TrimSpace(s), func(c rune) bool {
		return strings.ContainsRune("\"<>()[],;:\\", c) || unicode.IsSpace(c) || unicode.IsControl(c)
	})
}

func fixOddAddresses(r *replay, s *step) bool {
	action, id := r.path(s)
	if action != "signin" || r.providerType(id) != auth.TypeEmail || s.Request.Body == nil || len(s.Emails) == 0 {
		return false
	}
	var email string
	for _, f := range s.Request.Body.Fields {
		if f[0] == "email" {
			email = f[1]
		}
	}
	if !oddAddress(email) {
		return false
	}
	for _, c := range s.AdapterCalls {
		if c.Method == "createVerificationToken" {
			token := object(items(c.Args)[0])["token"]
			r.unstored("verificationTokens", func(row map[string]any) bool { return row["token"] == token })
		}
	}
	s.Trace, s.AdapterCalls, s.CallbackCalls, s.Emails = nil, nil, nil, nil
	s.Logs = []recordedLog{{Level: "error", Type: string(auth.ErrEmailSignIn)}}
	s.Response.Headers["location"] = r.scenario.Origin + r.basePath() + "/signin?error=Configuration"
	return true
}

// unstored removes rows from the store that is expected at the end.
func (r *replay) unstored(table string, fits func(map[string]any) bool) {
	final := r.scenario.FinalStore
	if final == nil {
		return
	}
	rows := map[string]*[]map[string]any{"users": &final.Users, "sessions": &final.Sessions, "verificationTokens": &final.VerificationTokens}[table]
	*rows = slices.DeleteFunc(*rows, fits)
}

func fixReplacedSession(r *replay, s *step) bool {
	index := func(method string) int {
		return slices.IndexFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == method })
	}
	use, read := index("useVerificationToken"), index("getSessionAndUser")
	if use < 0 || read < 0 || s.AdapterCalls[read].Result == nil || index("deleteSession") >= 0 {
		return false
	}
	token := items(s.AdapterCalls[read].Args)[0]
	for i := read; i < len(s.AdapterCalls); i++ {
		if s.AdapterCalls[i].Method == "getUserByEmail" {
			s.AdapterCalls = slices.Insert(s.AdapterCalls, i+1, recordedCall{Method: "deleteSession", Args: []any{token}})
			break
		}
	}
	last := len(s.Trace) - 1
	for last >= 0 && s.Trace[last] != "adapter.getUserByEmail" {
		last--
	}
	s.Trace = slices.Insert(s.Trace, last+1, "adapter.deleteSession")
	r.unstored("sessions", func(row map[string]any) bool { return row["sessionToken"] == token })
	return true
}

func fixExtendedExpiry(_ *replay, s *step) bool {
	var expires any
	for _, c := range s.AdapterCalls {
		if c.Method == "updateSession" {
			expires = object(items(c.Args)[0])["expires"]
		}
	}
	at, ok := expires.(string)
	body := object(s.Response.Body["value"])
	if !ok || body["expires"] == nil {
		return false
	}
	iso := strings.ReplaceAll(at, "{{date:", "{{iso:")
	body["expires"] = iso
	for _, c := range s.CallbackCalls {
		if session := object(object(c.Args)["session"]); session != nil {
			session["expires"] = at
		}
	}
	for _, e := range s.Events {
		if session := object(object(e.Message)["session"]); session != nil {
			session["expires"] = iso
		}
	}
	return true
}

func fixRotatedCSRF(r *replay, s *step) bool {
	i := slices.IndexFunc(s.Response.SetCookies, func(c recordedCookie) bool { return strings.HasSuffix(c.Name, "authjs.csrf-token") })
	if i < 0 || s.Request.CookieSource != "" {
		return false
	}
	held := r.browser.find(s.Response.SetCookies[i].Name)
	if held < 0 {
		return false
	}
	value, err := url.PathUnescape(r.browser.cookies[held].Value)
	if err != nil {
		return false
	}
	token, hash, _ := strings.Cut(value, "|")
	valid := slices.ContainsFunc(r.secretsNow(), func(secret string) bool { return sha256Hex(token+secret) == hash })
	if !valid {
		return false
	}
	s.Response.SetCookies = slices.Delete(s.Response.SetCookies, i, i+1)
	return true
}

func fixCustomPageQuery(_ *replay, s *step) bool {
	location := s.Response.Headers["location"]
	fixed := strings.TrimSuffix(strings.TrimSuffix(location, "?error=undefined"), "&error=undefined")
	if page, rest, ok := strings.Cut(fixed, "?"); ok && strings.Contains(rest, "?error=") {
		fixed = page + "?" + strings.Replace(rest, "?error=", "&error=", 1)
	}
	if fixed == location {
		return false
	}
	s.Response.Headers["location"] = fixed
	return true
}

func fixRootBasePath(r *replay, s *step) bool {
	changed := false
	single := func(leaf any) any {
		text, ok := leaf.(string)
		if !ok {
			return leaf
		}
		fixed := strings.ReplaceAll(text, r.scenario.Origin+"//", r.scenario.Origin+"/")
		changed = changed || fixed != text
		return fixed
	}
	if !slices.Contains([]string{"/", `""`, `"/"`}, string(r.config["basePath"])) && !strings.Contains(s.Request.URL, r.scenario.Origin+"/providers") {
		return false
	}
	s.Response.Body = object(copied(s.Response.Body, single))
	for name, value := range s.Response.Headers {
		s.Response.Headers[name] = single(value).(string)
	}
	return changed
}

func (r *replay) callbackCookie(s *step) string {
	if strings.HasPrefix(s.Request.URL, "https:") {
		return "__Secure-authjs.callback-url"
	}
	return "authjs.callback-url"
}

func fixLoggedOnce(_ *replay, s *step) bool {
	n := len(s.Logs)
	for i := len(s.Logs) - 2; i >= 0; i-- {
		if s.Logs[i].Type == string(auth.ErrAdapter) {
			s.Logs = slices.Delete(s.Logs, i, i+1)
		}
	}
	return len(s.Logs) != n
}

func fixStableSubject(r *replay, s *step) bool {
	if raw, ok := r.config["adapter"]; ok && string(raw) != "null" {
		return false
	}
	for _, c := range s.CallbackCalls {
		args := object(c.Args)
		user, account := object(args["user"]), object(args["account"])
		kind := auth.ProviderType(text(account, "type"))
		name := placeholder.FindStringSubmatch(text(user, "id"))
		if c.Callback != "signIn" || name == nil || kind != auth.TypeOAuth && kind != auth.TypeOIDC {
			continue
		}
		key := text(account, "provider") + " " + text(account, "providerAccountId")
		if first, ok := r.subjects[key]; ok {
			r.values.own[name[1]] = r.values.own[first]
		} else {
			r.subjects[key] = name[1]
		}
		return true
	}
	return false
}

func fixNoUserCreated(_ *replay, s *step) bool {
	i := slices.Index(s.Trace, "event.createUser")
	if i < 0 || slices.Contains(s.Trace, "adapter.createUser") {
		return false
	}
	s.Trace = slices.Delete(s.Trace, i, i+1)
	s.Events = slices.DeleteFunc(s.Events, func(e recordedEvent) bool { return e.Event == "createUser" })
	return true
}

func fixToldAfterStored(_ *replay, s *step) bool {
	told, linked := slices.Index(s.Trace, "event.createUser"), slices.Index(s.Trace, "adapter.linkAccount")
	if told < 0 || linked < told {
		return false
	}
	s.Trace = slices.Delete(s.Trace, told, told+1)
	failed := slices.ContainsFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == "linkAccount" && c.Throws != nil })
	if failed {
		s.Events = slices.DeleteFunc(s.Events, func(e recordedEvent) bool { return e.Event == "createUser" })
	} else {
		s.Trace = slices.Insert(s.Trace, linked, "event.createUser")
	}
	return true
}

func fixLookedAtAgain(r *replay, s *step) bool {
	i := slices.IndexFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == "linkAccount" && c.Throws == nil })
	if i < 0 {
		return false
	}
	id := object(items(s.AdapterCalls[i].Args)[0])["userId"]
	var user map[string]any
	for _, c := range s.AdapterCalls[:i] {
		if c.Method == "createUser" && slices.Contains([]string{"", "{{undefined}}"}, text(object(items(c.Args)[0]), "email")) {
			return false
		}
		for _, u := range []any{c.Result, object(c.Result)["user"]} {
			if u := object(u); u["id"] == id && u["id"] != nil {
				user = u
			}
		}
	}
	if user == nil || user["emailVerified"] != nil || text(user, "email") == "" {
		return false
	}
	s.AdapterCalls = slices.Insert(s.AdapterCalls, i+1, recordedCall{Method: "getUser", Args: []any{id}, Result: user})
	at := slices.Index(s.Trace, "adapter.linkAccount")
	s.Trace = slices.Insert(s.Trace, at+1, "adapter.getUser")
	return true
}

func fixUndoneUser(r *replay, s *step) bool {
	var created any
	for _, c := range s.AdapterCalls {
		switch {
		case c.Method == "createUser" && c.Result != nil:
			created = object(c.Result)["id"]
		case c.Method == "linkAccount" && c.Throws != nil && created != nil:
			s.AdapterCalls = append(s.AdapterCalls,
				recordedCall{Method: "getUserByAccount", Args: s.AdapterCalls[0].Args}, recordedCall{Method: "deleteUser", Args: []any{created}})
			i := slices.Index(s.Trace, "adapter.linkAccount")
			s.Trace = slices.Insert(s.Trace, i+1, "adapter.getUserByAccount", "adapter.deleteUser")
			r.unstored("users", func(row map[string]any) bool { return row["id"] == created })
			return true
		}
	}
	return false
}

func fixPatientRefusal(_ *replay, s *step) bool {
	n := len(s.AdapterCalls)
	if !slices.ContainsFunc(s.Logs, func(l recordedLog) bool { return l.Type == string(auth.ErrOAuthAccountNotLinked) }) || n < 2 {
		return false
	}
	first := slices.IndexFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == "getUserByAccount" })
	again := []recordedCall{s.AdapterCalls[first], s.AdapterCalls[n-1]}
	if again[1].Method != "getUserByEmail" {
		return false
	}
	last := slices.Index(s.Trace, "adapter.getUserByEmail") + 1
	for range 4 {
		s.AdapterCalls = append(s.AdapterCalls, again...)
		s.Trace = slices.Insert(s.Trace, last, "adapter.getUserByAccount", "adapter.getUserByEmail")
	}
	return true
}

func fixParameterOrder(r *replay, s *step) bool {
	location := s.Response.Headers["location"]
	base, query, _ := strings.Cut(location, "?")
	configured, rest, ok := strings.Cut(query, "&response_type=code&")
	if !ok || !strings.Contains(string(r.config["providers"]), `"params"`) {
		return false
	}
	params := strings.Split(configured, "&")
	slices.Sort(params)
	s.Response.Headers["location"] = base + "?" + strings.Join(params, "&") + "&response_type=code&" + rest
	return s.Response.Headers["location"] != location
}

// secretsNow returns the secrets in use at this step, also joined by commas.
func (r *replay) secretsNow() []string {
	c, err := r.configured()
	if err != nil {
		return nil
	}
	return append(slices.Clone(c.Secret), strings.Join(c.Secret, ","))
}

// fixUnreadSession: a callback or an adapter that fails while a session is read
// does not end the session.
func fixUnreadSession(r *replay, s *step) bool {
	action, _ := r.path(s)
	failed := func(c recordedCall) bool { return c.Throws != nil }
	if action != "session" || s.Response.Status != http.StatusOK || !slices.ContainsFunc(s.CallbackCalls, failed) && !slices.ContainsFunc(s.AdapterCalls, failed) {
		return false
	}
	s.Response.Status = http.StatusServiceUnavailable
	s.Response.Headers["retry-after"] = "5"
	if s.Request.Method == http.MethodPost {
		maps.Copy(s.Response.Headers, notCached)
	}
	s.Response.Body = map[string]any{"type": "json", "value": map[string]any{"message": "The session could not be read. Try again."}}
	s.Response.SetCookies = slices.DeleteFunc(s.Response.SetCookies, func(c recordedCookie) bool { return strings.Contains(c.Name, "session-token") })
	return true
}

// fixUnstoredToken: no cache stores a page whose forms have a token.
func fixUnstoredToken(_ *replay, s *step) bool {
	for _, form := range items(s.Response.Body["forms"]) {
		for _, input := range items(object(form)["inputs"]) {
			if input := object(input); input["name"] == "csrfToken" && text(input, "value") != "" {
				s.Response.Headers["cache-control"] = "private, no-store"
				return true
			}
		}
	}
	return false
}

func fixMissingSecret(_ *replay, s *step) bool {
	changed := false
	for i := range s.Logs {
		if s.Logs[i].Type == "MissingSecret" {
			s.Logs[i].Type, changed = string(auth.ErrMissingSecret), true
		}
	}
	return changed
}

func fixAccountOwner(r *replay, s *step) bool {
	changed := false
	set := func(account map[string]any, owner any) {
		before := account["userId"]
		if owner == nil {
			delete(account, "userId")
		} else {
			account["userId"] = owner
		}
		changed = changed || before != owner
	}
	for _, c := range s.CallbackCalls {
		args := object(c.Args)
		account, user := object(args["account"]), object(args["user"])
		if account == nil || user == nil {
			continue
		}
		owner := user["id"]
		if kind := account["type"]; c.Callback == "signIn" && r.store != nil && kind != "credentials" {
			asked := cmp.Or(map[any]string{"email": "getUserByEmail"}[kind], "getUserByAccount")
			if i := slices.IndexFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == asked }); i >= 0 && s.AdapterCalls[i].Result == nil {
				owner = nil // nobody has it yet
			}
		}
		set(account, owner)
	}
	for _, e := range s.Events {
		message := object(e.Message)
		if account, user := object(message["account"]), object(message["user"]); account != nil && user != nil {
			set(account, user["id"])
		}
	}
	return changed
}

// fixFirstProof: the date of the first proof stays.
func fixFirstProof(r *replay, s *step) bool {
	use := slices.IndexFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == "useVerificationToken" })
	update := slices.IndexFunc(s.AdapterCalls, func(c recordedCall) bool { return c.Method == "updateUser" })
	if use < 0 || update < 0 {
		return false
	}
	var found map[string]any
	for _, c := range s.AdapterCalls[:update] {
		if c.Method == "getUserByEmail" {
			found = object(c.Result)
		}
	}
	if found["emailVerified"] == nil {
		return false
	}
	moved, first := object(items(s.AdapterCalls[update].Args)[0])["emailVerified"], found["emailVerified"]
	s.AdapterCalls = slices.Delete(s.AdapterCalls, update, update+1)
	s.Trace = slices.DeleteFunc(s.Trace, func(line string) bool { return line == "adapter.updateUser" || line == "event.updateUser" })
	s.Events = slices.DeleteFunc(s.Events, func(e recordedEvent) bool { return e.Event == "updateUser" })
	for i := r.step; i < len(r.scenario.Steps); i++ {
		later := &r.scenario.Steps[i]
		for _, c := range later.AdapterCalls {
			notMoved(c.Result, moved, first)
		}
		for _, c := range later.CallbackCalls {
			notMoved(c.Args, moved, first)
		}
		for _, e := range later.Events {
			notMoved(e.Message, moved, first)
		}
	}
	if final := r.scenario.FinalStore; final != nil {
		for _, row := range final.Users {
			notMoved(row, moved, first)
		}
	}
	return true
}

// notMoved sets each emailVerified that has the one value to the other.
func notMoved(x, moved, first any) {
	switch x := x.(type) {
	case map[string]any:
		if x["emailVerified"] == moved {
			x["emailVerified"] = first
		}
		for _, v := range x {
			notMoved(v, moved, first)
		}
	case []any:
		for _, v := range x {
			notMoved(v, moved, first)
		}
	}
}

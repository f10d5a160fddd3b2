package devprovider

import (
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"log"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// grant is the permission that a client gets when a person is chosen.
type grant struct {
	person           Person
	scopes           []string
	nonce, challenge string
	at               time.Time
	// token is the access token that the code was exchanged for. It is empty
	// while the code has not been used. issued is its time of issue.
	token  string
	issued time.Time
}

// authorize shows the persons to choose from. When one is chosen, it sends the
// browser back with a code. RFC 6749 section 4.1, OpenID Connect Core 1.0
// section 3.1.2.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "The request can't be read.", http.StatusBadRequest)
		return
	}
	// For another client or another address, the browser is not sent back.
	if !slices.Equal(r.Form["client_id"], []string{ID}) || !slices.Equal(r.Form["redirect_uri"], []string{p.redirectURI}) {
		http.Error(w, "The client_id or the redirect_uri is not the registered one.", http.StatusBadRequest)
		return
	}
	if code, description := problem(r.Form); code != "" {
		p.sendBack(w, r, url.Values{"error": {code}, "error_description": {description}})
		return
	}
	chosen := r.PostForm.Get("person")
	i := slices.IndexFunc(p.people, func(known Person) bool { return known.ID == chosen })
	switch {
	case r.PostForm.Has("cancel"):
		p.sendBack(w, r, url.Values{"error": {"access_denied"}})
	case i >= 0:
		p.sendBack(w, r, url.Values{"code": {p.grant(p.people[i], r.Form)}})
	default:
		p.choose(w, r)
	}
}

// problem returns the error code for a wrong request of the client, and a
// description.
func problem(q url.Values) (code, description string) {
	for name, values := range q {
		if len(values) > 1 {
			return "invalid_request", name + " appears twice"
		}
	}
	mode := q.Get("response_mode")
	switch {
	case q.Has("request"):
		return "request_not_supported", ""
	case q.Has("request_uri"):
		return "request_uri_not_supported", ""
	case q.Get("response_type") != "code":
		return "unsupported_response_type", "only code is supported"
	case mode != "" && mode != "query":
		return "invalid_request", "only the response_mode query is supported"
	case !slices.Contains(strings.Fields(q.Get("scope")), "openid"):
		return "invalid_scope", "the scope openid is missing"
	case len(q.Get("code_challenge")) != base64.RawURLEncoding.EncodedLen(sha256.Size) || q.Get("code_challenge_method") != "S256":
		return "invalid_request", "PKCE with S256 is required"
	case slices.Contains(strings.Fields(q.Get("prompt")), "none"):
		return "interaction_required", ""
	}
	return "", ""
}

// grant makes a code, and removes expired grants.
func (p *Provider) grant(to Person, q url.Values) string {
	g := &grant{person: to, scopes: strings.Fields(q.Get("scope")), nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), at: time.Now()}
	code := rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	old := func(_ string, g *grant) bool { return time.Since(g.at) > codeLifetime+tokenLifetime }
	maps.DeleteFunc(p.codes, old)
	maps.DeleteFunc(p.tokens, old)
	p.codes[code] = g
	return code
}

// sendBack sends the browser back to the client.
func (p *Provider) sendBack(w http.ResponseWriter, r *http.Request, answer url.Values) {
	answer.Set("iss", p.issuer)
	if r.Form.Has("state") {
		answer.Set("state", r.Form.Get("state"))
	}
	w.Header().Set("Location", p.redirectURI+"?"+answer.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

var (
	//go:embed choose.html
	chooser string
	page    = template.Must(template.New("").Parse(chooser))
	policy  = func() string {
		_, style, _ := strings.Cut(chooser, "<style>")
		style, _, _ = strings.Cut(style, "</style>")
		hash := sha256.Sum256([]byte(style))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) + "'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
	}()
)

func (p *Provider) choose(w http.ResponseWriter, r *http.Request) {
	back, _ := url.Parse(p.redirectURI) // New has parsed it before
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	// Browsers apply form-action to the redirect to the client too.
	h.Set("Content-Security-Policy", policy+" "+back.Scheme+"://"+back.Host)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	q := maps.Clone(r.Form)
	q.Del("person")
	if err := page.Execute(w, map[string]any{"Action": "?" + q.Encode(), "People": p.people, "Client": back.Host}); err != nil {
		log.Print("devprovider: ", err)
	}
}

// Package devprovider is an OpenID provider for development. It runs within a
// site on this machine. It shows a few invented persons, and the visitor picks
// one.
//
// It checks nobody's identity. It therefore works only if the environment has
// the switch that New names, only on a loopback host, and answers no request that
// comes from another machine, through a proxy, or under another host name. In all other respects it follows OpenID Connect:
// discovery, the code flow with PKCE, nonce, and codes that are valid once and
// for one minute. New makes the keys and the client secret, so a sign-in that
// is in progress does not survive a restart.
package devprovider

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gatehouse-go/gatehouse/auth"
)

// ID is the ID of the provider that OAuth returns. It is the last segment of
// the callback URL.
const ID = "development"

// Switch is the name of the environment variable that turns the provider on. Its
// value must be on.
const Switch = "GATEHOUSE_DEVPROVIDER"

const (
	codeLifetime  = time.Minute
	tokenLifetime = 5 * time.Minute
	// maxBody is the size in bytes of the largest form that is read.
	maxBody = 64 << 10
)

// Person is a person that a visitor can pick.
type Person struct {
	// ID is the claim sub. Required, and unique.
	ID   string
	Name string
	// Email may be empty, as at providers that send no addresses.
	Email string
	// Picture is a URL, or empty.
	Picture string
}

// Provider is the handler of all endpoints of the provider. It is safe for
// concurrent use.
type Provider struct {
	issuer, host, redirectURI, clientSecret string
	people                                  []Person
	key                                     jose.JSONWebKey
	mux                                     *http.ServeMux

	mu     sync.Mutex
	codes  map[string]*grant
	tokens map[string]*grant
}

// New makes a provider with one client. The issuer is the URL that the provider
// is mounted at, such as http://localhost:3000/dev; redirectURI is the callback
// URL of the client, such as http://localhost:3000/auth/callback/development.
// Both must be on a loopback host. The environment must have
// GATEHOUSE_DEVPROVIDER=on, which no other machine than a developer's should
// have.
func New(issuer, redirectURI string, people ...Person) (*Provider, error) {
	if os.Getenv(Switch) != "on" {
		return nil, errors.New("devprovider: anybody can sign in as anybody with the development provider; on the machine of a developer, set " + Switch + "=on")
	}
	issuer = strings.TrimSuffix(issuer, "/")
	u, err := loopbackURL(issuer)
	if err != nil {
		return nil, err
	}
	if _, err := loopbackURL(redirectURI); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, p := range people {
		if p.ID == "" || seen[p.ID] {
			return nil, fmt.Errorf("devprovider: the ID %q of %q is empty or is not unique", p.ID, p.Name)
		}
		seen[p.ID] = true
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		issuer: issuer, host: u.Host, redirectURI: redirectURI, clientSecret: rand.Text(), people: people,
		key:   jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.RS256), Use: "sig"},
		mux:   http.NewServeMux(),
		codes: map[string]*grant{}, tokens: map[string]*grant{},
	}
	p.mux.HandleFunc("GET "+u.Path+"/.well-known/openid-configuration", p.metadata)
	p.mux.HandleFunc("GET "+u.Path+"/jwks", p.keys)
	p.mux.HandleFunc("GET "+u.Path+"/authorize", p.authorize)
	p.mux.HandleFunc("POST "+u.Path+"/authorize", p.authorize)
	p.mux.HandleFunc("POST "+u.Path+"/token", p.token)
	p.mux.HandleFunc("GET "+u.Path+"/userinfo", p.userInfo)
	p.mux.HandleFunc("POST "+u.Path+"/userinfo", p.userInfo)
	return p, nil
}

// OAuth returns the configuration of the client.
func (p *Provider) OAuth() *auth.OAuth {
	return &auth.OAuth{
		ID: ID, Name: "Development", Type: auth.TypeOIDC,
		Issuer: p.issuer, ClientID: ID, ClientSecret: p.clientSecret,
		Checks: []auth.Check{auth.CheckState, auth.CheckPKCE, auth.CheckNonce},
	}
}

// ServeHTTP serves every path below the path of the issuer.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !p.local(r) {
		http.Error(w, "The development provider is only for this machine.", http.StatusForbidden)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	p.mux.ServeHTTP(w, r)
}

// local reports whether a request comes from this machine, directly and under
// the host name of the issuer.
func (p *Provider) local(r *http.Request) bool {
	return r.RemoteAddr != "" && r.Host == p.host && auth.FromThisMachine(r)
}

// metadata serves OpenID Connect Discovery 1.0 section 3.
func (p *Provider) metadata(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer":                                p.issuer,
		"authorization_endpoint":                p.issuer + "/authorize",
		"token_endpoint":                        p.issuer + "/token",
		"userinfo_endpoint":                     p.issuer + "/userinfo",
		"jwks_uri":                              p.issuer + "/jwks",
		"response_types_supported":              []string{"code"},
		"response_modes_supported":              []string{"query"},
		"grant_types_supported":                 []string{"authorization_code"},
		"subject_types_supported":               []string{"public"},
		"scopes_supported":                      []string{"openid", "profile", "email"},
		"claims_supported":                      []string{"sub", "name", "picture", "email", "email_verified"},
		"id_token_signing_alg_values_supported": []string{string(jose.RS256)},
		"token_endpoint_auth_methods_supported": []string{"client_secret_basic"},
		"code_challenge_methods_supported":      []string{"S256"},
		"request_uri_parameter_supported":       false,
		// RFC 9207.
		"authorization_response_iss_parameter_supported": true,
	})
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{p.key.Public()}})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		log.Print("devprovider: ", err)
	}
}

func loopbackURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("devprovider: issuer and redirect URI must be URLs without query")
	}
	if !isLoopback(u.Hostname()) {
		return nil, fmt.Errorf("devprovider: %s is not a host of this machine; the development provider serves this machine only", u.Host)
	}
	return u, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

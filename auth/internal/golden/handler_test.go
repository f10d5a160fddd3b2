package golden_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
)

// madeHandler is the result of New for a configuration, with the state that the
// replay needs.
type madeHandler struct {
	handler       *auth.Handler
	err           error
	callbacks     map[string]*recordedCallback
	failingEvents []string
}

func (r *replay) clock() time.Time { return r.now }

// answerOfHandler serves a request as a server does: the URL has no origin, and
// the connection says whether it is TLS. It compiles each configuration once.
// If New refuses a configuration, Auth must refuse it for the same reason; the
// response is then Auth's.
func (r *replay) answerOfHandler(hr *http.Request, c auth.Config) (*http.Response, error) {
	encoded, err := json.Marshal([]any{r.config, hr.URL.Host, r.env})
	if err != nil {
		return nil, err
	}
	made := r.handlers[string(encoded)]
	if made == nil {
		if c.TrustHost == nil { // Auth trusts no host by default
			c.TrustHost = new(false)
			r.applied["A handler trusts the host of its own machine"] = true
		}
		made = &madeHandler{callbacks: r.callbacks, failingEvents: r.failingEvents}
		made.handler, made.err = auth.New(c)
		r.handlers[string(encoded)] = made
	}
	if made.err != nil {
		resp := auth.Auth(hr, c)
		refused := len(r.rec.errorTypes) > 0 && resp.StatusCode == http.StatusInternalServerError
		if !refused || r.rec.errorTypes[0] != string(auth.ErrUntrustedHost) && !errors.Is(made.err, auth.ErrorType(r.rec.errorTypes[0])) {
			return nil, fmt.Errorf("New refuses the configuration, Auth answers %d and logs %q: %w", resp.StatusCode, r.rec.errorTypes, made.err)
		}
		return resp, nil
	}
	r.callbacks, r.failingEvents = made.callbacks, made.failingEvents
	served := hr.Clone(hr.Context())
	served.RemoteAddr, served.RequestURI = "192.0.2.1:4000", hr.URL.RequestURI()
	if hr.URL.Scheme == "https" {
		served.TLS = &tls.ConnectionState{HandshakeComplete: true}
	}
	served.URL.Scheme, served.URL.Host = "", ""
	w := httptest.NewRecorder()
	made.handler.ServeHTTP(w, served)
	return w.Result(), nil
}

// addCachedMetadata adds a request for the metadata of the identity provider to
// what happened, where our handler used its cache and Auth.js requests the
// metadata again.
func (r *replay) addCachedMetadata(s *step) {
	isFetch := func(line string) bool {
		return strings.HasPrefix(line, "idp.GET") && strings.HasSuffix(line, metadataPath)
	}
	fetched := slices.ContainsFunc(r.rec.trace, isFetch)
	if r.viaNew && r.hasMetadata && !fetched {
		i := slices.IndexFunc(s.IDPCalls, func(c recordedIDPCall) bool { return strings.HasSuffix(c.URL, metadataPath) })
		j := slices.IndexFunc(s.Trace, isFetch)
		if i >= 0 && j >= 0 {
			at := slices.IndexFunc(r.rec.trace, func(line string) bool { return strings.HasPrefix(line, "idp.") })
			if at < 0 {
				at = min(j, len(r.rec.trace))
			}
			r.rec.trace = slices.Insert(r.rec.trace, at, s.Trace[j])
			r.rec.idpCalls = slices.Insert(r.rec.idpCalls, min(i, len(r.rec.idpCalls)), s.IDPCalls[i].wanted())
			r.applied["Metadata of an issuer is kept for an hour"] = true
		}
	}
	r.hasMetadata = r.hasMetadata || fetched
}

// requestURL returns the whole URL of a request. A server gets its parts.
func requestURL(hr *http.Request) string {
	u := *hr.URL
	if u.Host == "" {
		u.Scheme, u.Host = "http", hr.Host
		if hr.TLS != nil {
			u.Scheme = "https"
		}
	}
	return u.String()
}

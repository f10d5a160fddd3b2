package auth

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// Require passes a request to next only if its browser is signed in. It calls
// Load, so that FromContext returns the session. It answers other requests with
// SendToSignIn. If the session can't be read, it answers with status 503: a
// failure never means that nobody is signed in. No shared cache may store what
// next answers, see KeepPrivate.
func (h *Handler) Require(next http.Handler) http.Handler {
	next = Private(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r, err := h.Load(w, r)
		switch {
		case err != nil:
			h.engine.look.unavailable(w, r)
		case h.loaded(r.Context()).nobody():
			h.SendToSignIn(w, r)
		default:
			h.loaded(r.Context()).read.Store(true)
			next.ServeHTTP(w, r)
		}
	})
}

func (l *loaded) nobody() bool {
	session, _ := l.get()
	return session == nil || session.User == nil
}

// SendToSignIn answers a request that needs a user who is signed in. It
// redirects a browser, with status 303, to Pages.SignIn or to the built-in
// sign-in page. The query parameter callbackUrl is the page that was asked for;
// after a POST, which can't be repeated, it is the page that the POST came
// from. A client that asks for JSON, or a script, gets status 401 and an object
// whose member url is the URL of the sign-in page. A script of htmx can't show
// that page in a part of another page, so it gets status 401 with the header
// HX-Redirect; its callbackUrl is the page that it is on.
func (h *Handler) SendToSignIn(w http.ResponseWriter, r *http.Request) {
	e := h.engine
	page := cmp.Or(e.config.Pages.SignIn, e.basePath+"/"+string(ActionSignIn))
	if strings.HasPrefix(page, "/") {
		page = e.site.origin + page
	}
	location := wire.WithQuery(page, "callbackUrl="+wire.QueryEscape(e.site.origin+wanted(r, e.site.originOf(r))))
	if fromHTMX(r) {
		header := http.Header{"Cache-Control": noCache, "Www-Authenticate": {"Cookie"}, "Hx-Redirect": {wire.ASCIIURL(location)}}
		(&Result{Status: http.StatusUnauthorized, Header: header}).Send(w)
		return
	}
	if !AsksForJSON(r) {
		(&Result{Status: http.StatusSeeOther, Location: location, Header: http.Header{"Cache-Control": noCache}}).Send(w)
		return
	}
	body, _ := wire.JSON(struct { // text always encodes
		Message string `json:"message"`
		URL     string `json:"url"`
	}{"Sign in to continue.", location})
	header := uncachedJSONHeader()
	header["Www-Authenticate"] = []string{"Cookie"} // RFC 9110 section 15.5.2 wants a challenge
	(&Result{Status: http.StatusUnauthorized, Header: header, Body: body}).Send(w)
}

// wanted is the path and query that the browser should come back to.
func wanted(r *http.Request, origin string) string {
	if htmx := fromHTMX(r); htmx || r.Method != http.MethodGet && r.Method != http.MethodHead {
		from := r.Referer()
		if htmx {
			from = r.Header.Get("Hx-Current-Url")
		}
		if path, ok := strings.CutPrefix(from, origin); ok && strings.HasPrefix(path, "/") {
			return onSite(path)
		}
		return "/"
	}
	if strings.HasPrefix(r.RequestURI, "/") { // whole, also behind http.StripPrefix
		return onSite(r.RequestURI)
	}
	return onSite(r.URL.RequestURI())
}

// fromHTMX reports whether a script of htmx makes the request for a part of a
// page.
func fromHTMX(r *http.Request) bool { return r.Header.Get("Hx-Request") == "true" }

// onSite changes a path with query so that no browser treats it as the URL of
// another host.
func onSite(path string) string { return "/" + strings.TrimLeft(path, "/\\") }

// Unavailable answers a request whose session could not be read, because the
// store could not be asked, with status 503: a page in the look of the pages
// without a theme, or JSON.
func Unavailable(w http.ResponseWriter, r *http.Request) { plainLooks().unavailable(w, r) }

// plainLooks are the looks of a site without a configuration.
var plainLooks = sync.OnceValue(func() looks {
	languages, err := pages.NewLanguages(nil, nil)
	if err != nil {
		panic(err) // the shipped texts are whole
	}
	return newLooks(&Config{}, "", languages)
})

// looks makes the look of a site's pages.
type looks func() *pages.Looks

// of is the look of the page that answers a request, which may have any path.
func (l looks) of(hr *http.Request) *pages.Look { return l().For(hr) }

func (l looks) unavailable(w http.ResponseWriter, r *http.Request) {
	result := unavailable()
	if !AsksForJSON(r) {
		result = unavailablePage(l.of(r))
	}
	result.Send(w)
}

const notRead = "The session could not be read. Try again."

// unavailable is the result for a session that could not be read.
func unavailable() *Result {
	header := uncachedJSONHeader()
	header["Retry-After"] = []string{"5"}
	return &Result{Status: http.StatusServiceUnavailable, Header: header, Body: []byte(`{"message":"` + notRead + `"}`)}
}

// AsksForJSON reports whether a request should be answered with JSON rather
// than with a page: because its Accept header prefers JSON to HTML, or because
// it has no preference for HTML and comes from a script.
func AsksForJSON(r *http.Request) bool {
	if len(r.Header["X-Auth-Return-Redirect"]) > 0 {
		return true
	}
	if json, html := preferences(r); json > 0 || html > 0 {
		return json > html
	}
	return r.Header.Get("Sec-Fetch-Dest") == "empty" || r.Header.Get("X-Requested-With") == "XMLHttpRequest"
}

// asksForPage reports whether the Accept header of a request prefers HTML, as
// that of a browser that opens a page does.
func asksForPage(r *http.Request) bool {
	_, html := preferences(r)
	return html > 0 && !AsksForJSON(r)
}

// preferences are the qualities of JSON and of HTML in the Accept header.
func preferences(r *http.Request) (json, html float64) {
	for _, header := range r.Header["Accept"] {
		for part := range strings.SplitSeq(header, ",") {
			kind, quality := mediaRange(part)
			switch {
			case kind == "text/html" || kind == "application/xhtml+xml":
				html = max(html, quality)
			case kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json"):
				json = max(json, quality)
			}
		}
	}
	return json, html
}

// mediaRange parses one media range of an Accept header (RFC 9110 section
// 12.5.1).
func mediaRange(part string) (kind string, quality float64) {
	kind, params, _ := strings.Cut(part, ";")
	quality = 1
	for param := range strings.SplitSeq(params, ";") {
		if name, value, ok := strings.Cut(param, "="); ok && strings.EqualFold(strings.TrimSpace(name), "q") {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil || !(q >= 0 && q <= 1) {
				q = 0
			}
			quality = q
		}
	}
	return strings.ToLower(strings.TrimSpace(kind)), quality
}

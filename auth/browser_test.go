package auth_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/require"
)

const (
	secret    = "current-secret-current-secret-01"
	oldSecret = "earlier-secret-earlier-secret-02"
	origin    = "https://app.example.com"
)

// clock is a clock that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// newHandler makes a handler for the site origin. It sets required fields that
// config does not set.
func newHandler(t testing.TB, config auth.Config) *auth.Handler {
	t.Helper()
	if config.Secret == nil {
		config.Secret = []string{secret}
	}
	if config.URL == "" && config.Origins == nil {
		config.URL = origin
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return must(auth.New(config))(t)
}

// on is an event, or another hook of the application, that notes what it gets and
// never fails.
func on[T any](note func(v T)) func(context.Context, T) error {
	return func(_ context.Context, v T) error { note(v); return nil }
}

// allowing is a callback that notes what it is asked about and allows the sign-in.
func allowing(note func(p auth.SignInParams)) func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
	return func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
		note(p)
		return auth.Allow(), nil
	}
}

// changingToken is a callback that may change the claims of a session token.
func changingToken(change func(p auth.JWTParams)) func(context.Context, auth.JWTParams) (auth.Claims, error) {
	return func(_ context.Context, p auth.JWTParams) (auth.Claims, error) { change(p); return p.Token, nil }
}

// changingSession is a callback that may change a session.
func changingSession(change func(p auth.SessionParams)) func(context.Context, auth.SessionParams) (*auth.Session, error) {
	return func(_ context.Context, p auth.SessionParams) (*auth.Session, error) { change(p); return p.Session, nil }
}

// outbox is an e-mail provider that keeps the mails instead of sending them.
type outbox struct {
	mu    sync.Mutex
	mails []auth.VerificationRequest
	// send is called for each mail, if it is not nil.
	send func(ctx context.Context, v auth.VerificationRequest) error
}

func (o *outbox) provider() *auth.Email {
	return &auth.Email{SendVerificationRequest: func(ctx context.Context, v auth.VerificationRequest) error {
		o.mu.Lock()
		o.mails = append(o.mails, v)
		o.mu.Unlock()
		if o.send != nil {
			return o.send(ctx, v)
		}
		return nil
	}}
}

// last returns the link of the last mail.
func (o *outbox) last(t testing.TB) string {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	require.NotEmpty(t, o.mails, "no mail was sent")
	return o.mails[len(o.mails)-1].URL
}

// password is a credentials provider with one user.
func password() *auth.Credentials {
	return &auth.Credentials{
		Fields: []auth.Field{{Name: "username"}, {Name: "password", Type: "password"}},
		Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
			if f.Get("username") != "ada" || f.Get("password") != "lovelace" {
				return nil, nil
			}
			return &auth.User{ID: "ada-1", Name: "Ada Lovelace", Email: "ada@example.com"}, nil
		},
	}
}

// browser keeps cookies and follows no redirects.
type browser struct {
	t       testing.TB
	h       http.Handler
	site    string // the origin of paths
	cookies map[string]*http.Cookie
	// born numbers the cookies in the order in which they were set.
	born map[string]int
	last int
}

func newBrowser(t testing.TB, h http.Handler) *browser {
	return &browser{t: t, h: h, site: origin, cookies: map[string]*http.Cookie{}, born: map[string]int{}}
}

// serve returns the answer of a handler to a request.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// reply is a response whose body has been read.
type reply struct {
	*http.Response
	body string
}

func (r *reply) location() string { return r.Header.Get("Location") }

// do sends a request to a path or URL of the site.
func (b *browser) do(method, target string, body io.Reader, header http.Header) *reply {
	b.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = b.site + target
	}
	r := must(http.NewRequestWithContext(context.Background(), method, target, body))(b.t)
	maps.Copy(r.Header, header)
	b.addCookies(r)
	w := serve(b.h, r)
	res := w.Result()
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
			continue
		}
		if b.cookies[c.Name] == nil {
			b.last++
			b.born[c.Name] = b.last
		}
		b.cookies[c.Name] = c
	}
	return &reply{res, w.Body.String()}
}

// addCookies adds the cookies of the browser to a request, the oldest first.
func (b *browser) addCookies(r *http.Request) {
	oldestFirst := func(x, y string) int { return cmp.Or(b.born[x]-b.born[y], strings.Compare(x, y)) }
	for _, name := range slices.SortedFunc(maps.Keys(b.cookies), oldestFirst) {
		r.AddCookie(&http.Cookie{Name: b.cookies[name].Name, Value: b.cookies[name].Value})
	}
}

func (b *browser) get(target string) *reply {
	b.t.Helper()
	return b.do(http.MethodGet, target, nil, nil)
}

// csrf fetches the token. Once there is a cookie, the token stays the same.
func (b *browser) csrf() string {
	b.t.Helper()
	var v struct{ CSRFToken string }
	err := json.Unmarshal([]byte(b.get("/auth/csrf").body), &v)
	require.Truef(b.t, err == nil && v.CSRFToken != "", "no CSRF token: %v", err)
	return v.CSRFToken
}

// post submits a form with the CSRF token and fields as name, value, ….
func (b *browser) post(target string, fields ...string) *reply {
	b.t.Helper()
	return b.submit(target, append([]string{"csrfToken", b.csrf()}, fields...)...)
}

// submit submits a form with the fields only, without a CSRF token.
func (b *browser) submit(target string, fields ...string) *reply {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.do(http.MethodPost, target, strings.NewReader(form.Encode()), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
}

// open opens a mail link. If a page asks for confirmation, open confirms.
func (b *browser) open(link string) *reply {
	b.t.Helper()
	page := b.get(link)
	if page.StatusCode != http.StatusOK || !strings.Contains(page.body, "This browser did not ask for the sign-in link") {
		return page
	}
	return b.press(page, "Sign in")
}

// byMail signs in with a mail link.
func (b *browser) byMail(box *outbox, address string) *reply {
	b.t.Helper()
	b.post("/auth/signin/email", "email", address)
	return b.get(box.last(b.t))
}

var (
	formOfPage   = regexp.MustCompile(`(?s)<form action="([^"]*)" method="POST">(.*?)</form>`)
	hiddenOfForm = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
)

// form returns the target and the hidden fields of the form on a page whose
// button has the text, or of the first form if the text is empty.
func (r *reply) form(t testing.TB, button string) (target string, hidden []string) {
	t.Helper()
	for _, form := range formOfPage.FindAllStringSubmatch(r.body, -1) {
		if button != "" && !strings.Contains(form[2], ">"+button+"<") {
			continue
		}
		for _, m := range hiddenOfForm.FindAllStringSubmatch(form[2], -1) {
			hidden = append(hidden, html.UnescapeString(m[1]), html.UnescapeString(m[2]))
		}
		return html.UnescapeString(form[1]), hidden
	}
	t.Fatalf("no form with the button %q on the page, status %d\n%s", button, r.StatusCode, r.body)
	return "", nil
}

// press submits the form on a page whose button has the text, with further fields.
func (b *browser) press(page *reply, button string, fields ...string) *reply {
	b.t.Helper()
	target, hidden := page.form(b.t, button)
	return b.submit(target, append(hidden, fields...)...)
}

// session returns the answer of the session route, "null" if nobody is signed
// in.
func (b *browser) session() string {
	b.t.Helper()
	res := b.get("/auth/session")
	require.Equal(b.t, http.StatusOK, res.StatusCode, "GET session: status")
	return res.body
}

func (b *browser) wantSession(want string) {
	b.t.Helper()
	require.Contains(b.t, b.session(), want, "session")
}

func (b *browser) wantNoSession() {
	b.t.Helper()
	require.Equal(b.t, "null", b.session(), "session")
}

// wantLocation checks the URL that the browser is sent to.
func (r *reply) wantLocation(t testing.TB, want string) {
	t.Helper()
	require.Equalf(t, want, r.location(), "location, with status %d", r.StatusCode)
}

// logBook collects log records as text.
type logBook struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBook) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

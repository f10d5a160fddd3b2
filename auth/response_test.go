package auth

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// TestFailureKeepsDeletions: a check that was used is removed from the browser
// although the sign-in failed. New cookies are not set.
func TestFailureKeepsDeletions(t *testing.T) {
	e, problems := compile(Config{Secret: []string{"s"}, Logger: slog.New(slog.DiscardHandler)}, unshared)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := e.newRequest(httptest.NewRequest(http.MethodGet, "/", nil), ActionCallback)
	r.pending = []*http.Cookie{r.specs.CSRF.Set("new"), r.specs.State.Clear(r.specs.State.Name)}
	result := e.failed(r, &Error{Type: ErrInvalidCheck})
	if len(result.Cookies) != 1 || wire.FormatCookie(result.Cookies[0]) != "authjs.state=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax" {
		t.Errorf("got %v", result.Cookies)
	}
}

// TestLocationIsASCII: the target of an application's redirect can't add
// headers.
func TestLocationIsASCII(t *testing.T) {
	for location, want := range map[string]string{
		"/plain?a=b": "/plain?a=b", "/\u00fc": "/%C3%BC", "/a\r\nSet-Cookie: x=y": "/a%0D%0ASet-Cookie:%20x=y", "/\x7f": "/%7F",
	} {
		w := httptest.NewRecorder()
		redirectTo(location).Send(w)
		if got := w.Header().Get("Location"); got != want {
			t.Errorf("%q: sent %q, want %q", location, got, want)
		}
		response := redirectTo(location).Response(nil)
		if got := response.Header.Get("Location"); got != want {
			t.Errorf("%q: response %q, want %q", location, got, want)
		}
		_ = response.Body.Close()
	}
}

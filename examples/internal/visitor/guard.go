package visitor

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// Ask sends a request as it stands to an address, and returns the answer. A browser
// and net/http would change some request targets.
func Ask(t testing.TB, address, request string) Answer {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{res.StatusCode, res.Header, string(body)}
}

// Answer is an answer that was read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// spellings of /private that some routers read as that path.
var spellings = []string{
	"/private", "/private/", "//private", "/x/../private", "/PRIVATE", "/%70rivate", "/./private", "/private?x", "/private/x", "/private#x", "/private#",
	"/private#/../x", "/PRIVATE/#", "/x#/private", `/private\x`, `\private`, `/x\..\private`, "/private%23x", "/private%3Fx", "/private;x", "/;/private", "/private%00", "/%2Fprivate",
	"/x%2F..%2Fprivate", "/private%2F", "/private%2e", "/private/.", "/private/..;/private", "http://localhost/private", "http://localhost/private#x", "HTTP://localhost//private",
}

// Guarded checks that no spelling of /private shows the private text to a
// visitor who is not signed in, with any method, and that the site goes on.
func (v *Visitor) Guarded(private string) {
	v.t.Helper()
	address := strings.TrimPrefix(v.Site, "http://")
	end := " HTTP/1.1\nHost: localhost\nConnection: close\n\n"
	for _, target := range spellings {
		for _, method := range []string{"GET", "POST"} {
			a := Ask(v.t, address, method+" "+target+end)
			if strings.Contains(a.Body, private) || a.Status == http.StatusInternalServerError {
				v.t.Errorf("%s %s: status %d, %.200s", method, target, a.Status, a.Body)
			}
		}
	}
	for _, target := range []string{"/", "/?x=%23", "/auth/csrf"} { // pages without a guard need nobody
		if a := Ask(v.t, address, "GET "+target+end); a.Status != http.StatusOK {
			v.t.Errorf("%s: status %d, %.200s", target, a.Status, a.Body)
		}
	}
}

package visitor

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ask sends a request as it stands to an address, and returns the answer. A browser
// and net/http would change some request targets.
func Ask(t testing.TB, address, request string) Answer {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	_, err = io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n"))
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
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
			assert.Falsef(v.t, strings.Contains(a.Body, private) || a.Status == http.StatusInternalServerError,
				"%s %s: status %d, %.200s", method, target, a.Status, a.Body)
		}
	}
	for _, target := range []string{"/", "/?x=%23", "/auth/csrf"} { // pages without a guard need nobody
		a := Ask(v.t, address, "GET "+target+end)
		assert.Equalf(v.t, http.StatusOK, a.Status, "%s: %.200s", target, a.Body)
	}
}

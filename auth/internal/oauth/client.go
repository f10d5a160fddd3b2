package oauth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// timeout bounds one request to a provider.
	timeout = 10 * time.Second
	// maxAnswer is the size in bytes of the largest response that is read.
	maxAnswer = 1 << 20
)

// Transport returns the client for the requests to one provider. It is base, or
// a new client if base is nil, with a time limit and a limit on the size of
// responses. It follows no redirects, and calls secure endpoints only.
func Transport(base *http.Client) *http.Client {
	var c http.Client
	if base != nil {
		c = *base
	}
	if c.Timeout == 0 || c.Timeout > timeout {
		c.Timeout = timeout
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = &bounded{next: cmp.Or(c.Transport, http.DefaultTransport)}
	return &c
}

// Distant is Transport for a provider on another machine. The metadata and
// responses of such a provider must not lead requests to this machine, under
// any host name: a connection to this machine is refused before it is made. The
// hosts in configured come from the configuration and are allowed. A client
// with a transport or a dial function other than the standard one is not
// restricted either: both are the application's own choice.
func Distant(base *http.Client, configured ...string) *http.Client {
	c := Transport(base)
	if base != nil && base.Transport != nil {
		return c
	}
	d := &distant{}
	for _, raw := range configured {
		u, err := url.Parse(raw)
		if err != nil || u.Host == "" {
			continue
		}
		if loopback(u.Hostname()) {
			return c
		}
		d.named = append(d.named, address(u))
	}
	c.Transport = &bounded{next: d}
	return c
}

// distant keeps connections to hosts that are not configured in a separate
// pool. No connection of that pool leads to this machine.
type distant struct{ named []string }

func (d *distant) RoundTrip(r *http.Request) (*http.Response, error) {
	if slices.Contains(d.named, address(r.URL)) {
		return http.DefaultTransport.RoundTrip(r)
	}
	pool := distantPool()
	if pool == nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	if proxy, err := http.ProxyFromEnvironment(r); proxy != nil || err != nil { // the proxy may be on this machine, and resolves the name itself
		return http.DefaultTransport.RoundTrip(r)
	}
	return pool.RoundTrip(r)
}

// address returns host and port of a URL.
func address(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// distantPool is nil if the application has changed how http.DefaultTransport
// connects: the application then decides which hosts can be reached.
var distantPool = sync.OnceValue(func() *http.Transport {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok || t.DialTLSContext != nil || dialerOf(t) != standardDialer {
		return nil
	}
	t = t.Clone()
	t.Proxy = nil
	t.DialContext = (&net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Control: refuseLocal}).DialContext
	return t
})

var standardDialer = dialerOf(http.DefaultTransport)

// dialerOf identifies the function with which a transport connects.
func dialerOf(rt http.RoundTripper) uintptr {
	t, ok := rt.(*http.Transport)
	if !ok {
		return 0
	}
	return reflect.ValueOf(t.DialContext).Pointer()
}

// refuseLocal refuses a connection to an address of this machine or of its
// link.
func refuseLocal(_, to string, _ syscall.RawConn) error {
	if host, _, err := net.SplitHostPort(to); err != nil || local(host) {
		return forbidden{errors.New("the endpoint has a loopback or link-local address, which the configuration does not name")}
	}
	return nil
}

// bounded refuses insecure endpoints and ends responses that are too long.
type bounded struct{ next http.RoundTripper }

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := CheckURL(r.URL); err != nil {
		return nil, forbidden{err}
	}
	if r.Header.Get("User-Agent") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", "gatehouse")
	}
	answer, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limited{ReadCloser: answer.Body, left: maxAnswer}
	return answer, nil
}

// limited fails after more than left bytes were read.
type limited struct {
	io.ReadCloser
	left int
}

var errTooLarge = forbidden{fmt.Errorf("the response is larger than %d bytes", maxAnswer)}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLarge
	}
	if len(p) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= n
	return n, err
}

// CheckURL returns an error if an endpoint must not be used. It must be https,
// or http on this machine.
func CheckURL(u *url.URL) error {
	switch {
	case u.Host == "":
		return errors.New("the endpoint is not an absolute URL")
	case u.User != nil:
		return errors.New("the URL of the endpoint contains a user name")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	default:
		return fmt.Errorf("the endpoint is %s, want https", u.Scheme)
	}
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// local reports whether a host may be this machine or one on its link. It knows
// all forms that resolvers accept: upper case letters, a final dot, an IPv4
// address with fewer than four numbers or with octal or hexadecimal numbers
// (inet_aton), the unspecified address, and an IPv6 address that contains an
// IPv4 address.
func local(host string) bool {
	host, _, _ = strings.Cut(strings.ToLower(strings.TrimRight(host, ".")), "%")
	if loopback(host) {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil { // no name ends with a number (RFC 1123 section 2.1)
		last := host[strings.LastIndexByte(host, '.')+1:]
		_, err := strconv.ParseUint(last, 0, 64)
		return err == nil || last == ""
	}
	if v6 := ip.To16(); ip.To4() == nil && (v6[0] == 0 || string(v6[:4]) == "\x00\x64\xff\x9b") { // IPv4-compatible, or NAT64
		return local(v6[12:].String())
	}
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.To4() != nil && ip.To4()[0] == 0
}

// answer is a response that was read completely.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// get makes a GET request.
func get(ctx context.Context, client *http.Client, endpoint, accept, bearer string) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return nil, errors.New("the endpoint is not a URL")
	}
	r.Header.Set("Accept", accept)
	if strings.ContainsFunc(bearer, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return nil, errors.New("invalid header field value: the access token has a control character")
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, outage(safe(err))
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, outage(safe(err))
	}
	return &answer{response.StatusCode, response.Header, body}, nil
}

// safe leaves the URL out of an error, because its query may hold secrets.
func safe(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return fmt.Errorf("%s %s: %w", u.Op, hostOf(u.URL), u.Err)
	}
	return err
}

func hostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "provider"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// mediaType returns the media type of the body, without parameters.
func (a *answer) mediaType() string {
	kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
		return ""
	}
	return kind
}

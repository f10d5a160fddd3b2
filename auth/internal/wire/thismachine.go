package wire

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
)

// FromThisMachine reports whether a request comes from a program on this
// machine, and not through a proxy that forwards the requests of others. The
// Host header alone proves nothing: anybody can send it. A request without
// RemoteAddr was made in this process.
//
// A request with a header that only proxies send comes from elsewhere, unless
// such headers name the client, and every address and every host in them is of
// this machine, as those of a developer's own proxy are.
func FromThisMachine(hr *http.Request) bool {
	if hr.RemoteAddr != "" && !isLocalAddress(hr.RemoteAddr) {
		return false
	}
	forwarded, named := false, false
	for name, values := range hr.Header {
		kind := proxyHeader(name)
		if kind == notOfProxies {
			if slices.ContainsFunc(values, isOtherMachine) { // whatever the name is, no program here says so of itself
				return false
			}
			continue
		}
		forwarded = true
		for _, value := range values {
			local, client := kind.isLocal(value)
			if !local {
				return false
			}
			named = named || client
		}
	}
	return !forwarded || named
}

// headerKind says what a header of proxies names.
type headerKind int

const (
	notOfProxies headerKind = iota
	// ofAddresses: a list of addresses, or the pairs of RFC 7239.
	ofAddresses
	// ofHosts: a list of host names.
	ofHosts
	// ofProxies: the header Via (RFC 9110 section 7.6.3).
	ofProxies
	// ofOthers: neither address nor host, such as X-Forwarded-Proto.
	ofOthers
)

// proxyHeader recognizes the headers of proxies by the words in their names.
func proxyHeader(name string) headerKind {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' })
	kind := notOfProxies
	for i, w := range words {
		switch {
		case w == "via":
			return ofProxies
		case w == "ip" || w == "ipv4" || w == "ipv6" || w == "addr" || w == "address" || len(w) > 2 && strings.HasSuffix(w, "ip") && w != "gzip" && w != "zip":
			kind = ofAddresses
		case strings.Contains(w, "forward") && w != "forwards", strings.Contains(w, "proxy"),
			i == 0 && slices.Contains(vendors, w), i == 1 && words[0] == "x" && (slices.Contains(vendors, w) || slices.Contains(ofClients, w)),
			i > 0 && i == len(words)-1 && (words[0] == "x" || words[0] == "front") && slices.Contains(ofConnections, w):
			kind = max(kind, ofOthers)
		}
	}
	if kind == ofAddresses || kind == notOfProxies {
		return kind
	}
	switch words[len(words)-1] {
	case "for", "forwarded":
		return ofAddresses
	case "host", "server", "by":
		return ofHosts
	}
	return ofOthers
}

// The words by which proxies are recognized: products and networks, at the
// beginning of a name or after x; what a proxy says about its client, after x;
// and what it says about the connection, at the end.
var (
	vendors = []string{
		"akamai", "amz", "amzn", "appengine", "arr", "azure", "cdn", "cf", "cloudfront", "envoy", "fastly", "fly", "gfe", "goog", "haproxy", "incap", "nf", "ngrok",
		"replit", "sucuri", "surrogate", "tailscale", "traefik", "varnish", "vercel", "wl",
	}
	ofClients     = []string{"cluster", "cloud", "original", "originating", "real"}
	ofConnections = []string{"https", "proto", "protocol", "scheme", "ssl", "tls"}
)

// isOtherMachine reports whether a value is an IP address that is not of this
// machine.
func isOtherMachine(value string) bool {
	if len(value) > len("[0000:0000:0000:0000:0000:ffff:255.255.255.255%zone]:65535") {
		return false
	}
	host := value
	if h, _, err := net.SplitHostPort(value); err == nil {
		host = h
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[] "))
	return err == nil && !address.Unmap().IsLoopback() && !address.IsUnspecified()
}

// isLocal reports whether every address and host in a value is of this machine,
// and whether the value names the client.
func (k headerKind) isLocal(value string) (local, client bool) {
	for element := range strings.SplitSeq(value, ",") {
		element = strings.TrimSpace(element)
		switch k {
		case ofAddresses:
			for pair := range strings.SplitSeq(element, ";") {
				name, given, isPair := strings.Cut(strings.TrimSpace(pair), "=")
				if !isPair {
					name, given = "for", name
				}
				given = strings.Trim(strings.TrimSpace(given), `"`)
				switch strings.ToLower(strings.TrimSpace(name)) {
				case "proto":
				case "host":
					if !isLocalHost(given) {
						return false, false
					}
				default:
					if !isLocalAddress(given) {
						return false, false
					}
					client = true
				}
			}
		case ofHosts:
			if !isLocalHost(element) && !isLocalAddress(element) {
				return false, false
			}
		case ofProxies:
			if words := strings.Fields(element); len(words) > 1 && strings.ContainsAny(words[1], ".:") && !isLocalHost(words[1]) {
				return false, false
			}
		default:
			if address, err := netip.ParseAddr(element); err == nil && !address.Unmap().IsLoopback() {
				return false, false
			}
		}
	}
	return true, client
}

// isLocalAddress reports whether an IP address, which may have a port, is a
// loopback address.
func isLocalAddress(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	ip := net.ParseIP(strings.Trim(address, "[]"))
	return ip != nil && ip.IsLoopback()
}

// isLocalHost reports whether a host, which may have a port, is this machine.
func isLocalHost(host string) bool {
	if IsLoopback("http://" + host) {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	own := ownName()
	return own != "" && strings.EqualFold(host, own)
}

var ownName = sync.OnceValue(func() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
})

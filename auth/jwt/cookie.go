package jwt

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ChunkSize is the number of characters of a token in one cookie: the 4096
// bytes that a browser allows, less 160 for name and attributes.
const ChunkSize = 4096 - 160

// Cookie is one cookie of a request.
type Cookie struct {
	Name, Value string
	// Ambiguous says that the request has another cookie with this name and
	// another value. One of them was set for a parent domain or for another
	// path, possibly by another host.
	Ambiguous bool
}

// ParseCookies reads a Cookie header. It trims names and values of spaces and
// tabs, and skips a pair without =. Of two cookies with one name it returns the
// first, which is ambiguous if the values differ. It percent-decodes a value,
// or keeps the value as it is when that fails. Quotes are part of the value.
// The caller joins several headers with "; " first.
func ParseCookies(header string) []Cookie {
	cookies := make([]Cookie, 0, strings.Count(header, ";")+1)
	var seen map[string]int // the index of a name
	for pair := range strings.SplitSeq(header, ";") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		name = strings.Trim(name, " \t")
		if len(cookies) == linearSearch {
			seen = make(map[string]int, cap(cookies))
			for i, c := range cookies {
				seen[c.Name] = i
			}
		}
		value = unescape(strings.Trim(value, " \t"))
		earlier := noIndex
		if seen == nil {
			earlier = slices.IndexFunc(cookies, func(c Cookie) bool { return c.Name == name })
		} else if i, ok := seen[name]; ok {
			earlier = i
		}
		if earlier != noIndex {
			cookies[earlier].Ambiguous = cookies[earlier].Ambiguous || cookies[earlier].Value != value
			continue
		}
		if seen != nil {
			seen[name] = len(cookies)
		}
		cookies = append(cookies, Cookie{Name: name, Value: value})
	}
	return cookies
}

// linearSearch is the number of cookies after which names are looked up in a
// map. The time for a hostile header is then proportional to its length.
const linearSearch = 16

// unescape percent-decodes a value, and returns the value unchanged when that
// fails.
func unescape(value string) string {
	if !strings.Contains(value, "%") {
		return value
	}
	decoded, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(decoded) {
		return value
	}
	return decoded
}

// ReadChunks returns a value that is in one cookie, name, or is spread over
// several: name.0, name.1 and so on. names lists the cookies that have a value
// and belong to name, in the order of the request. A writer deletes those of
// them that it does not overwrite.
//
// Only exact names are taken, so other cookies that begin with name have no
// effect. When name itself is present, the chunks beside it are left over from
// a longer value: ReadChunks ignores them but lists them. It does not notice a
// missing chunk; the token then fails to decode. An ambiguous cookie makes the
// value empty, because the two values can't be told apart.
func ReadChunks(cookies []Cookie, name string) (value string, names []string) {
	type chunk struct {
		index int
		value string
	}
	var chunks []chunk
	whole, ambiguous := false, false
	for _, c := range cookies {
		index, ok := chunkIndex(c.Name, name)
		if !ok || c.Value == "" && !c.Ambiguous {
			continue
		}
		names = append(names, c.Name)
		ambiguous = ambiguous || c.Ambiguous
		switch {
		case index == noIndex:
			value, whole = c.Value, true
		case !whole:
			chunks = append(chunks, chunk{index, c.Value})
		}
	}
	if ambiguous {
		return "", names
	}
	if whole {
		return value, names
	}
	slices.SortFunc(chunks, func(a, b chunk) int { return a.index - b.index })
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString(c.value)
	}
	return b.String(), names
}

// SplitChunks spreads a value over as many cookies as it needs: no cookie for
// an empty value, one with the bare name up to [ChunkSize], otherwise name.0,
// name.1 and so on. The value must be ASCII, as tokens are.
func SplitChunks(name, value string) []Cookie {
	switch {
	case value == "":
		return nil
	case len(value) <= ChunkSize:
		return []Cookie{{Name: name, Value: value}}
	}
	cookies := make([]Cookie, 0, (len(value)+ChunkSize-1)/ChunkSize)
	for value != "" {
		n := min(ChunkSize, len(value))
		cookies = append(cookies, Cookie{Name: name + "." + strconv.Itoa(len(cookies)), Value: value[:n]})
		value = value[n:]
	}
	return cookies
}

const noIndex = -1

// ChunkOf returns which chunk of the value called name a cookie is: -1 for the
// whole value, or the number after the dot; false for another cookie.
func ChunkOf(cookie, name string) (index int, ok bool) { return chunkIndex(cookie, name) }

// chunkIndex returns which chunk of the value called name a cookie is: noIndex
// for the whole value, or the number after the dot. The number has no sign, no
// leading zeros and at most four digits.
func chunkIndex(cookie, name string) (index int, ok bool) {
	rest, ok := strings.CutPrefix(cookie, name)
	if !ok {
		return 0, false
	}
	if rest == "" {
		return noIndex, true
	}
	if rest[0] != '.' || len(rest) > 5 {
		return 0, false
	}
	index, err := strconv.Atoi(rest[1:])
	return index, err == nil && index >= 0 && strconv.Itoa(index) == rest[1:]
}

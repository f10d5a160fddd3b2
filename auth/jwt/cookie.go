package jwt

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ChunkSize is how many characters of a token go into one cookie: the 4096
// bytes that browsers grant, less 160 for name and attributes.
const ChunkSize = 4096 - 160

// Cookie is one cookie of a request.
type Cookie struct {
	Name, Value string
	// Ambiguous says that the request has another cookie of this name with another
	// value: one of them was set for a parent domain or for another path, possibly
	// by another host.
	Ambiguous bool
}

// ParseCookies reads a Cookie header. Names and values are trimmed of spaces
// and tabs; a pair without = is skipped; of two cookies with one name the first
// counts, and is ambiguous if they differ; a value is percent-decoded, unless that fails, and keeps its quotes.
// Several headers are joined with "; " first.
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

// linearSearch is the number of cookies from which on names are looked up in a
// map, so that a hostile header costs time in proportion to its length.
const linearSearch = 16

// unescape percent-decodes a value, and returns it as it is when that fails.
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

// ReadChunks puts a value together that may be spread over several cookies:
// name itself, or name.0, name.1 and so on. names lists the cookies with a value
// that belong to it, in the order of the request; a writer deletes those it does
// not overwrite.
//
// Only exact names count, so other cookies that begin with name do no harm. When
// name itself is there, chunks beside it are left over from a longer value and
// are ignored, though listed. A missing chunk is not noticed here; the token then
// fails to decode. An ambiguous cookie makes the value empty: nobody can say which
// one is meant.
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

// SplitChunks spreads a value over as many cookies as it needs: none when it is
// empty, one with the bare name up to [ChunkSize], else name.0, name.1 and so
// on. The value must be ASCII, as tokens are.
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

// chunkIndex tells which chunk of the value called name a cookie is: noIndex for
// the whole value, or the number after the dot. The number is written without
// sign or leading zeros and has at most four digits.
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

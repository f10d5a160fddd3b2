package frameworks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// paths are paths of the site. Each includes every path below it.
type paths struct{ prefixes [][]string }

func newPaths(list []string) (*paths, error) {
	if len(list) == 0 {
		return nil, errors.New("frameworks: a guard needs the paths that it guards, such as /admin")
	}
	p := &paths{}
	for _, path := range list {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "?#*{}") {
			return nil, fmt.Errorf("frameworks: %q is not a path to guard: want one such as /admin, which includes all paths below it", path)
		}
		var prefix []string
		for s := range strings.SplitSeq(path, "/") {
			switch s {
			case "":
			case ".", "..":
				return nil, fmt.Errorf("frameworks: %q is not a path to guard: it has a segment %s", path, s)
			default:
				prefix = append(prefix, s)
			}
		}
		p.prefixes = append(p.prefixes, prefix)
	}
	return p, nil
}

// match reports whether a path, decoded once, is guarded: whether a router
// could read it as one of the paths or as a path below one. Routers treat empty
// segments, dots and the case of letters differently, some route by the path
// before it was decoded, and some end a path or a segment at a sign such as #. A
// path is therefore guarded if any step through its segments reaches one of the
// paths.
func (p *paths) match(path string) bool {
	var at []string
	if p.guards(at) {
		return true
	}
	for s := range strings.SplitSeq(strings.ReplaceAll(path, `\`, "/"), "/") {
		switch s {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 0)]
		default:
			if i := strings.IndexAny(s, "#?;\x00"); i >= 0 && p.guards(append(slices.Clone(at), s[:i])) {
				return true
			}
			at = append(at, s)
		}
		if p.guards(at) {
			return true
		}
	}
	return false
}

// ambiguous reports whether a request target has a sign that no path has (RFC
// 3986 section 3.3), and at which some readers end the path: net/http keeps # in
// the path, and fasthttp does not.
func ambiguous(target string) bool { return strings.ContainsAny(target, "#\\") }

func (p *paths) guards(at []string) bool {
	return slices.ContainsFunc(p.prefixes, func(prefix []string) bool {
		return len(prefix) <= len(at) && slices.EqualFunc(prefix, at[:len(prefix)], strings.EqualFold)
	})
}

package frameworks

import (
	"errors"
	"fmt"
	"strings"
)

// paths are paths of the site, each with all that is below it.
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

// match reports whether a path, decoded once, is guarded: whether a router could
// take it for one of the paths or for one below it. Routers differ in what they
// do with empty segments, with dots, and with letters of the other case, and
// some route by the path as it was before it was decoded; so it is guarded if
// the walk along its segments comes by one of the paths.
func (p *paths) match(path string) bool {
	var at []string
	if p.guards(at) {
		return true
	}
	for s := range strings.SplitSeq(path, "/") {
		switch s {
		case "", ".":
			continue
		case "..":
			at = at[:max(len(at)-1, 0)]
		default:
			at = append(at, s)
		}
		if p.guards(at) {
			return true
		}
	}
	return false
}

func (p *paths) guards(at []string) bool {
next:
	for _, prefix := range p.prefixes {
		if len(prefix) > len(at) {
			continue
		}
		for i, s := range prefix {
			if !strings.EqualFold(s, at[i]) {
				continue next
			}
		}
		return true
	}
	return false
}

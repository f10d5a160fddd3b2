package texts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/language"
)

// All returns the shipped texts, English first.
func All() []Texts {
	return []Texts{
		English(), German(), French(), Spanish(), Portuguese(), Italian(), Dutch(), Japanese(), Chinese(), Arabic(),
	}
}

// maxAccepted is the length in bytes of the longest Accept-Language header that
// is read. That of a browser has about a hundred.
const maxAccepted = 1000

// Choose returns the index of the language that a reader prefers of those that
// there are, or 0 if there is none of the reader's. Accepted are the values of
// the header Accept-Language (RFC 9110 section 12.5.4). A language matches by
// lookup (RFC 4647 section 3.4), or if it is a variant of what is asked for.
func Choose(accepted []string, languages []string) int {
	header := strings.Join(accepted, ",")
	if len(header) > maxAccepted {
		return 0
	}
	type wish struct {
		language string
		quality  float64
	}
	var wishes []wish
	for part := range strings.SplitSeq(header, ",") {
		if name, quality := wished(part); quality > 0 {
			wishes = append(wishes, wish{name, quality})
		}
	}
	slices.SortStableFunc(wishes, func(a, b wish) int { return cmp.Compare(b.quality, a.quality) })
	for _, w := range wishes {
		if i := lookUp(w.language, languages); i >= 0 {
			return i
		}
	}
	return 0
}

// wished is one language of a header with its quality, which is 0 if it can't be
// read.
func wished(part string) (name string, quality float64) {
	name, weight, weighted := strings.Cut(part, ";")
	name, quality = strings.TrimSpace(name), 1
	if weighted {
		q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(weight)), "q=")
		var err error
		if quality, err = strconv.ParseFloat(q, 64); !ok || err != nil || !(quality >= 0 && quality <= 1) {
			return "", 0
		}
	}
	return name, quality
}

// lookUp returns the index of the language that fits best, or -1.
func lookUp(wanted string, languages []string) int {
	for tag := wanted; tag != "" && tag != "*"; {
		if i := slices.IndexFunc(languages, func(l string) bool { return strings.EqualFold(l, tag) }); i >= 0 {
			return i
		}
		last := strings.LastIndexByte(tag, '-')
		if last < 0 {
			return slices.IndexFunc(languages, func(l string) bool {
				base, _, _ := strings.Cut(l, "-")
				return strings.EqualFold(base, tag)
			})
		}
		tag = tag[:last]
	}
	return -1
}

// RightToLeft reports whether the language is written from right to left.
func (t *Texts) RightToLeft() bool {
	script, _ := language.Make(t.Language).Script()
	switch script.String() {
	case "Arab", "Hebr", "Thaa", "Syrc", "Nkoo", "Adlm", "Rohg", "Mand", "Samr":
		return true
	}
	return false
}

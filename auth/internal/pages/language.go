package pages

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Languages are the languages of the pages of a site.
type Languages struct {
	all    []texts.Texts
	tags   []string
	choose func(r *http.Request) string
}

// shipped are the shipped languages, which are whole.
var shipped = sync.OnceValue(func() Languages {
	l := Languages{all: texts.All()}
	for i := range l.all {
		l.tags = append(l.tags, l.all[i].Language)
	}
	return l
})

// NewLanguages completes the texts of a site; with none, they are the shipped ones.
// choose, if it is set, returns the tag of the language of a request.
func NewLanguages(own []texts.Texts, choose func(r *http.Request) string) (Languages, error) {
	if len(own) == 0 {
		l := shipped()
		l.choose = choose
		return l, nil
	}
	l := Languages{choose: choose}
	var problems []error
	for i := range own {
		full, err := own[i].Complete()
		if err != nil {
			problems = append(problems, fmt.Errorf("Config.Texts[%d] (%s): %w", i, own[i].Language, err))
		}
		if slices.ContainsFunc(l.tags, func(tag string) bool { return strings.EqualFold(tag, full.Language) }) {
			problems = append(problems, fmt.Errorf("Config.Texts[%d]: there is another one for %s", i, full.Language))
		}
		l.all, l.tags = append(l.all, full), append(l.tags, full.Language)
	}
	return l, errors.Join(problems...)
}

// Caching says what a page in some language depends on.
type Caching struct {
	// ByHeader says that it depends on the header Accept-Language, ByRequest that
	// it may depend on anything in the request.
	ByHeader, ByRequest bool
}

// of returns the texts for a request.
func (l *Languages) of(r *http.Request) (*texts.Texts, Caching) {
	caching := Caching{ByRequest: l.choose != nil, ByHeader: len(l.all) > 1}
	var accepted []string
	if l.choose != nil {
		if tag := l.choose(r); tag != "" {
			if i := texts.Choose([]string{tag}, l.tags); i > 0 || matches(tag, l.tags[0]) {
				return &l.all[i], caching
			}
		}
	}
	if r != nil {
		accepted = r.Header["Accept-Language"]
	}
	return &l.all[texts.Choose(accepted, l.tags)], caching
}

// matches reports whether a tag asks for a language or for a variant of it.
func matches(tag, language string) bool {
	a, _, _ := strings.Cut(tag, "-")
	b, _, _ := strings.Cut(language, "-")
	return strings.EqualFold(a, b)
}

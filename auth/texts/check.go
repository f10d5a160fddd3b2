package texts

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// Sentences returns all sentences of t by name, such as SignIn.Errors.NoForm, so
// that a program can list them for translators or set them.
func (t *Texts) Sentences() iter.Seq2[string, *string] {
	return func(yield func(string, *string) bool) {
		v := reflect.ValueOf(t).Elem()
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Name != "Language" && !each(f.Name, v.Field(i), yield) {
				return
			}
		}
	}
}

func each(name string, v reflect.Value, yield func(string, *string) bool) bool {
	if v.Kind() == reflect.String {
		return yield(name, v.Addr().Interface().(*string)) //nolint:forcetypeassert // it is of kind string
	}
	for i := range v.NumField() {
		if !each(name+"."+v.Type().Field(i).Name, v.Field(i), yield) {
			return false
		}
	}
	return true
}

// Complete returns a copy of t with each empty sentence filled in: from the
// shipped texts of its language, or else in English. The error says what is
// wrong with t: its language, or a value that a sentence does not have.
func (t Texts) Complete() (Texts, error) {
	tag, err := language.Parse(t.Language)
	if err != nil || tag.IsRoot() {
		return t, fmt.Errorf("the Language is %q, want a BCP 47 tag such as en or pt-BR", t.Language)
	}
	english, shipped := English(), All()
	base := english
	names := make([]string, len(shipped))
	for i := range shipped {
		names[i] = shipped[i].Language
	}
	if i := lookUp(t.Language, names); i >= 0 {
		base = shipped[i]
	}
	given, known, filled := byName(&t), byName(&english), byName(&base)
	var problems []error
	for name, sentence := range t.Sentences() {
		other := otherForm(name)
		if *sentence == "" && (other == name || *given[other] == "") {
			*sentence = *filled[name]
			continue
		}
		allowed := values(*known[other])
		for _, value := range values(*sentence) {
			if !slices.Contains(allowed, value) {
				problems = append(problems, fmt.Errorf("%s has the value %s, want one of %q", name, value, allowed))
			}
		}
	}
	return t, errors.Join(problems...)
}

// byName returns the sentences of t by name.
func byName(t *Texts) map[string]*string { return maps.Collect(t.Sentences()) }

// otherForm returns the name of the form Other of the sentence that a plural form
// belongs to, and the name itself of another sentence.
func otherForm(name string) string {
	dot := strings.LastIndexByte(name, '.')
	switch name[dot+1:] {
	case "Zero", "One", "Two", "Few", "Many":
		return name[:dot+1] + "Other"
	}
	return name
}

var valueName = regexp.MustCompile(`\{[^{}]*\}`)

// values returns the values of a sentence, in braces.
func values(sentence string) []string { return valueName.FindAllString(sentence, -1) }

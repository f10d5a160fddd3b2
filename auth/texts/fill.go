package texts

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

// Fill returns a sentence with its values: each {name} becomes the value of that
// name. What is in a value is not filled in.
func Fill(sentence string, values map[string]string) string {
	var b strings.Builder
	for {
		before, rest, open := strings.Cut(sentence, "{")
		name, after, closed := strings.Cut(rest, "}")
		value, known := values[name]
		if !open || !closed {
			b.WriteString(sentence)
			return b.String()
		}
		b.WriteString(before)
		if !known {
			value = "{" + name + "}"
		}
		b.WriteString(value)
		sentence = after
	}
}

// Number returns the sentence with a number, in the plural form that the
// language of t has for it.
func (t *Texts) Number(p Plural, n int) string {
	forms := map[plural.Form]string{
		plural.Zero: p.Zero, plural.One: p.One, plural.Two: p.Two, plural.Few: p.Few, plural.Many: p.Many,
	}
	form := plural.Cardinal.MatchPlural(language.Make(t.Language), n, 0, 0, 0, 0)
	return Fill(cmp.Or(forms[form], p.Other), map[string]string{"n": strconv.Itoa(n)})
}

// Span returns the sentence with a length of time: in hours if it is whole hours,
// else in minutes from two minutes on, else in seconds. It drops the rest.
func (t *Texts) Span(s Span, d time.Duration) string {
	switch {
	case d >= time.Hour && d%time.Hour == 0:
		return t.Number(s.Hours, int(d/time.Hour))
	case d >= 2*time.Minute, d == time.Minute:
		return t.Number(s.Minutes, int(d/time.Minute))
	}
	return t.Number(s.Seconds, int(d/time.Second))
}

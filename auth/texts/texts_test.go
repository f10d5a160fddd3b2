package texts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/texts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestShippedTextsAreWhole: each language has every sentence, with the values of
// the English one, and its plural forms are those that it needs.
func TestShippedTextsAreWhole(t *testing.T) {
	shipped := texts.English()
	english := map[string]string{}
	for name, sentence := range shipped.Sentences() {
		english[name] = *sentence
	}
	for _, l := range texts.All() {
		t.Run(l.Language, func(t *testing.T) {
			full, err := l.Complete()
			require.NoError(t, err)
			assert.True(t, full == l, "some sentences are missing")
			for name, sentence := range l.Sentences() {
				if i := strings.LastIndexByte(name, '.'); slices.Contains([]string{"Zero", "One", "Two", "Few", "Many"}, name[i+1:]) {
					continue // a form may spell its number, or be empty
				}
				assert.NotEmptyf(t, *sentence, "%s is empty", name)
				assert.Equalf(t, valuesOf(english[name]), valuesOf(*sentence), "the values of %s", name)
				assert.Falsef(t, l.Language != "en" && *sentence == english[name] && strings.Contains(*sentence, " "),
					"%s is in English", name)
			}
		})
	}
}

// valuesOf returns the values of a sentence, sorted.
func valuesOf(sentence string) []string {
	found := []string{}
	for _, part := range strings.Split(sentence, "{")[1:] {
		name, _, _ := strings.Cut(part, "}")
		found = append(found, name)
	}
	slices.Sort(found)
	return found
}

func TestComplete(t *testing.T) {
	own, err := texts.Texts{Language: "en", SignOut: texts.SignOut{Button: "Log off"}}.Complete()
	assert.Truef(t, err == nil && own.SignOut.Button == "Log off" && own.SignOut.Title == texts.English().SignOut.Title,
		"got %+v, %v", own.SignOut, err)
	danish, err := texts.Texts{Language: "da", Refused: texts.Refused{Wait: texts.Span{
		Hours: texts.Plural{Other: "om {n} t"},
	}}}.Complete()
	assert.Truef(t, err == nil && danish.Span(danish.Refused.Wait, time.Hour) == "om 1 t" && danish.SignOut.Button == "Sign out",
		"got %q, %v", danish.Span(danish.Refused.Wait, time.Hour), err)
	for want, bad := range map[string]texts.Texts{
		`the Language is "", want a BCP 47 tag`:                         {},
		`the Language is "englisch!", want a BCP 47 tag`:                {Language: "englisch!"},
		"SignIn.Title has the value {sight}, want one of":               {Language: "en", SignIn: texts.SignIn{Title: "To {sight}"}},
		"Password.TooLong.One has the value {m}, want one of [\"{n}\"]": {Language: "en", Password: texts.Password{TooLong: texts.Plural{One: "{m}", Other: "{n}"}}},
	} {
		_, err := bad.Complete()
		assert.Truef(t, err != nil && strings.Contains(err.Error(), want), "got %v, want %s", err, want)
	}
}

func TestFill(t *testing.T) {
	values := map[string]string{"site": "{person} of {site}", "person": "Ada"}
	for sentence, want := range map[string]string{
		"": "", "plain": "plain", "To {site}.": "To {person} of {site}.", "{person}{person}": "AdaAda", "{other}": "{other}", "open {person": "open {person", "a } b {person}": "a } b Ada",
	} {
		assert.Equalf(t, want, texts.Fill(sentence, values), "%q", sentence)
	}
}

func TestPluralForms(t *testing.T) {
	p := texts.Plural{Zero: "zero", One: "one", Two: "two", Few: "few {n}", Many: "many {n}", Other: "other {n}"}
	for language, want := range map[string]string{
		"en": "other 0, one, other 2, other 3, other 11, other 100", "fr": "one, one, other 2, other 3, other 11, other 100",
		"ja": "other 0, other 1, other 2, other 3, other 11, other 100", "ar": "zero, one, two, few 3, many 11, other 100",
		"pt-BR": "one, one, other 2, other 3, other 11, other 100",
	} {
		l, got := texts.Texts{Language: language}, []string{}
		for _, n := range []int{0, 1, 2, 3, 11, 100} {
			got = append(got, l.Number(p, n))
		}
		assert.Equalf(t, want, strings.Join(got, ", "), "%s: got %q, want %s", language, got, want)
	}
}

func TestSpan(t *testing.T) {
	e := texts.English()
	for d, want := range map[time.Duration]string{
		time.Second: "1 second.", 90 * time.Second: "90 seconds.", time.Minute: "1 minute.", 10 * time.Minute: "10 minutes.",
		time.Hour: "1 hour.", 90 * time.Minute: "90 minutes.", 24 * time.Hour: "24 hours.", 500 * time.Millisecond: "0 seconds.",
	} {
		assert.Equalf(t, "You can try again in "+want, e.Span(e.Refused.Wait, d), "%v", d)
	}
}

func TestChoose(t *testing.T) {
	languages := []string{"en", "de", "fr", "zh", "pt-BR", "ar"}
	for header, want := range map[string]string{
		"": "en", "de": "de", "DE-at": "de", "da, de;q=0.5, en;q=0.1": "de", "en;q=0.2,fr;q=0.9,de;q=0.3": "fr", "zh-Hant-TW": "zh",
		"pt": "pt-BR", "pt-PT,en;q=0.5": "pt-BR", "*": "en", "de;q=0": "en", "de;q=0, fr": "fr", "de;q=2": "en", "de;q=NaN, fr;q=0.1": "fr",
		"de;level=1": "en", ";;;": "en", ",": "en", "-": "en", "de--": "de", "ar-EG": "ar", "\x00\xff": "en", "en-GB, de": "en",
		strings.Repeat("de,", 400): "en", strings.Repeat("-", 900): "en", "xx-" + strings.Repeat("a-", 300): "en",
	} {
		assert.Equalf(t, want, languages[texts.Choose([]string{header}, languages)], "%.40q", header)
	}
	assert.Equal(t, "fr", languages[texts.Choose([]string{"da", "fr;q=0.1"}, languages)], "two lines")
	assert.Equal(t, 0, texts.Choose(nil, languages), "no header")
}

func FuzzChoose(f *testing.F) {
	f.Add("de-AT,de;q=0.9,en;q=0.8")
	f.Fuzz(func(t *testing.T, header string) {
		got := texts.Choose([]string{header}, []string{"en", "de"})
		assert.Truef(t, got == 0 || got == 1, "got %d", got)
	})
}

func TestRightToLeft(t *testing.T) {
	for language, want := range map[string]bool{"ar": true, "he-IL": true, "fa": true, "ur": true, "en": false, "zh": false, "az-Arab": true} {
		l := (texts.Texts{Language: language})
		assert.Equalf(t, want, l.RightToLeft(), "%s: got %v", language, !want)
	}
}

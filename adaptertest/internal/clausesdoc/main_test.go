package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

func TestPageIsUpToDate(t *testing.T) {
	got, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	if want := render(adaptertest.Clauses()); string(got) != want {
		t.Errorf("%s is not what clauses.json makes: run go generate in adaptertest", page)
	}
}

func TestEveryClauseIsExplained(t *testing.T) {
	for _, c := range adaptertest.Clauses() {
		for what, text := range map[string]string{
			"rule": c.Rule, "test": c.Test, "reason": c.Reason, "fix for SQL": c.Fix.SQL, "fix for Redis": c.Fix.Redis, "fix for MongoDB": c.Fix.Mongo,
		} {
			if len(text) < 8 || !strings.ContainsAny(text[len(text)-1:], ".)") {
				t.Errorf("%s: the %s is %q, want a sentence", c.ID, what, text)
			}
		}
		if groups[c.Group()] == "" {
			t.Errorf("%s: the group has no title", c.ID)
		}
	}
}

func TestMarkup(t *testing.T) {
	if got, want := escape("a_b <c> *d*"), `a\_b &lt;c&gt; \*d\*`; got != want {
		t.Errorf("escape: got %s, want %s", got, want)
	}
	if got, want := link("next-auth#12 and x/y-z#3"), "[next-auth#12](https://github.com/nextauthjs/next-auth/issues/12) and [x/y-z#3](https://github.com/x/y-z/issues/3)"; got != want {
		t.Errorf("link: got %s, want %s", got, want)
	}
	if got, want := anchor("ISO: instances, visibility, durability"), "iso-instances-visibility-durability"; got != want {
		t.Errorf("anchor: got %s, want %s", got, want)
	}
}

package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// profiles has a file for each profile: the clauses that it leaves out, each with the
// sentence of the other contract that is looser.
//
//go:embed profiles/*.json
var profiles embed.FS

// profileNames returns the names of the profiles.
func profileNames() (names []string) {
	files, err := profiles.ReadDir("profiles")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".json"))
	}
	return names
}

// profileNamed returns a profile.
func profileNamed(name string) (*adaptertest.Profile, error) {
	text, err := profiles.ReadFile("profiles/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("no profile %q: there is %s", name, strings.Join(profileNames(), ", "))
	}
	p := &adaptertest.Profile{Name: name}
	return p, json.Unmarshal(text, &p.Clauses)
}

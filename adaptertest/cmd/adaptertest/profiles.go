package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// profiles has a file for each profile: the clauses that it leaves out, each with the
// sentence of the other contract that is looser, and, if updates of users are explicit, see
// remote.Pool, the clauses about updates in which they are not.
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

// profileNamed returns a profile, and in which clauses updates of users are explicit.
func profileNamed(name string) (p *adaptertest.Profile, explicit func(clause string) bool, err error) {
	text, err := profiles.ReadFile("profiles/" + name + ".json")
	if err != nil {
		return nil, nil, fmt.Errorf("no profile %q: there is %s", name, strings.Join(profileNames(), ", "))
	}
	var file struct {
		Clauses map[string]string `json:"clauses"`
		AsGiven []string          `json:"asGiven"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, nil, err
	}
	if file.AsGiven != nil {
		explicit = func(clause string) bool { return !slices.Contains(file.AsGiven, clause) }
	}
	return &adaptertest.Profile{Name: name, Clauses: file.Clauses}, explicit, nil
}

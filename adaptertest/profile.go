package adaptertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Profile is a contract that promises less than that of package adapter. A clause of it that
// is broken does not apply, and the verdict names the profile.
type Profile struct {
	Name string
	// Clauses has, for the ID of each clause that the contract does not promise, the
	// sentence of that contract. None of them is about security.
	Clauses map[string]string
}

func (p *Profile) validate() error {
	if p == nil {
		return nil
	}
	var problems []error
	if p.Name == "" {
		problems = append(problems, errors.New("adaptertest: a profile has no name"))
	}
	for _, id := range slices.Sorted(maps.Keys(p.Clauses)) {
		switch c, ok := clauseByID(id); {
		case !ok:
			problems = append(problems, fmt.Errorf("adaptertest: the profile %s names the unknown clause %q", p.Name, id))
		case c.Basis == "SEC":
			problems = append(problems, fmt.Errorf("adaptertest: the profile %s leaves out %s, which is about security", p.Name, id))
		case p.Clauses[id] == "":
			problems = append(problems, fmt.Errorf("adaptertest: the profile %s gives no sentence for %s", p.Name, id))
		}
	}
	return errors.Join(problems...)
}

// sentence is why a clause is left out, or "".
func (p *Profile) sentence(id string) string {
	if p == nil {
		return ""
	}
	return p.Clauses[id]
}

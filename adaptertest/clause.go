package adaptertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Level says how strictly a clause binds an adapter.
type Level string

// The levels of clauses.
const (
	// Must clauses hold for every adapter; a waiver makes a run partial.
	Must Level = "MUST"
	// Should clauses are kept by good adapters; an adapter may break one for a
	// good reason.
	Should Level = "SHOULD"
	// May clauses allow a behaviour. The suite records whether the adapter has
	// it.
	May Level = "MAY"
)

// Clause is one rule of the adapter contract.
type Clause struct {
	// ID is the group, a hyphen and a number that never changes, as VTOK-04.
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// Basis is the origin of the rule. API: the comments of package adapter say
	// so. SEC: breaking it is a security hole. LOSS: breaking it loses data. Q:
	// good adapters do so.
	Basis string `json:"basis"`
	// Rule is the sentence that an adapter keeps or breaks.
	Rule string `json:"rule"`
	// Since is the version of the suite in which the clause appeared.
	Since string `json:"since"`
	// Test says how the rule is tested through the interface.
	Test string `json:"test"`
	// Reason says why the rule exists. This field and the fields below explain
	// the clause and are not in reports.
	Reason string `json:"-"`
	// Incident names a known case in which the rule was broken.
	Incident string `json:"-"`
	// Fix says how to keep the rule.
	Fix Fix `json:"-"`
	// Needs are the fields of the harness without which the clause is not
	// verified. Only Clauses fills it.
	Needs []string `json:"-"`
	// Requires are the methods without which the clause does not apply to an
	// adapter. Only Clauses fills it.
	Requires []string `json:"-"`
}

// Fix says how to keep a rule in three kinds of store.
type Fix struct {
	SQL   string `json:"sql"`
	Redis string `json:"redis"`
	Mongo string `json:"mongo"`
}

// Group returns the part of the ID before the number, as VTOK.
func (c Clause) Group() string {
	group, _, _ := strings.Cut(c.ID, "-")
	return group
}

// page is the link to the clause in CLAUSES.md.
func (c Clause) page() string { return "adaptertest/CLAUSES.md#" + strings.ToLower(c.ID) }

//go:generate go run ./internal/clausesdoc

// firstVersion is the version of the clauses that name no version.
const firstVersion = "v0.1.0"

//go:embed clauses.json
var clausesJSON []byte

var loadClauses = sync.OnceValue(func() []Clause {
	var entries []struct {
		Clause
		Reason   string `json:"reason"`
		Incident string `json:"incident"`
		Fix      Fix    `json:"fix"`
	}
	if err := json.Unmarshal(clausesJSON, &entries); err != nil {
		panic(fmt.Sprintf("adaptertest: clauses.json: %v", err))
	}
	clauses := make([]Clause, len(entries))
	for i, e := range entries {
		if e.Since == "" {
			e.Since = firstVersion
		}
		e.Clause.Reason, e.Clause.Incident, e.Clause.Fix = e.Reason, e.Incident, e.Fix
		clauses[i] = e.Clause
	}
	return clauses
})

// Clauses returns all clauses of the contract, in its order.
func Clauses() []Clause {
	clauses := slices.Clone(loadClauses())
	for _, k := range checks() {
		for i := range clauses {
			if clauses[i].ID == k.id {
				clauses[i].Requires = slices.Clone(k.requires)
				for _, field := range k.needs {
					clauses[i].Needs = append(clauses[i].Needs, string(field))
				}
			}
		}
	}
	return clauses
}

// clauseByID returns the clause with the ID.
func clauseByID(id string) (Clause, bool) {
	i := slices.IndexFunc(loadClauses(), func(c Clause) bool { return c.ID == id })
	if i < 0 {
		return Clause{}, false
	}
	return loadClauses()[i], true
}

// check is the executable form of a clause.
type check struct {
	id string
	// words follow the ID in the name of the subtest, for example
	// wrong-token-keeps-pending.
	words string
	// needs are the abilities without which the clause can't be verified.
	needs []ability
	// requires are the methods without which the clause does not apply to an
	// adapter. Of the other methods a clause uses those that work; other lookups
	// replace a missing lookup, see standins.go.
	requires []string
	// races says that the outcome depends on the timing of concurrent calls or on a
	// random search, so that an adapter that breaks the clause may pass by luck.
	races bool
	// alone says that the check measures time, judges the whole run or process, or
	// needs stores that New opens one after the other.
	alone bool
	run   func(c *clauseContext)
}

func (k check) name() string { return k.id + "-" + k.words }

// races reports whether the clause with the ID is tested by a race or a random search.
func races(id string) bool {
	return slices.ContainsFunc(checks(), func(k check) bool { return k.id == id && k.races })
}

// checks returns the checks of all groups, in the order in which they run. ERR
// is last because it judges the errors of the whole run.
func checks() []check {
	return slices.Concat(
		capClauses,
		userClauses,
		acctClauses,
		sessClauses,
		vtokClauses,
		authnClauses,
		signupClauses,
		alistClauses,
		slistClauses,
		aeditClauses,
		teditClauses,
		cascClauses,
		timeClauses,
		dataClauses,
		inputClauses,
		ctxClauses,
		concClauses,
		faultClauses,
		expClauses,
		isoClauses,
		aliasClauses,
		volClauses,
		lifeClauses,
		flowClauses,
		errClauses,
	)
}

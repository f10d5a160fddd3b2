package adaptertest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/concurrency"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/faults"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/flow"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/life"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/records"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/clauses/values"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pages"
)

// Level says how strictly a clause binds an adapter.
type Level string

// The levels of clauses.
const (
	// Must clauses hold for every adapter; a waiver makes a run partial.
	Must Level = "MUST"
	// Should clauses are kept by good adapters; an adapter may break one for a good reason.
	Should Level = "SHOULD"
	// May clauses allow a behaviour. The suite records whether the adapter has it.
	May Level = "MAY"
)

// Clause is one rule of the adapter contract.
type Clause struct {
	// ID is the group, a hyphen and a number that never changes, as VTOK-04.
	ID    string `json:"id"`
	Level Level  `json:"level"`
	// Basis is the origin of the rule. API: the comments of package adapter say so. SEC: breaking it is a
	// security hole. LOSS: breaking it loses data. Q: good adapters do so.
	Basis string `json:"basis"`
	// Rule is the sentence that an adapter keeps or breaks.
	Rule string `json:"rule"`
	// Since is the version of the suite in which the clause appeared.
	Since string `json:"since"`
	// Test says how the rule is tested through the interface.
	Test string `json:"test"`
	// Reason says why the rule exists. This field and the fields below explain the clause and are not in reports.
	Reason string `json:"-"`
	// Incident names a known case in which the rule was broken.
	Incident string `json:"-"`
	// Fix says how to keep the rules of the group.
	Fix Fix `json:"-"`
	// Needs are the fields of the harness without which the clause is not verified. Only Clauses fills it.
	Needs []string `json:"-"`
	// Requires are the methods without which the clause does not apply to an adapter. Only Clauses fills it.
	Requires []string `json:"-"`
}

// Fix says how to keep the rules of a group in three kinds of store.
type Fix struct {
	SQL   string `json:"sql"`
	Redis string `json:"redis"`
	Mongo string `json:"mongo"`
}

// Group returns the part of the ID before the number, as VTOK.
func (c Clause) Group() string { return groupOf(c.ID) }

func groupOf(id string) string {
	group, _, _ := strings.Cut(id, "-")
	return group
}

// page is the address of the clause. The clauses about stores of sessions have no page.
func (c Clause) page() string {
	if c.Group() == "STORE" {
		return "the documentation of RunSessions"
	}
	return pages.Clause(c.ID, suiteVersion())
}

//go:generate go run ./internal/clausesdoc

// firstVersion is the version of the clauses that name no version.
const firstVersion = "v0.1.0"

//go:embed clauses.json
var clausesJSON []byte

// adviceJSON has the advice for each group of clauses.
//
//go:embed advice.json
var adviceJSON []byte

var loadClauses = sync.OnceValue(func() []Clause {
	var entries []struct {
		Clause
		Reason   string `json:"reason"`
		Incident string `json:"incident"`
	}
	if err := json.Unmarshal(clausesJSON, &entries); err != nil {
		panic(fmt.Sprintf("adaptertest: clauses.json: %v", err))
	}
	var advice map[string]Fix
	if err := json.Unmarshal(adviceJSON, &advice); err != nil {
		panic(fmt.Sprintf("adaptertest: advice.json: %v", err))
	}
	clauses := make([]Clause, len(entries))
	for i, e := range entries {
		e.Since = cmp.Or(e.Since, firstVersion)
		e.Clause.Reason, e.Clause.Incident, e.Fix = e.Reason, e.Incident, advice[e.Group()]
		clauses[i] = e.Clause
	}
	return clauses
})

// Clauses returns all clauses of the contract, in its order.
func Clauses() []Clause {
	clauses := slices.Clone(loadClauses())
	checks := checks()
	for i, c := range clauses {
		k, _ := kit.Find(checks, func(k kit.Check) bool { return k.ID == c.ID })
		clauses[i].Requires = slices.Clone(k.Requires)
		clauses[i].Needs = kit.Map(k.Needs, func(field kit.Ability) string { return string(field) })
	}
	return clauses
}

// clauseByID returns the clause with the ID, of the contract or about stores of sessions.
func clauseByID(id string) (Clause, bool) {
	return kit.Find(slices.Concat(loadClauses(), storeClauses), func(c Clause) bool { return c.ID == id })
}

// races reports whether the clause with the ID is tested by a race, a random search or a measurement.
func races(id string) bool {
	return slices.ContainsFunc(checks(), func(k kit.Check) bool { return k.ID == id && (k.Races || k.Measures) })
}

// groups are the groups of clauses, in the order in which they run. ERR is last because it
// judges the errors of the whole run.
var groups = []string{
	"CAP", "USER", "ACCT", "SESS", "VTOK", "AUTHN", "SIGNUP", "ALIST", "SLIST", "AEDIT", "TEDIT", "PASS", "CASC",
	"TIME", "DATA", "INPUT", "CTX", "CONC", "FAULT", "EXP", "ISO", "ALIAS", "VOL", "LIFE", "SITE", "FLOW", "ERR",
}

// checks returns the checks of all groups, in the order in which they run.
func checks() []kit.Check {
	all := slices.Concat(records.Checks, values.Checks, concurrency.Checks, faults.Checks, life.Checks, flow.Checks)
	place := func(k kit.Check) int { return slices.Index(groups, groupOf(k.ID)) }
	slices.SortStableFunc(all, func(a, b kit.Check) int { return place(a) - place(b) })
	return all
}

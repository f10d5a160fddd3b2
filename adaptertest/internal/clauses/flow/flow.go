// Package flow has the clauses that run the real core over the adapter.
package flow

// Checks are the checks of the clauses.
var Checks = flowClauses

// Package faults has the clauses about errors: contexts that end, a network that fails, and what errors say.
package faults

import "slices"

// Checks are the checks of the clauses.
var Checks = slices.Concat(ctxClauses, faultClauses, siteClauses, errClauses)

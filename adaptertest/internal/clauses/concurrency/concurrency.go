// Package concurrency has the clauses about calls at one time, and about handles and stores that must not mix.
package concurrency

import "slices"

// Checks are the checks of the clauses.
var Checks = slices.Concat(concClauses, isoClauses)

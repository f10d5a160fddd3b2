// Package life has the clauses about expiry and clean-up, large stores, and opening and closing.
package life

import "slices"

// Checks are the checks of the clauses.
var Checks = slices.Concat(expClauses, volClauses, lifeClauses)

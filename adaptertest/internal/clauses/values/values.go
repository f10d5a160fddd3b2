// Package values has the clauses about values: text, numbers, instants and malformed input come back as they were
// stored or are refused, and nothing is shared with the caller.
package values

import "slices"

// Checks are the checks of the clauses.
var Checks = slices.Concat(timeClauses, dataClauses, inputClauses, aliasClauses)
